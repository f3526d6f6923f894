"""What a live reader of a board follows: the tags whose changes change the board, and until when that holds."""

import math
from dataclasses import dataclass
from datetime import datetime

from app.actions.access import Caller
from app.actions.submissions.read_leaderboard import BoardAudience, board_audience
from app.actions.submissions.score_visibility import is_board_visible
from app.store import board_invalidation, clock
from app.store.queries import gold, submissions
from app.store.session import ReadSession
from app.store.tables import Phase


@dataclass(frozen=True, slots=True)
class FollowedBoard:
    """The tags of a board that its reader may know of, and the state of the board.

    `seconds` is the time until the phase opens or closes, which changes the state without a change of rows.
    """

    tags: frozenset[str]
    state: str
    is_shown: bool
    seconds: float


def follow_board(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> FollowedBoard:
    """What this caller follows of a board now; raises NotFound, InsufficientScope."""
    return board_to_follow(session, board_audience(session, caller, slug, phase_slug))


def board_to_follow(session: ReadSession, audience: BoardAudience) -> FollowedBoard:
    """What readers of this audience follow.

    Who may not see the board is not told when scores arrive either, only how many are awaited after the close.
    """
    phase, now = audience.phase, clock.now(session)
    window, seconds = _window(phase, now)
    if not is_board_visible(phase, now, organizer=audience.organizer):
        return FollowedBoard(frozenset(), f"hidden {window}", is_shown=False, seconds=seconds)
    if _is_awaited(session, audience):
        awaited = frozenset({board_invalidation.ALL_BOARDS, board_invalidation.waiting_tag(phase.id)})
        return FollowedBoard(awaited, f"awaited {window}", is_shown=False, seconds=seconds)
    tags = {
        board_invalidation.ALL_BOARDS,
        board_invalidation.challenge_tag(phase.challenge_id),
        board_invalidation.phase_tag(phase.id),
    }
    version = gold.active(session, phase.id)
    if version is not None:
        tags.add(board_invalidation.scores_tag(version.id, phase.scorer_version))
    return FollowedBoard(frozenset(tags), f"shown {window}", is_shown=True, seconds=seconds)


def _is_awaited(session: ReadSession, audience: BoardAudience) -> bool:
    """Whether the board appears once all submissions from before the close are scored."""
    phase = audience.phase
    if audience.organizer or phase.leaderboard != "after_close" or phase.closes_at is None:
        return False
    return submissions.count_unsettled(session, phase.id, phase.closes_at) > 0


def _window(phase: Phase, now: datetime) -> tuple[str, float]:
    """Whether the phase is yet to open, open or closed, and the seconds until that changes."""
    if phase.opens_at is not None and now < phase.opens_at:
        return "before", (phase.opens_at - now).total_seconds()
    if phase.closes_at is not None and now >= phase.closes_at:
        return "closed", math.inf
    return "open", math.inf if phase.closes_at is None else (phase.closes_at - now).total_seconds()
