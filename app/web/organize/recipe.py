"""The recipe of a challenge or of one phase: its metrics with all options, and a preview of what they mean."""

from typing import Any, cast
from urllib.parse import quote

from starlette.responses import Response

from app.api.challenges import delete_recipe, get_recipe, put_recipe
from app.api.recipe_body import RecipeBody
from app.api.recipe_check import RecipeCheck, check_recipe
from app.api.recipes import RecipeShape
from app.errors import InvalidRecipe
from app.scoring.catalogue.common_metrics import COMMON_METRIC_KEYS
from app.scoring.catalogue.description import search_metrics
from app.scoring.declaration.decision_rules import DECISION_RULES
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.options import OPTIONS
from app.scoring.declaration.task import TaskKind
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.form_values import editor
from app.web.organize.frame import organizer_frame
from app.web.organize.phases import find_phase
from app.web.organize.recipe_form import RecipeForm, read_recipe_form, stored_recipe_form
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
SAVED = notice("recipe_saved", "The recipe is active.")
DRAFTED = notice(
    "recipe_drafted", "Submissions have to be scored for this recipe, so it is a draft. Preview it, then activate it."
)
IN_WORDS = {
    "a total quota, or a daily quota and a close after which nothing is taken (late: refuse)": (
        "a total quota, or a daily quota and a closing time after which submissions are refused"
    ),
    "a private split, which reveals nothing before the final release": (
        "a private part of the gold, which reveals nothing before the final release"
    ),
}
"""Ways to disclose less, as the API says them and as the pages do."""
DROPPED = notice("recipe_dropped", "The phase is scored by the recipe of the challenge again.")


@router.get("/challenges/{slug}/organize/recipe")
def get_recipe_page(slug: str, page: PageDep, phase: str | None = None) -> Response:
    """Shows the recipe that the phases share, or that of one phase."""
    return show_recipe(page, slug, phase)


@router.post("/challenges/{slug}/organize/recipe")
def post_recipe(slug: str, page: PageDep, form: FormDep, phase: str | None = None) -> Response:
    """Activates a recipe, or shows it with its preview after a metric was added or taken out."""
    caller = editor(page, slug)
    given = read_recipe_form(form)
    if form.value("do") != "save":
        return preview(page, slug, phase, form, given)

    def act() -> Response:
        acting = caller.with_reason(form.reason())
        stored = put_recipe(slug, RecipeBody.model_validate(given.body()), acting, page.state, phase=phase)
        if stored.status == "draft":
            return redirect(page, f"/challenges/{slug}/organize/recipe/{stored.version}/preview", done=DRAFTED)
        return redirect(page, recipe_path(slug, phase), done=SAVED)

    def again(refused: Form, status: int) -> Response:
        return show_recipe(page, slug, phase, given, given.place_faults(refused), status)

    return attempt(form, act, again)


@router.post("/challenges/{slug}/organize/recipe/drop")
def post_drop(slug: str, page: PageDep, form: FormDep) -> Response:
    """Lets a phase share the recipe of its challenge again."""
    caller, phase = editor(page, slug), form.value("phase")

    def act() -> Response:
        delete_recipe(slug, caller.with_reason(form.reason()), page.state, phase)
        return redirect(page, recipe_path(slug, phase), done=DROPPED)

    return attempt(form, act, lambda refused, status: show_recipe(page, slug, phase, None, refused, status))


def recipe_path(slug: str, phase: str | None) -> str:
    """The path of the page."""
    return f"/challenges/{slug}/organize/recipe" + (f"?phase={quote(phase)}" if phase else "")


def preview(page: PageContext, slug: str, phase: str | None, form: Form, given: RecipeForm) -> Response:
    """The page with the recipe of a form that is not saved; for htmx the region of the preview alone."""
    shown, refused = _meaning(page, slug, phase, given, form)
    if page.request.headers.get("hx-request"):
        frame = organizer_frame(page, slug)
        return render(page, "organize/recipe_preview.html", form=refused, frame=frame, preview=shown, in_words=in_words)
    return show_recipe(page, slug, phase, given, refused, unsaved=True)


def show_recipe(
    page: PageContext,
    slug: str,
    phase: str | None,
    given: RecipeForm | None = None,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    unsaved: bool = False,
) -> Response:
    """The page with the active recipe, or with one that was refused or is not saved yet."""
    frame = organizer_frame(page, slug)
    own = None if phase is None else find_phase(frame, phase)
    stored = get_recipe(slug, page.caller, page.state, phase)
    rules = own or frame.challenge
    given = given or _form_of(stored, rules.task, rules.positive_label, rules.classes)
    shown = _meaning(page, slug, phase, given, form)[0]
    values = {
        "phase": own,
        "stored": stored,
        "recipe": given,
        "preview": shown,
        "in_words": in_words,
        "unsaved": unsaved or bool(form.faults),
    }
    return render(page, "organize/recipe.html", form=form, status=status, frame=frame, **values, **_choices(rules.task))


def _form_of(stored: RecipeShape, task: str, positive_label: str | None, classes: list[str] | None) -> RecipeForm:
    fields = RecipeBody.model_fields
    body = {name: getattr(stored, name) for name in fields}
    return stored_recipe_form(body, cast("TaskKind", task), positive_label, classes)


def _choices(task: str) -> dict[str, Any]:
    """What the fields of the form offer."""
    kind = cast("TaskKind", task)
    metrics = [metric for metric in search_metrics(kind) if metric.scalar and metric.direction != "none"]
    common = [CATALOGUE[key] for key in COMMON_METRIC_KEYS[kind]]
    decisions = {name: rule for name, rule in DECISION_RULES.items() if kind in rule.tasks}
    return {"task": task, "common": common, "metrics": metrics, "options": OPTIONS.values(), "decisions": decisions}


def in_words(way: str) -> str:
    """A way to disclose less in the words of the pages, where the API names its fields."""
    return IN_WORDS.get(way, way.replace("per_class", "per-class"))


def _meaning(
    page: PageContext, slug: str, phase: str | None, given: RecipeForm, form: Form
) -> tuple[RecipeCheck | None, Form]:
    """The equations of a recipe and what its scores give away; or None, and the form with the faults."""
    body = RecipeBody.model_construct(**given.body())
    fields = {name: value for name, value in body.model_dump().items() if value is not None}
    try:
        with page.state.db.read() as session:
            return check_recipe(session, page.account, slug, fields, phase), form
    except InvalidRecipe as error:
        return None, form if form.faults else given.place_faults(form.with_fault(error))
