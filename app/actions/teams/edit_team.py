"""Rename a team, or hand over its captaincy."""

from app.actions.access import Caller, load_team, require_captain
from app.actions.audit.record import record
from app.actions.teams.found_team import name_team
from app.actions.teams.pass_on_captaincy import appoint, can_lead
from app.errors import BaselineHasNoMembers, InvalidRequest
from app.store.queries import memberships
from app.store.session import WriteSession
from app.store.tables import Team


def edit_team(
    session: WriteSession, caller: Caller, slug: str, team_id: str, *, name: str | None, captain: str | None
) -> Team:
    """Give a team another name, and make another member its captain; for its captain and for organizers.

    Raises NotFound, NotCaptain, TeamNameTaken, BaselineHasNoMembers, and InvalidRequest for a new captain who is not a
    member that can act.
    """
    found = load_team(session, caller, slug, team_id)
    by_organizer = require_captain(session, caller, found)
    team = memberships.lock_team(session, team_id)
    assert team is not None
    if team.baseline:
        raise BaselineHasNoMembers
    if name is not None:
        before = team.name
        name_team(session, found.challenge, team, name, reserved=by_organizer)
        if team.name != before:
            changes = {"name": (before, team.name)}
            record(session, caller, "team.rename", challenge=found.challenge, of=team, changes=changes)
        session.flush()
    if captain is not None:
        able = [each.registration.user_id for each in memberships.members_of(session, team_id) if can_lead(each)]
        if captain not in able:
            fault = {"pointer": "/captain", "detail": "is not the id of an approved member with an enabled account"}
            raise InvalidRequest("The new captain must be an approved member of the team.", errors=[fault])
        appoint(session, team, captain, caller)
    return team
