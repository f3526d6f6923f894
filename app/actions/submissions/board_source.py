"""What the rows of a board come from: the present state of a phase, by the versions in force or by former ones."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from app.actions.submissions.board_scores import public_ranks
from app.actions.submissions.ladder_board import BoardView
from app.actions.uncertainty.board_significance import BoardSignificance, board_significance
from app.store.queries import board_entries
from app.store.queries.board_entries import BoardEntries
from app.store.queries.board_versions import BoardVersion
from app.store.queries.entry_choice import BoardScores
from app.store.session import ReadSession
from app.store.tables import Phase

NOT_COMPARED = "Rows are compared on the present board alone, by the versions in force."


class BoardSource(Protocol):
    """What a board needs to know besides the scores of its rows."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the board that say which board it is: `unscored` and `former`."""

    def entries(self, needed: int | None) -> BoardEntries:
        """What the board shows; with `needed`, at least so many first rows."""

    def counts(self, teams: Collection[str] | None) -> dict[str, int]:
        """How many attempts each of these teams has made, or each team."""

    def public_ranks(self) -> dict[str, int]:
        """The rank of each team on the public split, for the board of the private one; empty for any other."""

    def significance(self, found: BoardEntries, *, allowed: bool) -> BoardSignificance:
        """The comparison of the rows."""

    def as_of(self) -> datetime:
        """The newest time among the inputs of the board: never the end of a scoring, which depends on the gold."""


@dataclass(frozen=True, slots=True)
class PresentBoard:
    """The present state of a phase, read by the index of ranked values."""

    session: ReadSession
    phase: Phase
    of: BoardVersion
    scores: BoardScores
    view: BoardView
    fields: dict[str, Any] = field(default_factory=lambda: {"unscored": 0, "former": None})

    def entries(self, needed: int | None) -> BoardEntries:
        """What the board shows."""
        return self.view.entries(self.session, self.scores, needed)

    def counts(self, teams: Collection[str] | None) -> dict[str, int]:
        """How many attempts each of these teams has made."""
        return board_entries.count_entries(self.session, self.scores, teams)

    def public_ranks(self) -> dict[str, int]:
        """The rank of each team on the public split, after the final release."""
        if self.scores.shown != "private" or self.phase.released_at is None:
            return {}
        return public_ranks(self.session, self.phase, self.of, ranked_by=self.scores.ranked_by[0])

    def significance(self, found: BoardEntries, *, allowed: bool) -> BoardSignificance:
        """The stored comparison of the rows, by the versions in force."""
        if self.fields["former"] is not None:
            return BoardSignificance("none", NOT_COMPARED)
        return board_significance(self.session, self.phase, self.of.gold, self.scores, found, allowed=allowed)

    def as_of(self) -> datetime:
        """The newest time of a submission, the gold or the recipe."""
        newest = board_entries.newest_submission_time(self.session, self.phase.id)
        activated_at = self.of.gold.activated_at or self.of.gold.created_at
        return max(activated_at, self.of.recipe.created_at, *([] if newest is None else [newest]))
