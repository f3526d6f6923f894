"""Disqualify and reinstate teams."""

from app import errors
from app.actions.challenges.team_disqualification import disqualify_team, reinstate_team
from app.api.dependencies import AppStateDep, OrganizerDep
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, json_examples
from app.api.openapi import examples
from app.api.openapi.disqualification_examples import DISQUALIFIED_TEAM
from app.api.reasons import NO_REASON, OptionalReason, Reason
from app.api.registrations import TeamShape

router = api_router("teams", prefix="/challenges/{slug}/teams/{team_id}")


@router.post(
    "/disqualify",
    summary="Disqualify a team",
    response_model=TeamShape,
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.BaselineTeam)
    | {200: json_examples(disqualified=DISQUALIFIED_TEAM)},
)
def post_team_disqualify(slug: str, team_id: str, caller: OrganizerDep, state: AppStateDep, body: Reason) -> object:
    """Takes a team out of the ranking of all phases. Requires an organizer.

    Boards show its entry as disqualified, and its members cannot submit for it. What is queued is still scored.
    """
    with state.db.write() as session:
        return TeamShape.model_validate(disqualify_team(session, caller, slug, team_id, reason=body.reason))


@router.post(
    "/reinstate",
    summary="Reinstate a team",
    response_model=TeamShape,
    responses=error_responses(errors.Forbidden, errors.NotFound)
    | {200: json_examples(reinstated=examples.TEAM_DETAILS)},
)
def post_team_reinstate(
    slug: str, team_id: str, caller: OrganizerDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> object:
    """Undoes the disqualification of a team. Requires an organizer."""
    with state.db.write() as session:
        return TeamShape.model_validate(reinstate_team(session, caller.with_reason(body.reason), slug, team_id))
