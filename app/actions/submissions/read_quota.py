"""Read the quota of a team with its ledger, and grant a team more or less of it."""

from dataclasses import dataclass

from app.actions.access import (
    Caller,
    is_organizer,
    load_organized_phase,
    load_visible_phase,
    require_administrator,
    require_scope,
)
from app.actions.audit.record import created_fields, record
from app.actions.submissions.check_quota import QuotaBalance, quota_balance
from app.actions.submissions.read_submissions import own_team_id
from app.errors import NoSuchLimit, NotFound
from app.store import clock
from app.store.queries import quota, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, QuotaEntry, QuotaGrant, Team
from app.text.close_matches import near_names


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The balance of a team in a phase, with the grants and ledger entries that explain it."""

    balance: QuotaBalance
    grants: list[QuotaGrant]
    ledger: list[QuotaEntry]


def read_quota(session: ReadSession, caller: Caller, slug: str, phase_slug: str, team: str | None) -> QuotaState:
    """The state of the caller's own team, for organizers of the one named.

    Raises NotFound, Forbidden, NotRegistered and related errors.
    """
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_scope(caller, "read")
    if team is None:
        return _state(session, phase, own_team_id(session, caller, phase))
    if not is_organizer(session, caller, phase.challenge):
        require_administrator(caller, "Only organizers may read the quota of a team that they name.")
    return _state(session, phase, _team_named(session, phase, team).id)


def grant_quota(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    team: str,
    per_day: int | None,
    total: int | None,
    reason: str,
) -> QuotaState:
    """Add to the limits of one team in a phase, or take from them; raises NoSuchLimit, NotFound and Forbidden.

    The lock on the challenge is held, so no submission is admitted meanwhile.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    row = _team_named(session, phase, team)
    granted = {name: number for name, number in (("per_day", per_day), ("total", total)) if number}
    for name in granted:
        if phase.quota.get(name) is None:
            raise NoSuchLimit(f"The phase '{phase.slug}' has no limit {name}, so there is nothing to add to.")
    before = _state(session, phase, row.id).balance.limits
    session.add(
        QuotaGrant(
            phase_id=phase.id,
            team_id=row.id,
            per_day=granted.get("per_day", 0),
            total=granted.get("total", 0),
            reason=reason,
            created_by=caller.user_id,
            created_at=clock.now(session),
        )
    )
    session.flush()
    state = _state(session, phase, row.id)
    changes = {name: (before[name], state.balance.limits[name]) for name in granted}
    # A limit is never below 0, so it may not tell how much was granted.
    hidden = [name for name, (was, is_now) in changes.items() if (is_now or 0) - (was or 0) != granted[name]]
    changes |= created_fields({f"granted_{name}": granted[name] for name in hidden})
    record(
        session, caller, "quota.grant", challenge=phase.challenge, of=row, phase=phase, changes=changes, reason=reason
    )
    return state


def _team_named(session: ReadSession, phase: Phase, name: str) -> Team:
    """The team with this name or id; raises NotFound, with the nearest names, as only organizers name a team here."""
    team = teams.by_id_or_name(session, phase.challenge_id, name)
    if team is None:
        known = near_names(name, teams.names_of(session, phase.challenge_id))
        raise NotFound(f"The challenge has no team '{name}'.", remedy=known)
    return team


def _state(session: ReadSession, phase: Phase, team_id: str) -> QuotaState:
    now, zone = clock.now(session), phase.challenge.timezone
    _, balance = quota_balance(session, phase.quota, zone, phase_id=phase.id, team_id=team_id, now=now)
    return QuotaState(balance, quota.grants(session, phase.id, team_id), quota.entries(session, phase.id, team_id))
