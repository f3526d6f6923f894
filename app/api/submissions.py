"""Submissions: send predictions, follow them, read them back."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse

from app import errors
from app.actions.access import Caller, see_submission
from app.actions.read_submissions import Seen, list_submissions, read_submission, select_final
from app.actions.submit_prediction import Entry, admit, dry_run_request, only_open_phase, submit_prediction
from app.actions.upload_gold import request_of
from app.api.deps import AccountDep, Cursor, Limit, Service, ServiceDep, prefer_wait
from app.api.problems import documented, succeeds
from app.api.shapes import Moment, Page, Shape, Text
from app.api.strict import StrictRoute
from app.api.uploads import file_body, kind_of, received
from app.files import Stored
from app.formats import FORMATS, FileKind

router = APIRouter(tags=["submissions"], route_class=StrictRoute)

FINAL = frozenset({"finished", "rejected", "failed", "cancelled"})
Status = Literal["queued", "running", "finished", "rejected", "failed", "cancelled"]


class TeamName(Shape):
    """Who submitted."""

    id: str
    name: str


class Timings(Shape):
    """When what happened."""

    submitted_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    seconds_queued: float | None = Field(description="From submission to the start of scoring.")
    seconds_scoring: float | None = Field(description="From the start of scoring to its end.")


class SubmissionShape(Shape):
    """A submission as its reader may see it."""

    id: str
    status: Status
    challenge: str
    phase: str
    team: TeamName
    method: str
    description: str
    link: str | None
    baseline: bool
    selected: bool
    sha256: str
    size: int
    split: str | None = Field(description="The part of the gold that `scores` are on.")
    gold_version: int | None
    recipe_version: int | None
    scores: dict[str, dict[str, Any]] = Field(examples=[{"f1_macro": {"value": 0.731059}}])
    splits: dict[str, dict[str, dict[str, Any]]] | None = Field(None, description="Every split; organizers only.")
    problems: list[dict[str, Any]]
    total: dict[str, int] = Field(description="Problems per code.")
    notes: list[str]
    failure: dict[str, Any] | None
    attempt: int
    queue_position: int | None
    timings: Timings


class DryRun(Shape):
    """What would be wrong with this file; nothing was stored."""

    valid: bool
    total: dict[str, int]
    problems: list[dict[str, Any]]
    notes: list[str] = Field(default_factory=list)


def _seconds(start: Any, end: Any) -> float | None:
    return round((end - start).total_seconds(), 6) if start is not None and end is not None else None


def submission_shape(found: Seen) -> SubmissionShape:
    """A submission as a reply."""
    row = found.submission
    return SubmissionShape(
        id=row.id,
        status=row.status,
        challenge=found.phase.challenge.slug,
        phase=found.phase.slug,
        team=TeamName(id=row.team_id, name=row.team.name),
        method=row.method,
        description=row.description,
        link=row.link,
        baseline=row.baseline,
        selected=row.selected_at is not None,
        sha256=row.sha256,
        size=row.size,
        split=found.split,
        gold_version=found.gold_version,
        recipe_version=found.recipe_version,
        scores=found.scores,
        splits=found.splits,
        problems=row.problems,
        total=row.problem_totals,
        notes=row.notes,
        failure=row.failure,
        attempt=found.task.attempt if found.task is not None else 0,
        queue_position=found.queue_position,
        timings=Timings(
            submitted_at=row.submitted_at,
            started_at=row.started_at,
            finished_at=row.finished_at,
            seconds_queued=_seconds(row.submitted_at, row.started_at),
            seconds_scoring=_seconds(row.started_at, row.finished_at),
        ),
    )


Method = Annotated[Text, Query(max_length=200, description="The name of the method, shown on the board.")]
Description = Annotated[Text, Query(max_length=5000)]
Link = Annotated[Text | None, Query(max_length=2000, pattern=r"^https?://\S+$")]
Team = Annotated[Text | None, Query(max_length=100, description="Organizers only: the team, founded if need be.")]
Baseline = Annotated[bool, Query(description="Organizers only: stands on the board without a rank.")]
DryRunFlag = Annotated[bool, Query(description="Check the file only: 200 with all problems, nothing stored.")]
Filename = Annotated[str | None, Query(description="Tells the format where the media type does not.")]
Prefer = Annotated[str | None, Header(description="wait=N: answer once the status is final, after at most N ≤ 60 s.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=255, description="Makes a repetition of this request safe."
    ),
]

POST: dict[str, Any] = {
    "status_code": 202,
    "response_model": SubmissionShape,
    "responses": {
        200: {"model": DryRun | SubmissionShape, "description": "A dry run, or the earlier submission of this key."},
        201: {"model": SubmissionShape, "description": "The status is final, whatever it is."},
        202: {"model": SubmissionShape, "description": "Stored and queued; follow it at `Location`."},
    }
    | documented(
        errors.Forbidden,
        errors.NotRegistered,
        errors.NotFound,
        errors.NoOpenPhase,
        errors.NoGold,
        errors.SeveralOpenPhases,
        errors.RequestInFlight,
        errors.TooLarge,
        errors.UnsupportedMedia,
        errors.IdempotencyMismatch,
        errors.QuotaExceeded,
        errors.StorageShort,
    ),
    "openapi_extra": file_body(
        "The predictions, in any of the formats.",
        {
            "records": {"value": {"predictions": [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]}},
            "columns": {"value": {"ids": ["t1", "t2"], "labels": ["cat", "dog"]}},
            "map": {"value": {"t1": "cat", "t2": "dog"}},
        },
    ),
}


@router.post("/challenges/{slug}/phases/{phase}/submissions", summary="Submit predictions", **POST)
async def post_submission(
    slug: str,
    phase: str,
    request: Request,
    who: AccountDep,
    parts: ServiceDep,
    *,
    method: Method = "",
    description: Description = "",
    link: Link = None,
    team: Team = None,
    baseline: Baseline = False,
    dry_run: DryRunFlag = False,
    filename: Filename = None,
    prefer: Prefer = None,
    idempotency_key: Key = None,
) -> Response:
    """Stored durably before the answer; scored soon after. The body is the file itself."""
    entry = Entry(method=method, description=description, link=link, team=team, baseline=baseline)
    kind = kind_of(request, filename)
    seconds = prefer_wait(prefer)
    await run_in_threadpool(_admit, parts, who, slug, phase, entry)
    if dry_run:
        return await _dry_run(request, parts, who, slug, phase, entry, kind)
    with parts.only_one(who.user_id or "", idempotency_key):
        found, new = await _submit(request, parts, who, slug, phase, entry, kind, idempotency_key)
    if new and seconds and found.submission.status not in FINAL:
        found = await _wait(parts, who, found, seconds)
    final = found.submission.status in FINAL
    return JSONResponse(
        submission_shape(found).model_dump(mode="json"),
        status_code=200 if not new else 201 if final else 202,
        headers={"Location": f"/api/v1/submissions/{found.submission.id}"}
        | ({} if final else {"Retry-After": "1"})
        | ({"Preference-Applied": f"wait={seconds}"} if seconds else {}),
    )


@router.post("/challenges/{slug}/submissions", summary="Submit to the one open phase", **POST)
async def post_to_open_phase(
    slug: str,
    request: Request,
    who: AccountDep,
    parts: ServiceDep,
    *,
    method: Method = "",
    description: Description = "",
    link: Link = None,
    team: Team = None,
    baseline: Baseline = False,
    dry_run: DryRunFlag = False,
    filename: Filename = None,
    prefer: Prefer = None,
    idempotency_key: Key = None,
) -> Response:
    """The same, for the one phase that is open now."""

    def find() -> str:
        with parts.db.read() as session:
            return only_open_phase(session, who, slug)

    return await post_submission(
        slug,
        await run_in_threadpool(find),
        request,
        who,
        parts,
        method=method,
        description=description,
        link=link,
        team=team,
        baseline=baseline,
        dry_run=dry_run,
        filename=filename,
        prefer=prefer,
        idempotency_key=idempotency_key,
    )


def _admit(parts: Service, who: Caller, slug: str, phase: str, entry: Entry) -> None:
    """Refuse early, before the body is read; the transaction that stores the submission asks again."""
    with parts.db.read() as session:
        admit(session, who, slug, phase, entry)


async def _dry_run(
    request: Request, parts: Service, who: Caller, slug: str, phase: str, entry: Entry, kind: FileKind
) -> Response:
    async with received(request, parts) as stored:
        answer = await run_in_threadpool(_check_file, parts, who, slug, phase, entry, stored, kind)
        await run_in_threadpool(parts.files.delete, stored.key)
    return JSONResponse(DryRun.model_validate(answer).model_dump(mode="json"))


def _check_file(
    parts: Service, who: Caller, slug: str, phase: str, entry: Entry, stored: Stored, kind: FileKind
) -> dict[str, Any]:
    with parts.db.read() as session:
        admission = admit(session, who, slug, phase, entry)
    with parts.files.local(admission.gold.file_key) as gold_path, parts.files.local(stored.key) as path:
        gold = request_of(gold_path, admission.gold, admission.phase.challenge)
        return parts.readers.ask(dry_run_request(gold, str(path), kind, admission.recipe))


async def _submit(
    request: Request,
    parts: Service,
    who: Caller,
    slug: str,
    phase: str,
    entry: Entry,
    kind: FileKind,
    key: str | None,
) -> tuple[Seen, bool]:
    def store(stored: Stored) -> tuple[Seen, bool]:
        with parts.db.write() as session:
            submission, new = submit_prediction(
                session, parts.queue, who, slug, phase, entry=entry, stored=stored, kind=kind, key=key
            )
            return read_submission(session, who, submission.id), new

    async with received(request, parts) as stored:
        found, new = await run_in_threadpool(store, stored)
        if not new:
            await run_in_threadpool(parts.files.delete, stored.key)
    return found, new


async def _wait(parts: Service, who: Caller, found: Seen, seconds: int) -> Seen:
    """Wait for the final status without holding a thread or a session."""
    if parts.notifier.count >= parts.settings.max_waiters:
        return found

    def read() -> Seen:
        with parts.db.read() as session:
            return read_submission(session, who, found.submission.id)

    with parts.notifier.listen(found.submission.id) as settled:
        now = await run_in_threadpool(read)
        if now.submission.status in FINAL:
            return now
        try:
            await asyncio.wait_for(settled.wait(), seconds)
        except TimeoutError:
            return now
    return await run_in_threadpool(read)


@router.get(
    "/challenges/{slug}/phases/{phase}/submissions",
    summary="List submissions",
    responses=documented(errors.NotRegistered, errors.NotFound),
)
def get_submissions(
    slug: str, phase: str, who: AccountDep, parts: ServiceDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[SubmissionShape]:
    """The own team's, newest first; organizers see all."""
    with parts.db.read() as session:
        rows, following = list_submissions(session, who, slug, phase, limit=limit, cursor=cursor)
        return Page(items=[submission_shape(row) for row in rows], next=following)


@router.get(
    "/submissions/{submission_id}",
    summary="Read a submission",
    responses=documented(errors.NotFound),
)
def get_submission(submission_id: str, who: AccountDep, parts: ServiceDep) -> SubmissionShape:
    """Status, queue position, timings, problems and scores."""
    with parts.db.read() as session:
        return submission_shape(read_submission(session, who, submission_id))


@router.get(
    "/submissions/{submission_id}/predictions",
    summary="Download the submitted file",
    response_class=Response,
    responses=succeeds("The very bytes that were sent.", "application/octet-stream") | documented(errors.NotFound),
)
def get_predictions(submission_id: str, who: AccountDep, parts: ServiceDep) -> Response:
    """For its team and the organizers."""
    with parts.db.read() as session:
        row = see_submission(session, who, submission_id)[0]
    with parts.files.local(row.file_key) as path:
        ending = FORMATS[row.format].endings[0] + (".gz" if row.gzipped else "")
        return FileResponse(
            path,
            media_type="application/octet-stream",
            filename=f"{row.id}{ending}",
            headers={"ETag": f'"{row.sha256}"'},
        )


@router.post(
    "/submissions/{submission_id}/select",
    summary="Select a submission",
    responses=documented(errors.Forbidden, errors.NotFound, errors.NotFinished),
)
def post_select(submission_id: str, who: AccountDep, parts: ServiceDep) -> SubmissionShape:
    """Where the recipe's selection is `selected`, the best of a team's selected submissions counts."""
    with parts.db.write() as session:
        return submission_shape(select_final(session, who, submission_id, selected=True))


@router.post(
    "/submissions/{submission_id}/unselect",
    summary="Take a selection back",
    responses=documented(errors.Forbidden, errors.NotFound, errors.NotFinished),
)
def post_unselect(submission_id: str, who: AccountDep, parts: ServiceDep) -> SubmissionShape:
    """The opposite of select."""
    with parts.db.write() as session:
        return submission_shape(select_final(session, who, submission_id, selected=False))
