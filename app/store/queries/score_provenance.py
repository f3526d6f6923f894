"""The provenance of scores besides the submission: gold, recipes that compute the same, scorer version."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement

from app.store.tables import Score, ScoreInterval, ScoreTask


@dataclass(frozen=True, slots=True)
class ScoreProvenance:
    """Scores with the same provenance are comparable, and may be on one board."""

    gold_id: str
    recipe_ids: Collection[str]
    scorer_version: int

    def task_condition(self) -> ColumnElement[bool]:
        """Whether a task computes scores with this provenance."""
        return self._condition(ScoreTask)

    def score_condition(self) -> ColumnElement[bool]:
        """Whether a score has this provenance."""
        return self._condition(Score)

    def interval_condition(self) -> ColumnElement[bool]:
        """Whether intervals are those of a score with this provenance."""
        return self._condition(ScoreInterval)

    def _condition(self, row: type[ScoreTask] | type[Score] | type[ScoreInterval]) -> ColumnElement[bool]:
        recipes = row.recipe_id.in_(self.recipe_ids)
        return (row.gold_id == self.gold_id) & recipes & (row.scorer_version == self.scorer_version)
