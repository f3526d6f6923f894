"""Placeholder for the comparison of the rows of a board, to be replaced by the real one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.scoring.declaration.metric import MetricCall
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput


@dataclass(frozen=True, slots=True)
class BoardCase:
    """A row of a board."""

    key: str
    case: EvaluationInput
    content: str


@dataclass(frozen=True, slots=True)
class BoardUncertainty:
    """What is known about the order of a board."""

    metric: str
    split: str
    n: int
    draws: int
    rows: list[dict[str, Any]]
    pairs: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    groups: int | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        names = ("metric", "split", "n", "groups", "draws", "rows", "pairs", "notes", "reason")
        return {name: getattr(self, name) for name in names}


def board_uncertainty(
    entries: Sequence[BoardCase], call: MetricCall, *, draw_seed: str, split: str
) -> BoardUncertainty:
    """Every row may have every rank."""
    higher = call.metric.direction == "higher"
    values = {each.key: evaluate(each.case, [call])[call.text].value for each in entries}
    keys = sorted(values, key=lambda key: (-(values[key] or 0) if higher else values[key] or 0, key))
    rows: list[dict[str, Any]] = [
        {
            "key": key,
            "value": values[key],
            "low": None,
            "high": None,
            "rank": at,
            "rank_low": 1,
            "rank_high": len(keys),
            "tie_group": 1,
            "first_share": 1 / len(keys),
            "notes": [],
        }
        for at, key in enumerate(keys, 1)
    ]
    pairs = [{"a": a, "b": b, "different": False, "p_value": 1.0} for at, a in enumerate(keys) for b in keys[at + 1 :]]
    n = entries[0].case.gold.n if entries else 0
    return BoardUncertainty(call.text, split, n, 10_000, rows, pairs, [f"seed {draw_seed[:4]}"])
