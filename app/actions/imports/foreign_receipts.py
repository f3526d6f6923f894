"""Read the receipts that came with an imported submission: under the same rules as its own receipts."""

from dataclasses import dataclass

from app.actions.access import Caller
from app.actions.challenges.change_recipe import equivalent_recipe_ids
from app.actions.receipts.read_receipt import ReadableSubmission, readable_submission
from app.actions.submissions.ladders import limits_feedback
from app.actions.submissions.score_visibility import resolve_split
from app.errors import NotFound, ReceiptHidden, SplitHidden
from app.store.queries import challenges, imports
from app.store.session import ReadSession
from app.store.tables import ForeignReceipt, GoldVersion, PhaseImport, Recipe


@dataclass(frozen=True, slots=True)
class ForeignEvidence:
    """The receipts of another installation about a submission that was imported from there."""

    origin_id: str
    imported: PhaseImport
    receipts: list[tuple[ForeignReceipt, GoldVersion, Recipe]]


def read_foreign_receipts(session: ReadSession, caller: Caller, submission_id: str) -> ForeignEvidence:
    """The foreign receipts that the caller may read; raises NotFound, RegistrationPending and ReceiptHidden.

    They disclose scores, so those of a hidden split or of versions that are not in force are left out.
    """
    of = readable_submission(session, caller, submission_id)
    found = imports.origin_of(session, "submission", of.submission.id)
    if found is None:
        raise NotFound("The submission was not imported, so it has no receipts of another installation.")
    if limits_feedback(session, of.phase, organizer=of.organizer):
        raise ReceiptHidden("A Ladder limits feedback, so scores and their receipts are hidden until the release.")
    in_force = equivalent_recipe_ids(session, challenges.active_recipe(session, of.phase))
    rows = imports.foreign_receipts(session, of.submission.id)
    shown = [row for row in rows if _is_shown(of, *row, in_force=in_force)]
    return ForeignEvidence(found[0].origin_id, found[1], shown)


def _is_shown(
    of: ReadableSubmission, receipt: ForeignReceipt, gold: GoldVersion, recipe: Recipe, *, in_force: list[str]
) -> bool:
    if of.organizer:
        return True
    if gold.status == "active":
        if recipe.id not in in_force or receipt.scorer_version != of.phase.scorer_version:
            return False
    elif gold.status != "retired" or recipe.status == "draft" or receipt.scorer_version > of.phase.scorer_version:
        return False
    try:
        resolve_split(of.phase, gold, receipt.split, organizer=False)
    except SplitHidden:
        return False
    return True
