"""A user's registrations in all challenges, with phases and what the team may still submit in those that are open."""

from dataclasses import dataclass

from app.actions.access import Caller, require_scope, visible_challenges
from app.actions.challenges.plan_phases import is_open_now
from app.actions.submissions.check_quota import quota_balance
from app.store import clock
from app.store.queries import challenges, paging, teams
from app.store.session import ReadSession
from app.store.tables import Challenge, Phase, Registration


@dataclass(frozen=True, slots=True)
class OwnPhase:
    """A phase of a challenge; `remaining` is what the team may still submit, None unless it may submit now."""

    phase: Phase
    is_open: bool
    remaining: dict[str, int | None] | None


@dataclass(frozen=True, slots=True)
class OwnRegistration:
    """A registration with its challenge; `phases` is None if the user cannot see the challenge now."""

    registration: Registration
    challenge: Challenge
    phases: list[OwnPhase] | None


def list_own_registrations(
    session: ReadSession, caller: Caller, *, limit: int, cursor: str | None
) -> tuple[list[OwnRegistration], str | None]:
    """The caller's registrations, newest first, and the next cursor."""
    user_id = require_scope(caller, "read")
    rows, following = paging.page(session, teams.registrations_by(user_id), Registration, limit=limit, cursor=cursor)
    ids = [row.challenge_id for row in rows]
    by_id = challenges.by_ids(session, ids)
    visible = visible_challenges(caller).where(Challenge.id.in_(ids)).with_only_columns(Challenge.id)
    seen = set(session.scalars(visible))
    own = []
    for row in rows:
        challenge = by_id[row.challenge_id]
        phases = _phases(session, row, challenge) if challenge.id in seen else None
        own.append(OwnRegistration(row, challenge, phases))
    return own, following


def _phases(session: ReadSession, registration: Registration, challenge: Challenge) -> list[OwnPhase]:
    now, own = clock.now(session), []
    for phase in challenges.phases_of(session, challenge.id):
        is_open, remaining = is_open_now(session, phase), None
        if is_open and registration.status == "approved" and registration.team_id is not None:
            balance = quota_balance(
                session, phase.quota, challenge.timezone, phase_id=phase.id, team_id=registration.team_id, now=now
            )[1]
            remaining = balance.remaining
        own.append(OwnPhase(phase, is_open, remaining))
    return own
