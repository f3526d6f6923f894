"""The hub of changes: what a live reader is told, when, and what it costs while nothing happens."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.api.http.streamed_reply import HEAD_KEY
from app.api.live import change_hub, change_stream
from app.api.live.change_hub import ChangeHub, TooManyLiveReaders, submission_topic
from app.api.live.change_stream import ChangeStream, Followed
from app.api.notifier import Notifier
from app.errors import Unavailable
from app.store.board_invalidation import ALL_BOARDS, phase_tag, scores_tag, settled_tag
from tests.live_service import MAX_WAIT_SECONDS

PHASE = phase_tag("p1")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_stream, "SETTLING_SECONDS", 0.02)


class Reader:
    """A reader of one stream: the headers, and the events as they come."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        if message.get("body"):
            self._pieces.put_nowait(message["body"])
        if not message.get("more_body"):
            self._pieces.put_nowait(None)

    async def next(self) -> dict[str, str] | None:
        """The fields of the next event or comment; None at the end of the stream."""
        piece = await asyncio.wait_for(self._pieces.get(), MAX_WAIT_SECONDS)
        if piece is None:
            return None
        assert piece.endswith(b"\n\n")
        return dict(line.split(": ", 1) for line in piece.decode().splitlines() if line)

    @property
    def has_more(self) -> bool:
        return not self._pieces.empty()


@asynccontextmanager
async def reading(
    hub: ChangeHub, followed: Followed | None = None, *, seen: str | None = None, block: str = "a", head: bool = False
) -> AsyncIterator[Reader]:
    """A reader of a new stream, which disconnects at the end."""
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    reader, scope = Reader(), {"type": "http", "method": "GET", HEAD_KEY: head, "asgi": {"spec_version": "2.3"}}
    stream = ChangeStream(hub, followed or Followed({PHASE, ALL_BOARDS}), block=block, seen=seen)
    task = asyncio.create_task(stream(scope, receive, reader.send))
    try:
        yield reader
    finally:
        gone.set()
        await asyncio.wait_for(task, MAX_WAIT_SECONDS)


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def test_a_reader_is_told_of_a_change_from_any_thread() -> None:
    async def told() -> None:
        hub = ChangeHub()
        async with reading(hub) as reader:
            first = await reader.next()
            assert first is not None
            assert first.keys() == {"retry", "id"}
            assert (reader.status, reader.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
            assert (reader.headers["x-accel-buffering"], reader.headers["cache-control"]) == ("no", "no-store")
            for _ in range(2):
                await asyncio.to_thread(hub.publish, [PHASE])
                event = await reader.next()
                assert event is not None
                assert event["event"] == "changed"
                assert event["id"] == hub.event_id(hub.number)
        assert hub.count == 0

    run(told)


def test_what_nobody_follows_and_other_boards_wake_nobody() -> None:
    async def told() -> None:
        hub = ChangeHub()
        async with reading(hub) as reader, reading(hub, Followed({phase_tag("p2")})) as other:
            for each in (reader, other):
                await each.next()
            hub.publish([phase_tag("p2")])
            event = await other.next()
            assert event is not None
            assert event["event"] == "changed"
            assert not reader.has_more

    run(told)


@pytest.mark.parametrize(
    "tags",
    [
        {PHASE},
        {ALL_BOARDS},
        {settled_tag(PHASE, "t1", "s1")},
        {scores_tag("g1", 1)},
        {settled_tag(scores_tag("g1", 1), "t1", "s1")},
    ],
)
def test_every_report_that_concerns_a_board_tells_its_readers(tags: set[str]) -> None:
    async def told() -> None:
        hub = ChangeHub()
        hub.link(scores_tag("g1", 1), PHASE)
        async with reading(hub) as reader:
            await reader.next()
            hub.publish_tags(frozenset(tags))
            event = await reader.next()
            assert event is not None
            assert event["event"] == "changed"

    run(told)


def test_a_burst_is_told_in_few_events_and_its_end_in_one() -> None:
    async def told() -> None:
        hub, events = ChangeHub(), 0
        async with reading(hub) as reader:
            await reader.next()
            for _ in range(500):
                hub.publish([PHASE])
                await asyncio.sleep(0)
            last = hub.event_id(hub.number)
            while True:
                event = await reader.next()
                assert event is not None
                events += 1
                if event["id"] == last:
                    break
        assert events < 50

    run(told)


def test_who_connects_again_is_told_at_once_of_what_it_missed() -> None:
    async def told() -> None:
        hub = ChangeHub()
        hub.publish([PHASE])
        seen = hub.event_id(hub.number)
        async with reading(hub, seen=seen) as reader:
            first = await reader.next()
            assert first is not None
            assert "event" not in first
        hub.publish([PHASE])
        other_process, other_state = ChangeHub().event_id(hub.number), hub.event_id(hub.number, "hidden open")
        for old in (seen, other_process, other_state, "", "x", f"{seen}9"):
            async with reading(hub, seen=old) as reader:
                first = await reader.next()
                assert first is not None
                assert (first.get("event"), "retry" in first) == ("changed", True), old

    run(told)


def test_a_change_that_kept_boards_may_lack_is_told_again_when_it_has_settled() -> None:
    async def is_told_again() -> bool:
        hub = ChangeHub()
        hub.publish([PHASE])
        async with reading(hub, seen=hub.event_id(hub.number)) as reader:
            first = await reader.next()
            assert first is not None
            assert "event" not in first
            if first["id"] == hub.event_id(hub.number):
                return False  # the machine was so slow that the change had settled before the reader came
            second = await reader.next()
            assert second is not None
            assert (second["event"], second["id"]) == ("changed", hub.event_id(hub.number))
            return True

    async def told() -> None:
        for _ in range(20):
            if await is_told_again():
                return
        pytest.fail("no reader came within the time that a change takes to settle")

    run(told)


def test_all_readers_are_told_when_notices_may_have_been_lost() -> None:
    async def told() -> None:
        hub = ChangeHub()
        async with reading(hub) as reader:
            await reader.next()
            hub.publish_all()
            event = await reader.next()
            assert event is not None
            assert event["event"] == "changed"
        hub.publish_all()
        async with reading(hub, seen=event["id"]) as reader:
            assert "event" in (await reader.next() or {})

    run(told)


def test_forgotten_topics_count_as_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_hub, "MAX_TOPICS", 2)
    hub = ChangeHub()
    hub.publish([PHASE])
    number = hub.number
    for other in range(3):
        hub.publish([f"other {other}"])
    assert hub.latest([PHASE]).number >= number
    assert len(hub._changes) == 2


def test_a_settled_submission_is_told_to_its_readers() -> None:
    async def told() -> None:
        hub = ChangeHub()
        notifier = Notifier(hub)
        async with reading(hub, Followed({submission_topic("s1")})) as reader:
            await reader.next()
            notifier.notify_settled("s2")
            notifier.notify_settled("s1")
            event = await reader.next()
            assert event is not None
            assert event["id"] == hub.event_id(2)

    run(told)


def test_a_stream_ends_at_shutdown_at_its_time_and_where_a_change_may_give_it_other_topics() -> None:
    async def told() -> None:
        hub = ChangeHub()
        async with reading(hub, Followed({PHASE}, seconds=0.05)) as reader:
            await reader.next()
            assert await reader.next() is None
        async with reading(hub, Followed({PHASE}, ends_after_change=True)) as reader:
            await reader.next()
            hub.publish([PHASE])
            assert (await reader.next() or {})["event"] == "changed"
            assert await reader.next() is None
        async with reading(hub) as reader, reading(hub, Followed(())) as other:
            for each in (reader, other):
                await each.next()
            Notifier(hub).end_live_streams()
            for each in (reader, other):
                assert await each.next() is None
        with pytest.raises(Unavailable), hub.follow([PHASE], "a"):
            pass

    run(told)


def test_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_stream, "HEARTBEAT_SECONDS", 0.01)

    async def told() -> None:
        async with reading(ChangeHub()) as reader:
            await reader.next()
            assert await reader.next() == {"": "keep-alive"}

    run(told)


def test_head_gets_the_headers_alone() -> None:
    async def told() -> None:
        async with reading(ChangeHub(), head=True) as reader:
            assert await reader.next() is None
            assert reader.headers["content-type"].startswith("text/event-stream")

    run(told)


def test_too_many_streams_are_refused() -> None:
    async def told() -> None:
        hub = ChangeHub(limit=3, limit_per_block=2)
        with hub.follow([PHASE], "a"), hub.follow([PHASE], "a"):
            with pytest.raises(TooManyLiveReaders), hub.follow([PHASE], "a"):
                pass
            with hub.follow([PHASE], "b"), pytest.raises(Unavailable), hub.follow([PHASE], "c"):
                pass
        with hub.follow([PHASE], "a"):
            assert hub.count == 1
        assert (hub._followers, hub._per_block) == ({}, {})

    run(told)


def test_readers_hold_no_thread() -> None:
    async def told() -> None:
        hub, before = ChangeHub(), threading.active_count()
        readers = [reading(hub) for _ in range(500)]
        opened = [await each.__aenter__() for each in readers]
        for each in opened:
            await each.next()
        assert hub.count == 500
        assert threading.active_count() <= before
        hub.publish([PHASE])
        for each in opened:
            assert (await each.next() or {})["event"] == "changed"
        assert threading.active_count() <= before
        for stream in readers:
            await stream.__aexit__(None, None, None)

    run(told)
