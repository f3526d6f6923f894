"""The problems of a submitted file, with the lines or values at their places."""

from typing import Any

from fastapi import Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller
from app.actions.submissions.read_problems import ProblemList, list_problems, load_excerpts, write_excerpts
from app.actions.submissions.read_submissions import record_download
from app.api.dependencies import AccountDep, AppState, AppStateDep, caller_key
from app.api.field_types import Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples
from app.api.submissions import TOTAL_AT_LEAST_DESCRIPTION
from app.scoring_processes.messages import Excerpts

router = api_router("submissions")


class ProblemsShape(Shape):
    """The problems of a file, each with what stands at its place."""

    model_config = reply_example(examples.PROBLEMS)

    submission: str
    total: dict[str, int] = Field(description="The number of problems per code.")
    total_at_least: bool = Field(False, description=TOTAL_AT_LEAST_DESCRIPTION)
    problems: list[dict[str, Any]] = Field(
        description="The listed problems. `excerpt` is the line or value at the place as it stands in the file, up to 300 characters; null if there is none."
    )
    left_out: str | None = Field(
        None, description="Why excerpts are missing of a file that is too large to be read for them, in one sentence."
    )


@router.get(
    "/submissions/{submission_id}/problems",
    summary="Read the problems of a file with the lines at their places",
    responses=error_responses(errors.RegistrationPending, errors.NotFound, TooManyWaiting),
)
async def get_problems(submission_id: str, request: Request, caller: AccountDep, state: AppStateDep) -> ProblemsShape:
    """Returns the problems of a submission, each with the line or value at its place.

    Excerpts are for those who may download the file, while it is stored; for an organizer this counts as a download,
    which the audit trail shows. For others, and for binary files, they are null.
    """

    def find() -> ProblemList:
        with state.db.read() as session:
            return list_problems(session, caller, submission_id)

    found = await run_in_threadpool(find)
    if found.is_recorded:
        await run_in_threadpool(_record, state, caller, found)
    view = found.view
    excerpts = await read_kept_excerpts(request, caller, state, found) if found.has_excerpts else Excerpts([])
    problems = view.submission.problems if view.is_file_visible else []
    texts = [*excerpts.texts, *[None] * (len(problems) - len(excerpts.texts))]
    return ProblemsShape(
        submission=submission_id,
        total=view.total if view.is_file_visible else {},
        total_at_least=view.at_least and view.is_file_visible,
        problems=[problem | {"excerpt": text} for problem, text in zip(problems, texts, strict=True)],
        left_out=excerpts.left_out,
    )


def _record(state: AppState, caller: Caller, found: ProblemList) -> None:
    with state.db.write() as session:
        record_download(session, caller, found.view.submission)


async def read_kept_excerpts(request: Request, caller: Caller, state: AppState, found: ProblemList) -> Excerpts:
    """The excerpts of the problems, which a reader process reads once. Raises TooManyWaiting and what the readers raise."""
    path = await state.generated_files.get_or_generate(
        found.name,
        caller_key(request, caller),
        lambda target: write_excerpts(state.files, state.readers.processes, found.view.submission, target),
        organizer=found.view.organizer,
    )
    with state.generated_files.pin(found.name):
        return await run_in_threadpool(load_excerpts, path)
