"""Which submission counts for the caller's team now."""

from app.actions.access import Caller, load_visible_phase
from app.actions.submissions.board_scores import counting_submissions
from app.actions.submissions.read_submissions import SubmissionView, own_team_id, read_submission
from app.store.session import ReadSession


def read_counting_submission(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> SubmissionView | None:
    """The submission of the caller's team that counts in a phase; None if none does, or if the caller may not know.

    Raises NotFound, NotRegistered, RegistrationPending and NoTeam.
    """
    phase = load_visible_phase(session, caller, slug, phase_slug)
    views = [
        read_submission(session, caller, submission_id)
        for submission_id in counting_submissions(session, phase.id, [own_team_id(session, caller, phase)])
    ]
    return next((view for view in views if view.knows_choice), None)
