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
from app.store.board_invalidation import EVERYTHING

Form = Literal["json", "csv"]
Header = tuple[bytes, bytes]

LARGEST = 64 << 20  # bytes of all boards together
MOST = 4096  # boards
OLDEST = 60.0  # seconds: a row that somebody changed past the service is shown by then
ROUNDS = 3  # of waiting for others who make the same board


class Asked(NamedTuple):
    """A board as it is asked for; `view` says who sees it (read_leaderboard.Sight)."""

    slug: str
    phase: str
    view: str
    split: str | None = None
    metric: str | None = None
    form: Form = "json"


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes as they are sent, and the headers that say what they are."""

    body: bytes
    tag: str
    media: str
    encoding: str | None
    headers: list[Header]  # as `response` has them, for who answers without it
    brief: list[Header]  # the same without what only a body has

    @classmethod
    def of(cls, body: bytes, media: str, encoding: str | None) -> "Sent":
        """These bytes; a tag stands for one encoding."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        vary = (b"vary", b"Accept-Encoding, Authorization")
        what = [(b"content-encoding", encoding.encode())] if encoding else []
        size = [(b"content-length", str(len(body)).encode()), (b"content-type", media.encode())]
        mark = (b"etag", tag.encode())
        return cls(body, tag, media, encoding, [vary, mark, *what, *size], [vary, mark])

    def response(self) -> Response:
        """The reply of a route."""
        headers = {"Vary": "Accept-Encoding", "ETag": self.tag}
        if self.encoding is not None:
            headers["Content-Encoding"] = self.encoding
        return Response(self.body, media_type=self.media, headers=headers)


@dataclass(frozen=True, slots=True)
class Entry:
    """A board, or its refusal, with the marks of what it was made of; to be kept until a moment of time.monotonic()."""

    plain: Sent
    packed: Sent
    refusal: AssayError | None
    marks: frozenset[str]
    until: float

    @classmethod
    def of(
        cls, body: bytes, media: str, *, marks: frozenset[str], until: float, refusal: AssayError | None = None
    ) -> "Entry":
        """These bytes, packed too where that makes them fewer."""
        plain = Sent.of(body, media, None)
        packed = gzip.compress(body, mtime=0)
        smaller = len(packed) < len(body)
        return cls(plain, Sent.of(packed, media, "gzip") if smaller else plain, refusal, marks, until)

    @property
    def size(self) -> int:
        """Bytes of memory, about."""
        return 2000 + len(self.plain.body) + len(self.packed.body)

    def sent(self, accept_encoding: str) -> Sent:
        """In the encoding that the reader prefers."""
        return self.packed if prefers_gzip(accept_encoding) else self.plain

    def response(self, accept_encoding: str) -> Response:
        """The reply of a route."""
        if self.refusal is not None:
            return problem_response(self.refusal)
        return self.sent(accept_encoding).response()


@dataclass(slots=True, eq=False)
class _Flight:
    """A board that is being made, once for all who ask meanwhile, and what has changed since that began.

    The answer is None where who was to make it got no thread for that.
    """

    answer: "Future[Entry | None]" = field(default_factory=Future)
    taken: bool = False  # by the thread that makes it
    missed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.answer.set_running_or_notify_cancel()  # one who no longer waits must not cancel it for the others


class KeptBoards:
    """The boards that this process keeps; for the event loop and for many threads."""

    def __init__(self, *, hears: bool) -> None:
        """`hears`: others change rows too, so that boards are kept only while that is heard of (app.store.notifications)."""
        self._lock = threading.Lock()
        self._kept: OrderedDict[Asked, Entry] = OrderedDict()
        self._size = 0
        self._flights: dict[Asked, _Flight] = {}
        self._believed_until = 0.0 if hears else math.inf

    # ---- what is kept

    def get(self, asked: Asked) -> Entry | None:
        """The board as it is kept, if it is."""
        entry = self._kept.get(asked)
        if entry is None:
            return None
        now = time.monotonic()
        if now >= self._believed_until:
            return None
        with self._lock:
            if self._kept.get(asked) is not entry:
                return None
            if now >= entry.until:
                self._remove(asked)
                return None
            self._kept.move_to_end(asked)
        return entry

    def drop(self, marks: frozenset[str]) -> None:
        """What bears one of these marks has changed."""
        everything = EVERYTHING in marks
        with self._lock:
            for flight in self._flights.values():
                flight.missed |= marks
            for asked in [asked for asked, entry in self._kept.items() if everything or marks & entry.marks]:
                self._remove(asked)

    def hear(self, until: float) -> None:
        """All that changed so far was said; boards may be believed until this moment."""
        self._believed_until = until

    def go_deaf(self) -> None:
        """Changes may have been missed, and are from now on."""
        self._believed_until = 0.0
        self.drop(frozenset({EVERYTHING}))

    def _remove(self, asked: Asked) -> None:
        self._size -= self._kept.pop(asked).size

    def _keep(self, asked: Asked, entry: Entry, flight: _Flight) -> None:
        """Unless it has changed while it was made, is not to be believed, or would leave no room for others."""
        now = time.monotonic()
        until = min(entry.until, now + OLDEST)
        changed = EVERYTHING in flight.missed or flight.missed & entry.marks
        if changed or now >= min(until, self._believed_until) or entry.size > LARGEST:
            return
        if asked in self._kept:
            self._remove(asked)
        self._kept[asked] = replace(entry, until=until)
        self._size += entry.size
        while self._size > LARGEST or len(self._kept) > MOST:
            self._remove(next(iter(self._kept)))

    # ---- what is made

    async def find_from_loop(self, asked: Asked, make: Callable[[], Entry]) -> Entry:
        """The board, kept or made; who waits for one that is being made holds no thread. Raises what `make` raises."""
        for _ in range(ROUNDS):
            kept = self.get(asked)
            if kept is not None:
                return kept
            flight, first, old = self._join(asked)
            entry = await (self._fly_from_loop(asked, flight, make) if first else asyncio.wrap_future(flight.answer))
            if entry is not None and not old:
                return entry
        return await run_in_threadpool(make)

    def find(self, asked: Asked, make: Callable[[], Entry]) -> Entry:
        """The same in a thread."""
        for _ in range(ROUNDS):
            kept = self.get(asked)
            if kept is not None:
                return kept
            flight, _first, old = self._join(asked)
            entry = self._fly(asked, flight, make)
            if entry is not None and not old:
                return entry
        return make()

    def _join(self, asked: Asked) -> tuple[_Flight, bool, bool]:
        """The making of a board, whether it begins with this, and whether it may have read rows that are older than now."""
        with self._lock:
            flight = self._flights.get(asked)
            if flight is not None:
                return flight, False, bool(flight.missed) or time.monotonic() >= self._believed_until
            self._flights[asked] = flight = _Flight()
            return flight, True, False

    async def _fly_from_loop(self, asked: Asked, flight: _Flight, make: Callable[[], Entry]) -> Entry | None:
        try:
            return await run_in_threadpool(self._fly, asked, flight, make)
        finally:
            with self._lock:
                mine, flight.taken = not flight.taken, True
            if mine:  # it hung up, or there are no threads: another one makes it for those who wait
                self._land(asked, flight, None)
                flight.answer.set_result(None)

    def _fly(self, asked: Asked, flight: _Flight, make: Callable[[], Entry]) -> Entry | None:
        """Make the board, or wait for the thread that is making it: never for one that is still to come."""
        with self._lock:
            mine, flight.taken = not flight.taken, True
        if not mine:
            return flight.answer.result()
        try:
            entry = make()
        except BaseException as fault:
            self._land(asked, flight, None)
            flight.answer.set_exception(fault)
            raise
        self._land(asked, flight, entry)
        flight.answer.set_result(entry)
        return entry

    def _land(self, asked: Asked, flight: _Flight, entry: Entry | None) -> None:
        with self._lock:
            del self._flights[asked]
            if entry is not None:
                self._keep(asked, entry, flight)
