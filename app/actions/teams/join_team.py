"""Invite to a team by a one-time code, and join it with that code."""

from app.actions.access import Caller, load_team, require_captain
from app.actions.audit.record import record
from app.actions.invitations.codes import DEFAULT_DAYS, is_open, make_invitation, use_invitation
from app.actions.teams.pass_on_captaincy import replace_idle_captain
from app.actions.teams.require_free import require_free_to_join
from app.errors import BaselineHasNoMembers, InvalidInvitation, NotFound, TeamFull, TooManyInvitations
from app.store import clock
from app.store.queries import invitations, memberships
from app.store.session import WriteSession
from app.store.tables import Challenge, Invitation, Registration, Team, TeamMembership

MAX_OPEN_INVITATIONS = 100
"""Of a team: every list of teams shows all of them."""


def invite_to_team(
    session: WriteSession, caller: Caller, slug: str, team_id: str, *, note: str = "", days: int = DEFAULT_DAYS
) -> tuple[Invitation, str]:
    """A new invitation to the team and its one-time code, which is not stored; for the captain and organizers.

    Raises NotFound, NotCaptain, TeamFull, TooManyInvitations and BaselineHasNoMembers.
    """
    found = load_team(session, caller, slug, team_id)
    require_captain(session, caller, found)
    if found.team.baseline:
        raise BaselineHasNoMembers
    require_place(found.challenge, memberships.count_members(session, team_id) + 1)
    if len(invitations.open_of_teams(session, [team_id], clock.steady(session))) >= MAX_OPEN_INVITATIONS:
        raise TooManyInvitations(f"A team has at most {MAX_OPEN_INVITATIONS} open invitations.")
    row, code = make_invitation(
        session,
        "team",
        days=days,
        challenge_id=found.challenge.id,
        team_id=team_id,
        created_by=caller.user_id,
        note=note,
    )
    record(
        session, caller, "team.invite", challenge=found.challenge, of=found.team, changes={"invitation": (None, row.id)}
    )
    return row, code


def revoke_team_invitation(session: WriteSession, caller: Caller, slug: str, team_id: str, invitation_id: str) -> None:
    """End an invitation that can still be used; for the captain and organizers; raises NotFound and NotCaptain."""
    found = load_team(session, caller, slug, team_id)
    require_captain(session, caller, found)
    row = session.get(Invitation, invitation_id)
    if row is None or row.team_id != team_id or not is_open(session, row):
        raise NotFound
    row.revoked_at = clock.now(session)
    changes = {"invitation": (row.id, None)}
    record(session, caller, "team.revoke_invitation", challenge=found.challenge, of=found.team, changes=changes)


def join_team(
    session: WriteSession, caller: Caller, challenge: Challenge, registration: Registration, code: str
) -> Team:
    """Take the user of this registration into the team that the code invites to.

    Raises InvalidInvitation, BoundToTeam and TeamFull. The lock on the challenge is held, so the last place of a team is
    given once.
    """
    invitation = use_invitation(session, code, "team", challenge_id=challenge.id)
    team = memberships.lock_team(session, invitation.team_id or "")
    if team is None or team.merged_into_id is not None:
        raise InvalidInvitation
    require_free_to_join(registration, team.id)
    require_place(challenge, memberships.count_members(session, team.id) + 1)
    enter_team(session, registration, team)
    member = registration.user_id
    changes = {"member": (None, member)}
    record(session, caller, "team.join", challenge=challenge, of=team, user_id=member, changes=changes)
    replace_idle_captain(session, team.id, caller)
    return team


def enter_team(session: WriteSession, registration: Registration, team: Team) -> None:
    """Make the user of this registration a member of the team; the caller holds the lock on the team."""
    registration.team_id, registration.bound_team_id = team.id, None
    session.add(TeamMembership(team_id=team.id, user_id=registration.user_id, joined_at=clock.now(session)))
    session.flush()
    session.expire(registration, ["team"])


def require_place(challenge: Challenge, size: int) -> None:
    """Raise TeamFull if a team of this size is larger than the challenge allows."""
    limit = challenge.team_size_limit
    if limit is not None and size > limit:
        raise TeamFull(f"The team would have {size} members; this challenge allows {limit}.", limit=limit)
