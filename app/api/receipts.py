"""Receipts of submissions, and the public keys that verify them."""

from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app import errors
from app.actions.receipts.issue_receipts import LOG_KIND
from app.actions.receipts.read_receipt import read_receipt
from app.actions.receipts.signing_keys import public_key_set
from app.actions.transparency.read_log import LogPending, LogRecordErased, NotLogged, prove_record
from app.api.dependencies import AppStateDep, CallerDep
from app.api.field_types import Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.openapi import log_examples, receipt_examples
from app.api.openapi.examples import named_examples
from app.receipts.dsse import MEDIA_TYPE

router = api_router("submissions", base="")

"""A new key is registered before it signs, so a verifier that lacks one fetches the set again."""


PROOF_TYPE = "text/plain"
Split = Annotated[
    Literal["all", "public", "private"] | None,
    Query(description="The split; the default is the one that is visible now."),
]
GoldNumber = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="The gold version; the default is the one in force.")
]

RecipeNumber = Annotated[
    int | None,
    Query(ge=1, le=2**31 - 1, description="The recipe version; the default is what is or was last in force."),
]


class KeySet(Shape):
    """A JWK set (RFC 7517)."""

    model_config = reply_example(receipt_examples.KEY_SET)

    keys: list[dict[str, Any]]


class KeySetResponse(JSONResponse):
    """A JWK set."""

    media_type = "application/jwk-set+json"


@router.get(
    "/api/v1/submissions/{submission_id}/receipt",
    summary="Read a receipt",
    response_class=Response,
    responses=success_response("The receipt, a DSSE envelope.", {MEDIA_TYPE: receipt_examples.RECEIPT_BY_NAME})
    | error_responses(
        errors.RegistrationPending,
        errors.SplitHidden,
        errors.ReceiptHidden,
        errors.NotFound,
        errors.ReceiptNotIssued,
        errors.SubmissionNotFinished,
        errors.NoGold,
    ),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_receipt(
    submission_id: str,
    caller: CallerDep,
    state: AppStateDep,
    split: Split = None,
    gold_version: GoldNumber = None,
    recipe_version: RecipeNumber = None,
) -> Response:
    """Returns the signed statement of the scores of a submission, which anybody can verify offline.

    The team and organizers get it as soon as the status is `finished`; everybody who sees the row of the submission on
    the board, and its team, gets it too. It never changes, but the versions in force may, and the default with them.
    """
    with state.db.read() as session:
        versions = {"gold_version": gold_version, "recipe_version": recipe_version}
        envelope = read_receipt(session, caller, submission_id, split=split, **versions).envelope
    return Response(envelope, media_type=MEDIA_TYPE)


@router.get(
    "/api/v1/submissions/{submission_id}/receipt/proof",
    summary="Prove that a receipt is in the log",
    response_class=Response,
    responses=success_response("The proof (C2SP tlog-proof).", {PROOF_TYPE: named_examples(proof=log_examples.PROOF)})
    | error_responses(
        errors.RegistrationPending,
        errors.SplitHidden,
        errors.ReceiptHidden,
        errors.NotFound,
        errors.ReceiptNotIssued,
        NotLogged,
        errors.SubmissionNotFinished,
        errors.NoGold,
        LogPending,
        LogRecordErased,
    ),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_receipt_proof(
    submission_id: str,
    caller: CallerDep,
    state: AppStateDep,
    split: Split = None,
    gold_version: GoldNumber = None,
    recipe_version: RecipeNumber = None,
) -> Response:
    """Returns the proof that the transparency log contains a receipt, which anybody can verify offline.

    `extra` holds the salt (32 bytes) and the record, whose `receipt_sha256` is the hash of the receipt's payload.
    SHA-256 over both is the entry of the log. A new receipt is pending for some seconds.
    """
    with state.db.read() as session:
        versions = {"gold_version": gold_version, "recipe_version": recipe_version}
        receipt = read_receipt(session, caller, submission_id, split=split, **versions)
        return PlainTextResponse(prove_record(session, receipt.id, LOG_KIND))


def _key_set(state: AppStateDep) -> Response:
    with state.db.read() as session:
        return KeySetResponse(public_key_set(session))


@router.get(
    "/api/v1/jwks.json",
    summary="Read the public keys of receipts",
    response_model=KeySet,
    responses=error_responses(),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_keys(state: AppStateDep) -> Response:
    """Returns all keys that sign or signed receipts, the newest first; `kid` is the RFC 7638 thumbprint."""
    return _key_set(state)


@router.get("/.well-known/jwks.json", include_in_schema=False)
def get_well_known_keys(state: AppStateDep) -> Response:
    """The same, where programs look for it."""
    return _key_set(state)
