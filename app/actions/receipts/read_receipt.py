"""Read the receipt of a submission: for whoever may read its scores, and for whoever sees its row on the board."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement

from app.actions import access
from app.actions.access import Caller
from app.actions.challenges.change_recipe import equivalent_recipe_ids
from app.actions.submissions.ladder_board import counting_for_reader
from app.actions.submissions.ladders import limits_feedback
from app.actions.submissions.score_visibility import is_board_visible, resolve_split
from app.actions.submissions.submission_access import load_visible_submission
from app.errors import NoGold, NotFound, ReceiptHidden, ReceiptNotIssued, SubmissionNotFinished
from app.store import clock
from app.store.queries import challenges, gold, receipts, submissions
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Receipt, Submission


@dataclass(frozen=True, slots=True)
class ReadableSubmission:
    """A submission whose receipts the caller may read, and whether as an organizer."""

    submission: Submission
    phase: Phase
    organizer: bool


def read_receipt(
    session: ReadSession,
    caller: Caller,
    submission_id: str,
    *,
    split: str | None = None,
    gold_version: int | None = None,
) -> Receipt:
    """The receipt of a submission, by default of the split that is shown to the caller and of the versions in force.

    Raises NotFound, RegistrationPending, SubmissionNotFinished, NoGold, SplitHidden, ReceiptHidden and
    ReceiptNotIssued.
    """
    of = readable_submission(session, caller, submission_id)
    if of.submission.status != "finished":
        raise SubmissionNotFinished(
            f"The submission is {of.submission.status}, so it has no scores and no receipt.",
            remedy="A receipt is there as soon as the status is 'finished'.",
        )
    version = _gold_version(session, of, gold_version)
    shown = resolve_split(of.phase, version, split, organizer=of.organizer)
    if limits_feedback(session, of.phase, organizer=of.organizer):
        raise ReceiptHidden("A Ladder limits feedback, so scores and their receipts are hidden until the release.")
    versions = _versions_in_force(session, of, version)
    found = receipts.find(session, of.submission.id, version.id, shown, versions=versions)
    if found is None:
        raise ReceiptNotIssued("Test entries get no receipt." if of.submission.test else ReceiptNotIssued.__doc__)
    return found


def readable_submission(session: ReadSession, caller: Caller, submission_id: str) -> ReadableSubmission:
    """The submission, if the caller may read receipts of it; raises NotFound, RegistrationPending and ReceiptHidden."""
    try:
        submission, phase, organizer = load_visible_submission(session, caller, submission_id)
        access.require_scope(caller, "read")
    except NotFound:
        row = session.get(Submission, submission_id)
        if row is None or not _is_on_visible_board(session, caller, row):
            raise NotFound from None
        return ReadableSubmission(row, session.get_one(Phase, row.phase_id), organizer=False)
    may_read = organizer or "scores" in phase.reports or _is_on_visible_board(session, caller, submission)
    if not may_read:
        raise ReceiptHidden("This phase shows its participants no scores, so they get no receipts.")
    return ReadableSubmission(submission, phase, organizer)


def _is_on_visible_board(session: ReadSession, caller: Caller, submission: Submission) -> bool:
    """Whether the caller, who is in no team of it, sees the row of this submission with its team on the board.

    An anonymous board hides the id of the team, which the receipt has. A receipt lists the classes, which are hidden
    until the phase opens.
    """
    phase, now = session.get_one(Phase, submission.phase_id), clock.now(session)
    try:
        access.load_visible_phase(session, caller, phase.challenge.slug, phase.slug)
    except NotFound:
        return False
    if submission.status != "finished" or submission.test or submission.withdrawn_at or submission.disqualified_at:
        return False
    if phase.anonymous or now < phase.opens_at or not is_board_visible(phase, now, organizer=False):
        return False
    if _waits_for_scores(session, phase) or limits_feedback(session, phase, organizer=False):
        return False
    counting = counting_for_reader(session, phase.id, [submission.team_id], organizer=False)
    return submission.baseline or submission.id in counting


def _waits_for_scores(session: ReadSession, phase: Phase) -> bool:
    """Whether a board that is shown after the close waits until all of its submissions are scored."""
    if phase.leaderboard != "after_close" or phase.closes_at is None:
        return False
    return submissions.count_unsettled(session, phase.id, phase.closes_at) > 0


def _gold_version(session: ReadSession, of: ReadableSubmission, number: int | None) -> GoldVersion:
    """The version in force, or the one with this number; others than organizers read those that were in force."""
    version = gold.active(session, of.phase.id) if number is None else gold.by_version(session, of.phase.id, number)
    if version is None and number is None:
        raise NoGold
    if version is None or not (of.organizer or version.status in {"active", "retired"}):
        raise NotFound(f"The phase has no gold version {number}.")
    return version


def _versions_in_force(
    session: ReadSession, of: ReadableSubmission, version: GoldVersion
) -> ColumnElement[bool] | None:
    """Which recipes and scorer versions the receipt may be of: for gold in force those in force with it."""
    if version.status == "active":
        recipe = challenges.active_recipe(session, of.phase)
        return receipts.computed_by(equivalent_recipe_ids(session, recipe), of.phase.scorer_version)
    return None if of.organizer else receipts.computed_before(of.phase.scorer_version)
