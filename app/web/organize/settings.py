"""The settings of a challenge: what visitors read, who takes part, and how labels are read."""

import re
from collections.abc import Collection
from typing import Any

from starlette.responses import Response

from app.api.challenges import ChallengeEdit, ChallengeShape, patch_challenge
from app.scoring.catalogue.common_metrics import usual_recipe
from app.web.forms import Form, attempt, whole_number
from app.web.notices import notice
from app.web.organize.form_values import changed_time, editor, local_text, text_lines, with_field_names
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
SAVED = notice("settings_saved", "The settings are saved.")
LABELS_SAVED = notice("labels_saved", "The task and the classes are saved.")
EMPTY_ROWS = 2
MAX_ROWS = 20


@router.get("/challenges/{slug}/organize/settings")
def get_settings(slug: str, page: PageDep) -> Response:
    """Shows the settings."""
    return show_settings(page, slug)


@router.post("/challenges/{slug}/organize/settings")
def post_settings(slug: str, page: PageDep, form: FormDep) -> Response:
    """Saves the settings, or shows a preview of the description."""
    caller = editor(page, slug)
    if form.value("do") == "preview":
        if page.request.headers.get("hx-request"):
            return render(page, "organize/description_preview.html", text=form.value("description"))
        return show_settings(page, slug, form)
    challenge = organizer_frame(page, slug).challenge

    def act() -> Response:
        body = ChallengeEdit.model_validate(settings_values(form, challenge))
        changed = patch_challenge(slug, body, caller.with_reason(form.reason()), page.state)
        return redirect(page, f"/challenges/{changed.slug}/organize/settings", done=SAVED)

    def again(refused: Form, status: int) -> Response:
        return show_settings(page, slug, with_field_names(refused, _question_names(form)), status)

    return attempt(form, act, again)


@router.post("/challenges/{slug}/organize/settings/labels")
def post_labels(slug: str, page: PageDep, form: FormDep) -> Response:
    """Changes the task and the classes, and the recipe with them if that is wished."""
    caller = editor(page, slug)

    def act() -> Response:
        task = form.value("task")
        values: dict[str, Any] = {
            "task": task,
            "positive_label": form.text("positive_label"),
            "classes": text_lines(form.value("classes")),
        }
        if form.has("usual_recipe"):
            values["recipe"] = usual_recipe(task)
        patch_challenge(slug, ChallengeEdit.model_validate(values), caller.with_reason(form.reason()), page.state)
        return redirect(page, f"/challenges/{slug}/organize/settings", done=LABELS_SAVED)

    return attempt(form, act, lambda refused, status: show_settings(page, slug, refused, status))


def settings_values(form: Form, challenge: ChallengeShape) -> dict[str, Any]:
    """The fields of the request, from the fields of the form."""
    zone = form.text("timezone") or challenge.timezone
    return {
        "title": form.value("title").strip(),
        "slug": form.value("slug").strip(),
        "description": form.value("description"),
        "contact": form.text("contact"),
        "timezone": zone,
        "visibility": form.value("visibility", challenge.visibility),
        "registration": form.value("registration", challenge.registration),
        "team_size_limit": whole_number(form.text("team_size_limit")),
        "terms": form.value("terms") if form.text("terms") else None,
        "registration_fields": list(_registration_fields(form)),
        **changed_time(form, "merge_deadline", challenge.merge_deadline, challenge.timezone),
    }


def _questions(form: Form) -> dict[int, str]:
    """The questions of the rows that are not empty, by the number of the row."""
    labels = {number: form.text(f"label_{number}") for number in range(1, MAX_ROWS + 1)}
    return {number: label for number, label in labels.items() if label is not None}


def _question_names(form: Form) -> dict[str, str]:
    """The field of each question, by its place in the request, which has no empty rows."""
    return {f"registration_fields.{place}.label": f"label_{number}" for place, number in enumerate(_questions(form))}


def _registration_fields(form: Form) -> list[dict[str, Any]]:
    """The rows whose label is not empty. A new row gets a name, by which the answers to it are stored."""
    labels = _questions(form)
    names = {form.text(f"name_{number}") for number in labels}
    rows = []
    for number, label in labels.items():
        name = form.text(f"name_{number}") or _new_name(label, names)
        names.add(name)
        rows.append({"name": name, "label": label, "required": form.has(f"required_{number}")})
    return rows


def _new_name(label: str, taken: Collection[str | None]) -> str:
    """A name that is not taken, from the letters a-z and the digits of the label if it has some."""
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_0123456789")[:60] or "question"
    return next(
        each for each in (name, *(f"{name}_{number}" for number in range(2, MAX_ROWS + 2))) if each not in taken
    )


def show_settings(page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page, with a form that was refused or is previewed."""
    frame = organizer_frame(page, slug)
    challenge = frame.challenge
    merge_text = local_text(challenge.merge_deadline, challenge.timezone)
    rows = len(challenge.registration_fields) + EMPTY_ROWS
    values: dict[str, Any] = {
        "merge_text": merge_text,
        "rows": min(rows, MAX_ROWS),
        "preview": form.value("description", "") or None,
    }
    return render(page, "organize/settings.html", form=form, status=status, frame=frame, **values)
