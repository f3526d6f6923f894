"""Read a board: a pure query over scores and recipe, never a flag on a submission."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.actions.access import (
    VISITOR,
    Caller,
    may_read,
    membership,
    open_to_all,
    organizes,
    require_scope,
    see_phase,
)
from app.actions.challenges.change_recipe import same_values, scoring_recipe
from app.actions.submissions.score_visibility import require_board, split_for, view_for
from app.errors import AssayError, BadRequest, InvalidMetric, LeaderboardHidden, NoGold, NotFound, SplitHidden
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.metric_syntax import counted
from app.scoring.declaration.recipe import Recipe as ScoringRecipe
from app.scoring.standings import Entry, Standing, standings
from app.store import board_invalidation, clock, locks
from app.store.queries import challenges, gold, submissions
from app.store.queries.submissions import Counted, Values
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe

VISITOR_VIEW = "visitor"
TEAM = "team "
LOOK_AGAIN = 1.0  # seconds between two looks at the calendar of a board that will be shown later
SETTLING = timedelta(minutes=10)
"""For so long after the close a submission that was let in before it may still be on its way into the database."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A phase as somebody sees its board; a team of one's own matters where the phase is anonymous, for its name."""

    phase: Phase
    organizer: bool
    own_team: str | None = None

    @property
    def view(self) -> str:
        """The name of what is seen: those who share it see the same board, and only they."""
        challenge = self.phase.challenge
        if self.organizer:
            return "organizer"
        if self.phase.anonymous and self.own_team is not None:
            return TEAM + self.own_team
        return VISITOR_VIEW if challenge.status == "published" and challenge.visibility == "public" else "member"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A board, or why it is refused; what it was made of (app.store.board_invalidation), and for how long the calendar leaves it so.

    `settling`: it shows what came before a close that is just past, so that something may be missing (`await_stored`).
    """

    board: dict[str, Any] | None
    refusal: AssayError | None
    marks: frozenset[str]
    seconds: float
    settling: bool = False


def read_leaderboard(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, split: str | None, metric: str | None
) -> dict[str, Any]:
    """The board of a phase, best first, in the shape that the contract gives: the pure query.

    Raises NotFound, LeaderboardHidden, SplitHidden, NoGold, and BadRequest for a metric that the recipe lacks.
    """
    return _board(session, see_board(session, caller, slug, phase_slug), split=split, metric=metric)[0]


def see_board(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Sight:
    """How the caller sees the board, whether or not it may be shown now; raises NotFound.

    A token that may not read sees what visitors see; raises InsufficientScope where that is nothing.
    """
    phase = see_phase(session, caller, slug, phase_slug)
    if organizes(session, caller, phase.challenge):
        return Sight(phase, organizer=True)
    if not may_read(caller):
        if not open_to_all(phase.challenge):
            require_scope(caller, "read")
        return Sight(phase, organizer=False)
    own = membership(session, caller, phase.challenge)
    return Sight(phase, organizer=False, own_team=own.team_id if own else None)


def prepare_board(
    session: ReadSession, view: str, slug: str, phase_slug: str, *, split: str | None, metric: str | None
) -> Prepared:
    """The board of a view, for all who share it: who they are was looked into before, except that visitors are nobody.

    Raises NotFound, and BadRequest for a metric that the recipe lacks.
    """
    sight = _sight_of(session, view, slug, phase_slug)
    phase = sight.phase
    marks = {board_invalidation.of_challenge(phase.challenge_id), board_invalidation.of_phase(phase.id)}
    if _after_close(sight):
        marks.add(board_invalidation.of_waiting(phase.id))
    seconds = _lasting(session, sight)
    try:
        board, version = _board(session, sight, split=split, metric=metric)
    except (LeaderboardHidden, SplitHidden, NoGold) as refusal:
        return Prepared(None, refusal.with_traceback(None), frozenset(marks), seconds)
    marks.add(board_invalidation.of_scores(version.id, board["scorer_version"]))
    return Prepared(board, None, frozenset(marks), seconds, settling=_settling(session, sight))


def await_stored(session: WriteSession, slug: str) -> None:
    """Wait for all submissions that a challenge has let in; those that come now were let in later than this.

    Whoever reads a board after this sees all that came before a close that was past by then.
    """
    locks.challenge(session, slug)
    session.connection()  # on SQLite that is the lock


def _sight_of(session: ReadSession, view: str, slug: str, phase_slug: str) -> Sight:
    if view == VISITOR_VIEW:
        return see_board(session, VISITOR, slug, phase_slug)
    challenge = challenges.by_slug(session, slug)
    phase = None if challenge is None else challenges.phase_by_slug(session, challenge.id, phase_slug)
    if phase is None:
        raise NotFound
    own = view.removeprefix(TEAM) if view.startswith(TEAM) else None
    return Sight(phase, organizer=view == "organizer", own_team=own)


def _after_close(sight: Sight) -> bool:
    """Whether this is a board that is shown once its phase has closed and all that came before is scored."""
    return not sight.organizer and sight.phase.leaderboard == "after_close"


def _lasting(session: ReadSession, sight: Sight) -> float:
    """Seconds for which nothing but a change of rows changes the board; somebody may set the clock before the close."""
    phase = sight.phase
    if not _after_close(sight) or phase.closes_at is None:
        return math.inf
    if session.info.get("now") is not None:  # the calendar of a test may jump at any time
        return 0.0
    left = (phase.closes_at - clock.now(session)).total_seconds()
    return math.inf if left <= 0 else min(left, LOOK_AGAIN)


def _settling(session: ReadSession, sight: Sight) -> bool:
    closes_at = sight.phase.closes_at
    return _after_close(sight) and closes_at is not None and clock.now(session) < closes_at + SETTLING


def _require_scored(session: ReadSession, sight: Sight) -> None:
    """Raise LeaderboardHidden where the board is shown after the close, but would still move with each file scored."""
    phase = sight.phase
    if not _after_close(sight) or phase.closes_at is None:
        return
    waiting = submissions.waiting(session, phase.id, phase.closes_at)
    if waiting:
        still = counted(waiting, "of them still waits or is being scored", "of them still wait or are being scored")
        raise LeaderboardHidden(
            f"The leaderboard is shown once all files that came before the close are scored; {still}.",
            remedy="Ask again later. Files that fail for good, or are cancelled, are not waited for.",
            waiting=waiting,
        )


def _board(
    session: ReadSession, sight: Sight, *, split: str | None, metric: str | None
) -> tuple[dict[str, Any], GoldVersion]:
    """The board, and the gold in force."""
    phase, organizer = sight.phase, sight.organizer
    require_board(phase, clock.now(session), organizer=organizer)
    _require_scored(session, sight)
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    stored = challenges.active_recipe(session, phase.challenge_id)
    recipe = scoring_recipe(phase.challenge, stored)
    chosen = split_for(phase, version, split, organizer=organizer)
    ranked_by = _metric(recipe, metric)
    entries = submissions.counted(session, phase.id)
    scores = _scores(session, phase, version, stored, chosen)
    selecting = _scores(session, phase, version, stored, "public") if version.has_splits else scores
    ranked = _ranked(entries, scores, selecting, recipe, ranked_by)
    names = _names(ranked, phase, own_team=sight.own_team, organizer=organizer)
    view = view_for(recipe, organizer=organizer)
    by_id = {entry.id: entry for entry in entries}
    call = next(call for call in recipe.metrics if call.text == ranked_by)
    return {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": chosen,
        "primary": ranked_by,
        "direction": call.metric.direction,
        "gold_version": version.version,
        "recipe_version": stored.version,
        "scorer_version": phase.scorer_version,
        "as_of": _as_of(entries, version, stored),
        "metrics": [describe_call(each) for each in recipe.metrics],
        "rows": [
            _row(standing, by_id[standing.entry.key], names, view.metrics(scores[standing.entry.key]))
            for standing in ranked
        ],
    }, version


def _metric(recipe: ScoringRecipe, asked: str | None) -> str:
    """The canonical string to rank by; raises BadRequest."""
    if asked is None:
        return recipe.primary
    known = [call.text for call in recipe.metrics]
    try:
        text = parse_metric(asked, options=recipe.options).text
    except InvalidMetric as fault:
        raise BadRequest(fault.detail, remedy=f"This board has {', '.join(known)}.") from fault
    if text not in known:
        raise BadRequest(f"The recipe has no metric '{asked}'; it has {', '.join(known)}.")
    return text


def _scores(session: ReadSession, phase: Phase, version: GoldVersion, recipe: Recipe, split: str) -> dict[str, Values]:
    """Scores of one gold, one scorer version and recipes that compute the same: a board is never mixed."""
    same = same_values(session, recipe)
    return submissions.scores_for_board(
        session, phase.id, gold_id=version.id, recipe_ids=same, scorer_version=phase.scorer_version, split=split
    )


def _ranked(
    entries: list[Counted],
    scores: dict[str, Values],
    selecting: dict[str, Values],
    recipe: ScoringRecipe,
    ranked_by: str,
) -> list[Standing]:
    """Each team's counted submission, chosen by the public values, ranked by those of the split shown."""
    chosen = [
        Entry(
            key=row.id,
            team=row.team_id,
            submitted_at=row.id,
            values=_values(scores[row.id]),
            baseline=row.baseline,
            selected=row.selected_at is not None,
            choice=_values(selecting[row.id]),
        )
        for row in entries
        if row.id in scores and row.id in selecting
    ]
    # The primary metric ranks with its tie-breakers, any other alone.
    return standings(chosen, recipe, metric=None if ranked_by == recipe.primary else ranked_by)


def _values(score: Values) -> dict[str, float | None]:
    return {name: value["value"] for name, value in score.items()}


def _names(ranked: list[Standing], phase: Phase, *, own_team: str | None, organizer: bool) -> dict[str, str] | None:
    """Stand-ins for team names where the phase is anonymous; a team still sees its own."""
    if not phase.anonymous or organizer:
        return None
    rivals = [standing.entry for standing in ranked if not standing.entry.baseline]
    others = [entry.team for entry in rivals if entry.team != own_team]
    return {team: f"Anonymous {number}" for number, team in enumerate(dict.fromkeys(others), 1)}


def _as_of(entries: list[Counted], version: GoldVersion, recipe: Recipe) -> datetime:
    """The newest of what the board is made of. Not when scoring ended, for how long it takes depends on the gold."""
    moments = [row.submitted_at for row in entries]
    return max([*moments, version.activated_at or version.created_at, recipe.created_at])


def _row(
    standing: Standing, submission: Counted, names: dict[str, str] | None, scores: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    hidden = names is not None and submission.team_id in names
    name = names[submission.team_id] if names is not None and hidden else submission.team_name
    return {
        "rank": standing.rank,
        "rank_low": standing.rank_low,
        "rank_high": standing.rank_high,
        "tie_group": standing.tie_group,
        "team": {"id": None if hidden else submission.team_id, "name": name},
        "submission": None if hidden else submission.id,
        "method": "" if hidden else submission.method,
        "submitted_at": submission.submitted_at,
        "entries": standing.entries,
        "baseline": submission.baseline,
        "scores": scores,
    }
