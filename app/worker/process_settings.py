"""Scoring processes under the limits of the settings."""

import json
from dataclasses import asdict
from pathlib import Path

from app.formats import Limits
from app.prepared.gold_folder import PreparedGoldFolder
from app.runtime.data_folder import PREPARED_GOLD_FOLDER
from app.settings import Settings
from app.worker.process_pool import ScoringProcessPool

ANALYSIS_NICENESS = 10  # of the process that computes intervals and compares boards

BYTES_PER_LABEL = 96
"""Memory that scoring may take per label of a label set. It limits the labels of a file that is read, because a file
that is read must never fail in scoring for lack of memory: such a failure would reveal something about the gold."""


def file_limits(settings: Settings) -> Limits:
    """The limits on the size of a file."""
    return Limits(
        sets=settings.scoring_memory // BYTES_PER_LABEL,
        expanded_bytes=settings.max_expanded,
        records=settings.max_records,
        classes=settings.max_classes,
        text_length=settings.max_text_length,
        columns=settings.max_columns,
        nesting=settings.max_nesting,
    )


def create_process_pool(
    settings: Settings, count: int, work: Path | None = None, *, seconds: float | None = None, niceness: int = 0
) -> ScoringProcessPool:
    """Scoring processes under the limits of the settings; those with the same `work` folder share prepared gold there.

    A request may take `seconds`, by default the time limit of scoring. Processes with a `niceness` let others go first.
    """
    limits = asdict(file_limits(settings))
    del limits["cpu_budget"]  # each process has its own
    arguments = ["--memory", str(settings.scoring_memory), "--cpu", str(settings.cpu_seconds)]
    arguments += ["--limits", json.dumps(limits), "--nice", str(niceness)]
    prepared_gold = None
    if work is not None:
        folder = (work / PREPARED_GOLD_FOLDER).resolve()  # the processes have another working directory
        prepared_gold = PreparedGoldFolder(folder, settings.prepared_gold, settings.min_free)
    timeout = seconds or settings.scoring_seconds
    stall_seconds = settings.stall_seconds
    return ScoringProcessPool(
        count, arguments=arguments, seconds=timeout, stall_seconds=stall_seconds, prepared_gold=prepared_gold
    )


def reader_timeout(settings: Settings) -> float:
    """Seconds that a dry run, a template or a report may take."""
    return min(settings.reading_seconds, settings.scoring_seconds)


def create_analysis_pool(settings: Settings, work: Path) -> ScoringProcessPool:
    """One process of low priority for intervals and comparisons of boards, with a time limit of its own."""
    limits = {"scoring_seconds": settings.analysis_seconds, "scoring_cpu": None}
    return create_process_pool(settings.model_copy(update=limits), 1, work, niceness=ANALYSIS_NICENESS)
