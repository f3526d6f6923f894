"""Quotas: what a team may still submit, with the ledger behind it."""

from typing import Literal

from pydantic import Field

from app import errors
from app.actions.submissions.read_quota import read_quota
from app.api.dependencies import AccountDep, AppStateDep
from app.api.field_types import Moment, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import examples

router = api_router("submissions")


class LedgerEntry(Shape):
    """An entry of the quota ledger."""

    submission_id: str
    kind: Literal["reserve", "charge", "refund"]
    day: str
    reason: str
    created_at: Moment


class QuotaShape(Shape):
    """The quota of a team in a phase."""

    model_config = reply_example(examples.QUOTA)

    limits: dict[str, int | None] = Field(examples=[{"per_day": 10, "total": None}])
    used: dict[str, int]
    remaining: dict[str, int | None]
    reset_at: Moment = Field(description="When the next day begins in the time zone of the challenge.")
    ledger: list[LedgerEntry] = Field(description="The newest entries first, at most 200.")


@router.get(
    "/challenges/{slug}/phases/{phase}/quota",
    summary="Read my team's quota",
    responses=error_responses(errors.NotRegistered, errors.NotFound),
)
def get_quota(slug: str, phase: str, caller: AccountDep, state: AppStateDep) -> QuotaShape:
    """Returns the limits of your team, what it has used, what remains, and the ledger that explains the numbers."""
    with state.db.read() as session:
        return QuotaShape.model_validate(read_quota(session, caller, slug, phase))
