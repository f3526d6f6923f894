"""Who may read and change a submission: its team, who was in the team that sent it, and organizers."""

from app import errors
from app.actions.access import (
    Caller,
    can_organize,
    organizer_role,
    require_approved_registration,
    require_may_write,
    require_not_archived,
    require_scope,
)
from app.store import locks
from app.store.queries import memberships, teams
from app.store.session import ConcurrentWrite, ReadSession, WriteSession
from app.store.tables import Challenge, Phase, Submission


def _lock_challenge(session: WriteSession, challenge: Challenge) -> None:
    """Lock the challenge of a submission, shared, and read it again, to change the submission.

    Raises NotFound if the challenge was deleted while this waited for the lock, ConcurrentWrite if it was renamed.
    Archived challenges are refused after the rights of the caller.
    """
    slug = challenge.slug
    locks.challenge(session, slug, shared=True)
    if session.get(Challenge, challenge.id, populate_existing=True) is None:
        raise errors.NotFound
    if challenge.slug != slug:
        raise ConcurrentWrite


def load_visible_submission(session: ReadSession, caller: Caller, submission_id: str) -> tuple[Submission, Phase, bool]:
    """A submission, its phase, and whether the caller sees it as an organizer.

    Raises NotFound if they may not see it, and RegistrationPending.
    """
    submission = session.get(Submission, submission_id)
    if submission is None or caller.user_id is None:
        raise errors.NotFound
    phase = session.get_one(Phase, submission.phase_id)
    role = organizer_role(session, caller, phase.challenge)
    registration = teams.registration_of(session, phase.challenge_id, caller.user_id)
    own = registration is not None and registration.team_id == submission.team_id and registration.status != "pending"
    if not (own or (can_organize(caller) and role is not None)):
        own = may_read_as_former_member(
            session, caller, submission, None if registration is None else registration.status
        )
    return submission, phase, can_read_as_organizer(caller, role, own=own)


def load_submission_to_change(
    session: WriteSession, caller: Caller, submission_id: str
) -> tuple[Submission, Phase, bool]:
    """The same, read again with the lock on the challenge: meanwhile the phase may change, or the team be merged.

    Raises ConcurrentWrite for a challenge that was renamed meanwhile. Who changes the submission locks its row after
    its tasks (lock_submission_row).
    """
    submission, phase, organizer = load_visible_submission(session, caller, submission_id)
    _lock_challenge(session, phase.challenge)
    if session.get(Submission, submission_id, populate_existing=True) is None:
        raise errors.NotFound
    return submission, session.get_one(Phase, submission.phase_id, populate_existing=True), organizer


def lock_submission_row(session: WriteSession, submission_id: str) -> Submission:
    """A submission, locked and read again; raises NotFound for one that was deleted while this waited.

    A worker may have settled it since it was read. With the stale status a change would invalidate no board.
    """
    row_lock = {"of": Submission, "key_share": True}
    submission = session.get(Submission, submission_id, populate_existing=True, with_for_update=row_lock)
    if submission is None:
        raise errors.NotFound
    return submission


def changes_as_organizer(session: ReadSession, caller: Caller, challenge: Challenge, submission: Submission) -> bool:
    """True for an organizer who may change a submission, False for a present member of its team.

    Raises Forbidden for viewers, SubmissionOfFormerTeam, what require_approved_registration raises, and
    ChallengeArchived.
    """
    require_scope(caller, "submit")
    role = organizer_role(session, caller, challenge) if can_organize(caller) else None
    if role is not None:
        require_may_write(caller, role)
    elif require_approved_registration(session, caller, challenge).team_id != submission.team_id:
        raise errors.SubmissionOfFormerTeam
    require_not_archived(challenge)
    return role is not None


def may_read_as_former_member(session: ReadSession, caller: Caller, submission: Submission, status: str | None) -> bool:
    """Whether the caller, whose registration has this status, was in the team when it sent the submission.

    What organizers sent on behalf of a team is for those who are in the team, and test entries are for organizers.
    Raises RegistrationPending if only that keeps the caller from reading it.
    """
    if caller.user_id is None or status is None or submission.on_behalf or submission.test:
        return False
    was_member = memberships.was_member_when_sent(session, submission, caller.user_id)
    if was_member and status == "pending":
        raise errors.RegistrationPending
    return was_member


def require_file_reader(session: ReadSession, caller: Caller, submission: Submission, *, organizer: bool) -> None:
    """Raise Forbidden unless the caller may have the file of a submission that they see."""
    if organizer:
        return
    if submission.on_behalf:
        raise errors.Forbidden(
            "An organizer sent this file on behalf of the team; it is for organizers alone.",
            remedy="Ask the organizers for it.",
        )
    if caller.user_id is None or not memberships.was_member_when_sent(session, submission, caller.user_id):
        raise errors.Forbidden(
            "This file was sent before you joined the team; it is for those who were in the team then.",
            remedy="Ask the member who sent it.",
        )


def can_read_as_organizer(caller: Caller, role: str | None, *, own: bool) -> bool:
    """True if the caller reads a submission as an organizer, False as a member of its team.

    Raises NotFound for all others.
    """
    if can_organize(caller) and role is not None:
        return True
    if not own:
        raise errors.NotFound
    return False
