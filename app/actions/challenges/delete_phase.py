"""Delete a phase to which nothing was submitted."""

from app.actions.access import Caller, load_organized_phase
from app.actions.audit.record import record
from app.errors import OnlyPhase, PhaseInUse
from app.store.queries import challenges, gold, submissions, tasks
from app.store.session import WriteSession


def delete_phase(session: WriteSession, caller: Caller, slug: str, phase_slug: str) -> list[str]:
    """Delete a phase with its gold and test entries; returns the keys of its files, which the caller deletes.

    Raises PhaseInUse and OnlyPhase. Tasks are locked first, in the order that workers lock them: a task before its
    submission.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    if challenges.has_submissions(session, phase.id):
        raise PhaseInUse
    if len(challenges.phases_of(session, phase.challenge_id)) == 1:
        raise OnlyPhase
    tasks.lock_phase_tasks(session, [phase.id])
    keys = [version.file_key for version in gold.versions(session, phase.id)]
    keys += [row.file_key for row in session.scalars(submissions.phase_submissions(phase.id))]
    record(session, caller, "phase.delete", challenge=phase.challenge, of=phase)
    own = challenges.own_recipe(session, phase.id)
    if own is not None:
        own.status = "retired"
    session.delete(phase)
    session.flush()
    return keys
