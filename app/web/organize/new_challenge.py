"""The page that creates a challenge as a draft; the pages of the organizer's desk go on from there."""

from typing import Any
from zoneinfo import available_timezones

from starlette.responses import Response

from app.actions.challenges.create_challenge import propose_slug
from app.api.challenges import NewChallenge, current_creator, post_challenge
from app.scoring.catalogue.common_metrics import usual_recipe
from app.web.forms import Form, attempt, whole_number
from app.web.notices import notice
from app.web.organize.form_values import text_lines, with_field_names
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
CREATED = notice("challenge_created", "The challenge is stored as a draft. Only you see it until you publish it.")
FIELDS_OF_PHASE = ("name", "closes_at", "opens_at")
QUOTA_FIELDS = ("per_day", "total", "concurrent", "invalid_per_day")
FIELD_NAMES = {f"phases.0.{name}": name for name in FIELDS_OF_PHASE}
FIELD_NAMES |= {f"phases.0.quota.{name}": name for name in QUOTA_FIELDS}


@router.get("/new-challenge")
def get_new_challenge(page: PageDep) -> Response:
    """Asks for what a challenge cannot do without."""
    return show_new_challenge(page)


@router.post("/new-challenge")
def post_new_challenge(page: PageDep, form: FormDep) -> Response:
    """Stores a draft, and goes on to its recipe."""
    caller = current_creator(page.account, page.state)

    def act() -> Response:
        body = NewChallenge.model_validate(challenge_values(form))
        created = post_challenge(body, caller, page.state, form.reason())
        return redirect(page, f"/challenges/{created.slug}/organize/recipe", done=CREATED)

    def again(refused: Form, status: int) -> Response:
        if refused.fault_of("slug"):  # It was derived from the title, if it was not given.
            refused.fields["slug"] = [form.text("slug") or propose_slug(form.value("title").strip())]
        return show_new_challenge(page, with_field_names(refused, FIELD_NAMES), status)

    return attempt(form, act, again)


def challenge_values(form: Form) -> dict[str, Any]:
    """The fields of the request for a new challenge. What was left empty gets a usual value."""
    title, task = form.value("title").strip(), form.value("task", "multiclass")
    quota = {name: whole_number(form.text(name)) for name in QUOTA_FIELDS if form.text(name)}
    phase = {"name": form.text("name") or "Main", "opens_at": form.text("opens_at"), "quota": quota}
    phase["closes_at"] = form.text("closes_at")
    return {
        "slug": form.text("slug") or propose_slug(title),
        "title": title,
        "task": task,
        "positive_label": form.text("positive_label"),
        "classes": text_lines(form.value("classes")),
        "timezone": form.text("timezone") or "UTC",
        "visibility": form.value("visibility", "public"),
        "registration": form.value("registration", "open"),
        "recipe": usual_recipe(task),
        "phases": [phase],
        "draft": True,
    }


def show_new_challenge(page: PageContext, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page; raises Forbidden for those who may not create a challenge, and says whom to ask."""
    current_creator(page.account, page.state)
    zones = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))
    return render(page, "organize/new_challenge.html", form=form, status=status, zones=["UTC", *zones])
