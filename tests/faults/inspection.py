"""Looking at a service from outside: its processes in /proc, its rows in SQLite, its files on disk."""

import contextlib
import fcntl
import os
import signal
import sqlite3
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.worker.process_settings import ANALYSIS_NICENESS
from tests import preloaded_scoring
from tests.live_service import MAX_WAIT_SECONDS, Caller, Live, eventually, open_challenge

GOLD = [{"id": f"t{number}", "label": "cat" if number % 3 else "dog"} for number in range(12)]
PRELOADED = "tests.preloaded_scoring"  # in the command line of a fork of the loader
CORRECT_PREDICTIONS = {row["id"]: row["label"] for row in GOLD}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended with all its threads and waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"} or threads > 1


def children_of(pid: int) -> list[int]:
    """Process ids of the direct children of a process, but for the one that computes intervals and rank sets."""
    return [each for each in all_children_of(pid) if not is_analysis(each)]


def all_children_of(pid: int) -> list[int]:
    """Process ids of all direct children of a process, and of the scoring processes that a loader forked for it.

    Of the test process itself only the latter: its other children are loaders and servers.
    """
    children = preloaded_scoring.forks_of(pid)
    if pid == os.getpid():
        return [each for each in children if is_alive(each)]
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # this thread has ended
            children.extend(int(each) for each in listing.read_text().split())
    return [each for each in children if is_alive(each)]


def is_analysis(pid: int) -> bool:
    """Whether this is the scoring process of low priority."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
        if PRELOADED in command:
            eventually(lambda: not _is_starting(pid), "it has its priority")
            return niceness(pid) >= ANALYSIS_NICENESS
    except OSError:  # it has ended
        return False
    return f"--nice\0{ANALYSIS_NICENESS}\0" in command


def analysts_of(pid: int) -> list[int]:
    """The processes that compute intervals and compare boards for a process: its children that let the others go first."""
    return [child for child in all_children_of(pid) if is_analysis(child) and niceness(child) >= ANALYSIS_NICENESS]


def niceness(pid: int) -> int:
    """By how much a process lets others go first; 0 if it has ended."""
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except ProcessLookupError:
        return 0


def cpu_ticks(pid: int) -> int:
    """Processor time that a process has used, in clock ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_idle(pid: int) -> bool:
    """Whether a process uses no processor for a moment: a child that has started and waits to be asked, or is stopped."""
    try:
        if _is_starting(pid):
            return False
        before = cpu_ticks(pid)
        for _ in range(4):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"S", "T"}:
                return False
            time.sleep(0.02)
        return cpu_ticks(pid) == before
    except (FileNotFoundError, ProcessLookupError):  # it ended: the pool replaces a process that is slow to start
        return False


def _is_starting(pid: int) -> bool:
    """Whether it is a scoring process that is not ready: on a busy machine it may use no processor then, too.

    Once it is ready, what it prints goes where its errors go, for it replies elsewhere.
    """
    process = Path(f"/proc/{pid}")
    command = (process / "cmdline").read_text()
    is_scoring = "\0--limits\0" in command or PRELOADED in command
    return is_scoring and (process / "fd/1").readlink() != (process / "fd/2").readlink()


def pid_of(service: Live) -> int:
    """The process id of a service that runs."""
    assert service.process is not None
    return service.process.pid


def query_rows(service: Live, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query, read beside the service."""
    connection = sqlite3.connect(
        f"file:{service.data_dir / 'assay.sqlite3'}?mode=ro", uri=True, timeout=MAX_WAIT_SECONDS
    )
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def stored_uploads(service: Live) -> list[str]:
    """The names of the stored files, whole or in part."""
    return sorted(path.name for path in (service.data_dir / "files" / "uploads").iterdir())


def open_pets_challenge(service: Live, **phase: Any) -> Caller:
    """A challenge `pets` with gold, and a member of its team Blue."""
    open_challenge(service.admin(), "pets", GOLD, phases=[{"name": "main", **phase}])
    return service.person("Blue").join("pets", "Blue")


def submission_status(caller: Caller, submission: str) -> str:
    """The status of a submission now."""
    answer = caller.get(f"/submissions/{submission}")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["status"])


@contextlib.contextmanager
def frozen_scoring(service: Live) -> Iterator[list[int]]:
    """Stop the children of a service for a while, so that whatever they are asked stays unanswered."""
    with frozen_children(pid_of(service)) as children:
        yield children


@contextlib.contextmanager
def frozen_children(*parents: int) -> Iterator[list[int]]:
    """The same for the children of these processes."""
    children = freeze_children(*parents)
    try:
        yield children
    finally:
        for child in children:
            thaw(child)


def freeze_children(*parents: int) -> list[int]:
    """Freeze the children of these processes once they wait for requests; gives their process ids.

    A child that is frozen before it has started is asked nothing, and after a minute another one takes its place.
    """
    children: list[int] = []

    def have_started() -> bool:
        children[:] = [child for parent in parents for child in children_of(parent)]
        return all(map(is_idle, children))

    eventually(have_started, "all children have started")
    for child in children:
        freeze(child)
    return children


def has_unread_request(child: int) -> bool:
    """Whether a frozen child has been sent something: bytes wait in the pipe that it reads."""
    try:
        pipe = os.open(f"/proc/{child}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:  # it ended: the pool replaces a process that is slow to start
        return False
    try:
        return any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    except OSError:  # no pipe: it is about to start, and has its parent's input
        return False
    finally:
        os.close(pipe)


def freeze(child: int) -> None:
    """Stop a process, and wait until each of its threads has stopped: the signal alone is only a promise."""
    os.kill(child, signal.SIGSTOP)
    eventually(lambda: all(map(_is_stopped, Path(f"/proc/{child}/task").iterdir())), f"{child} has stopped")


@contextlib.contextmanager
def frozen_with_children(parent: int) -> Iterator[None]:
    """Stop a process and then its children while the block runs; in this order it starts none in between."""
    frozen = [parent]
    try:
        freeze(parent)
        for child in children_of(parent):
            frozen.append(child)
            freeze(child)
        yield
    finally:
        for each in frozen:
            thaw(each)


def thaw(process: int) -> None:
    """Let a stopped process go on, if there is still one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


def _is_stopped(task: Path) -> bool:
    """Whether it has stopped, or has ended and its parent, which may be stopped, has not been told."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0] in {"T", "Z"}
    except (FileNotFoundError, ProcessLookupError):  # this thread has ended
        return True
