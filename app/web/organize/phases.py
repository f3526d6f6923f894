"""The phases of a challenge: their list and order, and the page of each."""

from typing import Any

from starlette.responses import Response

from app.api.challenges import ChallengeEdit, patch_challenge
from app.api.gold import get_versions
from app.api.gold_shapes import GoldShape
from app.api.ladders import get_ladder
from app.api.phases import (
    NewPhase,
    PhaseEdit,
    PhaseShape,
    patch_phase,
    post_pause,
    post_phase,
    post_resume,
    remove_phase,
)
from app.api.reasons import OptionalReason, Reason
from app.errors import NotFound
from app.web.forms import Form, attempt, whole_number
from app.web.notices import notice
from app.web.organize.form_values import (
    changed_time,
    editor,
    local_text,
    text_lines,
    with_field_names,
)
from app.web.organize.frame import OrganizerFrame, organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
ADDED = notice("phase_added", "The phase is added. Next, upload its gold.")
SAVED = notice("phase_saved", "The phase is saved.")
ORDERED = notice("phases_ordered", "The order of the phases is changed.")
PAUSED = notice("phase_paused", "The phase is paused: it takes no submissions of participants.")
RESUMED = notice("phase_resumed", "The phase takes submissions again.")
DELETED = notice("phase_deleted", "The phase is deleted.")
QUOTA_FIELDS = ("per_day", "total", "concurrent", "invalid_per_day")
FIELD_NAMES = {f"quota.{name}": name for name in QUOTA_FIELDS}


@router.get("/challenges/{slug}/organize/phases")
def get_phases(slug: str, page: PageDep) -> Response:
    """Lists the phases, and asks for another one."""
    return show_phases(page, slug)


@router.post("/challenges/{slug}/organize/phases")
def post_new_phase(slug: str, page: PageDep, form: FormDep) -> Response:
    """Adds a phase."""
    caller = editor(page, slug)

    def act() -> Response:
        added = post_phase(
            slug, NewPhase.model_validate(phase_values(form)), caller.with_reason(form.reason()), page.state
        )
        return redirect(page, f"/challenges/{slug}/organize/phases/{added.slug}/gold", done=ADDED)

    def again(refused: Form, status: int) -> Response:
        return show_phases(page, slug, with_field_names(refused, FIELD_NAMES), status)

    return attempt(form, act, again)


@router.post("/challenges/{slug}/organize/phases/order")
def post_order(slug: str, page: PageDep, form: FormDep) -> Response:
    """Moves a phase one place up."""
    caller = editor(page, slug)

    def act() -> Response:
        order = [phase.slug for phase in organizer_frame(page, slug).challenge.phases]
        place = order.index(form.value("phase")) if form.value("phase") in order else 0
        if place > 0:
            order.insert(place - 1, order.pop(place))
        patch_challenge(
            slug, ChallengeEdit.model_validate({"phase_order": order}), caller.with_reason(form.reason()), page.state
        )
        return redirect(page, f"/challenges/{slug}/organize/phases", done=ORDERED)

    return attempt(form, act, lambda refused, status: show_phases(page, slug, refused, status))


@router.get("/challenges/{slug}/organize/phases/{phase}")
def get_phase(slug: str, phase: str, page: PageDep) -> Response:
    """Shows the rules of a phase."""
    return show_phase(page, slug, phase)


@router.post("/challenges/{slug}/organize/phases/{phase}")
def post_phase_edit(slug: str, phase: str, page: PageDep, form: FormDep) -> Response:
    """Changes the rules of a phase."""
    caller = editor(page, slug)
    current = find_phase(organizer_frame(page, slug), phase)

    def act() -> Response:
        body = PhaseEdit.model_validate(phase_values(form, current))
        changed = patch_phase(slug, phase, body, caller.with_reason(form.reason()), page.state)
        return redirect(page, f"/challenges/{slug}/organize/phases/{changed.slug}", done=SAVED)

    def again(refused: Form, status: int) -> Response:
        return show_phase(page, slug, phase, with_field_names(refused, FIELD_NAMES), status)

    return attempt(form, act, again)


@router.post("/challenges/{slug}/organize/phases/{phase}/pause")
def post_phase_pause(slug: str, phase: str, page: PageDep, form: FormDep) -> Response:
    """Pauses a phase, for a reason that its readers see."""
    caller = editor(page, slug)

    def act() -> Response:
        post_pause(slug, phase, Reason.model_validate({"reason": form.value("reason")}), caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}", done=PAUSED)

    return attempt(form, act, lambda refused, status: show_phase(page, slug, phase, refused, status))


@router.post("/challenges/{slug}/organize/phases/{phase}/resume")
def post_phase_resume(slug: str, phase: str, page: PageDep, form: FormDep) -> Response:
    """Lets a phase take submissions again."""
    caller = editor(page, slug)

    def act() -> Response:
        post_resume(slug, phase, caller, page.state, OptionalReason(reason=form.text("reason")))
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}", done=RESUMED)

    return attempt(form, act, lambda refused, status: show_phase(page, slug, phase, refused, status))


@router.post("/challenges/{slug}/organize/phases/{phase}/delete")
def post_phase_deletion(slug: str, phase: str, page: PageDep, form: FormDep) -> Response:
    """Deletes a phase to which nothing was submitted."""
    caller = editor(page, slug)

    def act() -> Response:
        remove_phase(slug, phase, caller.with_reason(form.reason()), page.state)
        return redirect(page, f"/challenges/{slug}/organize/phases", done=DELETED)

    return attempt(form, act, lambda refused, status: show_phase(page, slug, phase, refused, status))


def phase_values(form: Form, current: PhaseShape | None = None) -> dict[str, Any]:
    """The fields of the request for a new phase, or for a change of the current one."""
    values: dict[str, Any] = {
        "name": form.value("name").strip(),
        "late": form.value("late", "refuse"),
        "quota": {name: whole_number(form.text(name)) for name in QUOTA_FIELDS},
        "leaderboard": form.value("leaderboard", "public"),
        "reports": form.values("reports"),
        "anonymous": form.has("anonymous"),
    }
    if form.has("own_labels"):
        values |= {"task": form.text("task"), "positive_label": form.text("positive_label")}
        values["classes"] = text_lines(form.value("classes"))
    if current is None:
        return values | {name: form.text(name) for name in ("opens_at", "closes_at")}
    for name in ("opens_at", "closes_at"):
        values |= changed_time(form, name, getattr(current, name), current.timezone)
    return values


def find_phase(frame: OrganizerFrame, slug: str) -> PhaseShape:
    """The phase with this slug; raises NotFound."""
    found = next((phase for phase in frame.challenge.phases if phase.slug == slug), None)
    if found is None:
        raise NotFound(f"The challenge has no phase '{slug}'.", remedy="Choose one in the list of phases.")
    return found


def show_phases(page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The list with the active gold of each phase, else its newest version; and a form that was refused."""
    frame = organizer_frame(page, slug)
    gold: dict[str, GoldShape | None] = {}
    for phase in frame.challenge.phases:
        versions = get_versions(slug, phase.slug, page.account, page.state, 200).items
        active = (version for version in versions if version.status == "active")
        gold[phase.slug] = next(active, versions[0] if versions else None)
    return render(page, "organize/phases.html", form=form, status=status, frame=frame, gold=gold)


def show_phase(page: PageContext, slug: str, phase: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page of a phase, with a form that was refused."""
    frame = organizer_frame(page, slug)
    current = find_phase(frame, phase)
    texts = {name: local_text(getattr(current, name), current.timezone) for name in ("opens_at", "closes_at")}
    values = {"phase": current, "texts": texts, "feedback": get_ladder(slug, phase, page.account, page.state)}
    return render(page, "organize/phase.html", form=form, status=status, frame=frame, **values)
