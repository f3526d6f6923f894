"""What an acknowledged submission is made of is on disk before its acknowledgement, seen from the operating system."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.cluster import cluster
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually
from tests.optional_tools import skip_or_fail
from tests.postgres import PostgresServer
from tests.races.concurrent_clients import CORRECT_PREDICTIONS, ConcurrentClients, OnPostgresql, OnSqlite, RaceTarget
from tests.settle import settle

CALLS = "fsync,fdatasync,rename,renameat,renameat2,sendto,recvfrom,write,pwrite64"
LINE = re.compile(r"(\d+) +(?:<\.\.\. (?P<again>\w+) resumed>|(?P<call>\w+)\()(?P<rest>.*)")
UNFINISHED = " <unfinished ...>"


class Call(NamedTuple):
    """A call of the operating system, begun and ended at these lines of the record."""

    name: str
    said: str
    begun: int
    ended: int


def calls(record: str) -> list[Call]:
    """All calls, in the order in which they began; one that never returned is left out."""
    begun: dict[tuple[str, str], tuple[int, str]] = {}
    system_calls = []
    for number, line in enumerate(record.splitlines()):
        match = LINE.match(line)
        if match is None:
            continue
        thread, rest = match[1], match["rest"]
        if match["again"]:
            since, said = begun.pop((thread, match["again"]), (number, ""))
            system_calls.append(Call(match["again"], said + rest, since, number))
        elif rest.endswith(UNFINISHED):
            begun[thread, match["call"]] = (number, rest.removesuffix(UNFINISHED))
        else:
            system_calls.append(Call(match["call"], rest, number, number))
    return sorted(system_calls, key=lambda call: call.begun)


@contextmanager
def traced(process: int, record: Path) -> Iterator[None]:
    """Record what a process asks of the operating system while the block lasts."""
    program = shutil.which("strace")
    if program is None:
        skip_or_fail("strace", "there is no such program")
    command = [program, "-f", "-y", "-s", "400", "-e", f"trace={CALLS}", "-o", str(record), "-p", str(process)]
    messages = record.with_suffix(".messages")
    with messages.open("wb") as said:
        tracer = subprocess.Popen(command, stderr=said)
        try:
            eventually(lambda: tracer.poll() is not None or "attached" in messages.read_text(), "strace has begun")
            if tracer.poll() is not None:
                skip_or_fail("strace", messages.read_text().strip())
            yield
        finally:
            tracer.terminate()
            tracer.wait(MAX_WAIT_SECONDS)


def first(system_calls: list[Call], names: str, said: str, after: int) -> Call:
    """The first of these calls that says this and began after a line; it must have succeeded."""
    for call in system_calls:
        if call.name in names.split() and re.search(said, call.said) and call.begun > after:
            assert not re.search(r"= -1 ", call.said), call
            return call
    raise AssertionError(f"no {names} with {said} after line {after} of:\n" + "\n".join(map(str, system_calls)))


def recorded(
    service: RaceTarget, process: int, folder: Path, quiet: Callable[[], None]
) -> tuple[list[Call], Call, Call]:
    """The calls around one submission: all of them, the one that made its folder entry durable, its answer."""
    crowd = ConcurrentClients(service)
    address = crowd.challenge("ordered")
    blue = crowd.member("ordered")[0]
    quiet()  # what was done so far is also written by the worker
    with crowd.scoring_paused(), traced(process, folder / "record"):
        answer = blue.post(address, json=CORRECT_PREDICTIONS)
        assert answer.status_code == 202, answer.text
    crowd.close()
    ((key,),) = service.rows("SELECT file_key FROM submissions")
    system_calls = calls((folder / "record").read_text(errors="replace"))
    written = first(system_calls, "write", rf"{key}\.part>", -1)
    synced = first(system_calls, "fsync fdatasync", rf"{key}\.part>", written.ended)
    named = first(system_calls, "rename renameat renameat2", rf'{key}\.part".*{key}"', synced.ended)
    entered = first(system_calls, "fsync", r"/files/uploads>", named.ended)
    reply = first(system_calls, "sendto write", r"HTTP/1\.1 202 ", -1)
    assert entered.ended < reply.begun
    return system_calls, entered, reply


def test_on_sqlite_bytes_name_folder_and_log_are_synced_in_this_order_before_the_answer(tmp_path: Path) -> None:
    service = Live(tmp_path / "data").start()
    try:
        on = OnSqlite(service)
        system_calls, entered, reply = recorded(
            on, on.scoring_process_ids()[0], tmp_path, quiet=lambda: settle(service)
        )
    finally:
        service.kill()
    row = first(system_calls, "pwrite64 write", r"assay\.sqlite3-wal>", entered.ended)
    log = first(system_calls, "fsync fdatasync", r"assay\.sqlite3-wal>", row.ended)
    assert log.ended < reply.begun
    later = [
        call for call in system_calls if "assay.sqlite3-wal>" in call.said and log.ended < call.begun < reply.begun
    ]
    assert [call for call in later if "write" in call.name] == []  # nothing of it is written after its sync


def test_on_postgresql_the_file_is_durable_before_the_commit_and_that_before_the_answer(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with postgres.database() as url, cluster(tmp_path, url) as parts:
        parts.start(apis=1, workers=0)
        system_calls, entered, reply = recorded(OnPostgresql(parts), parts.apis[0].pid, tmp_path, quiet=lambda: None)
    commit = first(system_calls, "sendto write", r"COMMIT", entered.ended)
    done = first(system_calls, "recvfrom", r"COMMIT", commit.begun)
    assert done.ended < reply.begun


def test_a_call_that_is_recorded_in_pieces_ends_with_its_last_piece() -> None:
    """Or the order of two threads would be read wrongly."""
    record = '8 fdatasync(3</data/log> <unfinished ...>\n7 rename("a.part", "a") = 0\n8 <... fdatasync resumed>) = 0'
    sync, rename = calls(record)
    assert (sync.name, sync.said, sync.begun, sync.ended) == ("fdatasync", "3</data/log>) = 0", 0, 2)
    assert (rename.name, rename.begun, rename.ended) == ("rename", 1, 1)
