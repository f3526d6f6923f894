"""Read the receipt of a submission: for whoever may read its scores, and for whoever sees its row on the board."""

from dataclasses import dataclass
from itertools import zip_longest

from sqlalchemy import ColumnElement, and_, false, or_, true

from app.actions import access
from app.actions.access import Caller
from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.submissions.ladder_board import counting_for_reader
from app.actions.submissions.ladders import limits_feedback
from app.actions.submissions.score_visibility import is_board_visible, resolve_split
from app.actions.submissions.submission_access import load_visible_submission
from app.errors import InsufficientScope, NoGold, NotFound, ReceiptHidden, ReceiptNotIssued, SubmissionNotFinished
from app.store import clock
from app.store.queries import board_history, challenges, gold, receipts, submissions
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Receipt, Recipe, Submission


@dataclass(frozen=True, slots=True)
class ReadableSubmission:
    """A submission whose receipts the caller may read."""

    submission: Submission
    phase: Phase
    organizer: bool
    own: bool
    """Whether the caller is in the team that made it, or organizes the challenge."""


def read_receipt(
    session: ReadSession,
    caller: Caller,
    submission_id: str,
    *,
    split: str | None = None,
    gold_version: int | None = None,
    recipe_version: int | None = None,
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
    versions = _wanted_versions(session, of, version, recipe_version)
    found = receipts.find(session, of.submission.id, version.id, shown, versions=versions)
    if found is None:
        raise ReceiptNotIssued(_why_none(of, version))
    _require_disclosed(session, of, found)
    return found


def _why_none(of: ReadableSubmission, version: GoldVersion) -> str | None:
    if of.submission.test:
        return "Test entries get no receipt."
    if version.status == "retired" and not of.organizer:
        return f"No board by gold version {version.version} had this submission with a receipt."
    return ReceiptNotIssued.__doc__


def readable_submission(session: ReadSession, caller: Caller, submission_id: str) -> ReadableSubmission:
    """The submission, if the caller may read receipts of it; raises NotFound, RegistrationPending and ReceiptHidden."""
    try:
        submission, phase, organizer = load_visible_submission(session, caller, submission_id)
        access.require_scope(caller, "read")
    except (NotFound, InsufficientScope):
        row = session.get(Submission, submission_id)
        if row is None or not _is_on_visible_board(session, caller, row):
            raise
        return ReadableSubmission(row, session.get_one(Phase, row.phase_id), organizer=False, own=False)
    may_read = organizer or "scores" in phase.reports or _is_on_visible_board(session, caller, submission)
    if not may_read:
        raise ReceiptHidden("This phase shows its participants no scores, so they get no receipts.")
    return ReadableSubmission(submission, phase, organizer, own=True)


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


def _wanted_versions(
    session: ReadSession, of: ReadableSubmission, version: GoldVersion, recipe_version: int | None
) -> ColumnElement[bool] | None:
    """Which recipes and scorer versions the receipt may be of; None for all.

    By default, for gold in force those in force with it. Others than organizers read receipts of former versions only
    by what was on a board: there are also receipts of scores that organizers computed for a preview.
    """
    if recipe_version is None and version.status == "active":
        recipe = challenges.active_recipe(session, of.phase)
        return receipts.computed_by(equivalent_recipe_ids(session, recipe), of.phase.scorer_version)
    named = None if recipe_version is None else receipts.by_recipe_version(recipe_version)
    if of.organizer:
        return named
    done = board_history.switches_done(session, of.phase.id)
    ends = [following.at for following in done[1:]]
    shown = [
        receipts.computed_by(equivalent_recipe_ids(session, switch.version.recipe), switch.version.scorer_version)
        for switch, end in zip_longest(done, ends)
        if switch.version.gold.id == version.id and (end is None or of.submission.submitted_at <= end)
    ]
    return and_(or_(false(), *shown), true() if named is None else named)


def _require_disclosed(session: ReadSession, of: ReadableSubmission, receipt: Receipt) -> None:
    """Raise ReceiptHidden if the receipt states more digits than the board, unless the team was shown these before."""
    if of.organizer or (of.own and "scores" in of.phase.reports):
        return
    recipes = (session.get_one(Recipe, receipt.recipe_id), challenges.active_recipe(session, of.phase))
    stated, shown = (parse_stored_recipe(of.phase, recipe).digits for recipe in recipes)
    if shown is not None and (stated is None or stated > shown):
        raise ReceiptHidden("The receipt states its scores with more digits than the board shows now.")
