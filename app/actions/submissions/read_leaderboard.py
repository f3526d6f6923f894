"""Read a leaderboard: a pure query over scores and recipe, never a flag on a submission."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from app.actions import access
from app.actions.access import Caller
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.history.former_board import PRESENT, AskedBoard, find_version, former_source, former_split
from app.actions.submissions.board_row import TeamNames, board_row, shown_scores
from app.actions.submissions.board_scores import board_scores, describe_selection
from app.actions.submissions.board_source import BoardSource, PresentBoard
from app.actions.submissions.ladder_board import BoardView, board_view
from app.actions.submissions.pseudonyms import pseudonyms
from app.actions.submissions.score_visibility import require_visible_board
from app.errors import (
    AssayError,
    BadCursor,
    BadRequest,
    InvalidMetric,
    LeaderboardHidden,
    NoGold,
    NotFound,
    SplitHidden,
)
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import Standing, standings
from app.store import board_invalidation, clock, locks
from app.store.queries import board_rows, challenges, submissions
from app.store.queries.board_rows import BoardRow
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.queries.entry_choice import BoardScores
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase
from app.store.types import utcnow

VISITOR_AUDIENCE = "visitor"
TEAM_AUDIENCE_PREFIX = "team "
CLOSE_RECHECK_SECONDS = 1.0  # between two checks whether a board that is shown after the close may be shown
MAX_PAGE_ROWS = 200
ROWS_AT_ONCE = 500  # of a board that are read and encoded together
CURSOR_PATTERN = re.compile(r"[1-9][0-9]{0,8}")  # of pages: the number of rows before
LATE_COMMIT_GRACE = timedelta(minutes=10)
"""The longest time after the close that a submission admitted before it may take to commit."""
RECENTLY = timedelta(minutes=10)  # more than the age of a cached board and the difference of two hosts' clocks


@dataclass(frozen=True, slots=True)
class BoardAudience:
    """Who sees a board: an organizer or a participant, who sees the name of the own team even in an anonymous phase."""

    phase: Phase
    organizer: bool
    own_team: str | None = None
    for_record: bool = False
    """Whether it is what participants will see, built for organizers, also while the board is hidden."""

    @property
    def view(self) -> str:
        """The key of the audience: callers see the same board exactly if they have the same key."""
        if self.organizer:
            return "organizer"
        if self.phase.anonymous and self.own_team is not None:
            return TEAM_AUDIENCE_PREFIX + self.own_team
        return VISITOR_AUDIENCE if access.is_public(self.phase.challenge) else "member"


@dataclass(frozen=True, slots=True)
class BoardPage:
    """A part of a board: up to `limit` rows after the first `start` ones."""

    limit: int
    start: int = 0

    @classmethod
    def parse(cls, limit: int | None, cursor: str | None) -> "BoardPage | None":
        """The page after a cursor, which counts the rows before it; None for all rows. Raises BadCursor."""
        if cursor is not None and not CURSOR_PATTERN.fullmatch(cursor):
            raise BadCursor
        if limit is None and cursor is None:
            return None
        return cls(MAX_PAGE_ROWS if limit is None else limit, int(cursor or 0))


@dataclass(frozen=True, slots=True)
class BoardRows:
    """The rows of a board, which are read a few at a time, so that a large board is never in memory as a whole."""

    scores: BoardScores
    shown: list[Standing]
    intervals: bool
    """Whether this reader sees the intervals of the values."""
    build: Callable[[Standing, BoardRow], dict[str, Any]]

    def load(self, read: Callable[[], AbstractContextManager[ReadSession]]) -> Iterator[dict[str, Any]]:
        """The rows in the shape of the API; `read` gives the session for each few.

        Ranks are fixed and scores are never edited, so the sessions may differ.
        """
        for start in range(0, len(self.shown), ROWS_AT_ONCE):
            some = self.shown[start : start + ROWS_AT_ONCE]
            with read() as session:
                rows = board_rows.load_rows(
                    session, self.scores, [standing.entry.submission for standing in some], intervals=self.intervals
                )
            yield from (self.build(standing, rows[standing.entry.submission]) for standing in some)


@dataclass(frozen=True, slots=True)
class CacheableBoard:
    """A board or the reason of its refusal, with cache tags (app.store.board_invalidation) and lifetime in seconds.

    The board lacks its rows, which the caller loads.
    `may_be_incomplete`: the close was so recent that submissions admitted before it may not have committed yet (see
    `wait_for_admitted_submissions`).
    """

    board: dict[str, Any] | None
    rows: BoardRows | None
    refusal: AssayError | None
    marks: frozenset[str]
    seconds: float
    may_be_incomplete: bool = False


def read_leaderboard(
    session: ReadSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    split: str | None,
    metric: str | None,
    page: BoardPage | None = None,
    asked: AskedBoard = PRESENT,
) -> dict[str, Any]:
    """The board of a phase, best first, in the shape of the API; not cached.

    Raises NotFound, LeaderboardHidden, SplitHidden, NoGold, NoSuchBoard, and BadRequest for a metric that the recipe
    lacks or a future time.
    """
    audience = board_audience(session, caller, slug, phase_slug)
    board, rows, _ = build_board(session, audience, split=split, metric=metric, page=page, asked=asked)
    return board | {"rows": list(rows.load(lambda: nullcontext(session)))}


def board_audience(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> BoardAudience:
    """The audience that the caller belongs to, whether or not the board may be shown now; raises NotFound.

    A token without the scope `read` gets what visitors see; raises InsufficientScope if visitors see nothing.
    """
    phase = access.load_visible_phase(session, caller, slug, phase_slug)
    if access.is_organizer(session, caller, phase.challenge):
        return BoardAudience(phase, organizer=True)
    if not access.can_read(caller):
        if not access.is_public(phase.challenge):
            access.require_scope(caller, "read")
        return BoardAudience(phase, organizer=False)
    own = access.approved_registration(session, caller, phase.challenge)
    return BoardAudience(phase, organizer=False, own_team=own.team_id if own else None)


def build_cacheable_board(
    session: ReadSession,
    view: str,
    slug: str,
    phase_slug: str,
    *,
    split: str | None,
    metric: str | None,
    page: BoardPage | None = None,
    asked: AskedBoard = PRESENT,
) -> CacheableBoard:
    """The board of an audience, given its key. The rights of the caller were checked before; only visitors have none.

    Raises NotFound, NoSuchBoard, and BadRequest for a metric that the recipe lacks or a future time.
    """
    audience = _audience_from_key(session, view, slug, phase_slug)
    phase = audience.phase
    marks = {board_invalidation.challenge_tag(phase.challenge_id), board_invalidation.phase_tag(phase.id)}
    if _is_shown_after_close(audience):
        marks.add(board_invalidation.waiting_tag(phase.id))
    seconds = _seconds_until_stale(session, audience)
    try:
        board, rows, version = build_board(session, audience, split=split, metric=metric, page=page, asked=asked)
    except (LeaderboardHidden, SplitHidden, NoGold) as refusal:
        return CacheableBoard(None, None, refusal.with_traceback(None), frozenset(marks), seconds)
    marks.add(board_invalidation.scores_tag(version.id, board["scorer_version"]))
    if board["ladder"] is not None:  # an output waits for the final status of every earlier submission
        marks.add(board_invalidation.waiting_tag(phase.id))
    elif audience.organizer or not {"intervals", "significance"}.isdisjoint(phase.reports):
        marks.add(board_invalidation.analysis_tag(phase.id))
    return CacheableBoard(board, rows, None, frozenset(marks), seconds, _may_be_incomplete(session, audience))


def recently_finished(session: ReadSession, audience: BoardAudience) -> list[str]:
    """The ids of submissions that the audience's own team has finished in the last minutes; [] without a team.

    Cached boards are a minute old at most, so they contain everything that was finished before.
    """
    if audience.own_team is None:
        return []
    return submissions.finished_since(session, audience.phase.id, audience.own_team, utcnow() - RECENTLY)


def wait_for_admitted_submissions(session: WriteSession, slug: str) -> None:
    """Wait until all submissions admitted to a challenge so far have committed.

    Submissions hold the challenge lock in shared mode, so taking it exclusively waits for them. A board that is read
    after this contains all submissions from before a close that has passed.
    """
    locks.challenge(session, slug)
    session.connection()  # on SQLite, beginning a write transaction takes the only lock


def _audience_from_key(session: ReadSession, view: str, slug: str, phase_slug: str) -> BoardAudience:
    if view == VISITOR_AUDIENCE:
        return board_audience(session, access.VISITOR, slug, phase_slug)
    challenge = challenges.by_slug(session, slug)
    phase = None if challenge is None else challenges.phase_by_slug(session, challenge.id, phase_slug)
    if phase is None:
        raise NotFound
    own = view.removeprefix(TEAM_AUDIENCE_PREFIX) if view.startswith(TEAM_AUDIENCE_PREFIX) else None
    return BoardAudience(phase, organizer=view == "organizer", own_team=own)


def _is_shown_after_close(audience: BoardAudience) -> bool:
    """Whether participants see this board only once its phase has closed and all its submissions are scored."""
    return not audience.organizer and audience.phase.leaderboard == "after_close"


def _seconds_until_stale(session: ReadSession, audience: BoardAudience) -> float:
    """Seconds for which only a change of rows can change the board.

    Short before the close even if it is far away, because the clock of the database may be adjusted.
    """
    phase = audience.phase
    if not _is_shown_after_close(audience) or phase.closes_at is None:
        return math.inf
    if session.info.get("now") is not None:  # the clock of a test may jump at any time
        return 0.0
    left = (phase.closes_at - clock.now(session)).total_seconds()
    return math.inf if left <= 0 else min(left, CLOSE_RECHECK_SECONDS)


def _may_be_incomplete(session: ReadSession, audience: BoardAudience) -> bool:
    closes_at = audience.phase.closes_at
    if closes_at is None or not _is_shown_after_close(audience):
        return False
    return clock.now(session) < closes_at + LATE_COMMIT_GRACE


def _require_all_scored(session: ReadSession, audience: BoardAudience) -> None:
    """Raise LeaderboardHidden if the board is shown after the close, but some of its submissions are not scored yet."""
    phase = audience.phase
    if not _is_shown_after_close(audience) or phase.closes_at is None:
        return
    waiting = submissions.count_unsettled(session, phase.id, phase.closes_at)
    if waiting:
        count = pluralize(waiting, "of them is", "of them are")
        raise LeaderboardHidden(
            f"The leaderboard is shown once all files submitted before the close are scored; {count} not scored yet.",
            remedy="Try again later. Files that fail permanently or are cancelled do not delay it.",
            waiting=waiting,
        )


class ResolvedBoard(NamedTuple):
    """What a board is computed from."""

    version: BoardVersion
    recipe: ScoringRecipe
    scores: BoardScores
    view: BoardView
    source: BoardSource


def resolve_board(
    session: ReadSession,
    audience: BoardAudience,
    *,
    split: str | None,
    metric: str | None,
    asked: AskedBoard = PRESENT,
) -> ResolvedBoard:
    """What the board that this audience asks for is computed from.

    Raises LeaderboardHidden, SplitHidden, NoGold, NoSuchBoard, and BadRequest for a metric that the recipe lacks or a
    future time.
    """
    phase, organizer = audience.phase, audience.organizer
    require_visible_board(phase, clock.now(session), organizer=organizer or audience.for_record)
    _require_all_scored(session, audience)
    active = active_version(session, phase)
    if active is None:
        raise NoGold
    former = None if asked.is_present else find_version(session, phase, asked, organizer=organizer)
    of = active if former is None else former.version
    recipe = parse_stored_recipe(phase, of.recipe)
    shown_split = former_split(phase, of.gold, None if former is None else former.until, split, organizer=organizer)
    ranked_by = _ranking_metric(recipe, metric)
    view = board_view(session, phase, of, ranked_by=ranked_by, organizer=organizer)
    if former is not None and not organizer:  # never with more digits than the present board
        view = view.with_digits_of(parse_stored_recipe(phase, active.recipe))
    scores = board_scores(session, phase, of, shown_split=shown_split, ranked_by=ranked_by)
    if former is None:
        return ResolvedBoard(of, recipe, scores, view, PresentBoard(session, phase, of, scores, view))
    return ResolvedBoard(of, recipe, scores, view, former_source(session, phase, former, asked, scores, view))


def build_board(
    session: ReadSession,
    audience: BoardAudience,
    *,
    split: str | None,
    metric: str | None,
    page: BoardPage | None,
    asked: AskedBoard = PRESENT,
) -> tuple[dict[str, Any], BoardRows, GoldVersion]:
    """The board without its rows, the rows to load, and the gold that it is computed from."""
    phase, organizer = audience.phase, audience.organizer
    of, recipe, scores, view, source = resolve_board(session, audience, split=split, metric=metric, asked=asked)
    ranked_by = scores.ranked_by[0]
    hides_names = phase.anonymous and not organizer  # each pseudonym depends on those of all other teams
    found = source.entries(None if page is None or hides_names else page.start + page.limit)
    board_standings = standings(found.entries)
    hidden = _pseudonyms(board_standings, phase, own_team=audience.own_team) if hides_names else {}
    shown, following = _page_of(board_standings, page, found.total)
    counts = source.counts(None if page is None else {standing.entry.team for standing in shown})
    earlier, team_names = source.public_ranks(), TeamNames(found.names, hidden)
    reports = () if view.ladders is not None else phase.reports
    sees_all = organizer and view.ladders is None
    significance = source.significance(found, allowed=sees_all or "significance" in reports)
    rows = BoardRows(
        scores,
        shown,
        sees_all or "intervals" in reports,
        lambda standing, row: (
            board_row(standing, row, team_names, counts=counts, public_ranks=earlier, significance=significance)
            | {"scores": shown_scores(standing, row, view, intervals=rows.intervals)}
        ),
    )
    board = {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": scores.shown,
        **_ranking_fields(recipe, ranked_by),
        "gold_version": of.gold.version,
        "recipe_version": of.recipe.version,
        "scorer_version": of.scorer_version,
        "draw_seed": of.gold.draw_seed,
        "significance": significance.to_dict(),
        "as_of": source.as_of(),
        **source.fields,
        **view.fields,
        "total": found.total,
        "next": following,
    }
    return board, rows, of.gold


def _ranking_fields(recipe: ScoringRecipe, ranked_by: str) -> dict[str, Any]:
    primary = next(call for call in recipe.metrics if call.text == ranked_by)
    rule = describe_selection(recipe.selection, recipe.selection_max, recipe.tie_breakers)
    return {"primary": ranked_by, "direction": primary.metric.direction, "selection": rule}


def _page_of(rows: list[Standing], page: BoardPage | None, total: int) -> tuple[list[Standing], str | None]:
    """The rows of a page, and the cursor of the next one; all rows without a page. `total`: of the whole board."""
    if page is None:
        return rows, None
    end = page.start + page.limit
    return rows[page.start : end], str(end) if end < total else None


def _ranking_metric(recipe: ScoringRecipe, requested: str | None) -> str:
    """The canonical string to rank by; raises BadRequest."""
    if requested is None:
        return recipe.primary
    known = [call.text for call in recipe.metrics]
    try:
        text = parse_metric(requested, options=recipe.options).text
    except InvalidMetric as fault:
        raise BadRequest(fault.detail, remedy=f"This board has the metrics {', '.join(known)}.") from fault
    if text not in known:
        raise BadRequest(f"The recipe has no metric '{requested}'; it has {', '.join(known)}.")
    return text


def _pseudonyms(ranked: list[Standing], phase: Phase, *, own_team: str | None) -> dict[str, str]:
    """Pseudonyms of the teams in an anonymous phase, except the own team."""
    names = pseudonyms(phase.pseudonym_key, {each.entry.team for each in ranked if not each.entry.baseline})
    return {team: name for team, name in names.items() if team != own_team}
