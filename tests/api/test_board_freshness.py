"""The cache of boards by itself: what is built once, what may be shown to whom, and for how long."""

import asyncio
import itertools
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import anyio.to_thread
import httpx
import pytest

from app.api.caching import board_cache
from app.api.caching.board_cache import ALL_TEAMS, MIN_BUILD_INTERVAL_SECONDS, BoardCache
from app.api.caching.cached_reply import CachedReply
from app.errors import DatabaseUnavailable
from app.store.board_invalidation import ALL_BOARDS, intervals_tag
from tests.api.single_board import BLUE, BOARD_KEY, GREEN, build_board, entry, kept_board, settle
from tests.live_service import MAX_WAIT_SECONDS, eventually


def blocked_build() -> tuple[threading.Event, threading.Event, list[CachedReply], Callable[[], CachedReply]]:
    """A build that waits: set when it has begun, to be set to end it, what it has built, and the build itself."""
    begun, may_end, built = threading.Event(), threading.Event(), list[CachedReply]()

    def build() -> CachedReply:
        begun.set()
        assert may_end.wait(MAX_WAIT_SECONDS)
        built.append(entry(str(len(built)).encode(), "phase 1"))
        return built[-1]

    return begun, may_end, built, build


def test_a_board_that_many_request_at_once_is_built_once() -> None:
    boards = BoardCache(needs_notifications=False)
    begun, may_end, built, build = blocked_build()

    async def all_at_once() -> list[CachedReply]:
        waiting = [asyncio.ensure_future(boards.get_or_build(BOARD_KEY, build)) for _ in range(100)]
        await asyncio.to_thread(begun.wait, MAX_WAIT_SECONDS)
        for hangs_up in (waiting[0], waiting[50]):  # the one that began the build too
            hangs_up.cancel()
        may_end.set()
        replies = await asyncio.gather(*waiting, return_exceptions=True)
        return [each for each in replies if isinstance(each, CachedReply)]

    replies = asyncio.run(all_at_once())
    assert len(replies) == 98
    assert len(built) == 1
    assert {each.plain.body for each in replies} == {b"0"}
    assert boards.get(BOARD_KEY) is not None


def test_a_board_that_changed_during_its_build_is_neither_cached_nor_sent_to_later_requests() -> None:
    boards = BoardCache(needs_notifications=False)
    begun, may_end, built, build = blocked_build()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(build_board, boards, BOARD_KEY, build)
        assert begun.wait(MAX_WAIT_SECONDS)
        boards.invalidate(frozenset({"phase 1"}))
        later = threads.submit(build_board, boards, BOARD_KEY, build)
        eventually(later.running, "both are there")
        may_end.set()
        assert first.result(MAX_WAIT_SECONDS).plain.body == b"0"
        assert later.result(MAX_WAIT_SECONDS).plain.body == b"1"
    assert len(built) == 2
    cached = boards.get(BOARD_KEY)
    assert cached is not None
    assert cached.plain.body == b"1"
    boards.invalidate(frozenset({"phase 2"}))
    assert boards.get(BOARD_KEY) is not None
    boards.invalidate(frozenset({"phase 1", "phase 3"}))
    assert boards.get(BOARD_KEY) is None


def test_a_failed_build_refuses_all_waiting_requests_and_the_next_request_builds_again() -> None:
    boards = BoardCache(needs_notifications=False)

    def fails() -> CachedReply:
        raise DatabaseUnavailable

    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            build_board(boards, BOARD_KEY, fails)
    assert build_board(boards, BOARD_KEY, entry) == entry()
    assert boards._builds == {}


def test_a_request_that_is_cancelled_before_its_build_has_a_thread_delays_no_other() -> None:
    boards = BoardCache(needs_notifications=False)

    async def ask() -> CachedReply:
        threads = anyio.to_thread.current_default_thread_limiter()
        for taken in range(int(threads.total_tokens)):
            threads.acquire_on_behalf_of_nowait(taken)
        first = asyncio.ensure_future(boards.get_or_build(BOARD_KEY, entry))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(boards.get_or_build(BOARD_KEY, entry))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        for taken in range(int(threads.total_tokens)):
            threads.release_on_behalf_of(taken)
        return await asyncio.wait_for(second, MAX_WAIT_SECONDS)

    assert asyncio.run(ask()) == entry()
    assert boards._builds == {}


def test_without_notifications_no_board_is_cached(clock: list[float]) -> None:
    boards = BoardCache(needs_notifications=True)
    build_board(boards, BOARD_KEY, entry)
    assert boards.get(BOARD_KEY) is None
    boards.confirm(clock[0])
    build_board(boards, BOARD_KEY, entry)
    assert boards.get(BOARD_KEY) is not None
    clock[0] += 5
    assert boards.get(BOARD_KEY) is None
    boards.confirm(clock[0])
    assert boards.get(BOARD_KEY) is not None  # what was said in between came before
    boards.distrust()
    assert boards.get(BOARD_KEY) is None
    boards.forget()
    boards.confirm(clock[0])
    assert boards.get(BOARD_KEY) is None


def test_a_board_is_cached_until_it_expires_and_at_most_for_a_minute(clock: list[float]) -> None:
    boards = BoardCache(needs_notifications=False)
    for until, seconds in ((1003.0, 3.0), (math.inf, board_cache.MAX_AGE_SECONDS)):
        clock[0] = 1000.0
        boards.invalidate(frozenset({ALL_BOARDS}))
        build_board(boards, BOARD_KEY, lambda until=until: entry(until=until))  # type: ignore[misc]
        clock[0] += seconds - 0.01
        assert boards.get(BOARD_KEY) is not None
        clock[0] += 0.02
        assert boards.get(BOARD_KEY) is None
    build_board(boards, BOARD_KEY, lambda: entry(until=clock[0]))
    assert boards.get(BOARD_KEY) is None


def test_the_number_and_size_of_cached_boards_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_cache, "MAX_CACHE_BYTES", 100_000)
    boards = BoardCache(needs_notifications=False)
    for number in range(100):
        build_board(boards, BOARD_KEY._replace(slug=f"c{number}"), lambda: entry(b"x" * 5000))
        assert boards.get(BOARD_KEY._replace(slug="c0")) is not None  # an entry that is read stays
    assert boards._size == sum(each.reply.size for each in boards._entries.values()) <= 100_000
    assert 5 < len(boards._entries) < 20
    build_board(boards, BOARD_KEY, lambda: entry(b"y" * 200_000))
    assert boards._size <= 100_000
    monkeypatch.setattr(board_cache, "MAX_BOARDS", 3)
    build_board(boards, BOARD_KEY, entry)
    assert len(boards._entries) == 3


def test_the_same_board_has_the_same_bytes_at_every_api() -> None:
    assert entry(b"x" * 5000).gzipped.etag == entry(b"x" * 5000).gzipped.etag
    assert httpx.Response(200, content=entry(b"x" * 5000).gzipped.body, headers={"Content-Encoding": "gzip"}).content


# ---- scores that arrive ---------------------------------------------------------------------------


def test_intervals_may_be_missing_for_a_second_to_every_reader(clock: list[float]) -> None:
    boards = kept_board(clock, "analysis 1")
    boards.invalidate(frozenset({intervals_tag("1", "s1")}))
    assert all(boards.get(BOARD_KEY, reader) is not None for reader in (None, BLUE, ALL_TEAMS))
    clock[0] += MIN_BUILD_INTERVAL_SECONDS
    assert boards.get(BOARD_KEY, None) is None


def test_a_board_that_lacks_a_new_score_is_shown_for_a_second_except_to_those_whose_score_it_is(
    clock: list[float],
) -> None:
    boards = kept_board(clock)
    clock[0] += 0.5
    settle(boards, BLUE)
    assert boards.get(BOARD_KEY) is not None
    assert boards.get(BOARD_KEY, GREEN) is not None
    assert boards.get(BOARD_KEY, BLUE) is None
    assert boards.get(BOARD_KEY, ALL_TEAMS) is None
    clock[0] += 0.49
    assert boards.get(BOARD_KEY) is not None
    clock[0] += 0.02
    assert boards.get(BOARD_KEY) is None
    assert boards.get(BOARD_KEY, GREEN) is None


def test_a_new_score_on_another_board_changes_nothing_and_an_organizers_act_shows_at_once(clock: list[float]) -> None:
    boards = kept_board(clock)
    settle(boards, BLUE, tag="phase 2")
    settle(boards, BLUE, tag="waiting 1")
    assert boards.get(BOARD_KEY, BLUE) is not None
    clock[0] += 30
    assert boards.get(BOARD_KEY) is not None
    boards.invalidate(frozenset({"phase 1"}))
    assert boards.get(BOARD_KEY) is None
    waiting = kept_board(clock, "phase 1", "waiting 1")
    settle(waiting, BLUE, tag="waiting 1")
    assert waiting.get(BOARD_KEY) is not None
    assert waiting.get(BOARD_KEY, BLUE) is None


def test_a_score_that_arrives_during_a_build_is_lacking_in_it(clock: list[float]) -> None:
    boards = BoardCache(needs_notifications=False)

    def build() -> CachedReply:
        settle(boards, BLUE)
        clock[0] += 0.7
        return entry(b"{}", "phase 1")

    build_board(boards, BOARD_KEY, build)
    assert boards.get(BOARD_KEY) is not None
    assert boards.get(BOARD_KEY, BLUE) is None
    clock[0] += 0.3  # a second since the build began
    assert boards.get(BOARD_KEY) is None


def test_a_score_that_was_found_before_it_was_reported_counts_once(clock: list[float]) -> None:
    boards = kept_board(clock)
    boards.note_settled("1", BLUE, ["s1"])
    assert boards.get(BOARD_KEY, BLUE) is None
    clock[0] += 2
    build_board(boards, BOARD_KEY, lambda: entry(b"{}", "phase 1"), BLUE)
    boards.note_settled("1", BLUE, ["s1"])  # each time that a member looks
    assert boards.get(BOARD_KEY, BLUE) is not None
    settle(boards, BLUE, "s2")
    build_board(boards, BOARD_KEY._replace(form="csv"), lambda: entry(b"{}", "phase 1"), BLUE)
    boards.note_settled("1", BLUE, ["s1", "s2"])  # which was reported
    assert boards.get(BOARD_KEY._replace(form="csv"), BLUE) is not None


def test_however_many_scores_arrive_a_board_is_built_once_a_second_and_teams_see_their_own() -> None:
    """Each team waits for its score and then looks, while many others look all the time."""
    boards, scored, builds = BoardCache(needs_notifications=False), list[str](), list[float]()

    def build() -> CachedReply:
        builds.append(boards._builds[BOARD_KEY].began)
        return entry("\n".join(scored).encode(), "phase 1")

    async def visitor(until: float) -> int:
        reads = 0
        while time.monotonic() < until:
            await boards.get_or_build(BOARD_KEY, build)
            reads += 1
            await asyncio.sleep(0.01)
        return reads

    async def team(number: int) -> None:
        await asyncio.sleep(number * 0.05)
        scored.append(f"team-{number}")
        settle(boards, f"team-{number}", f"submission-{number}")
        seen = await boards.get_or_build(BOARD_KEY, build, f"team-{number}")
        assert f"team-{number}" in seen.plain.body.decode().splitlines()

    async def everybody() -> list[int]:
        until = time.monotonic() + 2.5
        _, reads = await asyncio.gather(
            asyncio.gather(*(team(number) for number in range(40))),
            asyncio.gather(*(visitor(until) for _ in range(50))),
        )
        return list(reads)

    began = time.monotonic()
    reads = asyncio.run(everybody())
    assert len(builds) <= 1 + (time.monotonic() - began) / MIN_BUILD_INTERVAL_SECONDS
    assert all(later - earlier >= MIN_BUILD_INTERVAL_SECONDS for earlier, later in itertools.pairwise(builds))
    assert sum(reads) > 10 * len(builds)
