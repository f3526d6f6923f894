"""Quotas: what a team may still submit, with the ledger behind it, and what organizers grant."""

from typing import Annotated, Literal, Self

from fastapi import Query
from pydantic import BeforeValidator, Field, model_validator

from app import errors
from app.actions.submissions.read_quota import QuotaState, grant_quota, read_quota
from app.actions.submissions.score_visibility import round_for_participants
from app.api.dependencies import AccountDep, AppStateDep, OrganizerDep
from app.api.field_types import Body, Moment, Reason, Shape, TeamName, reply_example, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import quota_examples
from app.text.given_times import in_zone

router = api_router("submissions")

GrantedNumber = Annotated[int, Field(ge=-(10**9), le=10**9, strict=True)]


class LedgerEntry(Shape):
    """An entry of the quota ledger."""

    submission_id: str
    kind: Literal["reserve", "charge", "refund"]
    day: str
    reason: str
    created_at: Annotated[Moment, BeforeValidator(round_for_participants)] = Field(
        description="Rounded up to 100 ms: charges and refunds are made when scoring has ended."
    )


class GrantShape(Shape):
    """What organizers added to the limits of a team; negative numbers reduce them."""

    per_day: int
    total: int
    reason: str
    created_at: Moment


class QuotaShape(Shape):
    """The quota of a team in a phase."""

    model_config = reply_example(quota_examples.QUOTA)

    limits: dict[str, int | None] = Field(
        description="The limits of the phase with what was granted to the team.",
        examples=[{"per_day": 10, "total": None}],
    )
    used: dict[str, int]
    remaining: dict[str, int | None]
    reset_at: Moment = Field(description="When the next day begins in the time zone of the challenge.")
    reset_at_local: str = Field(description="The same time in that zone.")
    timezone: str = Field(description="The time zone of the challenge.")
    grants: list[GrantShape] = Field(description="The newest grants first, at most 200.")
    ledger: list[LedgerEntry] = Field(description="The newest entries first, at most 200.")


class NewGrant(Body):
    """What to add to the limits of one team."""

    model_config = request_example(
        team="Blue", total=2, reason="Two entries were lost to an outage of our own service."
    )

    team: TeamName = Field(description="The name or the id of the team.", examples=["Blue"])
    per_day: GrantedNumber | None = Field(None, description="Added to the limit of each day; may be negative.")
    total: GrantedNumber | None = Field(None, description="Added to the limit of the phase; may be negative.")
    reason: Reason

    @model_validator(mode="after")
    def _require_number(self) -> Self:
        if not self.per_day and not self.total:
            raise ValueError("say how many to grant: 'per_day' or 'total', not 0")
        return self


@router.get(
    "/challenges/{slug}/phases/{phase}/quota",
    summary="Read my team's quota",
    responses=error_responses(
        errors.NotRegistered, errors.RegistrationPending, errors.NoTeam, errors.Forbidden, errors.NotFound
    ),
)
def get_quota(
    slug: str,
    phase: str,
    caller: AccountDep,
    state: AppStateDep,
    team: Annotated[TeamName | None, Query(description="Organizers only: the name or the id of a team.")] = None,
) -> QuotaShape:
    """Returns the limits of your team, what it has used, what remains, and the ledger that explains the numbers."""
    with state.db.read() as session:
        return _quota_shape(read_quota(session, caller, slug, phase, team))


@router.post(
    "/challenges/{slug}/phases/{phase}/quota/grants",
    status_code=201,
    summary="Grant a team more or less of the quota",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoSuchLimit, errors.InvalidRequest),
)
def post_grant(slug: str, phase: str, body: NewGrant, caller: OrganizerDep, state: AppStateDep) -> QuotaShape:
    """Adds to the limits of one team in this phase, or takes from them, and returns the quota of the team.

    A limit never falls below 0. The reason is shown to the team and in the audit trail.
    """
    with state.db.write() as session:
        return _quota_shape(grant_quota(session, caller, slug, phase, **body.model_dump()))


def _quota_shape(state: QuotaState) -> QuotaShape:
    balance = state.balance
    return QuotaShape(
        limits=balance.limits,
        used=balance.used,
        remaining=balance.remaining,
        reset_at=balance.reset_at,
        reset_at_local=in_zone(balance.reset_at, balance.timezone),
        timezone=balance.timezone,
        grants=[GrantShape.model_validate(grant) for grant in state.grants],
        ledger=[LedgerEntry.model_validate(entry) for entry in state.ledger],
    )
