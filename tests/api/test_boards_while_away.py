"""Boards while the database is away: which may be shown, and how it is found out whether the database answers."""

import asyncio
import math
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from app.api.caching.board_cache import BoardCache
from app.api.caching.cached_reply import CachedReply
from app.api.caching.database_presence import DatabasePresence
from app.errors import DatabaseUnavailable
from app.store.board_invalidation import ALL_BOARDS
from app.store.types import utcnow
from tests.api.single_board import BLUE, BOARD_KEY, build_board, entry, kept_board, settle
from tests.live_service import MAX_WAIT_SECONDS


def stale_since(boards: BoardCache, clock: list[float]) -> float | None:
    """The time on this clock since when a board may be outdated that is shown while the database is away."""
    found = boards.board_while_away(BOARD_KEY)
    return None if found is None else round(clock[0] - (utcnow() - found.stale_since).total_seconds(), 1)


def confirmed_board(clock: list[float], **options: Any) -> BoardCache:
    """A cache that receives notifications, with a board."""
    boards = BoardCache(needs_notifications=True)
    boards.confirm(clock[0])
    marks = options.pop("marks", ("phase 1",))
    build_board(boards, BOARD_KEY, lambda: CachedReply.build(b"{}", "application/json", marks=frozenset(marks),
                                                             expires_at=math.inf, **options))  # fmt: skip
    return boards


def test_while_the_database_is_away_a_board_is_shown_for_a_minute_after_the_last_confirmation(
    clock: list[float],
) -> None:
    boards = confirmed_board(clock)
    clock[0] += 10
    boards.confirm(clock[0])
    boards.distrust()
    assert boards.get(BOARD_KEY) is None
    assert stale_since(boards, clock) == 1010
    clock[0] += 60
    assert stale_since(boards, clock) == 1010
    clock[0] += 0.1
    assert stale_since(boards, clock) is None
    boards.confirm(clock[0])  # the connection was only slow: nothing was missed
    boards.distrust()
    assert stale_since(boards, clock) is None  # it was older than a minute by then


def test_a_board_that_nobody_can_be_shown_any_more_takes_no_memory(clock: list[float]) -> None:
    """Visitors can cache thousands of pages, and each settled submission walks over all that are cached."""
    old, lacking, young = confirmed_board(clock), confirmed_board(clock), confirmed_board(clock)
    settle(lacking, BLUE)
    for seconds, kept in ((60, (1, 1, 1)), (0.1, (1, 0, 1)), (59.8, (1, 0, 1)), (0.2, (0, 0, 1))):
        clock[0] += seconds
        for boards in (old, lacking, young):
            boards.confirm(clock[0])
            if boards is young and seconds == 60:
                boards.forget()
                boards.confirm(clock[0])
                build_board(boards, BOARD_KEY, lambda: entry(b"{}", "phase 1"))
            settle(boards, BLUE, tag="phase 2")
        assert tuple(len(boards._entries) for boards in (old, lacking, young)) == kept
        assert tuple(boards._size > 0 for boards in (old, lacking, young)) == tuple(map(bool, kept))


def test_a_board_that_may_have_been_hidden_is_not_shown_while_the_database_is_away(clock: list[float]) -> None:
    hidden = confirmed_board(clock)
    hidden.invalidate(frozenset({"phase 1"}))
    missed = confirmed_board(clock)
    missed.forget()
    in_the_making = confirmed_board(clock)
    in_the_making.invalidate(frozenset({ALL_BOARDS}))

    def hidden_meanwhile() -> CachedReply:
        in_the_making.distrust()
        return entry(b"{}", "phase 1")

    build_board(in_the_making, BOARD_KEY, hidden_meanwhile)
    refused = confirmed_board(clock, refusal=DatabaseUnavailable())
    after_close = confirmed_board(clock, marks=("phase 1", "waiting 1"))
    for boards in (hidden, missed, in_the_making, refused, after_close, kept_board(clock)):
        assert stale_since(boards, clock) is None
    clock[0] += 1


def test_a_board_that_lacks_scores_while_the_database_is_away_is_as_old_as_the_first_of_them(
    clock: list[float],
) -> None:
    boards = confirmed_board(clock)
    for _ in range(30):
        clock[0] += 1
        boards.confirm(clock[0])
        if clock[0] in {1005.0, 1010.0}:
            settle(boards, BLUE)
    assert stale_since(boards, clock) == 1005
    clock[0] = 1065.1
    assert stale_since(boards, clock) is None


def test_one_check_of_the_database_serves_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked, may_end, found = [1000.0], list[float](), threading.Event(), [False]
    monkeypatch.setattr("app.api.caching.database_presence.time", SimpleNamespace(monotonic=lambda: now[0]))

    def check() -> bool:
        asked.append(now[0])
        assert may_end.wait(MAX_WAIT_SECONDS)
        return found[0]

    async def ask() -> None:
        presence = DatabasePresence(check)
        first = [asyncio.ensure_future(presence.answers()) for _ in range(20)]
        await asyncio.sleep(0)
        first[0].cancel()
        may_end.set()
        assert await asyncio.gather(*first[1:]) == [False] * 19
        assert await presence.answers() is False
        assert len(asked) == 1
        now[0] += 0.3
        found[0] = True
        assert await presence.answers() is True  # found out anew, however long that takes
        assert len(asked) == 2

    asyncio.run(ask())
