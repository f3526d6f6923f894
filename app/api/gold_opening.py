"""The opening of the commitment to a gold version: what lets everybody check it once the gold is published."""

from app import errors
from app.actions.challenges.upload_gold import open_commitment
from app.actions.receipts.gold_commitments import ensure_commitment
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.api.dependencies import AccountDep, AppStateDep
from app.api.field_types import Shape, reply_example
from app.api.gold import VersionNumber
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import receipt_examples
from app.receipts.statement import COMMITMENT_ALGORITHM

router = api_router("gold", prefix="/challenges/{slug}/phases/{phase}/gold")


class GoldOpening(Shape):
    """The secret key of a commitment, to be published together with the gold."""

    model_config = reply_example(receipt_examples.OPENING)

    gold_version: int
    algorithm: str
    nonce: str
    commitment: str


@router.get(
    "/{version}/opening",
    summary="Open the commitment to a gold version",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.OpeningUnavailable),
)
def get_opening(slug: str, phase: str, version: VersionNumber, caller: AccountDep, state: AppStateDep) -> GoldOpening:
    """Returns the nonce of the commitment that receipts name. The audit trail shows who read it.

    Publish it with the gold and its metadata, never before: with the nonce, whoever guesses the whole gold can tell that
    the guess is right.
    """
    with state.db.write() as session:
        row = open_commitment(session, caller, slug, phase, version)
        reference, nonce, commitment = gold_reference(row), row.nonce, row.commitment
    if commitment is None:
        commitment = ensure_commitment(state.db, state.files, state.gold_readers.processes, reference)
    if commitment is None:
        raise errors.OpeningUnavailable
    return GoldOpening(gold_version=version, algorithm=COMMITMENT_ALGORITHM, nonce=nonce, commitment=commitment)
