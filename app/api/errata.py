"""The errata of a challenge: what corrections of its gold, recipe or scorer changed on its boards."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from app import errors
from app.actions.versions.read_errata import Erratum, list_corrections, read_errata
from app.api.comparison_fields import BoardDifference, GoldChangesShape, differences
from app.api.dependencies import AppStateDep, CallerDep, Cursor, Limit, paginate
from app.api.field_types import Moment, Page, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.openapi import preview_examples
from app.api.previews import UnscoredShape
from app.api.switches import Versions

router = api_router("leaderboards", prefix="/challenges/{slug}/errata")


class ChangedPart(Shape):
    """A part of the recipe that changed."""

    before: Any
    after: Any


class RecipeChangesShape(Shape):
    """What changed from one recipe to the other."""

    metrics_added: list[str]
    metrics_removed: list[str]
    changed: dict[str, ChangedPart] = Field(description="Such as `selection` or `tie_breakers`.")


class ErratumShape(Shape):
    """A correction: a switch of the board of one phase to other versions, and what it changed."""

    model_config = reply_example(preview_examples.ERRATUM)

    phase: str
    number: int = Field(description="The number of the switch in its phase.")
    switched_at: Moment
    reason: str
    from_: Versions = Field(alias="from")
    to: Versions
    gold_changes: GoldChangesShape | None = Field(
        description="How many instances of the gold changed; counts by class are for organizers. Null if it stayed."
    )
    lists_instances: bool = Field(description="Whether the organizers let everybody read which instances changed.")
    instances: dict[str, list[str]] | None = Field(
        description="The ids of these instances by kind of change, never their labels: for everybody if "
        "`lists_instances`, else for organizers."
    )
    recipe_changes: RecipeChangesShape | None
    ladder: bool = Field(description="Whether `boards` has the outputs of the Ladders instead of scores.")
    boards: dict[str, BoardDifference] = Field(
        description="By split, as far as it is visible now: every rank that moved, at the precision of the board. "
        "Organizers see all rows."
    )
    withheld: str | None = Field(description="Why `boards` is empty.")
    unscored: list[UnscoredShape] = Field(description="For organizers: submissions that could not be scored.")


def _shape(each: Erratum) -> ErratumShape:
    return ErratumShape.model_validate(
        {
            "phase": each.phase.slug,
            "number": each.row.number,
            "switched_at": each.row.switched_at,
            "reason": each.row.reason,
            "from": each.before,
            "to": each.target,
            "gold_changes": None if each.gold is None else {"before": None, "after": None} | each.gold,
            "lists_instances": each.row.lists_instances,
            "instances": each.instances,
            "recipe_changes": each.recipe,
            "ladder": each.ladder,
            "boards": differences(each.boards),
            "withheld": each.withheld,
            "unscored": each.unscored,
        }
    )


@router.get(
    "",
    summary="Read the errata of a challenge",
    responses=error_responses(errors.NotFound, errors.BadRequest),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_errata(
    slug: str,
    caller: CallerDep,
    state: AppStateDep,
    limit: Limit = 20,
    cursor: Cursor = None,
    phase: Annotated[str | None, Query(description="Only this phase.")] = None,
) -> Page[ErratumShape]:
    """Returns what changed on the boards, why, and which ranks moved, newest first. Everybody who sees the boards may.

    Nothing here depends on a gold label but the scores that the boards showed: instances are counted, and named only
    if the organizers chose so. Where a board is hidden, its ranks are withheld until it is shown.
    """
    with state.db.read() as session:
        found = list_corrections(session, caller, slug, phase)
        rows, following = paginate(found, lambda row: row.id, limit=limit, cursor=cursor)
        return Page(items=[_shape(each) for each in read_errata(session, caller, rows)], next=following)
