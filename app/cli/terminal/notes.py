"""Notes on scores: the full list for JSON, and a short one for people, in which equal notes are merged."""

from collections.abc import Iterable

MAX_SHOWN_NOTES = 5


class ScoreNotes:
    """Notes on scores, in order; each concerns one metric or all of them."""

    def __init__(self, general: Iterable[str]) -> None:
        """`general` notes concern all metrics."""
        self._general = list(dict.fromkeys(general))
        self._undefined: dict[str, list[str]] = {}
        self._by_note: dict[str, list[str]] = {}
        self._all = list(self._general)

    def add_undefined(self, metric: str, reason: str) -> None:
        """Note that a metric is undefined, with the reason."""
        self._undefined.setdefault(reason, []).append(metric)
        self._all.append(f"{metric} is undefined: {reason}")

    def add_for_metric(self, metric: str, note: str) -> None:
        """Add a note on one metric."""
        self._by_note.setdefault(note, []).append(metric)
        self._all.append(f"{metric}: {note}")

    def all(self) -> list[str]:
        """All notes, separately for each metric."""
        return list(dict.fromkeys(self._all))

    def condensed(self) -> list[str]:
        """The first notes, with equal notes on several metrics merged, and the number of the others."""
        notes = list(self._general)
        for reason, metrics in self._undefined.items():
            notes.append(f"{_join_metrics(metrics)} {'is' if len(metrics) == 1 else 'are'} undefined: {reason}")
        notes += [f"{_join_metrics(metrics)}: {note}" for note, metrics in self._by_note.items()]
        omitted = len(notes) - MAX_SHOWN_NOTES
        return notes if omitted <= 1 else [*notes[:MAX_SHOWN_NOTES], f"… {omitted} more notes: --json"]


def _join_metrics(metrics: list[str]) -> str:
    more = f" and {len(metrics) - MAX_SHOWN_NOTES} more (--json)" if len(metrics) > MAX_SHOWN_NOTES else ""
    return ", ".join(metrics[:MAX_SHOWN_NOTES]) + more
