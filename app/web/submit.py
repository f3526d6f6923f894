"""The page to submit predictions: a form that works without scripts; the file is read as that of the API's routes."""

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.challenges.make_template import template_source
from app.actions.submissions.admission import Sender, SubmissionMetadata, load_admission_facts
from app.api.field_types import Body, SingleLineText, TeamName
from app.api.http.form_file import is_form
from app.api.http.uploads import open_form_file
from app.api.phases import PhaseShape
from app.api.quotas import QuotaShape, get_quota
from app.api.receive_submission import (
    DryRunWithExcerpts,
    SubmissionRequest,
    check_predictions,
    refuse_early,
    store_submission,
)
from app.formats import FORMATS
from app.web.challenge_frame import ChallengeFrame, challenge_frame
from app.web.forms import Form, attempt_async
from app.web.notices import notice
from app.web.page import CSRF_FIELD, CSRF_HEADER, PageContext, PageDep, page_router, redirect, require_same_origin
from app.web.rendering import render

router = page_router()

SentAs = Literal["entry", "test", "team", "baseline"]
PhaseQuery = Annotated[str | None, Query(max_length=200)]
AsQuery = Annotated[SentAs | None, Query(alias="as")]
KeyQuery = Annotated[str | None, Query(min_length=1, max_length=255)]
LEADING_FIELDS = frozenset({CSRF_FIELD, "method", "description", "link", "team", "layout"})
"""The text fields of the form. They stand before the file, so that they are known before it is read."""
TEMPLATE_FORMATS = ("csv", "json", "jsonl", "tsv")
EXAMPLE_FORMATS = ("csv", "json", "jsonl")

STORED = notice("submitted", "Your file is stored. This page shows what becomes of it.")


class StatedMetadata(Body):
    """What the form states about a submission, under the limits of the API's query."""

    method: SingleLineText = Field("", max_length=200)
    description: SingleLineText = Field("", max_length=5000)
    link: SingleLineText | None = Field(None, max_length=2000, pattern=r"^https?://\S+$")
    team: TeamName | None = None


@router.get("/challenges/{slug}/submit")
def show_submit(slug: str, page: PageDep, phase: PhaseQuery = None, sent_as: AsQuery = None) -> Response:
    """The form, for one phase."""
    _ = page.account
    return _submit_page(page, challenge_frame(page, slug), phase, sent_as)


def _usable_phases(frame: ChallengeFrame) -> list[PhaseShape]:
    """The phases that take files from this reader, or may do so: organizers can send at any time."""
    phases = frame.challenge.phases
    if frame.role is not None:
        return phases
    now = datetime.now(UTC)
    return [phase for phase in phases if phase.open or _may_take_files(phase, now)]


def _may_take_files(phase: PhaseShape, now: datetime) -> bool:
    """Whether a phase that is not open takes late files, or will take files again after its pause, which the page shows."""
    if phase.closes_at is not None and phase.closes_at <= now:
        return phase.late == "unofficial"
    return phase.paused_at is not None and phase.opens_at <= now


def _submit_page(
    page: PageContext,
    frame: ChallengeFrame,
    phase_slug: str | None,
    sent_as: SentAs | None,
    *,
    form: Form | None = None,
    status: int = 200,
    checked: DryRunWithExcerpts | None = None,
) -> Response:
    phases = _usable_phases(frame)
    phase = next((one for one in phases if one.slug == phase_slug), None)
    if phase is None and phases:
        phase = next((one for one in phases if one.open), phases[0])
    chosen = sent_as or ("entry" if frame.is_member or frame.role is None else "test")
    return render(
        page,
        "submit.html",
        status=status,
        form=form or Form(),
        frame=frame,
        phases=phases,
        phase=phase,
        sent_as=chosen,
        key=secrets.token_urlsafe(18),
        quota=None if phase is None else _quota(page, frame, phase),
        examples=[] if phase is None else _examples(page, frame, phase),
        template_formats=TEMPLATE_FORMATS,
        checked=checked,
    )


def _quota(page: PageContext, frame: ChallengeFrame, phase: PhaseShape) -> QuotaShape | None:
    """The quota of the reader's team, if it has one here."""
    if not frame.is_member or all(limit is None for limit in phase.quota.model_dump().values()):
        return None
    try:
        return get_quota(frame.challenge.slug, phase.slug, page.account, page.state)
    except errors.AssayError:
        return None


def _examples(page: PageContext, frame: ChallengeFrame, phase: PhaseShape) -> list[tuple[str, str]]:
    """What a file looks like, by the name of its format."""
    needs_scores = _needs_scores(page, frame, phase)
    examples = []
    for key in EXAMPLE_FORMATS:
        shape = FORMATS[key].shapes[0]
        text = shape.multilabel if phase.task == "multilabel" else shape.example
        if needs_scores:
            text = (shape.score if phase.task == "binary" else "") or shape.scores or text
        if text:
            examples.append((FORMATS[key].name, text))
    return examples


def _needs_scores(page: PageContext, frame: ChallengeFrame, phase: PhaseShape) -> bool:
    """Whether a metric needs scores, as the template of the phase tells its reader."""
    try:
        with page.state.db.read() as session:
            return template_source(session, page.caller, frame.challenge.slug, phase.slug)[1]
    except errors.AssayError:
        return False


@router.post("/challenges/{slug}/submit")
async def post_file(
    slug: str,
    page: PageDep,
    phase: Annotated[str, Query(max_length=200)],
    sent_as: AsQuery = None,
    key: KeyQuery = None,
    *,
    check: bool = False,
) -> Response:
    """Store the file of the form and go on to its page, or only check it.

    Rights are checked before anything of the body is read, and the token of the session before its file is.
    """
    account = page.account
    require_same_origin(page.request, page.site)
    form = Form()

    async def act() -> Response:
        upload = await run_in_threadpool(_request, page, slug, phase, sent_as, None if check else key, check)
        organizer = await refuse_early(upload, slug, phase)
        stated, layout = await _read_fields(page, form)
        entry = SubmissionMetadata(
            stated.method,
            stated.description,
            stated.link,
            stated.team if sent_as in {"team", "baseline"} else None,
            baseline=sent_as == "baseline",
            test=sent_as == "test",
        )
        if sent_as in {"team", "baseline"} and entry.team is None:
            raise errors.BadRequest("No team is named.", remedy="Name the team that the file is for.")
        upload = replace(upload, entry=entry, layout=layout)
        if check:
            checked = await check_predictions(upload, slug, phase, organizer=organizer, has_excerpts=True)
            return await run_in_threadpool(_again, page, slug, phase, sent_as, form, 200, checked)
        view, _ = await store_submission(upload, slug, phase)
        return redirect(page, f"/submissions/{view.submission.id}", done=STORED)

    assert account.user_id is not None
    return await attempt_async(form, act, lambda refused, status: _again(page, slug, phase, sent_as, refused, status))


def _again(
    page: PageContext,
    slug: str,
    phase: str,
    sent_as: SentAs | None,
    form: Form,
    status: int,
    checked: DryRunWithExcerpts | None = None,
) -> Response:
    frame = challenge_frame(page, slug)
    return _submit_page(page, frame, phase, sent_as, form=form, status=status, checked=checked)


def _request(
    page: PageContext, slug: str, phase: str, sent_as: SentAs | None, key: str | None, check: bool
) -> SubmissionRequest:
    """The request as the API's routes know it, before its form is read."""
    with page.state.db.read() as session:
        facts = load_admission_facts(session, page.account, slug, phase, key)
    entry = SubmissionMetadata(
        "",
        team="?" if sent_as in {"team", "baseline"} else None,
        baseline=sent_as == "baseline",
        test=sent_as == "test",
    )
    return SubmissionRequest(page.request, page.state, Sender(page.account, facts), entry, None, None, 0, key, check)


async def _read_fields(page: PageContext, form: Form) -> tuple[StatedMetadata, str | None]:
    """Read the form up to its file; raises FormExpired, ForeignForm, BadRequest and ValidationError."""
    if not is_form(page.request.headers.get("content-type")):
        raise errors.BadRequest("This is not a form that the pages of this service send.")
    file = await open_form_file(page.request, LEADING_FIELDS)
    assert file is not None
    form.fields |= {name: [value.replace("\r\n", "\n")] for name, value in file.fields.items() if name != CSRF_FIELD}
    page.require_own_form(file.fields.get(CSRF_FIELD) or page.request.headers.get(CSRF_HEADER))
    if not file.filename:
        remedy = "Choose the file with your predictions, then send the form again."
        raise errors.BadRequest("No file was chosen.", remedy=remedy)
    names = ("method", "description", "link", "team")
    return form.body(StatedMetadata, **{name: form.text(name) for name in names}), form.text("layout")
