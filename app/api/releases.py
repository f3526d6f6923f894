"""The final release of a phase, after which everybody sees the private scores."""

from pydantic import Field

from app import errors
from app.actions.challenges.release_phase import ReleasePreview, preview_release, release_phase
from app.api.dependencies import AccountDep, AppStateDep, OrganizerDep
from app.api.field_types import Moment, Shape, TeamReferenceShape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.marks import MARK_DESCRIPTION, Mark
from app.api.openapi import release_examples
from app.api.reasons import NO_REASON, OptionalReason
from app.api.selection_rule import SelectionRule
from app.text.given_times import optional_in_zone

router = api_router("phases")


class ReleaseRow(Shape):
    """A team on both boards."""

    team: TeamReferenceShape
    baseline: bool
    mark: Mark | None = Field(description=MARK_DESCRIPTION)
    submission: str = Field(description="The submission that counts on the private split.")
    public_submission: str | None = Field(description="The submission that counts on the public split.")
    public_rank: int | None
    private_rank: int | None
    move: int | None = Field(description="How many ranks the team rises; negative if it falls.")


class Obstacle(Shape):
    """What stands in the way of the release."""

    code: str
    detail: str


class Release(Shape):
    """The final release of a phase, or its preview."""

    model_config = reply_example(release_examples.RELEASE)

    phase: str
    closes_at: Moment | None
    closes_at_local: str | None = Field(description="The same time in the time zone of the challenge.")
    released_at: Moment | None = Field(description="When the private scores were released; null before.")
    released_at_local: str | None
    timezone: str = Field(description="The time zone of the challenge.")
    selection: SelectionRule
    obstacles: list[Obstacle] = Field(description="What has to happen first; empty if it can be released now.")
    choices_until: Moment | None = Field(
        description="Until when teams may still select entries that were not scored at the close; a release ends that. "
        "Null if there are none, or if the recipe has another rule of selection."
    )
    choices_until_local: str | None
    rows: list[ReleaseRow] = Field(description="In the order of the private board.")


def _release(preview: ReleasePreview) -> Release:
    phase, zone = preview.phase, preview.phase.challenge.timezone
    return Release.model_validate(
        {
            "phase": phase.slug,
            "closes_at": phase.closes_at,
            "closes_at_local": optional_in_zone(phase.closes_at, zone),
            "released_at": phase.released_at,
            "released_at_local": optional_in_zone(phase.released_at, zone),
            "timezone": zone,
            "selection": preview.selection,
            "obstacles": preview.obstacles,
            "choices_until": preview.choices_until,
            "choices_until_local": optional_in_zone(preview.choices_until, zone),
            "rows": preview.rows,
        }
    )


@router.get(
    "/challenges/{slug}/phases/{phase}/release",
    summary="Preview the final release",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_release(slug: str, phase: str, caller: AccountDep, state: AppStateDep) -> Release:
    """Returns the public and the private rank of each team, and what stands in the way of the release.

    Requires an organizer. Nothing changes by it.
    """
    with state.db.read() as session:
        return _release(preview_release(session, caller, slug, phase))


@router.post(
    "/challenges/{slug}/phases/{phase}/release",
    summary="Release the private scores",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NotReleasable),
)
def post_release(
    slug: str, phase: str, caller: OrganizerDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> Release:
    """Shows the private scores on boards, in reports and in submissions from now on. It cannot be undone.

    Refused before the close, and while a submission from before the close is not scored yet. Afterwards `closes_at`,
    the selections of the teams, the selection rule and the gold cannot change.
    """
    with state.db.write() as session:
        return _release(release_phase(session, caller.with_reason(body.reason), slug, phase))
