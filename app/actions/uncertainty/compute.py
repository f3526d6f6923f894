"""Compute intervals of scores and compare the rows of boards: claim, ask a scoring process, settle.

Settling is fenced by the attempt of the claim. A failure never touches a score or a submission: after the retries the
task keeps the reason, which boards show.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

import structlog

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.score_submission import WorkerContext
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.actions.submissions.board_scores import board_scores
from app.actions.uncertainty.plan_boards import splits_of
from app.errors import Unavailable
from app.formats import FileKind
from app.pipeline import SourceFile
from app.queue import TaskClaim
from app.scoring import SCORER_VERSION
from app.scoring.standings import standings
from app.scoring_processes import (
    CpuLimitExceeded,
    ScoringProcessError,
    ScoringProcesses,
    ScoringProcessesClosed,
    ScoringProcessNotStarted,
)
from app.scoring_processes.messages import AnalysisResult, BoardFile, CompareBoard, ComputeIntervals
from app.store import board_invalidation, clock
from app.store.analysis_tables import INTERVALS, SIGNIFICANCE
from app.store.queries import analysis_tasks, board_analyses, board_entries
from app.store.queries.board_versions import active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import AnalysisTask, GoldVersion, Phase, Recipe, Submission

MAX_COMPARED_ROWS = 2000
MAX_DELAY = timedelta(minutes=5)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The stored file of a submission."""

    key: str
    file_key: str
    kind: FileKind


@dataclass(frozen=True, slots=True)
class LoadedAnalysis:
    """Everything that one analysis needs, read in one snapshot, and the columns that its result is stored with."""

    kind: str
    gold: GoldReference
    recipe: Mapping[str, Any]
    draw_seed: str
    files: Sequence[StoredFile]
    columns: Mapping[str, Any]
    phase_id: str
    split: str = ""
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Why a task needs no scoring process: the comparison is current, cannot be made (`failure`), or has no rows."""

    failure: Mapping[str, str] | None = None
    forget: bool = False
    """Whether a stored comparison is to be deleted, because the board has no ranked rows."""


@dataclass(frozen=True, slots=True)
class AnalysisOutcome:
    """A result, or why there is none; with neither the work was interrupted."""

    result: Mapping[str, Any] | None = None
    crash: ScoringProcessError | None = None


def is_analysis_due(session: ReadSession) -> bool:
    """Whether any analysis is due."""
    return analysis_tasks.has_due(session, SCORER_VERSION)


class Turns(Protocol):
    """Decides which analysis a worker computes next."""

    def are_boards_first(self) -> bool:
        """Whether a board goes next, if intervals wait too."""

    def order_boards(self, phases: Sequence[str]) -> list[str]:
        """The phases whose boards wait, given by how long they have waited, in the order of their turns."""


def claim_analysis(
    session: WriteSession, turns: Turns, *, lease: timedelta | None, interval: timedelta
) -> TaskClaim | None:
    """Claim the due analysis whose turn it is; None if none is due."""
    phases = turns.order_boards(analysis_tasks.phases_with_due_boards(session, SCORER_VERSION))
    settings: dict[str, Any] = {"boards_first": turns.are_boards_first(), "lease": lease, "interval": interval}
    task = analysis_tasks.claim(session, SCORER_VERSION, phases, **settings)
    return None if task is None else TaskClaim(task.id, task.attempt)


def load_analysis(session: ReadSession, claim: TaskClaim) -> LoadedAnalysis | NothingToDo | None:
    """What the claimed task needs; None if its rows have been deleted.

    It is read after the claim was committed, so it holds every change that led to the task.
    """
    task = session.get(AnalysisTask, claim.task_id)
    if task is None:
        return None
    return _load_intervals(session, task) if task.kind == INTERVALS else _load_board(session, task)


def _load_intervals(session: ReadSession, task: AnalysisTask) -> LoadedAnalysis | None:
    submission = session.get(Submission, task.submission_id)
    version, recipe = session.get(GoldVersion, task.gold_id), session.get(Recipe, task.recipe_id)
    if submission is None or version is None or recipe is None:
        return None
    names = ("submission_id", "gold_id", "recipe_id", "scorer_version")
    return LoadedAnalysis(
        kind=INTERVALS,
        gold=gold_reference(version),
        recipe=recipe.body,
        draw_seed=version.draw_seed,
        files=[_stored_file(submission)],
        columns={name: getattr(task, name) for name in names},
        phase_id=submission.phase_id,
    )


def _load_board(session: ReadSession, task: AnalysisTask) -> LoadedAnalysis | NothingToDo | None:
    phase = session.get(Phase, task.phase_id)
    of = None if phase is None else active_version(session, phase)
    if phase is None or of is None or of.scorer_version != SCORER_VERSION:
        return NothingToDo()
    version, stored, _ = of
    recipe = parse_stored_recipe(phase, stored)
    metric = task.metric or None
    if task.split not in splits_of(version) or metric not in {None, *(call.text for call in recipe.metrics)}:
        return NothingToDo(forget=True)
    scores = board_scores(session, phase, of, shown_split=task.split, ranked_by=metric or recipe.primary)
    ranked = standings(board_entries.entries(session, scores).entries)
    entries = sorted(each.entry.submission for each in ranked if each.rank is not None)
    if not entries:
        return NothingToDo(forget=True)
    if len(entries) > MAX_COMPARED_ROWS:
        detail = f"The board has {len(entries)} ranked rows; at most {MAX_COMPARED_ROWS} are compared."
        return NothingToDo(failure={"code": "too_many_rows", "detail": detail})
    columns = {
        "gold_id": version.id,
        "fingerprint": stored.fingerprint,
        "scorer_version": phase.scorer_version,
        "entries": entries,
    }
    known = board_analyses.comparison(session, phase.id, task.kind, task.split, task.metric, result=False)
    if known is not None and all(getattr(known, name) == value for name, value in columns.items()):
        return NothingToDo()
    files = board_analyses.files_of(session, entries)
    return LoadedAnalysis(
        kind=task.kind,
        gold=gold_reference(version),
        recipe=stored.body,
        draw_seed=version.draw_seed,
        files=[_stored_file(files[entry]) for entry in entries],
        columns=columns,
        phase_id=phase.id,
        split=task.split,
        metric=metric,
    )


def _stored_file(submission: Submission) -> StoredFile:
    return StoredFile(submission.id, submission.file_key, stored_file_kind(submission))


def compute(context: WorkerContext, processes: ScoringProcesses, analysis: LoadedAnalysis) -> AnalysisOutcome:
    """Have a scoring process compute this; stores nothing."""
    try:
        with ExitStack() as stack:
            local = context.files.local_path
            files = [
                BoardFile(file.key, SourceFile(stack.enter_context(local(file.file_key)), file.kind))
                for file in analysis.files
            ]
            request = _request(analysis, files)
            reply = send_scoring_request(context.db, context.files, processes, analysis.gold, request)
    except (ScoringProcessesClosed, ScoringProcessNotStarted):
        return AnalysisOutcome()
    except ScoringProcessError as crash:
        return AnalysisOutcome(crash=crash)
    except (FileNotFoundError, Unavailable) as error:
        log.warning("file_away", file=str(error))
        return AnalysisOutcome()
    assert isinstance(reply, AnalysisResult)
    return AnalysisOutcome(reply.result)


def _request(analysis: LoadedAnalysis, files: Sequence[BoardFile]) -> ComputeIntervals | CompareBoard:
    source, recipe, seed = analysis.gold.source, analysis.recipe, analysis.draw_seed
    if analysis.kind == INTERVALS:
        return ComputeIntervals(source, files[0].predictions, recipe, seed)
    return CompareBoard(source, recipe, seed, analysis.split, analysis.metric, files)


def settle(
    session: WriteSession, context: WorkerContext, claim: TaskClaim, analysis: LoadedAnalysis, outcome: AnalysisOutcome
) -> bool:
    """Store the result in this transaction, or queue the task again; whether its claim still owned it."""
    task = analysis_tasks.lock_owned(session, claim.task_id, claim.attempt)
    if task is None:
        return False
    if outcome.result is None:
        _retry(session, context, task, outcome.crash)
        if task.status == "failed":
            board_invalidation.invalidate(session, board_invalidation.analysis_tag(analysis.phase_id))
        return True
    if analysis.kind == INTERVALS:
        board_analyses.add_intervals(session, analysis.columns, outcome.result)
        tag = board_invalidation.intervals_tag(analysis.phase_id, analysis.columns["submission_id"])
    else:
        result = dict(outcome.result)
        rows = result.get("rows", []) if analysis.kind == SIGNIFICANCE else []
        values = {**analysis.columns, "rows": rows, "result": result, "computed_at": clock.now(session)}
        board_analyses.store_comparison(session, _board_key(task), values)
        tag = board_invalidation.analysis_tag(analysis.phase_id)
    board_invalidation.invalidate(session, tag)
    analysis_tasks.finish(session, task)
    return True


def settle_without_result(session: WriteSession, claim: TaskClaim, found: NothingToDo | None) -> None:
    """End a task for which nothing is to be computed."""
    task = analysis_tasks.lock_owned(session, claim.task_id, claim.attempt)
    if task is None:
        return
    if found is not None and task.phase_id is not None and (found.forget or found.failure is not None):
        board_analyses.forget_comparison(session, _board_key(task))
        board_invalidation.invalidate(session, board_invalidation.analysis_tag(task.phase_id))
    analysis_tasks.finish(session, task, None if found is None else found.failure)


def _board_key(task: AnalysisTask) -> dict[str, str]:
    assert task.phase_id is not None
    return {"phase_id": task.phase_id, "kind": task.kind, "split": task.split, "metric": task.metric}


def renew_leases(session: WriteSession, claims: Sequence[TaskClaim], lease: timedelta) -> None:
    """Extend the leases of claims that are held."""
    analysis_tasks.renew_leases(session, [(claim.task_id, claim.attempt) for claim in claims], lease)


def release(session: WriteSession, context: WorkerContext, claim: TaskClaim) -> None:
    """Queue a task again that could not be settled."""
    task = analysis_tasks.lock_owned(session, claim.task_id, claim.attempt)
    if task is not None:
        _retry(session, context, task, None)


def requeue_interrupted(session: WriteSession, context: WorkerContext) -> int:
    """Requeue what an earlier run of this service left running; only for a service that claims alone."""
    analysis_tasks.clear_delays(session)
    return _retry_all(session, context, analysis_tasks.running(session))


def requeue_expired(session: WriteSession, context: WorkerContext) -> int:
    """Requeue the tasks of workers that let their leases expire; returns how many."""
    return _retry_all(session, context, analysis_tasks.lock_expired(session))


def _retry_all(session: WriteSession, context: WorkerContext, interrupted: Sequence[AnalysisTask]) -> int:
    for task in interrupted:
        _retry(session, context, task, None)
    return len(interrupted)


def _retry(
    session: WriteSession, context: WorkerContext, task: AnalysisTask, crash: ScoringProcessError | None
) -> None:
    """Queue a locked task again, or fail it at its cap, by the limits that score tasks have too."""
    limits = context.retry_limits
    if crash is None:
        task.interruptions += 1
        count, cap, failure = task.interruptions, limits.interruptions, ("interrupted", "It was interrupted too often.")
    else:
        task.crashes += 1
        count, cap = task.crashes, limits.crashes - 1
        failure = (crash.code, str(crash) or crash.__doc__ or crash.code)
    if count > cap or isinstance(crash, CpuLimitExceeded):
        log.error("analysis_failed", task=task.id, kind=task.kind, code=failure[0])
        analysis_tasks.finish(session, task, {"code": failure[0], "detail": failure[1]})
        return
    wait = timedelta(seconds=2 ** min(count - 1, 8) - 1) if crash is None else timedelta(seconds=count)
    analysis_tasks.delay(session, task, min(wait, MAX_DELAY))
