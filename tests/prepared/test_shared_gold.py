"""Scoring processes share prepared gold: the first one asked prepares it, whatever happens to the others."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_folder import PreparedGoldFolder, read_prepared_gold
from app.prepared.gold_source import GoldFile, GoldSource, PreparedFile
from app.scoring_processes.messages import CheckGold, FileResult, GoldFileNeeded, GoldSummary, Reply, ScorePredictions
from app.worker.process_pool import ScoringProcessPool
from tests.faults.inspection import freeze, is_alive
from tests.faults.test_short_disk import full_disk, small_disk
from tests.live_service import MAX_WAIT_SECONDS, ROOT, eventually
from tests.preloaded_scoring import loader, use_preloaded_scoring
from tests.prepared.sample_golds import KINDS, load_kind

MIB = 1 << 20
KIND = FileKind("json")
RECORDS, FIELDS = KINDS["plain"]
RIGHT = [{"id": row["id"], "label": row["label"]} for row in RECORDS]
NAME = "a" * 64


@contextmanager
def pool(folder: Path | None, count: int = 1, limit: int = 64 * MIB) -> Iterator[ScoringProcessPool]:
    """Children that share a folder: forks of one that has loaded the program."""
    arguments = ["--cpu", "30", "--memory", str(512 * MIB), "--limits", json.dumps({"records": 1_000_000})]
    prepared = None if folder is None else PreparedGoldFolder(folder, limit)
    made = ScoringProcessPool(count, arguments=arguments, seconds=MAX_WAIT_SECONDS, prepared_gold=prepared)
    with use_preloaded_scoring(loader()):
        try:
            yield made
        finally:
            made.close()


class Files:
    """Gold and predictions on disk, and the requests that name them."""

    def __init__(self, folder: Path) -> None:
        self.gold = folder / "gold"
        self.gold.write_text(json.dumps(RECORDS))
        sent = folder / "sent"
        sent.write_text(json.dumps(RIGHT))
        self._sent = SourceFile(sent, KIND)

    def whole(self, **more: Any) -> GoldFile:
        """The file of the gold with its task and classes."""
        return GoldFile(SourceFile(self.gold, KIND), **FIELDS, **more)

    def by_name(self, name: str = NAME) -> ScorePredictions:
        """A request to score with the gold of this name."""
        recipe = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro"]}
        return ScorePredictions(GoldSource(name), self._sent, recipe)

    def by_file(self, path: Path) -> ScorePredictions:
        """The same request with a file of prepared gold."""
        return replace(self.by_name(), gold=GoldSource(NAME, prepared=PreparedFile(path)))

    def in_full(self) -> ScorePredictions:
        """The same request with the file of the gold."""
        return replace(self.by_name(), gold=GoldSource(NAME, self.whole()))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    folder = tmp_path / "files"
    folder.mkdir()
    return Files(folder)


def accuracy(answer: Reply) -> float:
    assert isinstance(answer, FileResult)
    assert answer.valid, answer
    return float(answer.scores["all"]["accuracy"]["value"])


def test_gold_asked_for_by_name_is_scored_with_once_some_child_has_made_it_ready(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    with pool(folder) as children, pool(folder) as others:
        assert children.call(files.by_name()) == GoldFileNeeded()
        assert others.call(files.by_name()) == GoldFileNeeded()
        assert accuracy(children.call(files.in_full())) == 1
        files.gold.unlink()
        (path,) = folder.iterdir()
        assert accuracy(children.call(files.by_name())) == 1
        assert others.call(files.by_name()) == GoldFileNeeded()
        assert accuracy(others.call(files.by_file(path))) == 1
        assert accuracy(others.call(files.in_full())) == 1
        path.unlink()
        assert accuracy(others.call(files.by_name())) == 1
    with pool(folder) as later:
        assert later.call(files.by_file(path)) == GoldFileNeeded()


def test_without_a_folder_each_child_keeps_gold_in_its_own_memory(files: Files) -> None:
    with pool(None) as children, pool(None) as others:
        assert accuracy(children.call(files.in_full())) == 1
        assert accuracy(children.call(files.by_name())) == 1
        assert others.call(files.by_name()) == GoldFileNeeded()


def test_inspected_gold_is_ready_under_the_name_of_its_content(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    with pool(folder) as children:
        gold_file = files.whole(sha256="0" * 64)
        assert isinstance(children.call(CheckGold(GoldSource(file=gold_file))), GoldSummary)
        (made,) = folder.iterdir()
        # What is not to be stored is not prepared either.
        other = replace(gold_file, sha256="", classes=["eel", "dog", "cat"])
        assert isinstance(children.call(CheckGold(GoldSource(file=other))), GoldSummary)
        assert list(folder.iterdir()) == [made]
        assert accuracy(children.call(files.by_name(made.stem))) == 1


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: os.truncate(path, path.stat().st_size // 2),
        lambda path: path.write_bytes(path.read_bytes()[:-9] + b"\1" + path.read_bytes()[-8:]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"AssayG00" + path.read_bytes()[8:]),
    ],
    ids=["cut short", "one byte changed", "empty", "another layout"],
)
def test_a_damaged_file_costs_one_more_reading_and_is_told_to_the_operator(
    files: Files, tmp_path: Path, harm: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "prepared"
    with pool(folder) as children:
        assert accuracy(children.call(files.in_full())) == 1
    (path,) = folder.iterdir()
    harm(path)
    with pool(folder) as children:
        assert children.call(files.by_file(path)) == GoldFileNeeded(damaged=True)
        assert "damaged prepared gold" in capsys.readouterr().out
        assert accuracy(children.call(files.in_full())) == 1
    with pool(folder) as children:
        assert accuracy(children.call(files.by_file(path))) == 1


def test_children_that_make_the_same_gold_ready_at_once_do_not_disturb_each_other(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    for _ in range(3):
        with pool(folder, 3) as children, ThreadPoolExecutor(3) as askers:
            children.warm_up()
            together = threading.Barrier(3)

            def ask(wait: Callable[[], int] = together.wait, children: ScoringProcessPool = children) -> float:
                wait()
                return accuracy(children.call(files.in_full()))

            assert [each.result(timeout=MAX_WAIT_SECONDS) for each in [askers.submit(ask) for _ in range(3)]] == [
                1,
                1,
                1,
            ]
        (path,) = folder.iterdir()
        assert len(read_prepared_gold(PreparedFile(path)).ids) == len(RECORDS)
        path.unlink()


def test_a_full_disk_is_nobodys_error(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with small_disk(tmp_path / "small") as disk:
        folder = disk / "prepared"
        with pool(folder) as children:
            with full_disk(disk):
                assert accuracy(children.call(files.in_full())) == 1
                assert "could not be prepared" in capsys.readouterr().out
                assert accuracy(children.call(files.by_name())) == 1
            assert not list(folder.glob("*"))
            with full_disk(disk):  # found out only as it is written
                PreparedGoldFolder(folder, 64 * MIB, -(1 << 62)).store(NAME, load_kind(tmp_path, "plain"))
            assert not list(folder.glob("*"))
        with pool(folder) as children:
            assert accuracy(children.call(files.in_full())) == 1
            assert [path.stem for path in folder.iterdir()] == [NAME]


WRITERS = """
import os, sys
from pathlib import Path
from app.prepared.gold_folder import PreparedGoldFolder
from tests.prepared.sample_golds import load_kind

folder = Path(sys.argv[1])
gold = load_kind(folder.parent, "plain")
gold.notes = ["long " * 4_000_000]
while True:
    child = os.fork()
    while not child:
        PreparedGoldFolder(folder, 1 << 30).store("b" * 64, gold)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def writers(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that starts a writer, names it, waits until somebody ends it, and does so again when told to."""
    program, pipe = [sys.executable, "-c", WRITERS, str(folder)], subprocess.PIPE
    with subprocess.Popen(program, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.ci
def test_a_writer_that_is_killed_leaves_nothing_that_is_used_or_stays(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    prepared, midway = PreparedGoldFolder(folder, 1 << 30), 0
    with writers(folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(8):
            writer = int(process.stdout.readline())
            eventually(lambda: any(folder.glob("*.part")), "it writes")
            freeze(writer)
            parts = [path for path in folder.glob("*.part") if path.stat().st_size]  # locked first, then filled
            prepared.evict_unused()
            assert set(folder.glob("*.part")) >= set(parts)  # their writer lives
            os.kill(writer, signal.SIGKILL)
            assert process.stdout.readline() == "ended\n"
            assert not is_alive(writer)
            midway += len(parts)
            found = folder / f"{'b' * 64}.gold"
            assert not found.exists() or read_prepared_gold(PreparedFile(found)).ids
            prepared.evict_unused()
            assert not list(folder.glob("*.part"))
            process.stdin.write("\n")
            process.stdin.flush()
    assert midway, "no writer was killed amid its work"
    stored = prepared.store("b" * 64, load_kind(tmp_path, "plain"))
    assert stored is not None
    assert read_prepared_gold(stored).ids
