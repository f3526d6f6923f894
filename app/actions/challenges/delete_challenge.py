"""Delete a challenge: by an owner while nothing was submitted, afterwards by an administrator who confirms the slug."""

from app.actions.access import Caller, load_visible_challenge, require_owner
from app.actions.audit.record import record
from app.errors import BadRequest, ChallengeInUse
from app.store import clock, locks
from app.store.queries import challenge_files, challenges, gold, registration_rules, submissions, tasks
from app.store.session import WriteSession
from app.store.tables import Challenge, FormerChallengeSlug, Organizer


def delete_challenge(session: WriteSession, caller: Caller, slug: str, *, confirm: str | None = None) -> list[str]:
    """Delete a challenge with everything in it; the audit trail keeps its record.

    Drafts, and challenges to which nothing was submitted except for tests, by an owner; others by an administrator
    whose `confirm` is the slug. Returns the keys of files that the caller deletes; those of other submissions, which
    may be many, are left to the sweep. A slug under which somebody submitted, or a former one, stays taken. Raises
    ChallengeInUse, and BadRequest for another slug.

    The line of copies and accounts are locked, as another challenge of the line gets organizers. Then tasks are, in the
    order that workers lock them: a task before its submission.
    """
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge, archived=True)
    if confirm is not None and confirm != challenge.slug:
        raise BadRequest(f"'confirm' is not the slug of the challenge, which is '{challenge.slug}'.")
    phases = challenges.phases_of(session, challenge.id)
    in_use = challenge.status != "draft" and any(challenges.has_submissions(session, phase.id) for phase in phases)
    if in_use and not (caller.has_admin_rights and confirm is not None):
        raise ChallengeInUse
    locks.copies(session, registration_rules.line_of(challenge))
    locks.accounts(session)
    tasks.lock_phase_tasks(session, [phase.id for phase in phases])
    keys = [row.file_key for row in challenge_files.of_challenge(session, challenge.id)]
    for phase in phases:
        keys += [version.file_key for version in gold.versions(session, phase.id)]
        if not in_use:
            keys += [row.file_key for row in session.scalars(submissions.phase_submissions(phase.id))]
    changes = {"title": (challenge.title, None), "status": (challenge.status, None)}
    record(session, caller, "challenge.delete", challenge=challenge, of=challenge, changes=changes)
    _keep_readers_of_gold(session, challenge)
    for phase in phases:
        session.delete(phase)
    session.flush()  # submissions go with their phases, before the teams to which they refer
    session.delete(challenge)
    if in_use:
        session.add(FormerChallengeSlug(slug=challenge.slug, challenge_id=None))
    session.flush()
    return keys


def _keep_readers_of_gold(session: WriteSession, challenge: Challenge) -> None:
    """Let another challenge of the line of copies remember who could read this gold, which is also its own."""
    heir = registration_rules.another_in_line(session, challenge)
    if heir is None:
        return
    for row in registration_rules.readers_of_gold(session, challenge):
        if session.get(Organizer, (heir.id, row.user_id)) is None:
            ended = row.removed_at or clock.now(session)
            session.add(Organizer(challenge_id=heir.id, user_id=row.user_id, role=row.role, removed_at=ended))
    session.flush()
