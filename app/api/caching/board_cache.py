"""Boards kept as the bytes that are sent, in the memory of this process, until a row that they are made of changes.

Nothing here may be lost: what is not kept is made again from the rows (`read_leaderboard`), and is the same.
"""

import asyncio
import gzip
import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.negotiation import prefers_gzip
from app.api.problems import problem_response
from app.errors import AssayError
from app.store.board_invalidation import ALL_BOARDS

BoardFormat = Literal["json", "csv"]
HeaderPair = tuple[bytes, bytes]

MAX_CACHE_BYTES = 64 << 20  # bytes of all boards together
MAX_BOARDS = 4096  # boards
MAX_AGE_SECONDS = 60.0  # seconds: a row that somebody changed past the service is shown by then
MAX_JOINED_BUILDS = 3  # of waiting for others who make the same board


class BoardKey(NamedTuple):
    """A board as it is asked for; `view` says who sees it (read_leaderboard.Sight)."""

    slug: str
    phase: str
    view: str
    split: str | None = None
    metric: str | None = None
    form: BoardFormat = "json"


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """Bytes as they are sent, and the headers that say what they are."""

    body: bytes
    etag: str
    media_type: str
    encoding: str | None
    headers: list[HeaderPair]  # as `response` has them, for who answers without it
    not_modified_headers: list[HeaderPair]  # the same without what only a body has

    @classmethod
    def build(cls, body: bytes, media: str, encoding: str | None) -> "EncodedBody":
        """These bytes; a tag stands for one encoding."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        vary = (b"vary", b"Accept-Encoding, Authorization")
        what = [(b"content-encoding", encoding.encode())] if encoding else []
        size = [(b"content-length", str(len(body)).encode()), (b"content-type", media.encode())]
        mark = (b"etag", tag.encode())
        return cls(body, tag, media, encoding, [vary, mark, *what, *size], [vary, mark])

    def response(self) -> Response:
        """The reply of a route."""
        headers = {"Vary": "Accept-Encoding", "ETag": self.etag}
        if self.encoding is not None:
            headers["Content-Encoding"] = self.encoding
        return Response(self.body, media_type=self.media_type, headers=headers)


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A board, or its refusal, with the marks of what it was made of; to be kept until a moment of time.monotonic()."""

    plain: EncodedBody
    gzipped: EncodedBody
    refusal: AssayError | None
    marks: frozenset[str]
    expires_at: float

    @classmethod
    def build(
        cls, body: bytes, media: str, *, marks: frozenset[str], until: float, refusal: AssayError | None = None
    ) -> "CachedReply":
        """These bytes, packed too where that makes them fewer."""
        plain = EncodedBody.build(body, media, None)
        packed = gzip.compress(body, mtime=0)
        smaller = len(packed) < len(body)
        return cls(plain, EncodedBody.build(packed, media, "gzip") if smaller else plain, refusal, marks, until)

    @property
    def size(self) -> int:
        """Bytes of memory, about."""
        return 2000 + len(self.plain.body) + len(self.gzipped.body)

    def encoded(self, accept_encoding: str) -> EncodedBody:
        """In the encoding that the reader prefers."""
        return self.gzipped if prefers_gzip(accept_encoding) else self.plain

    def response(self, accept_encoding: str) -> Response:
        """The reply of a route."""
        if self.refusal is not None:
            return problem_response(self.refusal)
        return self.encoded(accept_encoding).response()


@dataclass(slots=True, eq=False)
class _BoardBuild:
    """A board that is being made, once for all who ask meanwhile, and what has changed since that began.

    The answer is None where who was to make it got no thread for that.
    """

    future: "Future[CachedReply | None]" = field(default_factory=Future)
    is_claimed: bool = False  # by the thread that makes it
    changed_marks: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()  # one who no longer waits must not cancel it for the others


class BoardCache:
    """The boards that this process keeps; for the event loop and for many threads."""

    def __init__(self, *, hears: bool) -> None:
        """`hears`: others change rows too, so that boards are kept only while that is heard of (app.store.notifications)."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[BoardKey, CachedReply] = OrderedDict()
        self._size = 0
        self._builds: dict[BoardKey, _BoardBuild] = {}
        self._trusted_until = 0.0 if hears else math.inf

    # ---- what is kept

    def get(self, asked: BoardKey) -> CachedReply | None:
        """The board as it is kept, if it is."""
        entry = self._entries.get(asked)
        if entry is None:
            return None
        now = time.monotonic()
        if now >= self._trusted_until:
            return None
        with self._lock:
            if self._entries.get(asked) is not entry:
                return None
            if now >= entry.expires_at:
                self._remove(asked)
                return None
            self._entries.move_to_end(asked)
        return entry

    def invalidate(self, marks: frozenset[str]) -> None:
        """What bears one of these marks has changed."""
        everything = ALL_BOARDS in marks
        with self._lock:
            for flight in self._builds.values():
                flight.changed_marks |= marks
            for asked in [asked for asked, entry in self._entries.items() if everything or marks & entry.marks]:
                self._remove(asked)

    def trust_until(self, until: float) -> None:
        """All that changed so far was said; boards may be believed until this moment."""
        self._trusted_until = until

    def distrust(self) -> None:
        """Changes may have been missed, and are from now on."""
        self._trusted_until = 0.0
        self.invalidate(frozenset({ALL_BOARDS}))

    def _remove(self, asked: BoardKey) -> None:
        self._size -= self._entries.pop(asked).size

    def _store(self, asked: BoardKey, entry: CachedReply, flight: _BoardBuild) -> None:
        """Unless it has changed while it was made, is not to be believed, or would leave no room for others."""
        now = time.monotonic()
        until = min(entry.expires_at, now + MAX_AGE_SECONDS)
        changed = ALL_BOARDS in flight.changed_marks or flight.changed_marks & entry.marks
        if changed or now >= min(until, self._trusted_until) or entry.size > MAX_CACHE_BYTES:
            return
        if asked in self._entries:
            self._remove(asked)
        self._entries[asked] = replace(entry, expires_at=until)
        self._size += entry.size
        while self._size > MAX_CACHE_BYTES or len(self._entries) > MAX_BOARDS:
            self._remove(next(iter(self._entries)))

    # ---- what is made

    async def get_or_build_async(self, asked: BoardKey, make: Callable[[], CachedReply]) -> CachedReply:
        """The board, kept or made; who waits for one that is being made holds no thread. Raises what `make` raises."""
        for _ in range(MAX_JOINED_BUILDS):
            kept = self.get(asked)
            if kept is not None:
                return kept
            flight, first, old = self._join_build(asked)
            entry = await (self._build_in_thread(asked, flight, make) if first else asyncio.wrap_future(flight.future))
            if entry is not None and not old:
                return entry
        return await run_in_threadpool(make)

    def get_or_build(self, asked: BoardKey, make: Callable[[], CachedReply]) -> CachedReply:
        """The same in a thread."""
        for _ in range(MAX_JOINED_BUILDS):
            kept = self.get(asked)
            if kept is not None:
                return kept
            flight, _first, old = self._join_build(asked)
            entry = self._build_or_wait(asked, flight, make)
            if entry is not None and not old:
                return entry
        return make()

    def _join_build(self, asked: BoardKey) -> tuple[_BoardBuild, bool, bool]:
        """The making of a board, whether it begins with this, and whether it may have read rows that are older than now."""
        with self._lock:
            flight = self._builds.get(asked)
            if flight is not None:
                return flight, False, bool(flight.changed_marks) or time.monotonic() >= self._trusted_until
            self._builds[asked] = flight = _BoardBuild()
            return flight, True, False

    async def _build_in_thread(
        self, asked: BoardKey, flight: _BoardBuild, make: Callable[[], CachedReply]
    ) -> CachedReply | None:
        try:
            return await run_in_threadpool(self._build_or_wait, asked, flight, make)
        finally:
            with self._lock:
                mine, flight.is_claimed = not flight.is_claimed, True
            if mine:  # it hung up, or there are no threads: another one makes it for those who wait
                self._finish_build(asked, flight, None)
                flight.future.set_result(None)

    def _build_or_wait(
        self, asked: BoardKey, flight: _BoardBuild, make: Callable[[], CachedReply]
    ) -> CachedReply | None:
        """Make the board, or wait for the thread that is making it: never for one that is still to come."""
        with self._lock:
            mine, flight.is_claimed = not flight.is_claimed, True
        if not mine:
            return flight.future.result()
        try:
            entry = make()
        except BaseException as fault:
            self._finish_build(asked, flight, None)
            flight.future.set_exception(fault)
            raise
        self._finish_build(asked, flight, entry)
        flight.future.set_result(entry)
        return entry

    def _finish_build(self, asked: BoardKey, flight: _BoardBuild, entry: CachedReply | None) -> None:
        with self._lock:
            del self._builds[asked]
            if entry is not None:
                self._store(asked, entry, flight)
