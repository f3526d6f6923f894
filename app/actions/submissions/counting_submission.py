"""Which submission counts for the caller's team now."""

from app.actions.access import Caller, is_organizer, load_visible_phase
from app.actions.submissions.ladder_board import counting_for_reader
from app.actions.submissions.read_submissions import SubmissionView, own_team_id, read_submission
from app.store.session import ReadSession


def read_counting_submission(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> SubmissionView | None:
    """The submission of the caller's team that counts in a phase; None if none does, or if the caller may not know.

    Raises NotFound, NotRegistered, RegistrationPending and NoTeam.
    """
    phase = load_visible_phase(session, caller, slug, phase_slug)
    organizer = is_organizer(session, caller, phase.challenge)
    team = own_team_id(session, caller, phase)
    views = [
        read_submission(session, caller, submission_id)
        for submission_id in counting_for_reader(session, phase.id, [team], organizer=organizer)
    ]
    return next((view for view in views if view.knows_choice), None)
