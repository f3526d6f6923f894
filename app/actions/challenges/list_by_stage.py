"""List challenges by stage: those that are open, coming, past or archived, each with the phase that matters now."""

from dataclasses import dataclass
from datetime import datetime

from app.actions import access
from app.actions.access import Caller
from app.actions.submissions.read_leaderboard import BoardAudience
from app.store import clock
from app.store.queries import challenge_lists, challenges, paging
from app.store.queries.challenge_lists import Stage
from app.store.session import ReadSession
from app.store.tables import Challenge, Phase


@dataclass(frozen=True, slots=True)
class ListedChallenge:
    """A challenge in a list."""

    challenge: Challenge
    phase: Phase | None
    """The phase that matters now: the open one that closes first, else the next to open, else the last to close."""
    phases: int
    organizer: bool
    registration: str | None
    """The status of the caller's registration, if there is one."""
    board: BoardAudience | None
    """The caller's view of the phase's board, whether or not it is shown now; None before the phase opens."""


def list_by_stage(
    session: ReadSession, caller: Caller, stage: Stage, *, limit: int, cursor: str | None = None
) -> tuple[list[ListedChallenge], str | None]:
    """The challenges at a stage that the caller may see, newest first, and the cursor of the next page.

    The number of statements does not depend on the number of challenges.
    """
    now = clock.now(session)
    page = challenge_lists.at_stage(access.visible_challenges(caller), stage, now)
    rows, following = paging.page(session, page, Challenge, limit=limit, cursor=cursor)
    return _listed(session, caller, rows, now), following


def _listed(session: ReadSession, caller: Caller, rows: list[Challenge], now: datetime) -> list[ListedChallenge]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    phases = challenge_lists.phases_of_all(session, ids)
    organized: set[str] = set(ids) if caller.has_admin_rights else set()
    registrations = {}
    if caller.user_id is not None:
        if access.can_organize(caller):
            organized |= challenge_lists.organized_by(session, caller.user_id, ids)
        registrations = challenge_lists.registrations_by(session, caller.user_id, ids)
    listed = []
    for row in rows:
        phase, own = _phase_that_matters(phases[row.id], now), registrations.get(row.id)
        team = own.team_id if own is not None and own.status == "approved" and access.can_read(caller) else None
        organizer = row.id in organized
        board = None
        if phase is not None and phase.opens_at <= now:
            board = BoardAudience(phase, organizer=organizer, own_team=None if organizer else team)
        status = None if own is None else own.status
        listed.append(ListedChallenge(row, phase, len(phases[row.id]), organizer, status, board))
    return listed


def _phase_that_matters(phases: list[Phase], now: datetime) -> Phase | None:
    running = [phase for phase in phases if challenges.is_open(phase, now)]
    if running:
        return min(running, key=lambda phase: (phase.closes_at is None, phase.closes_at or now))
    coming = [phase for phase in phases if phase.opens_at > now]
    if coming:
        return min(coming, key=lambda phase: phase.opens_at)
    return max(phases, key=lambda phase: phase.closes_at or now, default=None)
