"""Which scores a reader may see: of which split, and with how many digits; and how exactly when they were computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.errors import BadRequest, LeaderboardHidden, SplitHidden
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.declaration.requirements import PUBLIC_UNMET_REASONS
from app.scoring.standings import round_significant
from app.store.tables import GoldVersion, Phase

# The full reason may name classes that the gold lacks, so only organizers see it.
NO_OUTPUT_REASON = "the Ladder has not told a value of this team yet"
HIDDEN_REASON = "undefined for these data; the organizers can see the reason"
PARTICIPANT_STEP = timedelta(milliseconds=100)


def round_for_participants(moment: datetime | None) -> datetime | None:
    """When scoring began or ended, as participants see it, because its duration depends on the gold.

    It is rounded up, which is no more than anybody who polls the status learns anyway.
    """
    return None if moment is None else round_up(moment, PARTICIPANT_STEP)


def round_up(moment: datetime, step: timedelta) -> datetime:
    """The time, rounded up to whole steps of at most a second."""
    past = (moment - moment.replace(microsecond=0)) % step
    return moment + step - past if past else moment


@dataclass(frozen=True, slots=True)
class ScoreView:
    """What a reader sees of scores: everything as an organizer, less as a participant or visitor."""

    organizer: bool
    digits: int | None  # significant digits shown, None for all

    def metrics(self, stored: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Stored metric values as this reader sees them.

        Notes name classes of the gold, so only organizers get them.
        """
        if self.organizer:
            return {name: dict(value) for name, value in stored.items()}
        return {name: self._metric(value) for name, value in stored.items()}

    def told(self, metric: str, value: float | None) -> dict[str, dict[str, Any]]:
        """The output of a Ladder as the only score that this reader sees; None before its first output."""
        if value is None:
            return {metric: {"value": None, "reason": NO_OUTPUT_REASON}}
        return {metric: {"value": round_significant(value, self.digits)}}

    def _metric(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = {"value": round_significant(stored["value"], self.digits)}
        reason = stored.get("reason")
        if reason:
            shown["reason"] = reason if reason in PUBLIC_UNMET_REASONS else HIDDEN_REASON
        return shown


def score_view_for(recipe: ScoringRecipe, *, organizer: bool) -> ScoreView:
    """The view of an organizer, or that of everybody else under the recipe's disclosure."""
    return ScoreView(organizer=organizer, digits=None if organizer else recipe.digits)


def visible_split(phase: Phase, gold: GoldVersion) -> str:
    """The split that participants and visitors see now: public until the final release, then private."""
    return current_split(has_splits=gold.has_splits, released=phase.released_at)


def current_split(*, has_splits: bool, released: datetime | None) -> str:
    """The visible split, given what was read of gold and phase."""
    if not has_splits:
        return "all"
    return "private" if released is not None else "public"


def resolve_split(phase: Phase, gold: GoldVersion, requested: str | None, *, organizer: bool) -> str:
    """The split to show; raises SplitHidden for one that this reader may not see."""
    shown = visible_split(phase, gold)
    if requested is None or requested == shown or (requested == "public" and shown == "private"):
        return requested or shown
    if organizer and not gold.has_splits:
        raise BadRequest(f"The gold of this phase has no splits, so there is no '{requested}'.")
    if not organizer:
        raise SplitHidden(f"The split '{requested}' is not visible now; '{shown}' is.")
    return requested


def require_visible_board(phase: Phase, now: datetime, *, organizer: bool) -> None:
    """Raise LeaderboardHidden unless this reader may see the board now."""
    if not is_board_visible(phase, now, organizer=organizer):
        raise LeaderboardHidden


def is_board_visible(phase: Phase, now: datetime, *, organizer: bool) -> bool:
    """Whether this reader may see the board now."""
    closed = phase.closes_at is not None and now >= phase.closes_at
    return organizer or phase.leaderboard == "public" or (phase.leaderboard == "after_close" and closed)
