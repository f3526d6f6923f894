"""The feedback that the Ladder of a phase has given, for organizers."""

from pydantic import Field

from app import errors
from app.actions.submissions.read_ladder_use import read_ladder_use
from app.api.dependencies import AccountDep, AppStateDep
from app.api.field_types import Shape, TeamReferenceShape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.ladder_fields import LadderShape
from app.api.openapi import ladder_examples

router = api_router("phases")


class TeamFeedbackShape(Shape):
    """The feedback that one team was given."""

    team: TeamReferenceShape
    submissions: int = Field(description="How many submissions the team has on its Ladder.")
    releases: int = Field(description="After how many of them its value changed: the feedback spent.")
    waiting: int = Field(description="How many of them have no output yet.")
    value: float | None = Field(description="The best so far that the team is shown.")


class LadderUseShape(Shape):
    """The Ladder of a phase with what it guarantees, and the feedback spent."""

    model_config = reply_example(ladder_examples.LADDER_USE)

    phase: str
    ladder: LadderShape | None = Field(description="Null if the recipe has no Ladder.")
    heuristic: bool | None = Field(description="Whether no theorem bounds how far the best so far may be off.")
    guarantee: str | None = Field(description="The theorem for the numbers of this phase, or why there is none.")
    instances: int | None = Field(description="How many instances the shown split has.")
    teams: list[TeamFeedbackShape] = Field(description="Those with the most releases first.")


@router.get(
    "/challenges/{slug}/phases/{phase}/ladder",
    summary="Read the feedback spent",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_ladder(slug: str, phase: str, caller: AccountDep, state: AppStateDep) -> LadderUseShape:
    """Returns how much feedback the Ladder has given to each team, and what it guarantees.

    Everything is null or empty in a phase whose recipe has no `ladder`. Requires an organizer of any role.
    """
    with state.db.read() as session:
        found = read_ladder_use(session, caller, slug, phase)
    teams = [
        TeamFeedbackShape(
            team=TeamReferenceShape(id=team.team_id, name=team.team),
            submissions=team.submissions,
            releases=team.releases,
            waiting=team.waiting,
            value=team.value,
        )
        for team in found.teams
    ]
    return LadderUseShape(
        phase=found.phase,
        ladder=None if found.ladder is None else LadderShape.model_validate(found.ladder),
        heuristic=found.heuristic,
        guarantee=found.guarantee,
        instances=found.instances,
        teams=teams,
    )
