"""What a live reader of a board follows: the tags whose changes change the board, and until when that holds."""

import math
from dataclasses import dataclass
from datetime import datetime

from app.actions import access
from app.actions.access import Caller
from app.actions.submissions.ladders import limits_feedback
from app.actions.submissions.read_leaderboard import BoardAudience, board_audience
from app.actions.submissions.score_visibility import is_board_visible
from app.errors import NotFound
from app.store import board_invalidation, clock
from app.store.queries import challenges, gold, submissions
from app.store.session import ReadSession
from app.store.tables import Phase


@dataclass(frozen=True, slots=True)
class FollowedBoard:
    """The tags of a board that its reader may know of, and the state of the board.

    `seconds` is the time until a phase of the challenge opens or closes, which changes pages without a change of rows.
    """

    phase_slug: str
    tags: frozenset[str]
    state: str
    is_shown: bool
    is_public: bool
    """Whether visitors see the board now."""
    seconds: float


def board_phase(session: ReadSession, caller: Caller, slug: str) -> str:
    """The phase whose board is shown first; raises NotFound.

    It is the one that opened last, of those that are still open if there are any; before that, the first to open.
    """
    challenge = access.load_visible_challenge(session, caller, slug)
    phases, now = challenges.phases_of(session, challenge.id), clock.now(session)
    opened = [phase for phase in phases if phase.opens_at <= now]
    still_open = [phase for phase in opened if phase.closes_at is None or now < phase.closes_at]
    if opened:
        return max(still_open or opened, key=lambda phase: phase.opens_at).slug
    return min(phases, key=lambda phase: phase.opens_at).slug


def follow_board(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> FollowedBoard:
    """What this caller follows of a board now; raises NotFound, InsufficientScope."""
    return board_to_follow(session, board_audience(session, caller, slug, phase_slug))


def board_to_follow(session: ReadSession, audience: BoardAudience) -> FollowedBoard:
    """What readers of this audience follow.

    Who may not see the board is not told when scores arrive either, only how many are awaited after the close.
    """
    phase, now = audience.phase, clock.now(session)
    tags, appearance = set[str](), "shown"
    if not is_board_visible(phase, now, organizer=audience.organizer):
        appearance = "hidden"
    elif not audience.organizer and _is_awaited(session, phase):
        appearance = "awaited"
        tags = {board_invalidation.ALL_BOARDS, board_invalidation.waiting_tag(phase.id)}
    else:
        tags = _board_tags(session, phase)
        if limits_feedback(session, phase, organizer=audience.organizer):
            tags.add(board_invalidation.waiting_tag(phase.id))
    return FollowedBoard(
        phase.slug,
        frozenset(tags),
        f"{appearance} {_window(phase, now)}",
        is_shown=appearance == "shown",
        is_public=_is_seen_by_visitors(session, phase, now),
        seconds=_seconds_until_change(session, phase, now),
    )


def challenge_tags(session: ReadSession, slug: str) -> frozenset[str]:
    """The tags of everything about a challenge and its phases that all pages of its boards show."""
    challenge = challenges.by_slug(session, slug)
    if challenge is None:
        raise NotFound
    phases = challenges.phases_of(session, challenge.id)
    return frozenset(
        {board_invalidation.challenge_tag(challenge.id), *(board_invalidation.phase_tag(each.id) for each in phases)}
    )


def _board_tags(session: ReadSession, phase: Phase) -> set[str]:
    tags = {
        board_invalidation.ALL_BOARDS,
        board_invalidation.challenge_tag(phase.challenge_id),
        board_invalidation.phase_tag(phase.id),
    }
    version = gold.active(session, phase.id)
    if version is not None:
        tags.add(board_invalidation.scores_tag(version.id, phase.scorer_version))
    return tags


def _is_awaited(session: ReadSession, phase: Phase) -> bool:
    """Whether the board appears once all submissions from before the close are scored."""
    if phase.leaderboard != "after_close" or phase.closes_at is None:
        return False
    return submissions.count_unsettled(session, phase.id, phase.closes_at) > 0


def _is_seen_by_visitors(session: ReadSession, phase: Phase, now: datetime) -> bool:
    is_visible = access.is_public(phase.challenge) and is_board_visible(phase, now, organizer=False)
    return is_visible and not _is_awaited(session, phase)


def _window(phase: Phase, now: datetime) -> str:
    if now < phase.opens_at:
        return "before"
    return "closed" if phase.closes_at is not None and now >= phase.closes_at else "open"


def _seconds_until_change(session: ReadSession, phase: Phase, now: datetime) -> float:
    """The seconds until a phase of the challenge opens or closes; 0 with the clock of a test, which may jump."""
    if session.info.get("now") is not None:
        return 0.0
    phases = challenges.phases_of(session, phase.challenge_id)
    times = [moment for each in phases for moment in (each.opens_at, each.closes_at) if moment is not None]
    return min(((moment - now).total_seconds() for moment in times if moment > now), default=math.inf)
