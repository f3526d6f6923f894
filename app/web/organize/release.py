"""The final release of a phase: a preview of public and private ranks, and the release itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app.api.dependencies import current_organizer
from app.api.phases import PhaseShape
from app.api.reasons import OptionalReason
from app.api.releases import get_release, post_release
from app.errors import InvalidRequest
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

# Where each obstacle of a release is mended, below the organizers' page, and the words of the link.
WAYS = {
    "no_gold": ("phases/{phase}/gold", "Upload and activate the gold"),
    "no_splits": ("phases/{phase}/gold", "Look at the gold"),
    "not_closed": ("phases/{phase}", "Change its closing time"),
    "unsettled": ("submissions?phase={phase}", "Look at the submissions"),
}
RELEASED = notice("desk-released", "The private scores are released. Boards, reports and submissions show them.")


@router.get("/challenges/{slug}/organize/release")
def get_preview(slug: str, page: PageDep, phase: Annotated[str | None, Query(max_length=64)] = None) -> Response:
    """What a release would show."""
    return show_preview(page, slug, phase)


def show_preview(page: PageContext, slug: str, phase: str | None, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page, with a form that was refused."""
    frame = organizer_frame(page, slug)
    phases = frame.challenge.phases
    phase = phase or likely_phase(phases)
    release = None if phase is None else get_release(slug, phase, page.account, page.state)
    ways = {code: (f"{frame.desk}/{path.format(phase=phase)}", label) for code, (path, label) in WAYS.items()}
    values = {"phase": phase, "release": release, "ways": ways}
    return render(page, "organize/release.html", status=status, form=form, frame=frame, **values)


def likely_phase(phases: Sequence[PhaseShape]) -> str | None:
    """The phase that organizers most likely come for: the last one that has opened; None without phases."""
    now = datetime.now(UTC)
    opened = [each for each in phases if each.opens_at <= now]
    return (opened or phases)[-1].slug if phases else None


@router.post("/challenges/{slug}/organize/release")
def post_phase_release(slug: str, page: PageDep, form: FormDep) -> Response:
    """Release the private scores of a phase, once its slug is typed."""
    phase = form.value("phase")

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state)
        if form.text("confirm") != phase:
            detail = f"Type {phase} to confirm: a release cannot be undone."
            raise InvalidRequest(detail, errors=[{"pointer": "/confirm", "detail": detail}])
        post_release(slug, phase, caller, page.state, form.body(OptionalReason, reason=form.text("reason")))
        return redirect(page, f"/challenges/{slug}/organize/release?phase={phase}", done=RELEASED)

    return attempt(form, act, lambda refused, status: show_preview(page, slug, phase, refused, status))
