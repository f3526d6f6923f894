"""Open event streams: how many there may be, and one look at the statuses of all of them at a time."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from app.actions.submissions.follow_submissions import SubmissionProgress
from app.api.live.submission_looks import SubmissionLooks
from app.api.notifier import Notifier, Waiter
from app.errors import TooManyRequests, Unavailable
from app.store.session import Database

LOOK_SECONDS = 1.0  # between two looks, which see what no notification tells: that scoring began, and positions
MAX_PER_CALLER = 10


class TooManyStreams(TooManyRequests):
    """Too many of your event streams are open."""

    code = "too_many_streams"
    remedy = "Close one of your other event streams, or read the status of the submission instead."


class EventStream:
    """One open stream: the submission it follows, and what the last look saw of it."""

    def __init__(self, submission_id: str, waiter: Waiter) -> None:
        self.submission_id = submission_id
        self._waiter = waiter
        self._seen: SubmissionProgress | None = None
        self._news: SubmissionProgress | None = None

    def notice(self, seen: SubmissionProgress | None) -> None:
        """Wake the stream if this look saw something else than the one before."""
        if seen is not None and seen != self._seen:
            self._seen = self._news = seen
            self._waiter.set()

    async def wait(self, seconds: float) -> SubmissionProgress | None:
        """What a look has seen; None if the submission has settled, or after `seconds`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._waiter.wait(), seconds)
        self._waiter.clear()
        news, self._news = self._news, None
        return news


class EventStreams:
    """The open streams of this process. A stream holds no thread and no session. Use it from the event loop only."""

    def __init__(self, db: Database, notifier: Notifier, limit: int) -> None:
        """At most `limit` streams may be open."""
        self._notifier = notifier
        self._limit = limit
        self._streams: set[EventStream] = set()
        self._per_caller: Counter[str] = Counter()
        self._looks = SubmissionLooks(db, LOOK_SECONDS, self._followed, self._notice)

    @property
    def is_closing(self) -> bool:
        """Whether the service is shutting down."""
        return self._notifier.is_closed

    @contextmanager
    def open(self, caller: str, submission_id: str) -> Iterator[EventStream]:
        """A stream while the context lasts; raises TooManyStreams, Unavailable."""
        if self._per_caller[caller] >= MAX_PER_CALLER:
            detail = f"{MAX_PER_CALLER} of your event streams are open, which is the limit."
            raise TooManyStreams(detail, headers={"Retry-After": "5"})
        if len(self._streams) >= self._limit:
            raise Unavailable(
                "Too many event streams are open.",
                remedy="Read the status of the submission instead, or try again later.",
            )
        with self._notifier.listen(submission_id) as waiter:
            stream = EventStream(submission_id, waiter)
            self._streams.add(stream)
            self._per_caller[caller] += 1
            self._looks.start()
            try:
                yield stream
            finally:
                self._streams.discard(stream)
                self._per_caller -= Counter({caller: 1})  # drops what becomes zero

    def _followed(self) -> set[str]:
        return {stream.submission_id for stream in self._streams}

    def _notice(self, seen: Mapping[str, SubmissionProgress]) -> None:
        for stream in self._streams:
            stream.notice(seen.get(stream.submission_id))
