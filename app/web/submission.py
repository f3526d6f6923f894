"""The page of a submission: its status, scores and problems, what they come from, and what its reader may do."""

from collections.abc import Callable
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import Header, Query, Response
from starlette.concurrency import run_in_threadpool

from app import errors
from app.api.disqualifications import post_disqualify, post_reinstate, post_withdraw
from app.api.limits.client_addresses import client_address_block
from app.api.live.queue_watch import QueueStream, ShownPlace
from app.api.reasons import OptionalReason, Reason
from app.api.receipts import get_receipt
from app.api.reports import ReportQuestion, get_report
from app.api.reruns import post_submission_rerun
from app.api.submissions import (
    FINAL_STATUSES,
    Status,
    delete_submission,
    get_predictions,
    get_submission,
    post_cancel,
    post_select,
    post_unselect,
)
from app.drawing import charts
from app.web.forms import Form, attempt
from app.web.notices import Notice, notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import render
from app.web.report_drawings import (
    CLASS_ROWS,
    CONFUSED_PAIRS,
    ORDERS,
    class_rows,
    confusion_table,
    draw_calibration,
    draw_curves,
)
from app.web.score_view import score_links
from app.web.submission_view import (
    CURVE_POINTS,
    ReportState,
    ShownProblems,
    SubmissionPage,
    read_page,
    read_problems,
    read_report,
)

router = page_router()

Order = Annotated[Literal["declared", "name", "frequency", "errors"], Query()]
Split = Annotated[Literal["all", "public", "private"] | None, Query()]
Start = Annotated[int, Query(alias="from", ge=0, le=1_000_000)]
ShownStatus = Annotated[Status | None, Query()]
NO_REPORT = ReportState({})
STATUS_PART = "#submission-status"
MAX_POSITION = 10**9
"""The largest place in the queue that a request may name, so that places can be compared as numbers."""

DONE: dict[str, Notice] = {
    "cancel": notice("cancelled", "The submission is cancelled."),
    "select": notice("selected", "The submission is selected."),
    "unselect": notice("unselected", "The submission is no longer selected."),
    "withdraw": notice("withdrawn", "The submission is withdrawn. Boards show it without a rank."),
    "rerun": notice("rerun", "The submission will be scored again. Its scores are compared with the stored ones."),
    "disqualify": notice("disqualified", "The submission is disqualified. Boards show it without a rank."),
    "reinstate": notice("reinstated", "The submission is reinstated."),
    "delete": notice("test-deleted", "The test entry is deleted, with its file and its scores."),
}


@router.get("/submissions/{submission_id}")
async def show_submission(
    submission_id: str,
    page: PageDep,
    split: Split = None,
    order: Order = "declared",
    start: Start = 0,
    status: ShownStatus = None,
) -> Response:
    """A submission; what its report needs is waited for a few seconds.

    For htmx, which names the status that the page shows, the sentence about it alone while the status is the same.
    """
    if status is not None and page.request.headers.get("hx-request"):
        sentence = await run_in_threadpool(_status_sentence, page, submission_id, status)
        if sentence is not None:
            return sentence
    shown = await run_in_threadpool(read_page, page, submission_id)
    state = NO_REPORT
    if shown.has_report:
        state = await read_report(page, ReportQuestion(submission_id, split=split, points=CURVE_POINTS))
    problems = await read_problems(page, shown.submission)
    return await run_in_threadpool(_render, page, shown, state, problems, split, order, start)


def _status_sentence(page: PageContext, submission_id: str, status: str) -> Response | None:
    """The part of the page that says where the submission stands; None if the status is another one now."""
    found = get_submission(submission_id, page.account, page.state)
    if found.status != status or found.status in FINAL_STATUSES:
        return None
    reply = render(page, "submission_status.html", sub=found)
    for name, value in (("Retarget", STATUS_PART), ("Reselect", STATUS_PART), ("Reswap", "outerHTML")):
        reply.headers[f"HX-{name}"] = value
    return reply


def _render(
    page: PageContext,
    shown: SubmissionPage,
    state: ReportState,
    found: ShownProblems,
    split: str | None,
    order: str,
    start: int,
) -> Response:
    report = state.report
    rows = class_rows(report, order)
    table = confusion_table(report["confusion"]) if "confusion" in report else None
    return render(
        page,
        "submission.html",
        shown=shown,
        sub=shown.submission,
        frame=shown.frame,
        score_links=score_links(shown, split, state),
        report=report,
        report_state=state,
        split=split or report.get("split"),
        order=order,
        orders=ORDERS,
        class_rows=rows[start : start + CLASS_ROWS],
        class_count=len(rows),
        problems=found.problems,
        left_out=found.left_out,
        first_row=start,
        rows_per_page=CLASS_ROWS,
        confusion=table,
        confusion_map=table.draw() if table is not None and table.is_readable else None,
        shade_key=charts.shade_key(),
        pairs=[] if table is None else table.most_confused(5),
        curves={part: draw_curves(report, part) for part in ("roc_curve", "pr_curve")},
        calibration=draw_calibration(report),
    )


@router.get("/submissions/{submission_id}/confusion")
async def show_confusion(submission_id: str, page: PageDep, split: Split = None, order: Order = "declared") -> Response:
    """The confusion matrix on a page of its own, with the most confused pairs; raises what the report raises."""
    shown = await run_in_threadpool(read_page, page, submission_id)
    state = await read_report(page, ReportQuestion(submission_id, "confusion", split), wait=60)
    if state.refusal is not None:
        raise state.refusal

    def draw() -> Response:
        part = state.report.get("confusion")
        table = None if part is None else confusion_table(part).ordered(order)
        return render(
            page,
            "confusion.html",
            shown=shown,
            sub=shown.submission,
            frame=shown.frame,
            report=state.report,
            report_state=state,
            split=split,
            order=order,
            orders=ORDERS,
            table=table,
            drawing=None if table is None else table.draw(),
            shade_key=charts.shade_key(fine=table is not None and not table.is_readable),
            pairs=[] if table is None else table.most_confused(CONFUSED_PAIRS),
            max_drawn=charts.MAX_DRAWN_CELLS,
        )

    return await run_in_threadpool(draw)


@router.get("/submissions/{submission_id}/changes")
async def follow_submission(
    submission_id: str,
    page: PageDep,
    seen: Annotated[str | None, Query(max_length=100)] = None,
    status: ShownStatus = None,
    position: Annotated[int | None, Query(ge=1, le=MAX_POSITION)] = None,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=100)] = None,
) -> Response:
    """The stream of the page: says that the submission may have changed. Rights are checked once, when it opens.

    `status` and `position` are those that the page shows.
    """
    found = await run_in_threadpool(get_submission, submission_id, page.account, page.state)
    shown = ShownPlace(status or found.status, position if status else found.queue_position)
    state, block = page.state, client_address_block(page.request)
    return QueueStream(state.queue_watch, state.changes, submission_id, shown, block=block, seen=last_event_id or seen)


@router.get("/submissions/{submission_id}/file")
def download_file(submission_id: str, page: PageDep) -> Response:
    """The submitted file."""
    return get_predictions(submission_id, page.account, page.state)


@router.get("/submissions/{submission_id}/receipt")
def download_receipt(submission_id: str, page: PageDep, split: Split = None) -> Response:
    """The receipt as the API gives it."""
    reply = get_receipt(submission_id, page.caller, page.state, split)
    reply.headers["Content-Disposition"] = f'attachment; filename="receipt-{submission_id}.json"'
    return reply


@router.get("/submissions/{submission_id}/report")
async def download_report(
    submission_id: str,
    page: PageDep,
    format_name: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
    part: Annotated[str | None, Query(max_length=50)] = None,
    split: Split = None,
) -> Response:
    """The report as the API gives it."""
    return await get_report(submission_id, page.request, page.account, page.state, format_name, part, split)


Act = Callable[[str, PageContext, Form], object]


def _optional(form: Form) -> OptionalReason:
    return form.body(OptionalReason, reason=form.text("reason"))


ACTS: dict[str, Act] = {
    "cancel": lambda key, page, form: post_cancel(key, page.account, page.state, _optional(form)),
    "select": lambda key, page, form: post_select(key, page.account, page.state, _optional(form)),
    "unselect": lambda key, page, form: post_unselect(key, page.account, page.state, _optional(form)),
    "withdraw": lambda key, page, form: post_withdraw(key, page.account, page.state, _optional(form)),
    "disqualify": lambda key, page, form: post_disqualify(
        key, page.account, page.state, form.body(Reason, reason=form.text("reason"))
    ),
    "reinstate": lambda key, page, form: post_reinstate(key, page.account, page.state, _optional(form)),
    "rerun": lambda key, page, form: post_submission_rerun(
        key, page.account.with_reason(_optional(form).reason), page.state, Response()
    ),
    "delete": lambda key, page, form: delete_submission(
        key, page.account.with_reason(_optional(form).reason), page.state
    ),
}


@router.post("/submissions/{submission_id}/{act}")
def post_act(submission_id: str, act: str, page: PageDep, form: FormDep) -> Response:
    """Cancel, select, unselect, withdraw, rerun, disqualify, reinstate or delete a submission."""
    if act not in ACTS:
        raise errors.NotFound
    submission = get_submission(submission_id, page.account, page.state)
    challenge = submission.challenge
    path = f"/submissions/{submission_id}"
    if form.value("back") == "list":
        path = f"/challenges/{challenge}/submissions?phase={quote(submission.phase)}"
    if act == "delete":
        path = f"/challenges/{challenge}/organize/submissions"

    def perform() -> Response:
        ACTS[act](submission_id, page, form)
        return redirect(page, path, done=DONE[act])

    return attempt(form, perform, lambda refused, status: _show_refusal(page, submission_id, refused, status))


def _show_refusal(page: PageContext, submission_id: str, form: Form, status: int) -> Response:
    return render(
        page,
        "submission_refused.html",
        status=status,
        form=form,
        shown=(shown := read_page(page, submission_id)),
        sub=shown.submission,
        frame=shown.frame,
    )
