"""Registrations: who wants to take part; approve, bar, or allow to join another team."""

from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import Query
from pydantic import TypeAdapter
from starlette.responses import Response

from app.api.registrations import (
    Decision,
    RegistrationStatus,
    current_registration_editor,
    get_registration,
    get_registrations,
    patch_registration,
)
from app.errors import InvalidRequest
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.acts import act_on_ticked
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 50
DECIDED = notice("desk-registrations-decided", "The decision is in force. The people concerned see it on their page.")
STATUSES = {
    "": "All",
    "pending": "Waiting for a decision",
    "approved": "Approved",
    "barred": "Barred",
    "ended": "Ended",
}
STATUS: TypeAdapter[RegistrationStatus] = TypeAdapter(RegistrationStatus)
NEEDS_REASON = "is needed to bar somebody; the person can read it"
# The value of the button, and what it means for the API.
ACTS: dict[str, dict[str, Any]] = {
    "approve": {"status": "approved"},
    "bar": {"status": "barred"},
    "reset": {"status": "pending"},
    "allow": {"may_join": True},
}


@router.get("/challenges/{slug}/organize/registrations")
def get_list(
    slug: str,
    page: PageDep,
    status: RegistrationStatus | None = None,
    cursor: str | None = Query(None, max_length=200),
    tick: Literal["all"] | None = None,
) -> Response:
    """The registrations, newest first; the boxes of all rows are ticked on request, also without scripts."""
    return show_list(page, slug, status=status, cursor=cursor, all_ticked=tick == "all")


def show_list(
    page: PageContext,
    slug: str,
    form: Form = NO_FORM,
    code: int = 200,
    *,
    status: RegistrationStatus | None = None,
    cursor: str | None = None,
    all_ticked: bool = False,
) -> Response:
    """The list, with a form that was refused."""
    frame = organizer_frame(page, slug)
    list_path = f"{frame.desk}/registrations{f'?status={status}' if status else ''}"
    here = f"{list_path}{'&' if status else '?'}{urlencode({'cursor': cursor})}" if cursor else list_path
    rows = get_registrations(slug, page.account, page.state, status=status, limit=ROWS, cursor=cursor)
    return render(
        page,
        "organize/registrations.html",
        status=code,
        form=form,
        frame=frame,
        rows=rows["items"],  # type: ignore[index]
        following=rows["next"],  # type: ignore[index]
        wanted=status or "",
        statuses=STATUSES,
        all_ticked=all_ticked,
        list_path=list_path,
        here=here,
    )


@router.get("/challenges/{slug}/organize/registrations/{registration_id}")
def get_one(slug: str, registration_id: str, page: PageDep) -> Response:
    """One registration with its answers and its history."""
    return show_one(page, slug, registration_id)


def show_one(page: PageContext, slug: str, registration_id: str, form: Form = NO_FORM, code: int = 200) -> Response:
    """The page of a registration, with a form that was refused."""
    frame = organizer_frame(page, slug)
    row = get_registration(slug, registration_id, page.account, page.state)
    return render(page, "organize/registration.html", status=code, form=form, frame=frame, row=row)


@router.post("/challenges/{slug}/organize/registrations")
def post_decision(slug: str, page: PageDep, form: FormDep) -> Response:
    """Decide on all registrations that were ticked."""
    status = STATUS.validate_python(form.text("status")) if form.text("status") in STATUSES else None

    def act() -> Response:
        if form.value("act") == "bar" and not form.text("reason"):
            raise InvalidRequest("A bar needs a reason.", errors=[{"pointer": "/reason", "detail": NEEDS_REASON}])
        body = form.body(Decision, reason=form.text("reason"), **ACTS.get(form.value("act"), {}))
        act_on_ticked(form, lambda each: decide(page, slug, each, body), names=_names(form))
        path = f"/challenges/{slug}/organize/registrations"
        return redirect(page, f"{path}?status={status}" if status else path, done=DECIDED)

    one = form.text("of")
    if one is not None:
        return attempt(form, act, lambda refused, status: show_one(page, slug, one, refused, status))
    return attempt(form, act, lambda refused, code: show_list(page, slug, refused, code, status=status))


def decide(page: PageContext, slug: str, registration_id: str, body: Decision) -> None:
    """Decide on one registration, as the API does."""
    caller = current_registration_editor(slug, registration_id, page.account, page.state)
    patch_registration(slug, registration_id, body, caller, page.state)


def _names(form: Form) -> dict[str, str]:
    """By id, the names that the list showed."""
    pairs = (text.partition(" ") for text in form.values("named"))
    return {key: name for key, _, name in pairs}
