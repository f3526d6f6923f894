"""Delete an account: what it sent stays under a pseudonym, and nothing else of the person."""

from app.actions.access import Caller, require_scope
from app.actions.audit.record import record
from app.actions.teams.leave_team import end_offers
from app.actions.teams.pass_on_captaincy import can_lead, pass_on_captaincy
from app.errors import LastAdministrator, LastOwner, Unauthorized
from app.store import board_invalidation, clock, locks
from app.store.queries import account_access, challenges, log_records, memberships, teams, users
from app.store.session import WriteSession
from app.store.tables import Challenge, User
from app.text.email_addresses import DELETED_DOMAIN


def delete_own_account(session: WriteSession, caller: Caller, *, verified_hash: str) -> None:
    """Delete the caller's account after its password was verified; raises LastOwner, LastAdministrator, Unauthorized."""
    user_id = require_scope(caller, "read")
    locks.accounts(session)
    user = session.get(User, user_id, with_for_update={"key_share": True})
    if user is None or user.password_hash != verified_hash:
        raise Unauthorized("The password was changed meanwhile; log in again.")
    if user.admin and not users.other_administrators(session, user.id):
        raise LastAdministrator
    delete_user(session, caller, user)


def delete_user(session: WriteSession, caller: Caller, user: User) -> None:
    """Replace the name by a pseudonym, and delete address, password, access, and answers given at registrations.

    The caller holds the lock on accounts and has locked the row of the user. Submissions stay, because standings would
    change without them. Roles as an organizer end. The transparency log forgets what its entries about this person stand for. Raises LastOwner with the challenges that would have no owner.
    """
    alone = challenges.owned_alone(session, user.id)
    if alone:
        slugs = ", ".join(alone)
        detail = f"The account is the only owner of {slugs}."
        raise LastOwner(detail, remedy="Make another organizer an owner of each, or delete the challenges.")
    now = clock.now(session)
    record(session, caller, "user.delete", challenge=None, of=user)
    account_access.delete_access(session, user.id)
    memberships.lock_teams_of(session, user.id)  # before registrations, as everywhere
    for registration in teams.registrations_of_user(session, user.id):
        registration.fields = {}
        board_invalidation.invalidate(session, board_invalidation.challenge_tag(registration.challenge_id))
    for organizer in challenges.roles_of_user(session, user.id):
        challenge, changes = session.get_one(Challenge, organizer.challenge_id), {"role": (organizer.role, None)}
        record(session, caller, "organizer.remove", challenge=challenge, of=user, changes=changes)
        organizer.removed_at = now
    user.name, user.email = f"Deleted user {user.id[-6:]}", f"deleted-{user.id}@{DELETED_DOMAIN}"
    user.password_hash, user.disabled_reason = None, None
    user.admin = user.approved = False
    user.deleted_at = now
    user.disabled_at = user.disabled_at or now
    session.flush()
    for team in pass_on_captaincy(session, user.id, caller=caller):
        if not any(map(can_lead, memberships.members_of(session, team.id))):
            end_offers(session, team)
    session.flush()
    log_records.erase_of_person(session, user.id)
