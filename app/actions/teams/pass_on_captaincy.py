"""Pass on the captaincy of a user who leaves a team, is barred or is disabled."""

from app.actions.access import Caller
from app.actions.audit.record import OPERATOR, record
from app.store.queries import memberships
from app.store.queries.memberships import Member
from app.store.session import WriteSession
from app.store.tables import Challenge, Team


def pass_on_captaincy(
    session: WriteSession, user_id: str, *, caller: Caller = OPERATOR, challenge_id: str | None = None
) -> list[Team]:
    """Give the user's captaincies, of all challenges or of one, to other members; returns the teams that changed.

    Call it after the change that ends the captaincy. The successor is the member who is longest in the team and can
    act: approved, with an enabled account. Without one a captain who is still in the team keeps the captaincy, so that
    a team with members always has a captain; a deleted account never has it.
    """
    session.flush()
    led = [team for team in memberships.lock_teams_of(session, user_id, challenge_id) if team.captain_id == user_id]
    return [team for team in led if _appoint_successor(session, team, caller)]


def lead_idle_teams(session: WriteSession, user_id: str, caller: Caller) -> None:
    """Appoint a captain in each team of a user whose account is enabled again, where the captain cannot act."""
    for team in memberships.lock_teams_of(session, user_id):
        replace_idle_captain(session, team.id, caller)


def replace_idle_captain(session: WriteSession, team_id: str, caller: Caller) -> None:
    """Appoint another member if the captain cannot act, or if there is none.

    Call it after a member joins or is decided on: the captain may have been barred or disabled when nobody could succeed.
    """
    team = memberships.lock_team(session, team_id)
    if team is None:
        return
    captains = [
        each for each in memberships.members_of(session, team_id) if each.registration.user_id == team.captain_id
    ]
    if not any(map(can_lead, captains)):
        _appoint_successor(session, team, caller)


def _appoint_successor(session: WriteSession, team: Team, caller: Caller) -> bool:
    members = [each for each in memberships.members_of(session, team.id) if not each.registration.user.deleted_at]
    able = [member for member in members if can_lead(member)]
    stays = any(member.registration.user_id == team.captain_id for member in members)
    candidates = able or ([] if stays else members)
    if stays and not candidates:
        return False
    successor = candidates[0].registration.user_id if candidates else None
    return appoint(session, team, successor, caller)


def appoint(session: WriteSession, team: Team, captain_id: str | None, caller: Caller) -> bool:
    """Make a member the captain, or nobody, and record it; returns whether that changed anything."""
    if team.captain_id == captain_id:
        return False
    challenge = session.get_one(Challenge, team.challenge_id)
    changes = {"captain": (team.captain_id, captain_id)}
    record(session, caller, "team.captain", challenge=challenge, of=team, user_id=captain_id, changes=changes)
    team.captain_id = captain_id
    session.flush()
    return True


def can_lead(member: Member) -> bool:
    """Whether a member can act as captain: approved, with an enabled account."""
    registration = member.registration
    user = registration.user
    return registration.status == "approved" and user.disabled_at is None and user.deleted_at is None
