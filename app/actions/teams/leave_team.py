"""Leave a team, remove a member, end a registration, and allow a user to join another team."""

from app.actions.access import (
    Caller,
    is_organizer,
    load_organized_challenge,
    load_team,
    load_visible_challenge,
    require_captain,
    require_not_archived,
    require_scope,
)
from app.actions.audit.record import record
from app.actions.teams.pass_on_captaincy import pass_on_captaincy
from app.errors import BadRequest, Forbidden, NotFound, RegistrationBarred
from app.store import clock
from app.store.queries import invitations, memberships, team_merges, teams
from app.store.session import WriteSession
from app.store.tables import Challenge, Registration, Team


def remove_member(session: WriteSession, caller: Caller, slug: str, team_id: str, user_id: str) -> Registration:
    """Leave the team (one's own id), or remove another member, as its captain or, with a reason, as an organizer.

    The registration stays, so the user may found or join another team, unless this one had used quota. Raises NotFound,
    NotCaptain, RegistrationBarred for a barred user who would leave, and BadRequest for an organizer without a reason.
    """
    found = load_team(session, caller, slug, team_id)
    own = user_id == caller.user_id and found.registration is not None
    if own:
        require_scope(caller, "submit")
        require_not_archived(found.challenge)
    elif require_captain(session, caller, found) and not caller.reason:
        raise BadRequest("Say why: ?reason=TEXT.", remedy="The reason is kept in the audit trail.")
    registration = found.registration if own else teams.registration_of(session, found.challenge.id, user_id)
    if registration is None or registration.team_id != team_id:
        raise NotFound
    if own and registration.status == "barred":
        raise RegistrationBarred("You are barred, so you cannot leave the team.", reason=registration.reason)
    action = "team.leave" if own else "team.remove"
    _end_membership(session, caller, registration, action=action)
    return registration


def end_registration(session: WriteSession, caller: Caller, slug: str, registration_id: str) -> None:
    """End the caller's own registration and leave the team; raises NotFound, Forbidden and RegistrationBarred."""
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "submit")
    registration = session.get(Registration, registration_id, populate_existing=True)
    if registration is None or registration.challenge_id != challenge.id:
        raise NotFound
    if registration.user_id != user_id:
        if not is_organizer(session, caller, challenge):
            raise NotFound
        raise Forbidden("Only the user may end a registration.", remedy="Organizers can bar it, with a reason.")
    require_not_archived(challenge)
    if registration.status == "barred":
        raise RegistrationBarred("You are barred, so you cannot end the registration.", reason=registration.reason)
    if registration.status == "ended":
        return
    if registration.team_id is not None:
        _end_membership(session, caller, registration, action="team.leave")
    changes = {"status": (registration.status, "ended")}
    record(session, caller, "registration.end", challenge=challenge, of=registration, changes=changes)
    registration.status = "ended"
    session.flush()


def allow_to_join(session: WriteSession, caller: Caller, slug: str, registration_id: str) -> Registration:
    """Let a user who left a team that had used quota found or join another one; for organizers.

    Raises NotFound and Forbidden. Nothing changes for a user who is bound to no team.
    """
    challenge = load_organized_challenge(session, caller, slug)
    registration = session.get(Registration, registration_id, populate_existing=True)
    if registration is None or registration.challenge_id != challenge.id:
        raise NotFound
    if registration.bound_team_id is not None:
        changes = {"bound_team": (registration.bound_team_id, None)}
        action = "registration.may_join"
        record(session, caller, action, challenge=challenge, of=registration, changes=changes)
        registration.bound_team_id = None
        session.flush()
    return registration


def _end_membership(session: WriteSession, caller: Caller, registration: Registration, *, action: str) -> None:
    team = memberships.lock_team(session, registration.team_id or "")
    assert team is not None
    challenge = session.get_one(Challenge, team.challenge_id)
    member = registration.user_id
    changes = {"member": (member, None)}
    record(session, caller, action, challenge=challenge, of=team, user_id=member, changes=changes)
    registration.bound_team_id = team.id if memberships.has_used_quota(session, team.id) else None
    registration.team_id = None
    memberships.end_stay(session, team.id, registration.user_id, clock.now(session))
    session.flush()
    session.expire(registration, ["team"])
    pass_on_captaincy(session, registration.user_id, caller=caller, challenge_id=challenge.id)
    if team.captain_id is None:
        end_offers(session, team)


def end_offers(session: WriteSession, team: Team) -> None:
    """Revoke the invitations of a team that nobody leads any more, and withdraw its proposals to merge."""
    now = clock.now(session)
    for invitation in invitations.open_of_teams(session, [team.id], clock.steady(session)):
        invitation.revoked_at = now
    for proposal in team_merges.open_proposals(session, [team.id]):
        proposal.merge.withdrawn_at = now
    session.flush()
