"""Notes beside scores: each in full for programs, equal ones together and few of them for people."""

from collections.abc import Iterable

MAX_SHOWN_NOTES = 5


class ScoreNotes:
    """What is said about scores, in order; of some metrics, or of all."""

    def __init__(self, general: Iterable[str]) -> None:
        """`general`: notes that concern no metric alone."""
        self._general = list(dict.fromkeys(general))
        self._undefined: dict[str, list[str]] = {}
        self._about: dict[str, list[str]] = {}
        self._all = list(self._general)

    def add(self, note: str) -> None:
        """Something that concerns no metric alone."""
        self._general.append(note)
        self._all.append(note)

    def add_undefined(self, metric: str, reason: str) -> None:
        """A metric has no value, for this reason."""
        self._undefined.setdefault(reason, []).append(metric)
        self._all.append(f"{metric} is undefined: {reason}")

    def add_for_metric(self, metric: str, note: str) -> None:
        """Something that has to be known about the value of a metric."""
        self._about.setdefault(note, []).append(metric)
        self._all.append(f"{metric}: {note}")

    def all(self) -> list[str]:
        """Each note of each metric."""
        return list(dict.fromkeys(self._all))

    def condensed(self) -> list[str]:
        """Equal notes as one that lists its metrics; a last one counts those that are left out."""
        said = list(self._general)
        for reason, metrics in self._undefined.items():
            said.append(f"{_join_metrics(metrics)} {'is' if len(metrics) == 1 else 'are'} undefined: {reason}")
        said += [f"{_join_metrics(metrics)}: {note}" for note, metrics in self._about.items()]
        left_out = len(said) - MAX_SHOWN_NOTES
        return said if left_out <= 1 else [*said[:MAX_SHOWN_NOTES], f"… {left_out} more notes: --json"]


def _join_metrics(metrics: list[str]) -> str:
    more = f" and {len(metrics) - MAX_SHOWN_NOTES} more (--json)" if len(metrics) > MAX_SHOWN_NOTES else ""
    return ", ".join(metrics[:MAX_SHOWN_NOTES]) + more
