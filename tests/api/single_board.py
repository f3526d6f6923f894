"""A cache of boards with one board in it, for tests of the cache by itself."""

import asyncio
import math
from collections.abc import Callable

from app.api.caching.board_cache import BoardCache, BoardKey
from app.api.caching.cached_reply import CachedReply
from app.store.board_invalidation import settled_tag

BOARD_KEY = BoardKey("digits", "main", "visitor")
BLUE, GREEN = "b" * 32, "c" * 32


def entry(body: bytes = b"{}", *marks: str, until: float = math.inf) -> CachedReply:
    return CachedReply.build(body, "application/json", marks=frozenset(marks), expires_at=until)


def build_board(
    boards: BoardCache, key: BoardKey, render: Callable[[], CachedReply], reader: str | None = None
) -> CachedReply:
    """What a request gets."""
    return asyncio.run(boards.get_or_build(key, render, reader))


def settle(boards: BoardCache, team: str, submission: str = "s1", tag: str = "phase 1") -> None:
    boards.invalidate(frozenset({settled_tag(tag, team, submission)}))


def kept_board(clock: list[float], *marks: str) -> BoardCache:
    """A cache with a board that was built just now."""
    boards = BoardCache(needs_notifications=False)
    build_board(boards, BOARD_KEY, lambda: entry(b"{}", *(marks or ("phase 1",))))
    assert boards._entries[BOARD_KEY].began == clock[0]
    return boards
