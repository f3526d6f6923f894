"""List, edit and delete challenges, and manage their organizers."""

from collections.abc import Mapping
from typing import Any

from app.actions import access
from app.actions.access import Caller, load_organized_challenge, load_visible_challenge, require_owner
from app.actions.challenges.create_challenge import timezone_faults
from app.errors import ChallengeNotDraft, InvalidRequest, LastOwner, NotFound
from app.store.queries import challenges, gold, paging, submissions, tasks, users
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Organizer


def list_challenges(
    session: ReadSession, caller: Caller, *, limit: int, cursor: str | None
) -> tuple[list[Challenge], str | None]:
    """The challenges that the caller may see, newest first."""
    roles = {"organizes": access.can_organize(caller), "joins": access.can_read_or_submit(caller)}
    query = challenges.visible_to(caller.user_id, admin=caller.has_admin_rights, **roles)
    return paging.page(session, query, Challenge, limit=limit, cursor=cursor)


def edit_challenge(session: WriteSession, caller: Caller, slug: str, changes: Mapping[str, Any]) -> Challenge:
    """Change title, description, visibility, registration or time zone, or publish a draft."""
    challenge = load_organized_challenge(session, caller, slug)
    faults = timezone_faults(changes.get("timezone", challenge.timezone))
    if faults:
        raise InvalidRequest(f"timezone {faults[0]['detail']}.", errors=faults)
    for name, value in changes.items():
        if name == "draft":
            _publish(challenge, draft=value)
        else:
            setattr(challenge, name, value)
    session.flush()
    return challenge


def _publish(challenge: Challenge, *, draft: bool) -> None:
    if draft and challenge.status == "published":
        errors = [{"pointer": "/draft", "detail": "the challenge is already published"}]
        remedy = "Set visibility to 'private' to hide it."
        raise InvalidRequest("A published challenge cannot become a draft again.", remedy=remedy, errors=errors)
    challenge.status = "draft" if draft else "published"


def delete_challenge(session: WriteSession, caller: Caller, slug: str) -> list[str]:
    """Delete a draft and return the keys of its files, which the caller deletes; raises ChallengeNotDraft.

    Tasks are locked first, in the order that workers lock them: a task before its submission.
    """
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge)
    if challenge.status != "draft":
        raise ChallengeNotDraft
    phases = challenges.phases_of(session, challenge.id)
    tasks.lock_phase_tasks(session, [phase.id for phase in phases])
    keys = []
    for phase in phases:
        keys += [version.file_key for version in gold.versions(session, phase.id)]
        keys += [row.file_key for row in session.scalars(submissions.phase_submissions(phase.id))]
    session.delete(challenge)
    return keys


def list_organizers(session: ReadSession, caller: Caller, slug: str) -> list[Organizer]:
    """The organizers of the challenge; for its organizers."""
    return challenges.organizers_of(session, load_organized_challenge(session, caller, slug, writes=False).id)


def set_organizer_role(session: WriteSession, caller: Caller, slug: str, *, email: str, role: str) -> Organizer:
    """Give a user a role or change it; raises NotFound for an unknown address, LastOwner."""
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge)
    user = users.by_email(session, email)
    if user is None:
        raise NotFound(f"There is no account with the address {email}.", remedy="Ask them to sign up first.")
    organizer = session.get(Organizer, (challenge.id, user.id))
    if organizer is None:
        organizer = Organizer(challenge_id=challenge.id, user_id=user.id, role=role, user=user)
        session.add(organizer)
    elif organizer.role == "owner" and role != "owner":
        _require_another_owner(session, challenge, user.id)
    organizer.role = role
    session.flush()
    return organizer


def remove_organizer(session: WriteSession, caller: Caller, slug: str, email: str) -> None:
    """Remove the role of a user; raises NotFound, LastOwner."""
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge)
    user = users.by_email(session, email)
    organizer = session.get(Organizer, (challenge.id, user.id)) if user is not None else None
    if organizer is None:
        raise NotFound(f"{email} does not organize this challenge.")
    if organizer.role == "owner":
        _require_another_owner(session, challenge, organizer.user_id)
    session.delete(organizer)


def _require_another_owner(session: ReadSession, challenge: Challenge, user_id: str) -> None:
    owners = [row for row in challenges.organizers_of(session, challenge.id) if row.role == "owner"]
    if all(row.user_id == user_id for row in owners):
        raise LastOwner
