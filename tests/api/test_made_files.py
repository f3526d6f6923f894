"""Files are made once, served from disk, and given up when they take too much room."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.api.made_files import MadeFiles
from tests.api.served import Served


async def made(files: MadeFiles, *names: str, size: int = 10) -> list[str]:
    """Ask for all of these at once; gives the names that had to be made."""
    calls: list[str] = []

    def make(target: Path) -> None:
        calls.append(target.name.removesuffix(".part"))
        target.write_bytes(bytes(size))

    paths = await asyncio.gather(*(files.path(name, make) for name in names))
    assert all(path.stat().st_size == size for path in paths)
    return calls


def fresh(folder: Path, most_bytes: int = 1000, spared: float = 0.0) -> MadeFiles:
    files = MadeFiles(folder / "files", most_bytes=most_bytes, spared=spared)
    files.clear()
    return files


def test_many_who_ask_at_once_wait_for_one(tmp_path: Path) -> None:
    files = fresh(tmp_path)
    assert sorted(asyncio.run(made(files, *["a.csv"] * 20, "a.json"))) == ["a.csv", "a.json"]
    assert asyncio.run(made(files, "a.csv", "a.json")) == []


def test_the_longest_unused_ones_make_room(tmp_path: Path) -> None:
    files = fresh(tmp_path, most_bytes=25)
    for name in ("a", "b", "a", "c"):
        asyncio.run(made(files, name))
    assert asyncio.run(made(files, "a")) == []
    assert asyncio.run(made(files, "b")) == ["b"]
    assert len(list((tmp_path / "files").iterdir())) == 2


def test_one_that_may_be_on_its_way_is_spared(tmp_path: Path) -> None:
    files = fresh(tmp_path, most_bytes=15, spared=3600)
    for name in ("a", "b", "c"):
        asyncio.run(made(files, name))
    assert asyncio.run(made(files, "a", "b", "c")) == []


def test_one_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    files = fresh(tmp_path)
    asyncio.run(made(files, "a"))
    (tmp_path / "files" / "a").unlink()
    assert asyncio.run(made(files, "a")) == ["a"]


def test_one_larger_than_all_room_is_still_served(tmp_path: Path) -> None:
    assert asyncio.run(made(fresh(tmp_path), "a", size=5000)) == ["a"]


def test_a_failure_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    files = fresh(tmp_path)

    def fail(target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        asyncio.run(files.path("a", fail))
    assert list((tmp_path / "files").iterdir()) == []
    assert asyncio.run(made(files, "a")) == ["a"]


def test_a_start_forgets_what_an_earlier_run_made(tmp_path: Path) -> None:
    assert asyncio.run(made(fresh(tmp_path), "a")) == ["a"]
    assert asyncio.run(made(fresh(tmp_path), "a")) == ["a"]


def test_the_same_bytes_for_everybody_at_once(app: Served) -> None:
    path = "/challenges/digits/phases/main/template?format=jsonl"
    callers = [app.caller() for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda caller: caller.get(path), callers))
    assert {answer.status_code for answer in answers} == {200}
    assert len({(answer.content, answer.headers["ETag"]) for answer in answers}) == 1
    for more in ({}, {"Range": "bytes=0-3"}):
        again = app.caller().get(path, headers={"If-None-Match": answers[0].headers["ETag"], **more})
        assert (again.status_code, again.content) == (304, b"")
    for part in ("bytes=5-2", "lines=1-2", "bytes=999999-", "bytes=0-3"):
        whole = app.caller().get(path, headers={"Range": part})
        assert (whole.status_code, whole.content) == (200, answers[0].content)
