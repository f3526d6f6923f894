"""What a reader refuses: the size limits, and the rules that follow from the options and metrics of a recipe."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from app.formats.content.library_cpu_budget import CpuBudget
from app.scoring.declaration.metric import PROBABILITIES, RANKING, SCORES, MetricCall


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum size of a file: the limits of the site, or lower ones for a known phase (see phase_size_limits)."""

    expanded_bytes: int = 1 << 30
    """Bytes after decompression."""
    records: int = 10_000_000
    """Instances, or rows of a table."""
    pairs: int | None = None
    """Rows of a table with one row per pair of instance and label; None: the limit of `records`."""
    labels: int | None = None
    """Rows per id in such a table; None: no separate limit."""
    sets: int | None = None
    """Labels in the sets of all instances together, except in such a table; None: the limit of `values`. The service
    further lowers this to what its memory allows."""
    values: int = 1 << 30
    """Numbers, texts, lists and objects in JSON; cells of a table; labels in sets."""
    members: int = 20_000
    """Members or frames of compressed data; block-wise compressors write one per 64 KiB."""
    instances: int | None = None
    """Instances of the phase, if the limits are those of a phase."""
    classes: int = 100_000
    """Classes of a vocabulary."""
    text_length: int = 1000
    """Characters of an id or label."""
    columns: int = 100_100
    """Columns of a table."""
    decoding_seconds: float = 60.0
    """CPU time for decoding a Parquet or Arrow file, where it is limited."""
    cpu_budget: Callable[[float], CpuBudget] = CpuBudget
    """Enforces the limit of CPU time."""
    nesting: int = 64
    """Levels of lists and objects in JSON."""


DEFAULT_LIMITS = Limits()


# The values of each option, strictest first. Where metrics differ, the strictest value decides what is refused. Where
# nothing is refused, the value that preserves most information wins: scoring can drop labels, but not recover them.
_STRICTNESS: dict[str, tuple[str, ...]] = {
    "unknown_label": ("reject", "count_as_fp", "drop"),
    "duplicates": ("reject", "multiset", "set"),
    "missing": ("reject", "empty_prediction"),
}


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """What the options of a recipe, and the needs of its metrics, refuse (docs/conventions.md)."""

    unknown_label: str = "reject"
    """reject, count_as_fp (retained as the code m), drop."""
    duplicates: str = "reject"
    """reject, set (repeated labels of a prediction are read once), multiset (retained)."""
    missing: str = "reject"
    """reject, empty_prediction."""
    scores: str = "ignored"
    """due (the file must have them), used (read if present), ignored (beside labels)."""
    probabilities: bool = False
    """Whether scores must be probabilities."""
    accepted: bool = False
    """Whether the file was accepted before, under gold that may have had other void ids (`of_accepted_file`)."""

    def __post_init__(self) -> None:
        for option, values in {**_STRICTNESS, "scores": ("due", "used", "ignored")}.items():
            if getattr(self, option) not in values:
                raise ValueError(f"{option} must be one of {', '.join(values)}, not {getattr(self, option)!r}")

    def of_accepted_file(self) -> "ReadingRules":
        """These rules for a file that was accepted before: nothing that other gold or another recipe needs refuses it.

        An id that is not known is ignored. An instance without a row, or whose row has a fault (it was not checked while
        the instance was void), has an empty prediction. Metrics that need scores or probabilities that the file does not
        have are to be null.
        """
        scores = "used" if self.scores == "due" else self.scores
        return replace(self, missing="empty_prediction", scores=scores, accepted=True)

    @classmethod
    def strictest(cls, calls: Iterable[MetricCall], primary: str | None = None) -> "ReadingRules":
        """The rules under which no metric gets an input that it refuses; without metrics, the defaults.

        `primary` is the canonical string of the metric whose needs must be met.
        """
        calls = list(calls)
        chosen: dict[str, Any] = {}
        for option, values in _STRICTNESS.items():
            requested = {str(call.options.get(option, "reject")) for call in calls} or {"reject"}
            chosen[option] = next((value for value in values if value in requested), "reject")
        metrics_with_scores = {call.text for call in calls if SCORES in call.metric.needs}
        ranking = any(RANKING in call.metric.needs for call in calls)
        scores = "due" if primary in metrics_with_scores else "used" if metrics_with_scores or ranking else "ignored"
        return cls(**chosen, scores=scores, probabilities=any(PROBABILITIES in call.metric.needs for call in calls))
