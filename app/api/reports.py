"""The detailed report of a submission, as JSON, or one part of it as CSV."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from fastapi import Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.access import Caller
from app.actions.submissions.read_report import ReportRequest, ReportTooLarge, authorize_report, make_report
from app.api.dependencies import AccountDep, AppState, AppStateDep, caller_key
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.http.uploads import DownloadResponse
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples
from app.scoring.reports.detailed_report import REPORT_PARTS

router = api_router("submissions")
ReportPart = Annotated[
    str | None,
    Query(
        description=f"Return only this part: {', '.join(REPORT_PARTS)}.", json_schema_extra={"enum": list(REPORT_PARTS)}
    ),
]
ReportSplit = Annotated[
    Literal["all", "public", "private"] | None,
    Query(description="The split, if it is visible now; any for organizers."),
]
ReportFormat = Annotated[
    Literal["json", "csv"], Query(alias="format", description="`json`, or `csv` for one part (by default `per_class`).")
]
ReportPoints = Annotated[
    int | None,
    Query(ge=2, le=10_000, description="The maximum number of points of each curve, which keeps its shape."),
]


@router.get(
    "/submissions/{submission_id}/report",
    summary="Read the detailed report of a submission",
    response_class=Response,
    responses=success_response("Scores and the parts that the phase allows.", examples.REPORT)
    | error_responses(
        errors.Forbidden,
        errors.RegistrationPending,
        errors.SplitHidden,
        errors.NotFound,
        errors.NoOpenPhase,
        errors.SubmissionNotFinished,
        ReportTooLarge,
        TooManyWaiting,
    ),
)
async def get_report(
    submission_id: str,
    request: Request,
    caller: AccountDep,
    state: AppStateDep,
    format_name: ReportFormat = "json",
    part: ReportPart = None,
    split: ReportSplit = None,
    points: ReportPoints = None,
) -> Response:
    """Returns the counts and measures of each class, confusion matrices, curves, calibration and folds.

    A team gets the parts that the phase allows. A part that would be too large is listed in `left_out` with the reason;
    it may be small enough when requested alone. `calibration` is listed there if the scores are no probabilities. With
    `points`, curves are thinned for drawing: `points_in_all` counts the points of the whole curve.
    """
    if part is not None and part not in REPORT_PARTS:
        raise errors.BadRequest(f"part must be one of {', '.join(REPORT_PARTS)}, not '{part}'.")
    as_csv = format_name == "csv"
    asked = ReportQuestion(submission_id, part or ("per_class" if as_csv else None), split, points)
    name, path = await generate_report(request, caller, state, asked, as_csv=as_csv)
    return DownloadResponse(
        path,
        media_type="text/csv; charset=utf-8" if as_csv else "application/json",
        filename=f"report-{submission_id}.{format_name}",
        tag=state.generated_files.tag(name),
        sending=state.generated_files.pin(name),
    )


class ReportQuestion(NamedTuple):
    """Which report is asked for: of a submission, one part or all, of which split, with how many points in a curve."""

    submission_id: str
    part: str | None = None
    split: str | None = None
    points: int | None = None


async def generate_report(
    request: Request, caller: Caller, state: AppState, asked: ReportQuestion, *, as_csv: bool = False
) -> tuple[str, Path]:
    """The name and path of the file with this report, which is made now unless it is kept; raises what the route raises."""

    def find() -> ReportRequest:
        with state.db.read() as session:
            allowed = authorize_report(session, caller, asked.submission_id, split=asked.split, part=asked.part)
            return replace(allowed, points=asked.points)

    report = await run_in_threadpool(find)

    def write(target: Path) -> None:
        state.files.check()
        make_report(state.db, state.files, state.readers.processes, report, as_csv=as_csv, target=target)

    name = f"{report.name}.{'csv' if as_csv else 'json'}"
    key = caller_key(request, caller)
    return name, await state.generated_files.get_or_generate(name, key, write, organizer=report.organizer)
