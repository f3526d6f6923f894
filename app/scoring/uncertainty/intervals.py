"""Placeholder for the intervals of metric values, to be replaced by the real ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.seeds import derive_seed


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval, or the reason why there is none."""

    low: float | None
    high: float | None
    method: str
    draws: int
    left_out: int
    bias: float | None
    standard_error: float | None
    notes: tuple[str, ...]
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {"notes": list(self.notes)}


def intervals(
    case: EvaluationInput,
    calls: Sequence[MetricCall],
    results: Mapping[str, Result],
    *,
    draw_seed: str,
    split: str,
    content: str,
) -> dict[str, Interval]:
    """An interval for each call: its value give or take a tenth, shifted by the seed."""
    found = {}
    for call in calls:
        value = results[call.text].value
        if value is None:
            found[call.text] = Interval(None, None, "none", 0, 0, None, None, (), "the value is null")
            continue
        shift = derive_seed(draw_seed, "interval", split, call.text, content)[0] / 25600
        low, high = value - 0.1 - shift, value + 0.1 + shift
        notes = (f"{case.gold.n} instances",)
        found[call.text] = Interval(low, high, "placeholder", 1999, 0, 0.0, 0.05, notes, None)
    return found
