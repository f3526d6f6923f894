"""The submissions of all teams: filter them, score them again, disqualify, reinstate, withdraw and cancel them."""

from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query
from starlette.responses import Response

from app.actions.submissions.read_submissions import SubmissionFilter
from app.api.dependencies import current_organizer
from app.api.disqualifications import (
    current_submission_organizer,
    post_disqualify,
    post_reinstate,
    post_withdraw,
)
from app.api.reasons import OptionalReason, Reason
from app.api.reruns import delete_rerun, get_rerun, post_rerun, post_submission_rerun
from app.api.submissions import Status, SubmissionMark, delete_submission, get_submissions, post_cancel
from app.errors import InvalidRequest
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.acts import act_on_ticked
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 50
DONE = notice("desk-submissions-acted", "Done for all ticked submissions.")
RESCORING = notice(
    "desk-rerun-ordered", "The submissions of the phase are being scored again. The progress is shown below."
)
STOPPED = notice("desk-rerun-cancelled", "What had not started is not scored again.")
STATUSES = {
    "": "Any status",
    "queued": "Queued",
    "running": "Running",
    "finished": "Finished",
    "rejected": "Rejected",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
MARKS = {
    "": "Any mark",
    "selected": "Selected for the ranking",
    "disqualified": "Disqualified",
    "withdrawn": "Withdrawn",
    "unofficial": "Unofficial (late)",
    "baseline": "Baselines",
    "test": "Tests by organizers",
}
ACTS = {
    "rerun": "Score again",
    "disqualify": "Disqualify",
    "reinstate": "Reinstate",
    "withdraw": "Withdraw",
    "cancel": "Cancel",
    "delete": "Delete tests",
}


@router.get("/challenges/{slug}/organize/submissions")
def get_list(
    slug: str,
    page: PageDep,
    phase: Annotated[str | None, Query(max_length=64)] = None,
    status: Annotated[str, Query(max_length=20)] = "",
    mark: Annotated[str, Query(max_length=20)] = "",
    team: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The submissions of a phase, newest first, by status, mark, team and text."""
    asked = {"phase": phase, "status": status, "mark": mark, "team": team.strip(), "q": q.strip()}
    return show_list(page, slug, asked, cursor=cursor)


def show_list(
    page: PageContext,
    slug: str,
    asked: dict[str, str | None],
    form: Form = NO_FORM,
    code: int = 200,
    *,
    cursor: str | None = None,
) -> Response:
    """The list, with a form that was refused."""
    frame = organizer_frame(page, slug)
    phases = frame.challenge.phases
    phase = asked.get("phase") or (phases[0].slug if phases else None)
    given = {name: value for name, value in (asked | {"phase": phase}).items() if value}
    values: dict[str, Any] = {"rows": [], "following": None, "rerun": None}
    if phase is not None:
        wanted = _filter(given)
        listed = get_submissions(slug, phase, page.account, page.state, wanted=wanted, limit=ROWS, cursor=cursor)
        rerun = get_rerun(slug, phase, page.account, page.state)
        values = {"rows": listed.items, "following": listed.next, "rerun": rerun}
    return render(
        page,
        "organize/submissions.html",
        status=code,
        form=form,
        frame=frame,
        asked=given,
        phase=phase,
        address=f"{frame.desk}/submissions?{urlencode(given)}",
        query=urlencode(given),
        statuses=STATUSES,
        marks=MARKS,
        acts=ACTS,
        **values,
    )


def _filter(asked: dict[str, str]) -> SubmissionFilter:
    """The filter; what stands in no list of choices, such as a status from a mistyped address, restricts nothing."""
    status, mark = asked.get("status"), asked.get("mark")
    return SubmissionFilter(
        status if status in Status.__args__ else None,  # type: ignore[attr-defined]
        mark if mark in SubmissionMark.__args__ else None,  # type: ignore[attr-defined]
        asked.get("team"),
        asked.get("q"),
    )


def _asked(form: Form) -> dict[str, str | None]:
    return {name: form.text(name) for name in ("phase", "status", "mark", "team", "q")}


def _address(slug: str, asked: dict[str, str | None], fragment: str = "") -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/challenges/{slug}/organize/submissions?{query}{fragment}"


@router.post("/challenges/{slug}/organize/submissions")
def post_act(slug: str, page: PageDep, form: FormDep) -> Response:
    """Do something with all submissions that were ticked."""
    asked = _asked(form)

    def act() -> Response:
        act_on_ticked(form, _act_of(page, form))
        return redirect(page, _address(slug, asked), done=DONE)

    return attempt(form, act, lambda refused, status: show_list(page, slug, asked, refused, status))


def _act_of(page: PageContext, form: Form) -> Callable[[str], object]:
    """What the pressed button does with one submission; raises InvalidRequest, ValidationError."""
    state, reason = page.state, form.reason()
    act, caller = form.value("act"), page.account.with_reason(reason)
    if act == "rerun":
        return lambda each: post_submission_rerun(each, caller, state, Response())
    if act == "delete":
        return lambda each: delete_submission(each, caller, state)
    if act == "disqualify":
        body = form.body(Reason, reason=reason)
        return lambda each: post_disqualify(each, current_submission_organizer(each, caller, state), state, body)
    why = form.body(OptionalReason, reason=reason)
    if act == "reinstate":
        return lambda each: post_reinstate(each, current_submission_organizer(each, caller, state), state, why)
    if act == "withdraw":
        return lambda each: post_withdraw(each, current_submission_organizer(each, caller, state), state, why)
    if act == "cancel":
        return lambda each: post_cancel(each, current_submission_organizer(each, caller, state), state, why)
    raise InvalidRequest("Press one of the buttons below the list.")


@router.post("/challenges/{slug}/organize/submissions/rerun")
def post_phase_rerun(slug: str, page: PageDep, form: FormDep) -> Response:
    """Score all finished submissions of a phase again, or stop that."""
    asked = _asked(form)

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        if form.value("act") == "stop":
            delete_rerun(slug, form.value("phase"), caller, page.state)
            return redirect(page, _address(slug, asked, "#rerun"), done=STOPPED)
        post_rerun(slug, form.value("phase"), caller, page.state, Response())
        return redirect(page, _address(slug, asked, "#rerun"), done=RESCORING)

    return attempt(form, act, lambda refused, status: show_list(page, slug, asked, refused, status))
