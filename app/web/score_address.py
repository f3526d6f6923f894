"""The address of the page of a score."""

from urllib.parse import quote, urlencode


def score_path(submission_id: str, key: str, split: str | None = None) -> str:
    """The address of the page of a score, by the metric string; on a split, or on that which participants see now."""
    return f"/submissions/{quote(submission_id, safe='')}{score_path_end(key, split)}"


def score_path_end(key: str, split: str | None = None) -> str:
    """What follows the address of the submission.

    A slash in a label is written %2F, as metric strings allow, because it would end the part of the path.
    """
    path = f"/scores/{quote(key.replace('/', '%2F'), safe=':=,')}"
    return f"{path}?{urlencode({'split': split})}" if split else path
