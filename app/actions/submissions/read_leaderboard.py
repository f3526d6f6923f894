"""Read a board: a pure query over scores and recipe, never a flag on a submission."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.actions.access import (
    VISITOR,
    Caller,
    approved_registration,
    can_read,
    is_organizer,
    is_public,
    load_visible_phase,
    require_scope,
)
from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.submissions.score_visibility import require_visible_board, resolve_split, score_view_for
from app.errors import AssayError, BadRequest, InvalidMetric, LeaderboardHidden, NoGold, NotFound, SplitHidden
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import ScoredEntry, Standing, standings
from app.store import board_invalidation, clock, locks
from app.store.queries import challenges, gold, submissions
from app.store.queries.submissions import BoardSubmission, MetricValues
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe

VISITOR_AUDIENCE = "visitor"
TEAM_AUDIENCE_PREFIX = "team "
CLOSE_RECHECK_SECONDS = 1.0  # seconds between two looks at the calendar of a board that will be shown later
LATE_COMMIT_GRACE = timedelta(minutes=10)
"""For so long after the close a submission that was let in before it may still be on its way into the database."""


@dataclass(frozen=True, slots=True)
class BoardAudience:
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
            return TEAM_AUDIENCE_PREFIX + self.own_team
        return VISITOR_AUDIENCE if challenge.status == "published" and challenge.visibility == "public" else "member"


@dataclass(frozen=True, slots=True)
class CacheableBoard:
    """A board, or why it is refused; what it was made of (app.store.board_invalidation), and for how long the calendar leaves it so.

    `settling`: it shows what came before a close that is just past, so that something may be missing (`wait_for_admitted_submissions`).
    """

    board: dict[str, Any] | None
    refusal: AssayError | None
    marks: frozenset[str]
    seconds: float
    may_be_incomplete: bool = False


def read_leaderboard(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, split: str | None, metric: str | None
) -> dict[str, Any]:
    """The board of a phase, best first, in the shape that the contract gives: the pure query.

    Raises NotFound, LeaderboardHidden, SplitHidden, NoGold, and BadRequest for a metric that the recipe lacks.
    """
    return _build_board(session, board_audience(session, caller, slug, phase_slug), split=split, metric=metric)[0]


def board_audience(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> BoardAudience:
    """How the caller sees the board, whether or not it may be shown now; raises NotFound.

    A token that may not read sees what visitors see; raises InsufficientScope where that is nothing.
    """
    phase = load_visible_phase(session, caller, slug, phase_slug)
    if is_organizer(session, caller, phase.challenge):
        return BoardAudience(phase, organizer=True)
    if not can_read(caller):
        if not is_public(phase.challenge):
            require_scope(caller, "read")
        return BoardAudience(phase, organizer=False)
    own = approved_registration(session, caller, phase.challenge)
    return BoardAudience(phase, organizer=False, own_team=own.team_id if own else None)


def build_cacheable_board(
    session: ReadSession, view: str, slug: str, phase_slug: str, *, split: str | None, metric: str | None
) -> CacheableBoard:
    """The board of a view, for all who share it: who they are was looked into before, except that visitors are nobody.

    Raises NotFound, and BadRequest for a metric that the recipe lacks.
    """
    sight = _audience_from_key(session, view, slug, phase_slug)
    phase = sight.phase
    marks = {board_invalidation.challenge_tag(phase.challenge_id), board_invalidation.phase_tag(phase.id)}
    if _is_shown_after_close(sight):
        marks.add(board_invalidation.waiting_tag(phase.id))
    seconds = _seconds_until_stale(session, sight)
    try:
        board, version = _build_board(session, sight, split=split, metric=metric)
    except (LeaderboardHidden, SplitHidden, NoGold) as refusal:
        return CacheableBoard(None, refusal.with_traceback(None), frozenset(marks), seconds)
    marks.add(board_invalidation.scores_tag(version.id, board["scorer_version"]))
    return CacheableBoard(board, None, frozenset(marks), seconds, may_be_incomplete=_may_be_incomplete(session, sight))


def wait_for_admitted_submissions(session: WriteSession, slug: str) -> None:
    """Wait for all submissions that a challenge has let in; those that come now were let in later than this.

    Whoever reads a board after this sees all that came before a close that was past by then.
    """
    locks.challenge(session, slug)
    session.connection()  # on SQLite that is the lock


def _audience_from_key(session: ReadSession, view: str, slug: str, phase_slug: str) -> BoardAudience:
    if view == VISITOR_AUDIENCE:
        return board_audience(session, VISITOR, slug, phase_slug)
    challenge = challenges.by_slug(session, slug)
    phase = None if challenge is None else challenges.phase_by_slug(session, challenge.id, phase_slug)
    if phase is None:
        raise NotFound
    own = view.removeprefix(TEAM_AUDIENCE_PREFIX) if view.startswith(TEAM_AUDIENCE_PREFIX) else None
    return BoardAudience(phase, organizer=view == "organizer", own_team=own)


def _is_shown_after_close(sight: BoardAudience) -> bool:
    """Whether this is a board that is shown once its phase has closed and all that came before is scored."""
    return not sight.organizer and sight.phase.leaderboard == "after_close"


def _seconds_until_stale(session: ReadSession, sight: BoardAudience) -> float:
    """Seconds for which nothing but a change of rows changes the board; somebody may set the clock before the close."""
    phase = sight.phase
    if not _is_shown_after_close(sight) or phase.closes_at is None:
        return math.inf
    if session.info.get("now") is not None:  # the calendar of a test may jump at any time
        return 0.0
    left = (phase.closes_at - clock.now(session)).total_seconds()
    return math.inf if left <= 0 else min(left, CLOSE_RECHECK_SECONDS)


def _may_be_incomplete(session: ReadSession, sight: BoardAudience) -> bool:
    closes_at = sight.phase.closes_at
    return _is_shown_after_close(sight) and closes_at is not None and clock.now(session) < closes_at + LATE_COMMIT_GRACE


def _require_all_scored(session: ReadSession, sight: BoardAudience) -> None:
    """Raise LeaderboardHidden where the board is shown after the close, but would still move with each file scored."""
    phase = sight.phase
    if not _is_shown_after_close(sight) or phase.closes_at is None:
        return
    waiting = submissions.count_unsettled(session, phase.id, phase.closes_at)
    if waiting:
        still = pluralize(waiting, "of them still waits or is being scored", "of them still wait or are being scored")
        raise LeaderboardHidden(
            f"The leaderboard is shown once all files that came before the close are scored; {still}.",
            remedy="Ask again later. Files that fail for good, or are cancelled, are not waited for.",
            waiting=waiting,
        )


def _build_board(
    session: ReadSession, sight: BoardAudience, *, split: str | None, metric: str | None
) -> tuple[dict[str, Any], GoldVersion]:
    """The board, and the gold in force."""
    phase, organizer = sight.phase, sight.organizer
    require_visible_board(phase, clock.now(session), organizer=organizer)
    _require_all_scored(session, sight)
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    stored = challenges.active_recipe(session, phase.challenge_id)
    recipe = parse_stored_recipe(phase.challenge, stored)
    chosen = resolve_split(phase, version, split, organizer=organizer)
    ranked_by = _ranking_metric(recipe, metric)
    entries = submissions.board_submissions(session, phase.id)
    scores = _load_board_scores(session, phase, version, stored, chosen)
    selecting = _load_board_scores(session, phase, version, stored, "public") if version.has_splits else scores
    ranked = _rank_entries(entries, scores, selecting, recipe, ranked_by)
    names = _anonymous_names(ranked, phase, own_team=sight.own_team, organizer=organizer)
    view = score_view_for(recipe, organizer=organizer)
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
            _board_row(standing, by_id[standing.entry.key], names, view.metrics(scores[standing.entry.key]))
            for standing in ranked
        ],
    }, version


def _ranking_metric(recipe: ScoringRecipe, asked: str | None) -> str:
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


def _load_board_scores(
    session: ReadSession, phase: Phase, version: GoldVersion, recipe: Recipe, split: str
) -> dict[str, MetricValues]:
    """Scores of one gold, one scorer version and recipes that compute the same: a board is never mixed."""
    same = equivalent_recipe_ids(session, recipe)
    return submissions.scores_for_board(
        session, phase.id, gold_id=version.id, recipe_ids=same, scorer_version=phase.scorer_version, split=split
    )


def _rank_entries(
    entries: list[BoardSubmission],
    scores: dict[str, MetricValues],
    selecting: dict[str, MetricValues],
    recipe: ScoringRecipe,
    ranked_by: str,
) -> list[Standing]:
    """Each team's counted submission, chosen by the public values, ranked by those of the split shown."""
    chosen = [
        ScoredEntry(
            key=row.id,
            team=row.team_id,
            submitted_at=row.id,
            values=_metric_values(scores[row.id]),
            baseline=row.baseline,
            selected=row.selected_at is not None,
            choice=_metric_values(selecting[row.id]),
        )
        for row in entries
        if row.id in scores and row.id in selecting
    ]
    # The primary metric ranks with its tie-breakers, any other alone.
    return standings(chosen, recipe, metric=None if ranked_by == recipe.primary else ranked_by)


def _metric_values(score: MetricValues) -> dict[str, float | None]:
    return {name: value["value"] for name, value in score.items()}


def _anonymous_names(
    ranked: list[Standing], phase: Phase, *, own_team: str | None, organizer: bool
) -> dict[str, str] | None:
    """Stand-ins for team names where the phase is anonymous; a team still sees its own."""
    if not phase.anonymous or organizer:
        return None
    rivals = [standing.entry for standing in ranked if not standing.entry.baseline]
    others = [entry.team for entry in rivals if entry.team != own_team]
    return {team: f"Anonymous {number}" for number, team in enumerate(dict.fromkeys(others), 1)}


def _as_of(entries: list[BoardSubmission], version: GoldVersion, recipe: Recipe) -> datetime:
    """The newest of what the board is made of. Not when scoring ended, for how long it takes depends on the gold."""
    moments = [row.submitted_at for row in entries]
    return max([*moments, version.activated_at or version.created_at, recipe.created_at])


def _board_row(
    standing: Standing, submission: BoardSubmission, names: dict[str, str] | None, scores: dict[str, dict[str, Any]]
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
