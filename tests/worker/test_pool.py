"""Scoring children: limited, replaceable, without secrets, and gone when nobody listens."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring_processes import (
    ScoringProcessCrashed,
    ScoringProcessesBusy,
    ScoringProcessesClosed,
    ScoringProcessStalled,
    ScoringTimeout,
)
from app.scoring_processes.messages import CheckGold, FileResult, GoldSummary
from app.settings import Settings
from app.worker.process_pool import ScoringProcess, ScoringProcessPool
from app.worker.process_settings import create_process_pool
from tests.faults.inspection import freeze, has_unread_request, is_alive
from tests.live_service import MAX_WAIT_SECONDS, ROOT, eventually

MIB = 1024 * 1024
LIMITS = ["--cpu", "30", "--memory", str(512 * MIB), "--limits", json.dumps({"records": 1000})]
GOLD = [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]


@contextlib.contextmanager
def pool(
    count: int = 1, seconds: float = MAX_WAIT_SECONDS, stall_seconds: float = MAX_WAIT_SECONDS
) -> Iterator[ScoringProcessPool]:
    processes = ScoringProcessPool(count, arguments=LIMITS, seconds=seconds, stall_seconds=stall_seconds)
    processes.warm_up()
    for child in processes._all:
        child._await_ready(child.start())
    try:
        yield processes
    finally:
        processes.close()


@pytest.fixture(scope="module")
def children() -> Iterator[ScoringProcessPool]:
    """A pool of one child, started with secrets in the environment; a test may kill the child."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASSAY_ADMIN_TOKEN", "a secret of the service")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "another secret")
        environment.setenv("LANG", "C.UTF-8")
        with pool() as processes:
            yield processes


@pytest.fixture
def request_of(tmp_path: Path) -> CheckGold:
    """A request for gold that takes hardly any work."""
    path = tmp_path / "gold"
    path.write_text(json.dumps(GOLD))
    return check_gold(path)


def check_gold(path: Path) -> CheckGold:
    return CheckGold(GoldSource(file=GoldFile(SourceFile(path, FileKind("json")), "multiclass")))


@pytest.mark.ci
def test_an_interrupt_of_the_terminal_does_not_end_a_child(children: ScoringProcessPool, request_of: CheckGold) -> None:
    # Ctrl-C reaches every process of the terminal; the service lets its children finish what they score.
    (child,) = children._all
    assert child.pid is not None
    pid = child.pid
    os.kill(pid, signal.SIGINT)
    assert isinstance(children.call(request_of), GoldSummary)
    assert child.pid == pid


def test_a_child_answers(children: ScoringProcessPool, request_of: CheckGold) -> None:
    answer = children.call(request_of)
    assert isinstance(answer, GoldSummary)
    assert answer.classes == ["cat", "dog"]


def test_the_environment_of_a_child_holds_no_secret(children: ScoringProcessPool) -> None:
    (pid,) = children.pids()
    words = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    names = {word.partition("=")[0] for word in words if word}
    assert not [name for name in names if name.startswith(("ASSAY_", "AWS_"))]
    assert "secret" not in "".join(words)
    assert {"PATH", "LANG", "OPENBLAS_NUM_THREADS"} <= names


def test_a_child_inherits_no_file_of_the_service(request_of: CheckGold, tmp_path: Path) -> None:
    with (tmp_path / "database").open("w") as database_file, pool() as children:
        children.call(request_of)
        (pid,) = children.pids()
        open_files = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()]
        assert database_file.name not in open_files


def test_the_memory_of_a_child_is_limited(children: ScoringProcessPool, request_of: CheckGold) -> None:
    children.call(request_of)
    (pid,) = children.pids()
    limits = Path(f"/proc/{pid}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max data size")]
    assert line.split()[3:5] == [str(512 * MIB)] * 2


def test_a_small_file_needs_little_memory_however_large_files_may_be(request_of: CheckGold) -> None:
    limits = {"expanded_bytes": 1 << 40, "records": 1000}
    child = ScoringProcess(["--cpu", "30", "--memory", str(192 * MIB), "--limits", json.dumps(limits)])
    try:
        assert isinstance(child.call(request_of, 30), GoldSummary)
    finally:
        child.stop()


def test_a_file_beyond_the_memory_is_refused_and_the_next_one_is_read(
    children: ScoringProcessPool, request_of: CheckGold, tmp_path: Path
) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(700 * MIB)  # a file with a hole: all zeros, hardly any disk
    answer = children.call(check_gold(path))
    assert isinstance(answer, FileResult)
    assert (answer.valid, answer.total) == (False, {"too_large": 1})
    assert "512 MiB of memory" in answer.problems[0]["message"]
    assert isinstance(children.call(request_of), GoldSummary)


@pytest.mark.ci
def test_a_process_is_replaced_after_it_ran_out_of_memory_but_not_for_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(700 * MIB)
    with pool() as processes:
        pids = processes.pids()
        with pytest.raises(FileNotFoundError):
            processes.call(check_gold(tmp_path / "missing"))
        assert processes.pids() == pids
        assert isinstance(processes.call(check_gold(path)), FileResult)
        assert processes.pids() == []


@pytest.mark.ci
def test_a_child_that_does_not_answer_in_time_is_killed_and_replaced(
    children: ScoringProcessPool, request_of: CheckGold, monkeypatch: pytest.MonkeyPatch
) -> None:
    children.call(request_of)
    (slow,) = children.pids()
    freeze(slow)
    monkeypatch.setattr(children, "_seconds", 1.5)
    with pytest.raises(ScoringTimeout, match=r"1\.5 s") as refused:
        children.call(request_of)
    monkeypatch.undo()
    assert refused.value.code == "time_limit"
    assert not is_alive(slow)
    assert isinstance(children.call(request_of), GoldSummary)
    assert children.pids() != [slow]


@pytest.mark.ci
def test_a_child_that_is_stopped_while_it_has_work_is_replaced_long_before_its_time_is_over(
    request_of: CheckGold,
) -> None:
    with pool(seconds=3600, stall_seconds=0.4) as children:
        children.call(request_of)
        (stopped,) = children.pids()
        freeze(stopped)
        with pytest.raises(ScoringProcessStalled, match="gained no CPU time") as refused:
            children.call(request_of)
        assert refused.value.code == "stalled"
        assert not is_alive(stopped)
        assert isinstance(children.call(request_of), GoldSummary)


@pytest.mark.ci
def test_a_child_that_waits_without_work_is_left_alone(request_of: CheckGold) -> None:
    with pool(stall_seconds=1.0) as children:
        before = children.pids()
        threading.Event().wait(1.5)
        assert isinstance(children.call(request_of), GoldSummary)
        assert children.pids() == before


@pytest.mark.ci
def test_a_child_that_dies_at_work_is_reported_and_replaced(
    children: ScoringProcessPool, request_of: CheckGold
) -> None:
    children.call(request_of)
    with ThreadPoolExecutor(1) as asker:
        (victim,) = children.pids()
        freeze(victim)
        answer = asker.submit(children.call, request_of)
        eventually(lambda: has_unread_request(victim), "the question has been asked")
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(ScoringProcessCrashed) as refused:
            answer.result(timeout=MAX_WAIT_SECONDS)
        assert refused.value.code == "crashed"
        assert isinstance(children.call(request_of), GoldSummary)


@pytest.mark.ci
def test_a_child_that_died_idle_costs_nobody_anything(children: ScoringProcessPool, request_of: CheckGold) -> None:
    children.call(request_of)
    (victim,) = children.pids()
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: not is_alive(victim), "the child is dead")
    assert isinstance(children.call(request_of), GoldSummary)


def test_more_askers_than_children_wait_for_their_turn(request_of: CheckGold) -> None:
    with pool(2) as children, ThreadPoolExecutor(12) as askers:
        before = children.pids()
        answers = list(askers.map(lambda _: children.call(request_of), range(64), timeout=MAX_WAIT_SECONDS))
        assert all(isinstance(answer, GoldSummary) for answer in answers)
        assert children.pids() == before


def test_askers_beyond_the_line_are_turned_away_and_nobody_waits_for_ever(
    children: ScoringProcessPool, request_of: CheckGold, monkeypatch: pytest.MonkeyPatch
) -> None:
    children.call(request_of)
    freeze(children.pids()[0])
    monkeypatch.setattr(children, "_seconds", 3.0)
    with ThreadPoolExecutor(30) as askers:
        answers = [askers.submit(children.call, request_of) for _ in range(30)]
        errors = [answer.exception(timeout=MAX_WAIT_SECONDS) for answer in answers]
    busy = [error for error in errors if isinstance(error, ScoringProcessesBusy)]
    assert len(busy) >= 15  # one was being served, at most thirteen stood in line
    assert any(isinstance(error, ScoringTimeout) for error in errors)
    monkeypatch.undo()
    assert isinstance(children.call(request_of), GoldSummary)


def test_closing_ends_the_work_at_hand_and_what_still_waits(request_of: CheckGold) -> None:
    with pool(2) as children, ThreadPoolExecutor(6) as askers:
        pids = children.pids()
        for pid in pids:
            freeze(pid)
        answers = [askers.submit(children.call, request_of) for _ in range(6)]
        eventually(children._free.empty, "both children are at work")
        children.close()
        for answer in answers:
            assert isinstance(answer.exception(timeout=MAX_WAIT_SECONDS), ScoringProcessesClosed)
        assert not any(map(is_alive, pids))
        assert children.pids() == []
        with pytest.raises(ScoringProcessesClosed):
            children.call(request_of)


@pytest.mark.ci
def test_closing_amid_work_leaves_no_child(request_of: CheckGold) -> None:
    for _ in range(3):
        with pool(2) as children, ThreadPoolExecutor(4) as askers:
            answered = threading.Semaphore(0)

            def ask(children: ScoringProcessPool = children, answered: threading.Semaphore = answered) -> None:
                while isinstance(children.call(request_of), GoldSummary):
                    answered.release()

            answers = [askers.submit(ask) for _ in range(4)]
            for _ in range(20):
                assert answered.acquire(timeout=MAX_WAIT_SECONDS)
            children.close()
            for answer in answers:
                assert isinstance(answer.exception(timeout=MAX_WAIT_SECONDS), ScoringProcessesClosed)
            assert children.pids() == []


@pytest.mark.ci
def test_a_child_ends_when_its_pipe_closes() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "app.worker.scoring_process", *LIMITS],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    assert child.wait(timeout=MAX_WAIT_SECONDS) == 0
    child.stdout.close()


def test_so_many_may_wait_and_no_more(children: ScoringProcessPool, request_of: CheckGold) -> None:
    children.call(request_of)
    (child,) = children.pids()
    freeze(child)
    with ThreadPoolExecutor(40) as askers:
        answers = [askers.submit(children.call, request_of) for _ in range(40)]
        eventually(lambda: any(answer.done() for answer in answers), "somebody is turned away")
        os.kill(child, signal.SIGCONT)
        errors = [answer.exception(timeout=MAX_WAIT_SECONDS) for answer in answers]
    assert {type(error) for error in errors} == {type(None), ScoringProcessesBusy}


def test_the_pool_of_a_service_has_the_time_limit_of_its_settings() -> None:
    assert create_process_pool(Settings(scoring_seconds=7), 1)._seconds == 7
    assert create_process_pool(Settings(scoring_seconds=7), 1, seconds=3)._seconds == 3
