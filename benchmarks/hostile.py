"""Hostile files of at most 4 MB that take long to read, each compared with a valid file for the same gold (H)."""

import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from app.formats import FileKind
from app.formats.reading_rules import DEFAULT_LIMITS, ReadingRules
from app.pipeline import FileMemoryError, SourceFile, build_lookup_tables, validate_predictions
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex
from app.worker.cpu_limit import CpuTimer
from benchmarks.apart import Failed, apart
from benchmarks.figures import Measured
from benchmarks.sizes import Sizes
from tests.fuzz.hostile import hostile_files, valid_file
from tests.fuzz.hostile_file import HostileFile, TargetGold

CLASSES = 3
MANY = 300
"""Classes of another phase, for scores and for tables of pairs, whose rows are instances times classes."""
_PAIRED = 3000
"""The instances of that phase."""
_IN_SETS = 10_000
"""The instances of a third phase with as many classes, for sets of labels."""
LONGEST = 60.0
"""Maximum seconds for reading one file."""
_MEMORY = 2 << 30
_SPARE = 2.0
"""Seconds of CPU time that any file may take in addition to twice that of a valid file."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a file is read; only files that are read in the same way are compared."""

    format: str
    layout: str
    task: TaskKind
    scores: bool

    @classmethod
    def of(cls, file: HostileFile) -> "Way":
        """The way in which a hostile file is read."""
        return cls(file.kind.format, file.kind.layout, file.task, file.scores)


def spent(path: str, kind: FileKind, phase: TargetGold, way: Way) -> float:
    """CPU seconds for reading and checking a file as in a scoring process, which ends it at its limits."""
    if way.format in {"parquet", "arrow"}:
        import pyarrow.compute  # noqa: PLC0415 (a scoring process imports it once)
        import pyarrow.parquet  # noqa: F401, PLC0415
    spec, index = TaskSpec(way.task, phase.classes), IdIndex(phase.ids)
    rules = ReadingRules(scores="due" if way.scores else "ignored")
    tables = build_lookup_tables(index, phase.classes)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        timer = CpuTimer(LONGEST)
        timer.begin()
        limits = replace(DEFAULT_LIMITS, cpu_budget=timer.budget)
        with suppress(FileMemoryError):
            validate_predictions(index, spec, SourceFile(Path(path), kind), rules=rules, tables=tables, limits=limits)
        os._exit(0)
    _, _, used = os.wait4(child, 0)
    return used.ru_utime + used.ru_stime


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure the time of each file, and find the file with the largest share of its allowed time."""
    found = Measured()
    for instances in sizes.hostile:
        _measure(found, TargetGold.of(instances, CLASSES), islice(hostile_files(), sizes.hostile_files), folder)
    long = (file for file in hostile_files() if file.kind.layout or file.scores)
    paired = TargetGold.of(min(_PAIRED, max(sizes.hostile)), MANY)
    _measure(found, paired, islice(long, sizes.hostile_files), folder)
    sets = (file for file in hostile_files() if file.task == "multilabel" and not file.kind.layout)
    many = TargetGold.of(min(_IN_SETS, max(sizes.hostile)), MANY)
    _measure(found, many, islice(sets, sizes.hostile_files), folder, "sets of labels, ")
    return found


def _measure(found: Measured, phase: TargetGold, files: Iterable[HostileFile], folder: Path, of: str = "") -> None:
    valid: dict[Way, float] = {}
    times: dict[str, float] = {}
    shares: dict[str, float] = {}
    for file in files:
        way = Way.of(file)
        if way not in valid:
            body = valid_file(phase, way.format, scores=way.scores, task=way.task, layout=way.layout)
            valid[way] = _apart(folder, body, FileKind(way.format, layout=way.layout), phase, way)
        times[str(file)] = _apart(folder, file.body(phase), file.kind, phase, way)
        shares[str(file)] = times[str(file)] / (_SPARE + 2 * valid[way])
    work = f"hostile files of at most 4 MB, {of}gold of {len(phase.ids):,} and {len(phase.classes)} classes"
    first = next(iter(valid))
    found.ways(work, {f"a valid file of {first.format} {first.layout}".strip(): valid[first], **times}, "s")
    slowest = max(shares, key=shares.__getitem__)
    told = f"{work}, over 2 s and twice a valid file read in the same way; the worst is {slowest}"
    found.at_most(told, 1, shares[slowest])


def _apart(folder: Path, body: bytes, kind: FileKind, phase: TargetGold, way: Way) -> float:
    """The same in a process of its own; the maximum time if it took longer."""
    path = folder / "file"
    path.write_bytes(body)
    try:
        return apart(LONGEST, spent, str(path), kind, phase, way)
    except Failed:
        return LONGEST
