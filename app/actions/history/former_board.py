"""The board of a phase at a former time, or by versions that were in force once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from app.actions.history.asked_time import no_board_yet, require_past
from app.actions.history.board_state import BoardState, LadderState
from app.actions.history.timeline import Event, read_events
from app.actions.submissions.board_scores import board_scores
from app.actions.submissions.board_source import NOT_COMPARED, BoardSource, PresentBoard
from app.actions.submissions.ladder_board import BoardView
from app.actions.submissions.score_visibility import current_split, resolve_split
from app.actions.uncertainty.board_significance import BoardSignificance
from app.errors import LeaderboardHidden, NoSuchBoard
from app.scoring.standings import standings
from app.store import clock
from app.store.queries import board_history
from app.store.queries.board_entries import BoardEntries
from app.store.queries.board_history import Act, SwitchDone, Values
from app.store.queries.board_versions import BoardVersion
from app.store.queries.entry_choice import BoardScores
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase
from app.store.types import format_timestamp


class AskedBoard(NamedTuple):
    """Which board of a phase is asked for: at what time, by which versions; None for the present ones."""

    at: datetime | None = None
    gold_version: int | None = None
    recipe_version: int | None = None

    @property
    def is_present(self) -> bool:
        """Whether it is the present board."""
        return self == PRESENT

    @property
    def names_versions(self) -> bool:
        """Whether versions are asked for, rather than those that were in force."""
        return self.gold_version is not None or self.recipe_version is not None


PRESENT = AskedBoard()


class FormerVersion(NamedTuple):
    """The versions of a former board; `until` bounds its submissions and acts, None for all until now."""

    version: BoardVersion
    in_force_since: datetime
    in_force_until: datetime | None
    until: datetime | None


def find_version(session: ReadSession, phase: Phase, asked: AskedBoard, *, organizer: bool) -> FormerVersion:
    """The versions that are asked for; raises BadRequest for a future time, NoSuchBoard, LeaderboardHidden.

    Of two versions of which one is named, the other is what was in force with it last. Organizers see boards of former
    versions with all submissions. For others these have only what was submitted until they were last in force: scores
    of later submissions were never on a board, and may be there because organizers made a preview.
    """
    now = clock.now(session)
    if asked.at is not None:
        require_past(asked.at, now)
    if asked.at is not None and not organizer:
        require_was_visible(phase, asked.at)
    done = board_history.switches_done(session, phase.id)
    place = _named(done, asked) if asked.names_versions else _in_force_at(done, asked.at or now)
    switch = done[place]
    ended = done[place + 1].at if place + 1 < len(done) else None
    until = asked.at
    if ended is not None and asked.names_versions and not organizer:
        until = ended if until is None else min(until, ended)
    return FormerVersion(switch.version, switch.at, ended, until)


def require_was_visible(phase: Phase, at: datetime) -> None:
    """Raise LeaderboardHidden for a time before the close, if the board is shown after it: nobody saw that board."""
    if phase.leaderboard == "after_close" and (phase.closes_at is None or at < phase.closes_at):
        detail = "The leaderboard is shown after the close, so the boards from before are not."
        raise LeaderboardHidden(detail, remedy="Give a time after the close. Organizers may read all former boards.")


def _in_force_at(done: Sequence[SwitchDone], at: datetime) -> int:
    """The place of the last switch up to a time."""
    places = [place for place, switch in enumerate(done) if switch.at <= at]
    if not places:
        raise no_board_yet(at, done[0].at if done else None)
    return places[-1]


def _named(done: Sequence[SwitchDone], asked: AskedBoard) -> int:
    """The place of the last switch to the versions that are named."""
    for place in range(len(done) - 1, -1, -1):
        version = done[place].version
        is_gold = asked.gold_version in {None, version.gold.version}
        if is_gold and asked.recipe_version in {None, version.recipe.version}:
            return place
    names = (("gold", asked.gold_version), ("recipe", asked.recipe_version))
    wanted = " and ".join(f"{name} version {number}" for name, number in names if number is not None)
    known = ", ".join(
        dict.fromkeys(f"gold {each.version.gold.version} with recipe {each.version.recipe.version}" for each in done)
    )
    together = " together" if " and " in wanted else ""
    raise NoSuchBoard(
        f"No board of this phase was ever computed by {wanted}{together}.",
        remedy=f"These versions were in force: {known or 'none'}.",
    )


def former_split(
    phase: Phase, gold: GoldVersion, at: datetime | None, requested: str | None, *, organizer: bool
) -> str:
    """The split to show: what participants saw then, unless another one is requested that this reader may see now."""
    if requested is None and at is not None and phase.released_at is not None and at < phase.released_at:
        return current_split(has_splits=gold.has_splits, released=None)
    return resolve_split(phase, gold, requested, organizer=organizer)


def former_source(  # noqa: PLR0917 - called once
    session: ReadSession, phase: Phase, found: FormerVersion, asked: AskedBoard, scores: BoardScores, view: BoardView
) -> BoardSource:
    """The source of the rows of a former board."""
    of, until = found.version, found.until
    former = {
        "at": until,
        "in_force_since": found.in_force_since,
        "in_force_until": found.in_force_until,
        "meaning": _meaning(found, asked),
    }
    fields = {
        "unscored": board_history.count_unscored(session, phase.id, scores.provenance, until),
        "former": former,
    }
    if until is None:
        return PresentBoard(session, phase, of, scores, view, fields)
    return FormerBoard(session, phase, of, scores, view, fields, until)


def _meaning(found: FormerVersion, asked: AskedBoard) -> str:
    of = found.version
    by = f"gold version {of.gold.version}, recipe version {of.recipe.version} and scorer version {of.scorer_version}"
    moment = "now" if found.until is None else f"at {format_timestamp(found.until)}"
    if asked.names_versions:
        was = "are in force" if found.in_force_until is None else "were in force"
        return (
            f"The entries that counted {moment}, by {by}, which {was} since {format_timestamp(found.in_force_since)}."
        )
    return f"The board as it was {moment}, by {by}."


@dataclass
class FormerBoard:
    """The state of a phase at a former time, computed from all attempts and acts until then."""

    session: ReadSession
    phase: Phase
    of: BoardVersion
    scores: BoardScores
    view: BoardView
    fields: dict[str, Any]
    at: datetime

    @cached_property
    def _events(self) -> list[Event]:
        return read_events(self.session, self.phase, self.at)

    @cached_property
    def _state(self) -> BoardState:
        return fold(self._events, new_state(self.session, self.scores, self.view))

    def entries(self, needed: int | None) -> BoardEntries:  # noqa: ARG002 (all rows are known anyway)
        """The whole board."""
        return self._state.entries()

    def counts(self, teams: Collection[str] | None) -> dict[str, int]:
        """How many attempts each team had made."""
        return {team: self._state.count(team) for team in (self._state.teams if teams is None else teams)}

    def public_ranks(self) -> dict[str, int]:
        """The rank that each team had on the public split, after the final release."""
        released = self.phase.released_at
        if self.scores.shown != "private" or released is None or self.at < released:
            return {}
        ranked_by = self.scores.ranked_by[0]
        public = board_scores(self.session, self.phase, self.of, shown_split="public", ranked_by=ranked_by)
        entries = fold(self._events, new_state(self.session, public, self.view)).entries().entries
        return {each.entry.team: each.rank for each in standings(entries) if each.rank is not None}

    def significance(self, found: BoardEntries, *, allowed: bool) -> BoardSignificance:  # noqa: ARG002
        """Former rows are not compared."""
        return BoardSignificance("none", NOT_COMPARED)

    def as_of(self) -> datetime:
        """The newest time up to then of a submission, the gold or the recipe."""
        gold = self.of.gold.activated_at or self.of.gold.created_at
        newest = board_history.newest_attempt(self.session, self.phase.id, self.at)
        known = [moment for moment in (gold, self.of.recipe.created_at, newest) if moment is not None]
        return max([moment for moment in known if moment <= self.at], default=self.at)


def new_state(session: ReadSession, scores: BoardScores, view: BoardView) -> BoardState:
    """The empty board of these scores as this reader sees it."""
    values = read_values(session, scores)
    return BoardState(scores, values) if view.ladders is None else LadderState(scores, values, view.ladders)


def read_values(session: ReadSession, scores: BoardScores) -> Values:
    """The ranking keys that a board needs."""
    return board_history.ranking_values(
        session,
        scores.phase_id,
        scores.provenance,
        splits={scores.chosen_by, scores.selected_by, scores.shown},
        metrics={scores.primary, *scores.tie_breakers, *scores.ranked_by},
    )


def fold(events: Sequence[Event], state: BoardState) -> BoardState:
    """The state after all events."""
    for event in events:
        if isinstance(event, Act):
            state.apply(event)
        else:
            state.accept(event)
    return state
