"""Previews of what other gold or another recipe would change, for organizers."""

from typing import Any, Literal

from fastapi import Response
from pydantic import Field

from app import errors
from app.actions.versions.compute_previews import compare_pending_switch
from app.actions.versions.preview_switch import (
    PreviewView,
    read_gold_preview,
    read_recipe_preview,
    start_gold_preview,
    start_recipe_preview,
)
from app.api.comparison_fields import BoardDifference, ComparedTeam, GoldChangesShape, differences
from app.api.dependencies import AccountDep, AppStateDep
from app.api.field_types import Moment, Shape, reply_example
from app.api.gold import VersionNumber
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.limits.former_boards import FormerBoardsBusy
from app.api.openapi import preview_examples
from app.api.recipe_versions import RecipeVersion
from app.api.switches import SwitchNumber, SwitchProgress, Versions

router = api_router("phases", prefix="/challenges/{slug}")
OUTDATED_REMEDY = "The board has changed since it was compared. Preview again; scores that exist are used again."


class UnscoredShape(Shape):
    """A submission that the new versions cannot score, so that it would leave the board."""

    submission: str
    team: ComparedTeam
    failure: dict[str, Any] | None = Field(description="Why its scoring failed for good.")


class EmptyPredictionsShape(Shape):
    """A submission some of whose predictions count as empty, because their ids were void when it was received."""

    submission: str
    team: ComparedTeam
    split: str
    predictions: int


class PreviewResult(Shape):
    """The boards before and after."""

    splits: dict[str, BoardDifference] = Field(description="`all`, or `public` and `private`.")
    ladder: BoardDifference | None = Field(
        description="Under a Ladder: what participants and visitors would be shown, replayed over all submissions."
    )
    unscored: list[UnscoredShape]
    empty_predictions: list[EmptyPredictionsShape]


class PreviewShape(Shape):
    """What a switch to other versions would change in one phase."""

    model_config = reply_example(preview_examples.PREVIEW)

    challenge: str
    phase: str
    status: Literal["scoring", "done", "failed"]
    from_: Versions | None = Field(alias="from", description="What it is compared with.")
    to: Versions
    requested_at: Moment
    finished_at: Moment | None
    progress: SwitchProgress
    eta: Moment | None = Field(description="While it is `scoring`: when that will be done, estimated.")
    outdated: bool = Field(description="Whether the board, or what is in force, has changed since it was compared.")
    remedy: str | None = Field(description="What to do about an outdated or failed preview.")
    failure: dict[str, Any] | None
    gold_changes: GoldChangesShape | None = Field(
        description="What changes from one gold to the other; null if it is the same, or neither corrects the other."
    )
    result: PreviewResult | None = Field(description="Once it is `done`.")


class RecipePreviewShape(Shape):
    """What a recipe would change in each phase that it scores."""

    model_config = reply_example(preview_examples.RECIPE_PREVIEW)

    status: Literal["scoring", "done", "failed"] = Field(description="`scoring` until every phase is settled.")
    phases: list[PreviewShape]


def preview_shape(view: PreviewView) -> PreviewShape:
    """A preview as a reply."""
    row, progress = view.row, view.progress
    remedy = OUTDATED_REMEDY if view.outdated else "Mend the cause, then preview again." if row.failure else None
    return PreviewShape.model_validate(
        {
            "challenge": view.phase.challenge.slug,
            "phase": view.phase.slug,
            "status": row.status,
            "from": view.before or None,
            "to": view.target,
            "requested_at": row.requested_at,
            "finished_at": row.finished_at,
            "progress": {"total": progress.total, "scored": progress.scored, "failed": len(progress.failed)},
            "eta": view.eta,
            "outdated": view.outdated,
            "remedy": remedy,
            "failure": row.failure,
            "gold_changes": view.difference,
            "result": None if view.result is None else view.result | {"splits": differences(view.result["splits"])},
        }
    )


def _recipe_preview_shape(views: list[PreviewView]) -> RecipePreviewShape:
    phases = [preview_shape(view) for view in views]
    states = {each.status for each in phases}
    status: Any = next(each for each in ("scoring", "failed", "done") if each in states)
    return RecipePreviewShape(status=status, phases=phases)


@router.post(
    "/phases/{phase}/gold/{version}/preview",
    status_code=202,
    summary="Preview a gold version",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoGold, errors.AlreadyInForce),
)
def post_gold_preview(
    slug: str, phase: str, version: VersionNumber, caller: AccountDep, state: AppStateDep, response: Response
) -> PreviewShape:
    """Computes what activating this version would change: all scores and ranks, and who would move.

    All finished submissions are scored by it at low priority, and nothing of that is shown to anybody but organizers.
    While a preview is being computed, this returns it and changes nothing; after that it computes it again, which is
    quick, because scores that exist are used again. Activating the version later uses them, too.
    """
    with state.db.write() as session:
        shape = preview_shape(start_gold_preview(session, caller, slug, phase, version, slots=state.settings.workers))
    response.headers["Location"] = f"/api/v1/challenges/{shape.challenge}/phases/{shape.phase}/gold/{version}/preview"
    return shape


@router.get(
    "/phases/{phase}/gold/{version}/preview",
    summary="Read the preview of a gold version",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_gold_preview(
    slug: str, phase: str, version: VersionNumber, caller: AccountDep, state: AppStateDep
) -> PreviewShape:
    """Returns the last preview of a version: its progress, then both boards beside each other."""
    with state.db.read() as session:
        return preview_shape(read_gold_preview(session, caller, slug, phase, version, slots=state.settings.workers))


@router.post(
    "/recipe/{version}/preview",
    status_code=202,
    summary="Preview a recipe version",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NoGold, errors.AlreadyInForce),
)
def post_recipe_preview(
    slug: str, version: RecipeVersion, caller: AccountDep, state: AppStateDep, response: Response
) -> RecipePreviewShape:
    """Computes what activating this version would change in each phase that it scores, as for a gold version."""
    with state.db.write() as session:
        shape = _recipe_preview_shape(
            start_recipe_preview(session, caller, slug, version, slots=state.settings.workers)
        )
    response.headers["Location"] = f"/api/v1/challenges/{shape.phases[0].challenge}/recipe/{version}/preview"
    return shape


@router.get(
    "/recipe/{version}/preview",
    summary="Read the preview of a recipe version",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_recipe_preview(slug: str, version: RecipeVersion, caller: AccountDep, state: AppStateDep) -> RecipePreviewShape:
    """Returns the last preview of a version, by phase."""
    with state.db.read() as session:
        return _recipe_preview_shape(read_recipe_preview(session, caller, slug, version, slots=state.settings.workers))


@router.get(
    "/phases/{phase}/switches/{number}/preview",
    summary="Compare the boards before and after a pending switch",
    responses=error_responses(errors.Forbidden, errors.NotFound, FormerBoardsBusy),
)
def get_switch_preview(
    slug: str, phase: str, number: SwitchNumber, caller: AccountDep, state: AppStateDep
) -> PreviewShape:
    """Returns what a pending switch would change by the scores that there are now, computed at each request.

    Also for a switch to another scorer version, which the service requests itself. Submissions that are not scored yet,
    or cannot be, are in `unscored`.
    """
    with state.former_boards.turn(), state.db.read() as session:
        found = compare_pending_switch(session, caller, slug, phase, number, slots=state.settings.workers)
        return preview_shape(found)
