"""Leaderboards cached in memory as encoded replies, until a row that they depend on changes.

Losing the cache loses no data: `read_leaderboard` builds a board that is not cached again from the rows, with the same
result.
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

from app.api.http.negotiation import prefers_gzip
from app.api.http.problem_documents import problem_response
from app.errors import AssayError
from app.store.board_invalidation import ALL_BOARDS

BoardFormat = Literal["json", "csv"]
HeaderPair = tuple[bytes, bytes]

MAX_CACHE_BYTES = 64 << 20
MAX_BOARDS = 4096
MAX_AGE_SECONDS = 60.0  # Changes made to rows outside the service are visible by then.
MAX_JOINED_BUILDS = 3  # A request waits for this many builds of others before it builds the board itself.


class BoardKey(NamedTuple):
    """A requested board; `view` is its audience (`read_leaderboard.BoardAudience`)."""

    slug: str
    phase: str
    view: str
    split: str | None = None
    metric: str | None = None
    form: BoardFormat = "json"


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """A body as it is sent, with its headers."""

    body: bytes
    etag: str
    media_type: str
    encoding: str | None
    headers: list[HeaderPair]  # the same as those of `response`, for replies that bypass the framework
    not_modified_headers: list[HeaderPair]  # those of a 304, which has no body

    @classmethod
    def build(cls, body: bytes, media: str, encoding: str | None) -> "EncodedBody":
        """Encode headers for this body. The ETag differs per encoding, as strong ETags must."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        common = [(b"vary", b"Accept-Encoding, Authorization"), (b"etag", tag.encode())]
        content = [(b"content-encoding", encoding.encode())] if encoding else []
        content += [(b"content-length", str(len(body)).encode()), (b"content-type", media.encode())]
        return cls(body, tag, media, encoding, common + content, common)

    def response(self) -> Response:
        """The reply as a response of the framework."""
        headers = {"Vary": "Accept-Encoding", "ETag": self.etag}
        if self.encoding is not None:
            headers["Content-Encoding"] = self.encoding
        return Response(self.body, media_type=self.media_type, headers=headers)


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A board, or the error in its place, with the marks of its rows; `expires_at` is monotonic time."""

    plain: EncodedBody
    gzipped: EncodedBody
    refusal: AssayError | None
    marks: frozenset[str]
    expires_at: float

    @classmethod
    def build(
        cls, body: bytes, media: str, *, marks: frozenset[str], expires_at: float, refusal: AssayError | None = None
    ) -> "CachedReply":
        """Build a reply from a body, compressed as well if that makes it smaller."""
        plain = gzipped = EncodedBody.build(body, media, None)
        packed = gzip.compress(body, mtime=0)
        if len(packed) < len(body):
            gzipped = EncodedBody.build(packed, media, "gzip")
        return cls(plain, gzipped, refusal, marks, expires_at)

    @property
    def size(self) -> int:
        """The approximate bytes of memory."""
        return 2000 + len(self.plain.body) + len(self.gzipped.body)

    def encoded(self, accept_encoding: str) -> EncodedBody:
        """The body in the encoding that an Accept-Encoding header prefers."""
        return self.gzipped if prefers_gzip(accept_encoding) else self.plain

    def response(self, accept_encoding: str) -> Response:
        """The reply as a response of the framework."""
        if self.refusal is not None:
            return problem_response(self.refusal)
        return self.encoded(accept_encoding).response()


Render = Callable[[], CachedReply]


@dataclass(slots=True, eq=False)
class _BoardBuild:
    """A board that is being built once for all who request it meanwhile, and what has changed since the build began.

    The result is None if the request that was to build it got no thread.
    """

    future: "Future[CachedReply | None]" = field(default_factory=Future)
    is_claimed: bool = False  # by the thread that builds it
    changed_marks: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()  # so that one cancelled request cannot cancel it for the others


class BoardCache:
    """The boards that this process caches. Safe to use from the event loop and from several threads.

    The entries are in a plain ordered dict: an invalidation walks all entries, which must not count as using them.
    """

    def __init__(self, *, needs_notifications: bool) -> None:
        """`needs_notifications`: other processes change rows too; boards are trusted while their notices arrive."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[BoardKey, CachedReply] = OrderedDict()
        self._size = 0
        self._builds: dict[BoardKey, _BoardBuild] = {}
        self._trusted_until = 0.0 if needs_notifications else math.inf

    # ---- cached boards

    def get(self, key: BoardKey) -> CachedReply | None:
        """The cached board, if there is a valid one."""
        entry = self._entries.get(key)  # without the lock, so that a miss costs almost nothing
        if entry is None:
            return None
        now = time.monotonic()
        if now >= self._trusted_until:
            return None
        with self._lock:
            if self._entries.get(key) is not entry:
                return None
            if now >= entry.expires_at:
                self._remove(key)
                return None
            self._entries.move_to_end(key)
        return entry

    def invalidate(self, marks: frozenset[str]) -> None:
        """Drop all boards with one of these marks, and do not store boards with them that are being built."""
        all_boards = ALL_BOARDS in marks
        with self._lock:
            for build in self._builds.values():
                build.changed_marks |= marks
            for key in [key for key, entry in self._entries.items() if all_boards or marks & entry.marks]:
                self._remove(key)

    def trust_until(self, until: float) -> None:
        """Trust cached boards until this time of the monotonic clock: all changes so far have been reported."""
        self._trusted_until = until

    def distrust(self) -> None:
        """Drop all boards and store none until `trust_until` is called: changes may have been missed."""
        self._trusted_until = 0.0
        self.invalidate(frozenset({ALL_BOARDS}))

    def _remove(self, key: BoardKey) -> None:
        self._size -= self._entries.pop(key).size

    def _store(self, key: BoardKey, entry: CachedReply, build: _BoardBuild) -> None:
        """Store a board, unless its rows changed during the build, it is not trusted or it is too large."""
        now = time.monotonic()
        expires_at = min(entry.expires_at, now + MAX_AGE_SECONDS)
        changed = ALL_BOARDS in build.changed_marks or build.changed_marks & entry.marks
        if changed or now >= min(expires_at, self._trusted_until) or entry.size > MAX_CACHE_BYTES:
            return
        if key in self._entries:
            self._remove(key)
        self._entries[key] = replace(entry, expires_at=expires_at)
        self._size += entry.size
        while self._size > MAX_CACHE_BYTES or len(self._entries) > MAX_BOARDS:
            self._remove(next(iter(self._entries)))

    # ---- building boards

    async def get_or_build_async(self, key: BoardKey, render: Render) -> CachedReply:
        """The cached or newly built board; waiting for another build holds no thread. Raises what `render` raises."""
        for _ in range(MAX_JOINED_BUILDS):
            cached = self.get(key)
            if cached is not None:
                return cached
            build, is_builder, outdated = self._join_build(key)
            result = self._build_in_thread(key, build, render) if is_builder else asyncio.wrap_future(build.future)
            entry = await result
            if entry is not None and not outdated:
                return entry
        return await run_in_threadpool(render)

    def get_or_build(self, key: BoardKey, render: Render) -> CachedReply:
        """The same, called in a thread."""
        for _ in range(MAX_JOINED_BUILDS):
            cached = self.get(key)
            if cached is not None:
                return cached
            build, _, outdated = self._join_build(key)
            entry = self._build_or_wait(key, build, render)
            if entry is not None and not outdated:
                return entry
        return render()

    def _join_build(self, key: BoardKey) -> tuple[_BoardBuild, bool, bool]:
        """The running build of a board, whether this call started it, and whether it may have read outdated rows."""
        with self._lock:
            build = self._builds.get(key)
            if build is not None:
                return build, False, bool(build.changed_marks) or time.monotonic() >= self._trusted_until
            self._builds[key] = build = _BoardBuild()
            return build, True, False

    async def _build_in_thread(self, key: BoardKey, build: _BoardBuild, render: Render) -> CachedReply | None:
        try:
            return await run_in_threadpool(self._build_or_wait, key, build, render)
        finally:
            with self._lock:
                is_claimant, build.is_claimed = not build.is_claimed, True
            if is_claimant:  # The request was cancelled or got no thread: one of the waiting requests builds the board.
                self._finish_build(key, build, None)
                build.future.set_result(None)

    def _build_or_wait(self, key: BoardKey, build: _BoardBuild, render: Render) -> CachedReply | None:
        """Build the board, or wait for the thread that has claimed the build; never for one that has not started."""
        with self._lock:
            is_claimant, build.is_claimed = not build.is_claimed, True
        if not is_claimant:
            return build.future.result()
        try:
            entry = render()
        except BaseException as error:
            self._finish_build(key, build, None)
            build.future.set_exception(error)
            raise
        self._finish_build(key, build, entry)
        build.future.set_result(entry)
        return entry

    def _finish_build(self, key: BoardKey, build: _BoardBuild, entry: CachedReply | None) -> None:
        with self._lock:
            del self._builds[key]
            if entry is not None:
                self._store(key, entry, build)
