"""List, add and remove the organizers of a challenge, and list the roles of a user."""

from app.actions.access import (
    Caller,
    can_organize,
    load_organized_challenge,
    load_visible_challenge,
    require_organizer,
    require_owner,
    require_scope,
)
from app.actions.audit.record import record
from app.errors import LastOwner, NotFound, StillRegistered
from app.store import clock, locks
from app.store.queries import challenges, paging, registration_rules, users
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Organizer


def list_organizers(session: ReadSession, caller: Caller, slug: str) -> list[Organizer]:
    """The organizers of the challenge; for its organizers."""
    return challenges.organizers_of(session, load_organized_challenge(session, caller, slug, writes=False).id)


def list_own_roles(
    session: ReadSession, caller: Caller, *, limit: int, cursor: str | None
) -> tuple[list[tuple[Challenge, str]], str | None]:
    """The challenges that the caller organizes with the caller's role, newest first, and the next cursor.

    A token without the scope to organize has no role.
    """
    user_id = require_scope(caller, "read")
    if not can_organize(caller):
        return [], None
    query = challenges.organized_by(user_id)
    rows, following = paging.page(session, query, Challenge, limit=limit, cursor=cursor)
    roles = {each.challenge_id: each.role for each in challenges.roles_of_user(session, user_id)}
    return [(row, roles[row.id]) for row in rows], following


def set_organizer_role(session: WriteSession, caller: Caller, slug: str, *, email: str, role: str) -> Organizer:
    """Give a user a role or change it; raises NotFound for an unknown address, StillRegistered, LastOwner."""
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge)
    user = users.by_email(session, email)
    if user is None:
        raise NotFound(f"There is no account with the address {email}.", remedy="Ask them to sign up first.")
    locks.copies(session, registration_rules.line_of(challenge))
    locks.accounts(session)
    competes_in = registration_rules.competes_for_gold(session, challenge, user.id)
    if competes_in is not None:
        where = (
            "this challenge, and so may not read its gold" if competes_in == slug else "a challenge with the same gold"
        )
        raise StillRegistered(f"{email} is registered for {where}.")
    organizer = session.get(Organizer, (challenge.id, user.id))
    before = None if organizer is None or organizer.removed_at is not None else organizer.role
    if organizer is None:
        organizer = Organizer(challenge_id=challenge.id, user_id=user.id, role=role, user=user)
        session.add(organizer)
    elif before == "owner" and role != "owner":
        _require_another_owner(session, challenge, user.id)
    organizer.role, organizer.removed_at = role, None
    if before != role:
        changes = {"role": (before, role)}
        record(session, caller, "organizer.set_role", challenge=challenge, of=user, changes=changes)
    session.flush()
    return organizer


def remove_organizer(session: WriteSession, caller: Caller, slug: str, email: str) -> None:
    """Remove the role of a user, as an owner, or one's own; raises NotFound, LastOwner."""
    challenge = load_visible_challenge(session, caller, slug)
    user = users.by_email(session, email)
    if user is not None and user.id == caller.user_id:
        require_organizer(session, caller, challenge, writes=False)
    else:
        require_owner(session, caller, challenge)
    locks.accounts(session)
    organizer = session.get(Organizer, (challenge.id, user.id)) if user is not None else None
    if organizer is None or organizer.removed_at is not None:
        raise NotFound(f"{email} does not organize this challenge.")
    if organizer.role == "owner":
        _require_another_owner(session, challenge, organizer.user_id)
    changes = {"role": (organizer.role, None)}
    record(session, caller, "organizer.remove", challenge=challenge, of=user, changes=changes)
    organizer.removed_at = clock.now(session)


def _require_another_owner(session: ReadSession, challenge: Challenge, user_id: str) -> None:
    """Raise LastOwner unless somebody else owns the challenge who can act: with an account that is not disabled."""
    organizers = challenges.organizers_of(session, challenge.id)
    others = [row for row in organizers if row.role == "owner" and row.user_id != user_id]
    if all(row.user.disabled_at is not None for row in others):
        raise LastOwner
