"""The quota of a team in a phase: limits, use, the ledger, and what organizers grant."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query
from starlette.responses import Response

from app.api.dependencies import current_organizer
from app.api.quotas import NewGrant, get_quota, post_grant
from app.errors import AssayError, NotFound
from app.web.forms import FieldFault, Form, attempt, whole_number
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

GRANTED = notice("desk-quota-granted", "The limits of the team changed. The team sees the reason.")


@router.get("/challenges/{slug}/organize/quota")
def get_team_quota(
    slug: str,
    page: PageDep,
    phase: Annotated[str | None, Query(max_length=64)] = None,
    team: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """The limits of the phases; with a team, its quota in one phase."""
    return show_quota(page, slug, phase, team)


def show_quota(
    page: PageContext, slug: str, phase: str | None, team: str | None, form: Form = NO_FORM, status: int = 200
) -> Response:
    """The page, with a form that was refused."""
    frame = organizer_frame(page, slug)
    phases, team = frame.challenge.phases, (team or "").strip() or None
    phase = phase or (phases[0].slug if phases else None)
    quota = None
    if phase is not None and team is not None:
        try:
            quota = get_quota(slug, phase, page.account, page.state, team=team)
        except NotFound as error:
            form, status = _with_fault(form, error), max(status, error.status)
    return render(
        page,
        "organize/quota.html",
        status=status,
        form=form,
        frame=frame,
        phase=phase,
        phase_name=next((each.name for each in phases if each.slug == phase), phase),
        team=team or "",
        quota=quota,
    )


def _with_fault(form: Form, error: AssayError) -> Form:
    """The form with the fault of the team, and the names that are near."""
    return Form(form.fields, [*form.faults, FieldFault("", error.detail, error.advice)])


@router.post("/challenges/{slug}/organize/quota")
def post_quota_grant(slug: str, page: PageDep, form: FormDep) -> Response:
    """Give a team more, or take from it."""
    phase, team = form.value("phase"), form.value("team")

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state)
        numbers = {name: whole_number(form.text(name)) for name in ("per_day", "total")}
        body = form.body(NewGrant, team=form.text("team"), reason=form.text("reason"), **numbers)
        post_grant(slug, phase, body, caller, page.state)
        return redirect(page, _address(slug, phase, team), done=GRANTED)

    return attempt(form, act, lambda refused, status: show_quota(page, slug, phase, team, refused, status))


def _address(slug: str, phase: str, team: str) -> str:
    return f"/challenges/{slug}/organize/quota?{urlencode({'phase': phase, 'team': team})}"
