"""Disqualify a team, as an organizer, and let it take part again."""

from app.actions.access import Caller, load_organized_challenge
from app.actions.audit.record import changed_fields, record
from app.errors import BaselineTeam, NotFound
from app.store import clock
from app.store.session import WriteSession
from app.store.tables import Challenge, Team


def disqualify_team(session: WriteSession, caller: Caller, slug: str, team_id: str, *, reason: str) -> Team:
    """Disqualify a team: boards mark its entry and it cannot submit; raises NotFound, BaselineTeam.

    Once it is disqualified, nothing changes. The lock on the challenge keeps out submissions meanwhile.
    """
    challenge, team = _load_team(session, caller, slug, team_id)
    if team.baseline:
        raise BaselineTeam
    if team.disqualified_at is None:
        now = clock.now(session)
        changed = changed_fields(team, {"disqualified_at": now})
        record(session, caller, "team.disqualify", challenge=challenge, of=team, changes=changed, reason=reason)
        team.disqualified_at, team.disqualified_reason = now, reason
        session.flush()
    return team


def reinstate_team(session: WriteSession, caller: Caller, slug: str, team_id: str) -> Team:
    """Undo the disqualification of a team; raises NotFound. Nothing changes if it is not disqualified."""
    challenge, team = _load_team(session, caller, slug, team_id)
    if team.disqualified_at is not None:
        changed = changed_fields(team, {"disqualified_at": None})
        record(session, caller, "team.reinstate", challenge=challenge, of=team, changes=changed)
        team.disqualified_at = team.disqualified_reason = None
        session.flush()
    return team


def _load_team(session: WriteSession, caller: Caller, slug: str, team_id: str) -> tuple[Challenge, Team]:
    challenge = load_organized_challenge(session, caller, slug)
    team = session.get(Team, team_id)
    if team is None or team.challenge_id != challenge.id or team.merged_into_id is not None:
        raise NotFound
    return challenge, team
