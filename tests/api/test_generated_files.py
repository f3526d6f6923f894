"""Files are generated once, served from disk, and deleted when they take too much space."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.types import Message

from app.api.caching.generated_files import GeneratedFiles
from app.api.http.uploads import DownloadResponse
from app.api.limits.reader_queue import ReaderQueue
from app.errors import Unavailable
from tests.api.in_process_app import ServedApp


async def generate(files: GeneratedFiles, *names: str, size: int = 10) -> list[str]:
    """Request all of these at once; returns the names that had to be generated."""
    calls: list[str] = []

    def write(target: Path) -> None:
        calls.append(target.name.removesuffix(".part"))
        target.write_bytes(bytes(size))

    paths = await asyncio.gather(*(files.get_or_generate(name, "Blue", write) for name in names))
    assert all(path.stat().st_size == size for path in paths)
    return calls


def empty_cache(folder: Path, most_bytes: int = 1000, spared: float = 0.0) -> GeneratedFiles:
    files = GeneratedFiles(folder / "files", ReaderQueue(2), max_bytes=most_bytes, min_idle_seconds=spared)
    files.clear()
    return files


def test_many_who_ask_at_once_wait_for_one(tmp_path: Path) -> None:
    files = empty_cache(tmp_path)
    assert sorted(asyncio.run(generate(files, *["a.csv"] * 20, "a.json"))) == ["a.csv", "a.json"]
    assert asyncio.run(generate(files, "a.csv", "a.json")) == []


def test_the_longest_unused_ones_make_room(tmp_path: Path) -> None:
    files = empty_cache(tmp_path, most_bytes=25)
    for name in ("a", "b", "a", "c"):
        asyncio.run(generate(files, name))
    assert asyncio.run(generate(files, "a")) == []
    assert asyncio.run(generate(files, "b")) == ["b"]
    assert len(list((tmp_path / "files").iterdir())) == 2


def test_one_that_was_just_asked_for_is_spared(tmp_path: Path) -> None:
    files = empty_cache(tmp_path, most_bytes=15, spared=3600)
    for name in ("a", "b", "c"):
        asyncio.run(generate(files, name))
    assert asyncio.run(generate(files, "a", "b", "c")) == []


def test_those_being_sent_stay_and_the_others_make_room(tmp_path: Path) -> None:
    files = empty_cache(tmp_path, most_bytes=20)
    asyncio.run(generate(files, "a"))
    with files.pin("a"), files.pin("a"):
        for name in ("b", "c", "d"):
            asyncio.run(generate(files, name))
        assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["a", "d"]
    for name in ("b", "c"):
        asyncio.run(generate(files, name))
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["b", "c"]


def test_no_more_are_made_while_those_being_sent_take_twice_the_room(tmp_path: Path) -> None:
    files = empty_cache(tmp_path, most_bytes=12)
    with ExitStack() as sending:
        for name in ("a", "b", "c"):
            asyncio.run(generate(files, name))
            sending.enter_context(files.pin(name))
        with pytest.raises(Unavailable, match="no space") as refused:
            asyncio.run(generate(files, "d"))
        assert refused.value.headers["Retry-After"]
        assert asyncio.run(generate(files, "a", "b", "c")) == []
    assert asyncio.run(generate(files, "d")) == ["d"]


def test_a_served_file_is_held_until_it_is_sent(tmp_path: Path) -> None:
    files = empty_cache(tmp_path, most_bytes=5)
    asyncio.run(generate(files, "a"))
    answer = DownloadResponse(
        tmp_path / "files" / "a", media_type="text/csv", filename="a.csv", tag="a", sending=files.pin("a")
    )

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            await generate(files, "b")
        else:
            assert (tmp_path / "files" / "a").exists()
            bodies.append(message["body"])

    async def receive() -> Message:
        await asyncio.Event().wait()  # nobody hangs up
        raise AssertionError

    bodies: list[bytes] = []
    asyncio.run(answer({"type": "http", "method": "GET", "headers": [], "extensions": {}}, receive, send))
    assert b"".join(bodies) == bytes(10)
    asyncio.run(generate(files, "c"))
    assert not (tmp_path / "files" / "a").exists()


def test_one_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    files = empty_cache(tmp_path)
    asyncio.run(generate(files, "a"))
    (tmp_path / "files" / "a").unlink()
    assert asyncio.run(generate(files, "a")) == ["a"]


def test_one_larger_than_all_room_is_still_served(tmp_path: Path) -> None:
    assert asyncio.run(generate(empty_cache(tmp_path), "a", size=5000)) == ["a"]


def test_a_failure_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    files = empty_cache(tmp_path)

    def fail(target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        asyncio.run(files.get_or_generate("a", "Blue", fail))
    assert list((tmp_path / "files").iterdir()) == []
    assert asyncio.run(generate(files, "a")) == ["a"]


def test_a_start_forgets_what_an_earlier_run_made(tmp_path: Path) -> None:
    assert asyncio.run(generate(empty_cache(tmp_path), "a")) == ["a"]
    assert asyncio.run(generate(empty_cache(tmp_path), "a")) == ["a"]


def test_the_same_bytes_for_everybody_at_once(app: ServedApp) -> None:
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
