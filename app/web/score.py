"""The page of one score: its value, its equation in words, and the counts that it is computed from."""

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.api.reports import ReportQuestion
from app.scoring.catalogue.description import render_equation
from app.scoring.declaration.metric import MetricCall
from app.web.metric_words import describe_metric_of_recipe
from app.web.page import PageContext, PageDep, page_router
from app.web.rendering import render
from app.web.report_drawings import CLASS_ROWS, ORDERS
from app.web.score_address import score_path
from app.web.score_counts import ordered
from app.web.score_view import counts_of, metric_of, why_withheld
from app.web.submission import NO_REPORT, Order, Split, Start
from app.web.submission_view import CURVE_POINTS, ReportState, SubmissionPage, read_page, read_report

router = page_router()
COLUMNS = {
    "support": "gold",
    "predicted": "predicted",
    "tp": "true positives",
    "fp": "false positives",
    "fn": "false negatives",
    "negatives": "other instances",
}
"""The counts of a class, by their names in ScoreCounts.columns."""


@router.get("/submissions/{submission_id}/scores/{key}")
async def show_score(
    submission_id: str, key: str, page: PageDep, split: Split = None, order: Order = "declared", start: Start = 0
) -> Response:
    """A score of a submission; its report is waited for a few seconds. Raises NotFound and SplitHidden."""
    shown = await run_in_threadpool(read_page, page, submission_id)
    call = metric_of(shown, key)
    scores, state = shown.scores_on(split), NO_REPORT
    if split is not None and not scores:
        raise errors.SplitHidden(f"There are no scores on the split '{split}' that you may see.")
    if why_withheld(shown, scores, call.text) is None:
        state = await read_report(page, ReportQuestion(submission_id, split=split, points=CURVE_POINTS))
    return await run_in_threadpool(_render, page, shown, call, state, split, order, start)


def _render(
    page: PageContext,
    shown: SubmissionPage,
    call: MetricCall,
    state: ReportState,
    split: str | None,
    order: str,
    start: int,
) -> Response:
    counts = counts_of(shown, call, split, state)
    rows = ordered(counts.rows, order)
    return render(
        page,
        "score.html",
        shown=shown,
        sub=shown.submission,
        frame=shown.frame,
        metric=describe_metric_of_recipe(call.text, shown.recipe),
        is_primary=call.text == shown.recipe.primary,
        score=shown.scores_on(split).get(call.text),
        counts=counts,
        equation=None if counts.equation is None else render_equation(counts.equation),
        column_names=COLUMNS,
        rows=rows[start : start + CLASS_ROWS],
        first_row=start,
        rows_per_page=CLASS_ROWS,
        report_state=state,
        address=score_path(shown.submission.id, call.text),
        split=split or shown.submission.split,
        split_query=f"&split={split}" if split else "",
        order=order,
        orders=ORDERS,
    )
