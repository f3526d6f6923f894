"""Corrections: drafts and former versions of gold and recipes, their previews, and the switches of the boards."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.responses import Response

from app.api.gold import VersionNumber, get_version, get_versions
from app.api.limits.former_boards import FormerBoardsBusy
from app.api.previews import (
    PreviewShape,
    get_gold_preview,
    get_recipe_preview,
    get_switch_preview,
    post_gold_preview,
    post_recipe_preview,
)
from app.api.reasons import Activation, OptionalReason
from app.api.recipe_versions import RecipeVersion, get_recipe_version, get_recipe_versions, post_recipe_activate
from app.api.switches import SwitchShape, get_switches, post_switch_cancel, post_switch_confirm
from app.errors import NotFound
from app.web.errata import moves_table
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.form_values import editor
from app.web.organize.frame import OrganizerFrame, organizer_frame
from app.web.organize.phases import find_phase
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
CONFIRMED = notice("switch_confirmed", "The board switches without the submissions that cannot be scored.")
CANCELLED = notice("switch_cancelled", "The switch is cancelled. The board stays as it is.")
REQUESTED = notice("switch_requested", "All submissions are being scored. The board switches once that is done.")
ACTIVATED = notice("recipe_activated", "The recipe is active. Nothing had to be scored again.")
PREVIEW = "organize/preview.html"


@router.get("/challenges/{slug}/organize/corrections")
def get_corrections(slug: str, page: PageDep, phase: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """Shows pending switches with their progress, the versions to choose from, and what was in force when."""
    return show_corrections(page, slug, phase)


@router.post("/challenges/{slug}/organize/corrections/{phase}/{number}/{act}")
def post_decision(
    slug: str, phase: str, number: int, act: Literal["confirm", "cancel"], page: PageDep, form: FormDep
) -> Response:
    """Lets a switch leave out what cannot be scored, or takes it back."""
    caller = editor(page, slug)

    def decide() -> Response:
        reason = OptionalReason(reason=form.text("reason"))
        (post_switch_confirm if act == "confirm" else post_switch_cancel)(
            slug, phase, number, caller, page.state, reason
        )
        path = f"/challenges/{slug}/organize/corrections?phase={phase}"
        return redirect(page, path, done=CONFIRMED if act == "confirm" else CANCELLED)

    return attempt(form, decide, lambda refused, status: show_corrections(page, slug, phase, refused, status))


@router.get("/challenges/{slug}/organize/phases/{phase}/gold/{version}/preview")
def show_gold_preview(slug: str, phase: str, version: VersionNumber, page: PageDep) -> Response:
    """Shows what a version of the gold would change, or offers to compute it."""
    frame = organizer_frame(page, slug)
    gold = get_version(slug, phase, version, page.account, page.state)
    previews = []
    with suppress(NotFound):  # it was never previewed
        previews = [get_gold_preview(slug, phase, version, page.account, page.state)]
    title = f"Gold version {version} of {find_phase(frame, phase).name}"
    path = f"{frame.desk}/phases/{phase}/gold/{version}"
    return _show_preview(page, frame, title, path, previews, state=gold.status)


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/preview")
def start_gold_preview(slug: str, phase: str, version: VersionNumber, page: PageDep, form: FormDep) -> Response:
    """Has the preview computed."""
    caller = editor(page, slug)

    def act() -> Response:
        post_gold_preview(slug, phase, version, caller, page.state, Response())
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}/gold/{version}/preview")

    return attempt(form, act, lambda refused, status: show_corrections(page, slug, phase, refused, status))


@router.get("/challenges/{slug}/organize/recipe/{version}/preview")
def show_recipe_preview(slug: str, version: RecipeVersion, page: PageDep) -> Response:
    """Shows what a version of a recipe would change in each phase, or offers to compute it."""
    return show_recipe_version(page, slug, version)


@router.post("/challenges/{slug}/organize/recipe/{version}/preview")
def start_recipe_preview(slug: str, version: RecipeVersion, page: PageDep, form: FormDep) -> Response:
    """Has the preview computed."""
    caller = editor(page, slug)

    def act() -> Response:
        post_recipe_preview(slug, version, caller, page.state, Response())
        return redirect(page, f"/challenges/{slug}/organize/recipe/{version}/preview")

    return attempt(form, act, lambda refused, status: show_recipe_version(page, slug, version, refused, status))


@router.post("/challenges/{slug}/organize/recipe/{version}/activate")
def activate_recipe_version(slug: str, version: RecipeVersion, page: PageDep, form: FormDep) -> Response:
    """Activates a version of a recipe, at once or by a switch of the boards."""
    caller = editor(page, slug)

    def act() -> Response:
        order = Activation(reason=form.text("reason"), lists_instances=form.has("lists_instances"))
        shape = post_recipe_activate(slug, version, caller, page.state, Response(), order)
        done = REQUESTED if shape.status == "activating" else ACTIVATED
        return redirect(page, f"/challenges/{slug}/organize/corrections", done=done)

    return attempt(form, act, lambda refused, status: show_recipe_version(page, slug, version, refused, status))


def show_recipe_version(
    page: PageContext, slug: str, version: int, form: Form = NO_FORM, status: int = 200
) -> Response:
    """The preview of a version of a recipe, with its activation."""
    frame = organizer_frame(page, slug)
    recipe = get_recipe_version(slug, version, page.account, page.state)
    previews = []
    with suppress(NotFound):
        previews = get_recipe_preview(slug, version, page.account, page.state).phases
    path = f"{frame.desk}/recipe/{version}"
    return _show_preview(page, frame, f"Recipe version {version}", path, previews, form, status, state=recipe.status)


def _show_preview(
    page: PageContext,
    frame: OrganizerFrame,
    title: str,
    path: str,
    previews: list[Any],
    form: Form = NO_FORM,
    status: int = 200,
    *,
    state: str,
) -> Response:
    names = {each.slug: each.name for each in frame.challenge.phases}
    values = {"subject": title, "path": path, "previews": previews, "names": names, "state": state}
    return render(page, PREVIEW, form=form, status=status, frame=frame, moves_table=moves_table, **values)


def show_corrections(
    page: PageContext, slug: str, phase: str | None, form: Form = NO_FORM, status: int = 200
) -> Response:
    """The page of one phase, by default the first, with a form that was refused."""
    frame = organizer_frame(page, slug)
    phases = frame.challenge.phases
    chosen = phase or (phases[0].slug if phases else None)
    values: dict[str, Any] = {"chosen": chosen, "switches": [], "withheld": [], "gold": [], "recipes": []}
    values["moves_table"] = moves_table
    if chosen is not None:
        own = find_phase(frame, chosen)
        switches = values["switches"] = get_switches(slug, own.slug, page.account, page.state, 50).items
        values["withheld"] = [_comparison(page, slug, own.slug, each) for each in switches if each.blocked_by]
        values["gold"] = get_versions(slug, own.slug, page.account, page.state, 200).items
        recipes = get_recipe_versions(slug, page.account, page.state, 200).items
        values["recipes"] = [row for row in recipes if row.phase in {None, own.slug}]
    return render(page, "organize/corrections.html", form=form, status=status, frame=frame, **values)


def _comparison(page: PageContext, slug: str, phase: str, switch: SwitchShape) -> PreviewShape | None:
    """What a withheld switch would change; None for the script that only looks how far it is, and if others compute."""
    if page.request.headers.get("hx-request"):
        return None
    with suppress(NotFound, FormerBoardsBusy):  # it has ended by now
        return get_switch_preview(slug, phase, switch.number, page.account, page.state)
    return None
