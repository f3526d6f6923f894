"""Item analysis for organizers: instances, agreement of systems, near-duplicates, and what a relabelling would move."""

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Depends, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.access import Caller, load_organized_phase
from app.actions.items.analyze import AnalysisTooLarge, try_relabelling, write_analysis, write_corrected_gold
from app.actions.items.choose_systems import (
    AnalyzedBoard,
    NothingToAnalyze,
    Scope,
    load_analyzed_board,
    record_reading,
)
from app.analysis.items.report import MEANINGS
from app.api.dependencies import AccountDep, AppState, AppStateDep, Cursor, Limit
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.http.uploads import DownloadResponse
from app.api.item_fields import (
    AgreementShape,
    ItemsShape,
    NearDuplicatesShape,
    RelabellingBody,
    RelabellingShape,
    Split,
    head_of,
)
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import item_examples as examples
from app.errors import BadCursor

router = api_router("gold", prefix="/challenges/{slug}/phases/{phase}/items")
ERRORS = (*(errors.Forbidden, errors.NotFound, NothingToAnalyze, AnalysisTooLarge, TooManyWaiting, errors.Unavailable),)
KEPT_ENTRIES = (
    "Every row is scored by its file against both golds. The submission of a team that counts now is taken before and "
    "after; a preview of a new gold version chooses it again."
)
SplitQuery = Annotated[Split | None, Query(description="The split; by default all instances.")]
ScopeQuery = Annotated[
    Scope,
    Query(description="`board`: the entry of each team that counts, and baselines; `all`: every finished submission."),
]
Select = Annotated[
    Literal["all", "suspect", "none_right", "all_right", "negative"],
    Query(
        description="`suspect`: more systems give one wrong answer than are right; `none_right`, `all_right`: no system "
        "is right, or all are; `negative`: better systems fail more often."
    ),
]
Sort = Annotated[
    Literal["suspicion", "right", "discrimination", "agreement", "id"],
    Query(description="The first is the most suspicious, hardest, least discriminating, or most alike in its errors."),
]


class Question(NamedTuple):
    """Which systems are asked about."""

    slug: str
    phase: str
    split: str | None = None
    submissions: Scope = "board"


def current_item_reader(slug: str, phase: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, who organizes the challenge, so that a lack of rights is reported before a faulty body."""
    with state.db.read() as session:
        load_organized_phase(session, caller, slug, phase, writes=False)
    return caller


ItemReaderDep = Annotated[Caller, Depends(current_item_reader)]


@router.get(
    "",
    summary="List the instances with the answers of the systems",
    response_model=ItemsShape,
    responses=success_response("Instances, as JSON or CSV.", examples.ITEMS_CSV) | error_responses(*ERRORS),
)
async def get_items(
    slug: str,
    phase: str,
    caller: AccountDep,
    state: AppStateDep,
    *,
    split: SplitQuery = None,
    submissions: ScopeQuery = "board",
    select: Select = "all",
    sort: Sort = "suspicion",
    limit: Limit = 50,
    cursor: Cursor = None,
    format_name: Annotated[
        Literal["json", "csv"], Query(alias="format", description="`csv`: all instances of the selection.")
    ] = "json",
) -> Any:
    """Returns what the systems answered on each instance, how difficult it is and how well it tells systems apart.

    By default the most suspicious come first: those where most systems agree on an answer that contradicts the gold.
    Labels are gold, so the audit trail shows who read them. Requires an organizer.
    """
    asked = Question(slug, phase, split, submissions)
    if format_name == "csv":
        board = await _open(state, caller, asked, record="gold.read_items")
        found = await _generate(state, caller, board, part="items", sort=sort, select=select, as_csv=True)
        tag, sending = state.generated_files.tag(found.name), state.generated_files.pin(found.name)
        settings: dict[str, Any] = {"media_type": "text/csv; charset=utf-8", "tag": tag, "sending": sending}
        return DownloadResponse(found, filename=f"items-{slug}-{phase}.csv", **settings)
    return await read_items(state, caller, asked, select=select, sort=sort, limit=limit, cursor=cursor)


async def read_items(
    state: AppState, caller: Caller, asked: Question, *, select: str, sort: str, limit: int, cursor: str | None
) -> ItemsShape:
    """A page of the instances, which the audit trail records; raises what the route raises."""
    start = 0 if cursor is None else int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 10 else -1
    board = await _open(state, caller, asked, record="gold.read_items")
    found = await _generate(state, caller, board, part="items", sort=sort, select=select)

    def read() -> ItemsShape:
        with found.open(encoding="utf-8") as lines:
            head = json.loads(next(lines))
            if not 0 <= start <= head["selected"]:
                raise BadCursor
            items = [json.loads(line) for line in islice(lines, start, start + limit)]
        end = start + len(items)
        values = head_of(asked.slug, asked.phase, board) | {
            name: head[name] for name in ("instances", "counts", "selected", "labels") if name in head
        }
        following = str(end) if end < head["selected"] else None
        return ItemsShape.model_validate(values | {"meanings": MEANINGS, "items": items, "next": following})

    with state.generated_files.pin(found.name):
        return await run_in_threadpool(read)


@router.get("/agreement", summary="Read how far systems agree", responses=error_responses(*ERRORS))
async def get_agreement(
    slug: str,
    phase: str,
    caller: AccountDep,
    state: AppStateDep,
    *,
    split: SplitQuery = None,
    submissions: ScopeQuery = "board",
) -> AgreementShape:
    """Returns for each pair of systems the share of equal answers, Cohen's kappa and the overlap of their errors.

    Fleiss' kappa is that of all systems. Requires an organizer.
    """
    asked = Question(slug, phase, split, submissions)
    board = await _open(state, caller, asked)
    report = await _read_report(state, caller, board, "agreement")
    return AgreementShape.model_validate(head_of(slug, phase, board) | report)


@router.get("/near-duplicates", summary="Find systems with the same errors", responses=error_responses(*ERRORS))
async def get_near_duplicates(
    slug: str,
    phase: str,
    caller: AccountDep,
    state: AppStateDep,
    *,
    split: SplitQuery = None,
    submissions: ScopeQuery = "board",
) -> NearDuplicatesShape:
    """Returns pairs of different teams that share more wrong answers than independent systems do.

    Requires an organizer.
    """
    asked = Question(slug, phase, split, submissions)
    board = await _open(state, caller, asked)
    report = await _read_report(state, caller, board, "near_duplicates")
    report["left_out_pairs"] = report.pop("left_out")
    return NearDuplicatesShape.model_validate(head_of(slug, phase, board) | report)


@router.post(
    "/relabelling",
    summary="See what a relabelling would move",
    responses=error_responses(*ERRORS, errors.InvalidContent),
)
async def post_relabelling(
    slug: str,
    phase: str,
    body: RelabellingBody,
    caller: ItemReaderDep,
    state: AppStateDep,
    *,
    split: SplitQuery = None,
    submissions: ScopeQuery = "board",
) -> RelabellingShape:
    """Returns ranks and values of all rows before and after, computed at once; nothing is stored or activated.

    The audit trail shows who asked, because the answer depends on gold labels. Requires an organizer.
    """
    asked = Question(slug, phase, split, submissions)
    board = await _open(state, caller.with_reason(body.reason), asked, record="gold.try_relabelling")
    changes = [change.record() for change in body.changes]

    def compute() -> dict[str, Any]:
        return try_relabelling(state.db, state.files, state.readers.processes, board, changes)

    with state.readers.queue.enter(str(caller.user_id), organizer=True) as position:
        await position.wait_for_turn()
        found = await run_in_threadpool(compute)
    positions = {each.submission: at for at, each in enumerate(board.systems)}
    found["rows"] = [row | {"system": positions[row["system"]]} for row in found["rows"]]
    return RelabellingShape.model_validate(head_of(slug, phase, board) | found | {"meaning": KEPT_ENTRIES})


@router.post(
    "/corrected-gold",
    summary="Download the gold with changes",
    response_class=Response,
    responses=success_response("The gold, or the changes alone.", examples.CORRECTED_GOLD)
    | error_responses(*ERRORS, errors.InvalidContent),
)
async def post_corrected_gold(
    slug: str,
    phase: str,
    body: RelabellingBody,
    caller: ItemReaderDep,
    state: AppStateDep,
    *,
    form: Annotated[
        Literal["gold", "jsonl", "csv"],
        Query(alias="format", description="`gold`: the whole gold as JSON Lines; `jsonl`, `csv`: the changes alone."),
    ] = "gold",
) -> Response:
    """Returns the active gold with these changes applied, to be uploaded as the next version.

    Void instances are left out. Folds, groups and other metadata are no part of it. This is a download of gold, which
    the audit trail shows. Requires an organizer.
    """
    board = await _open(state, caller.with_reason(body.reason), Question(slug, phase), record="gold.download")
    changes = [change.record() for change in body.changes]

    def write(target: Path) -> None:
        write_corrected_gold(state.db, state.files, state.readers.processes, board, changes, form=form, target=target)

    found = await _file(state, caller, board.file_name("corrected", form, changes), write)
    name = "changes.csv" if form == "csv" else "changes.jsonl" if form == "jsonl" else "gold-corrected.jsonl"
    return DownloadResponse(
        found,
        media_type="text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson",
        filename=name,
        tag=state.generated_files.tag(found.name),
        sending=state.generated_files.pin(found.name),
    )


async def _open(state: AppState, caller: Caller, asked: Question, *, record: str | None = None) -> AnalyzedBoard:
    """The systems that are asked about; with `record`, the audit trail keeps that the caller read labels of the gold."""

    def load() -> AnalyzedBoard:
        with state.db.read() as session:
            board = load_analyzed_board(
                session, caller, asked.slug, asked.phase, split=asked.split, scope=asked.submissions
            )
        if record is not None:
            with state.db.write() as session:
                record_reading(session, caller, asked.slug, asked.phase, board, action=record)
        return board

    return await run_in_threadpool(load)


async def _read_report(state: AppState, caller: Caller, board: AnalyzedBoard, part: str) -> dict[str, Any]:
    found = await _generate(state, caller, board, part=part)

    def read() -> dict[str, Any]:
        report: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
        return report

    with state.generated_files.pin(found.name):
        return await run_in_threadpool(read)


async def _generate(state: AppState, caller: Caller, board: AnalyzedBoard, **of: Any) -> Path:
    """The file with one part of an analysis, made now unless it is kept."""

    def write(target: Path) -> None:
        state.files.check()
        write_analysis(state.db, state.files, state.readers.processes, board, target=target, **of)

    return await _file(state, caller, board.file_name(of), write)


async def _file(state: AppState, caller: Caller, name: str, write: Callable[[Path], None]) -> Path:
    return await state.generated_files.get_or_generate(name, str(caller.user_id), write, organizer=True)
