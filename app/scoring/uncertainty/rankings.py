"""Placeholder for rankings side by side, to be replaced by the real ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.scoring.declaration.metric import MetricCall
from app.scoring.uncertainty.board import BoardCase, board_uncertainty


@dataclass(frozen=True, slots=True)
class Rankings:
    """The same submissions under several metrics."""

    metrics: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"metrics": self.metrics, "flips": [], "tau": []}


def side_by_side(entries: Sequence[BoardCase], calls: Sequence[MetricCall], *, draw_seed: str, split: str) -> Rankings:
    """The ranks under each metric."""
    rows = [board_uncertainty(entries, call, draw_seed=draw_seed, split=split).to_dict() for call in calls]
    return Rankings([{"metric": each["metric"], "ranks": {r["key"]: r["rank"] for r in each["rows"]}} for each in rows])
