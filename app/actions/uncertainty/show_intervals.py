"""The intervals of scores as a reader sees them: null until they have been computed."""

from collections.abc import Mapping
from typing import Any

from app.scoring.standings import round_significant

SHOWN_BESIDE = ("method", "draws", "left_out", "notes", "reason")
INTERVAL_FIELDS = ("low", "high", "interval")
Values = Mapping[str, Mapping[str, Any]]


def with_ends(shown: Values, intervals: Values, digits: int | None) -> dict[str, dict[str, Any]]:
    """Shown scores with the ends of their intervals, rounded like the values; without an interval they are null."""
    return {name: {**value, **_ends(intervals.get(name, {}), digits)} for name, value in shown.items()}


def with_intervals(shown: Values, intervals: Values, digits: int | None) -> dict[str, dict[str, Any]]:
    """The same, and beside the ends how they were found; `interval` is null until they have been computed."""
    return {
        name: value | {"interval": _beside(intervals.get(name))}
        for name, value in with_ends(shown, intervals, digits).items()
    }


def without_intervals(scores: Values) -> dict[str, dict[str, Any]]:
    """Scores without their intervals, for what is kept longer than these may be missing."""
    return {
        name: {key: each for key, each in value.items() if key not in INTERVAL_FIELDS} for name, value in scores.items()
    }


def _ends(interval: Mapping[str, Any], digits: int | None) -> dict[str, float | None]:
    return {end: round_significant(interval.get(end), digits) for end in ("low", "high")}


def _beside(interval: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if interval is None else {name: interval.get(name) for name in SHOWN_BESIDE}
