"""Have a scoring process analyse items, try a relabelling, or write corrected gold."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from app.actions.items.choose_systems import AnalyzedBoard
from app.actions.scoring_tasks.scoring_request import send_scoring_request
from app.errors import Conflict, InvalidContent
from app.files import FileStore
from app.pipeline import SourceFile
from app.scoring_processes import CpuLimitExceeded, MemoryLimitExceeded, ScoringProcesses, ScoringTimeout
from app.scoring_processes.item_requests import AnalyzeItems, ItemSystem, TryRelabelling, WriteCorrectedGold
from app.scoring_processes.messages import AnalysisResult, FileResult, Refusal, Reply
from app.store.session import Database


class AnalysisTooLarge(Conflict):
    """This item analysis exceeds the limits on time or memory."""

    code = "analysis_too_large"
    remedy = "Use ?submissions=board or one split; offline, 'assay items' analyses a folder of files without limits."


def write_analysis(
    db: Database,
    files: FileStore,
    processes: ScoringProcesses,
    board: AnalyzedBoard,
    *,
    part: str,
    target: Path,
    sort: str = "suspicion",
    select: str = "all",
    as_csv: bool = False,
) -> None:
    """Write one part of an analysis to `target`; raises AnalysisTooLarge."""
    with _systems(files, board) as systems:
        request = AnalyzeItems(
            board.gold.source, board.recipe, board.split, systems, part, target, sort, select, as_csv
        )
        _send(db, files, processes, board, request)


def try_relabelling(
    db: Database,
    files: FileStore,
    processes: ScoringProcesses,
    board: AnalyzedBoard,
    changes: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Ranks and values before and after; raises InvalidContent for changes that the gold does not allow."""
    with _systems(files, board) as systems:
        request = TryRelabelling(board.gold.source, board.recipe, board.split, systems, changes)
        reply = _send(db, files, processes, board, request)
    assert isinstance(reply, AnalysisResult)
    return reply.result


def write_corrected_gold(
    db: Database,
    files: FileStore,
    processes: ScoringProcesses,
    board: AnalyzedBoard,
    changes: Sequence[Mapping[str, Any]],
    *,
    form: str,
    target: Path,
) -> None:
    """Write the gold with these changes, or the list of them, to `target`; raises InvalidContent."""
    _send(db, files, processes, board, WriteCorrectedGold(board.gold.source, changes, form, target))


@contextmanager
def _systems(files: FileStore, board: AnalyzedBoard) -> Iterator[list[ItemSystem]]:
    with ExitStack() as stack:
        yield [
            ItemSystem(
                each.submission,
                each.team,
                SourceFile(stack.enter_context(files.local_path(each.file_key)), each.kind),
                each.baseline,
            )
            for each in board.systems
        ]


def _send(
    db: Database,
    files: FileStore,
    processes: ScoringProcesses,
    board: AnalyzedBoard,
    request: AnalyzeItems | TryRelabelling | WriteCorrectedGold,
) -> Reply:
    try:
        reply = send_scoring_request(db, files, processes, board.gold, request)
    except (ScoringTimeout, CpuLimitExceeded, MemoryLimitExceeded) as fault:
        resource = "memory" if isinstance(fault, MemoryLimitExceeded) else "time"
        raise AnalysisTooLarge(f"This analysis takes more {resource} than the limit allows.") from fault
    if isinstance(reply, FileResult):
        raise AnalysisTooLarge("This analysis takes more memory than the limit allows.")
    if isinstance(reply, Refusal):
        errors: dict[str, Any] = {} if reply.errors is None else {"errors": reply.errors}
        raise InvalidContent(reply.detail, remedy=reply.remedy, **errors)
    return reply
