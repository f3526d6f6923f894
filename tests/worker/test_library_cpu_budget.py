"""Decoding a file of columns has a budget of the CPU time of its own, whatever its metadata make of it."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring_processes.messages import FileResult, ValidatePredictions
from app.worker.cpu_limit import CpuTimer
from app.worker.process_pool import ScoringProcess
from tests.fuzz.hostile import valid_file
from tests.fuzz.hostile_file import TargetGold
from tests.fuzz.hostile_metadata import shared_files

pytestmark = pytest.mark.ci  # each case uses up the processor time of a process
PHASE = TargetGold.of(10_000, 30)
FILES = {file.name: file for file in shared_files()}


@pytest.fixture
def child() -> Iterator[ScoringProcess]:
    process = ScoringProcess(["--cpu", "600", "--memory", str(2 << 30), "--limits", "{}"])
    yield process
    process.stop()


def validate(child: ScoringProcess, folder: Path, body: bytes, kind: FileKind) -> FileResult:
    """What a child says of a file for the gold of PHASE."""
    gold = folder / "gold"
    gold.write_text(json.dumps([{"id": name, "label": PHASE.classes[0]} for name in PHASE.ids]))
    (folder / "file").write_bytes(body)
    file = GoldFile(SourceFile(gold, FileKind("json")), "multiclass", classes=PHASE.classes)
    recipe = {"primary": "accuracy", "metrics": ["accuracy"]}
    request = ValidatePredictions(GoldSource(file=file), SourceFile(folder / "file", kind), recipe)
    answer = child.call(request, 600)
    assert isinstance(answer, FileResult)
    return answer


@pytest.mark.parametrize("name", FILES)
def test_what_a_library_decodes_is_ended_by_its_share_of_the_cpu_time(
    name: str, child: ScoringProcess, tmp_path: Path
) -> None:
    kind, body = FILES[name].kind, FILES[name].body(PHASE)
    answer = validate(child, tmp_path, body, FileKind(kind.format, kind.encoding))
    assert answer.total == {"too_large": 1}, answer
    assert "decoding its Parquet or Arrow" in answer.problems[0]["message"]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_file_of_all_scores_has_time_enough(form: str, child: ScoringProcess, tmp_path: Path) -> None:
    answer = validate(child, tmp_path, valid_file(PHASE, form, scores=True), FileKind(form))
    assert answer.valid, answer


@pytest.fixture
def timer_signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The signals that would have ended the program; those of a timer that is begun."""
    signals: list[int] = []
    monkeypatch.setattr(signal, "SIG_DFL", lambda number, _: signals.append(number))
    before = signal.getsignal(signal.SIGPROF)
    yield signals
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


def test_a_share_ends_steps_of_any_length_and_counts_nothing_between_them(timer_signals: list[int]) -> None:
    timer = CpuTimer(600)
    timer.begin()
    short, long, unused = timer.budget(0.05), timer.budget(0.05), timer.budget(0.05)
    with long.step():
        while not timer_signals:
            pass
    assert list(unused.iterate(map(_burnt, [0.0] * 3))) == [0.0] * 3
    _burnt(0.1)
    with unused.step():
        assert len(timer_signals) == 1
    for _ in short.iterate(map(_burnt, [0.0005] * 1000)):
        if len(timer_signals) > 1:
            break
    assert len(timer_signals) > 1


def test_many_short_steps_leave_the_time_of_the_stage_as_it_is(timer_signals: list[int]) -> None:
    timer = CpuTimer(2)
    timer.begin()
    budget = timer.budget(60)
    for _ in budget.iterate(map(_burnt, [0.0001] * 100_000)):
        if timer_signals:
            break
    assert timer_signals


def _burnt(seconds: float) -> float:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds
