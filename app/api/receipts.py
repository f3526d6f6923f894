"""Receipts of submissions, and the public keys that verify them."""

from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.responses import JSONResponse, Response

from app import errors
from app.actions.receipts.read_receipt import read_receipt
from app.actions.receipts.signing_keys import public_key_set
from app.api.dependencies import AppStateDep, CallerDep
from app.api.field_types import Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.openapi import receipt_examples
from app.receipts.dsse import MEDIA_TYPE

router = api_router("submissions", base="")

KEYS_CACHE_CONTROL = "public, max-age=300"
"""A new key is registered before it signs, so a verifier that lacks one fetches the set again."""


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
    split: Annotated[
        Literal["all", "public", "private"] | None,
        Query(description="The split; the default is the one that is visible now."),
    ] = None,
    gold_version: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="The gold version; the default is the one in force.")
    ] = None,
) -> Response:
    """Returns the signed statement of the scores of a submission, which anybody can verify offline.

    The team and organizers get it as soon as the status is `finished`; everybody who sees the row of the submission on
    the board, and its team, gets it too. It never changes, but the versions in force may, and the default with them.
    """
    with state.db.read() as session:
        envelope = read_receipt(session, caller, submission_id, split=split, gold_version=gold_version).envelope
    return Response(envelope, media_type=MEDIA_TYPE)


def _key_set(state: AppStateDep) -> Response:
    with state.db.read() as session:
        return KeySetResponse(public_key_set(session), headers={"Cache-Control": KEYS_CACHE_CONTROL})


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
