"""Tells the live readers of this process that a topic has changed. A reader holds no thread, session or query.

A topic is a text: a tag of `app.store.board_invalidation` for boards, `submission_topic` for a submission. Whoever
changes something publishes its topics; a stream (`change_stream.py`) follows one or more of them. Each publication has
a number, so a reader that was away for a moment learns by the number of its last event whether it has missed one.
"""

import asyncio
import hmac
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from app.api.caching.board_cache import MIN_BUILD_INTERVAL_SECONDS
from app.errors import TooManyRequests, Unavailable
from app.store.board_invalidation import parse_settled_tag

MAX_STREAMS = 5000  # of this process
MAX_STREAMS_PER_BLOCK = 1000  # of one address block, which a whole classroom may share
MAX_TOPICS = 50_000  # whose last change is remembered
MAX_LINKS = 4096


def submission_topic(submission_id: str) -> str:
    """The topic of the status of a submission."""
    return f"submission {submission_id}"


class TooManyLiveReaders(TooManyRequests):
    """Too many live pages are open at your address."""

    code = "too_many_live_readers"
    remedy = "Close some of them, or reload the page to see changes."


class Change(NamedTuple):
    """The number of a publication, and the monotonic time when it came."""

    number: int
    at: float

    def is_recent(self, seconds: float) -> bool:
        """Whether it came within so many seconds."""
        return time.monotonic() - self.at < seconds


NOTHING = Change(0, float("-inf"))


class Follower:
    """An open stream, and the event that wakes it. Belongs to the event loop that created it."""

    def __init__(self, topics: Collection[str]) -> None:
        self.topics = frozenset(topics)
        self.loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Let it look again; called in its event loop."""
        self._woken.set()

    def begin_look(self) -> None:
        """Forget what woke it: it looks now."""
        self._woken.clear()

    async def wait(self, seconds: float) -> bool:
        """Wait until something wakes it; False after `seconds` without that."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        return self._woken.is_set()


class ChangeHub:
    """The topics that change, and the streams that follow them. Publish from any thread."""

    def __init__(self, limit: int = MAX_STREAMS, limit_per_block: int = MAX_STREAMS_PER_BLOCK) -> None:
        self._limit = limit
        self._limit_per_block = limit_per_block
        self._lock = threading.Lock()
        self._secret = secrets.token_bytes(16)
        self._number = 0
        self._forgotten = NOTHING  # the last change of every topic that is not in `_changes`
        self._changes: OrderedDict[str, Change] = OrderedDict()
        self._links: OrderedDict[str, str] = OrderedDict()
        self._all: set[Follower] = set()
        self._followers: dict[str, set[Follower]] = {}  # by topic
        self._per_block: Counter[str] = Counter()
        self.is_closing = False

    # ---- what has changed

    def publish(self, topics: Iterable[str]) -> None:
        """These topics have changed, and those that they are linked to. Safe from any thread."""
        with self._lock:
            change = self._next_change()
            changed = {*topics}
            changed |= {self._links[topic] for topic in changed if topic in self._links}
            for topic in changed:
                self._changes[topic] = change
                self._changes.move_to_end(topic)
            while len(self._changes) > MAX_TOPICS:
                self._forgotten = max(self._forgotten, self._changes.popitem(last=False)[1])
            followers = {each for topic in changed for each in self._followers.get(topic, ())}
        self._wake(followers)

    def publish_tags(self, tags: frozenset[str]) -> None:
        """Boards with these tags have changed: the callback of `Database.on_invalidation`. Safe from any thread."""
        settled = {tag: parse_settled_tag(tag) for tag in tags}
        self.publish(tag if found is None else found.board_tag for tag, found in settled.items())

    def publish_all(self) -> None:
        """Every topic may have changed: notices may have been lost. Safe from any thread."""
        with self._lock:
            self._forgotten = self._next_change()
            self._changes.clear()
            followers = {*self._all}
        self._wake(followers)

    def link(self, topic: str, target: str) -> None:
        """From now on a change of `topic` is also one of `target`: of the scores that a board shows, for example."""
        with self._lock:
            self._links[topic] = target
            self._links.move_to_end(topic)
            while len(self._links) > MAX_LINKS:
                self._links.popitem(last=False)

    def latest(self, topics: Iterable[str]) -> Change:
        """The last change of these topics."""
        with self._lock:
            return max([self._forgotten, *(self._changes.get(topic, NOTHING) for topic in topics)])

    def _next_change(self) -> Change:
        self._number += 1
        return Change(self._number, time.monotonic())

    # ---- event ids

    @property
    def number(self) -> int:
        """The number of the last publication of any topic. What is read after this shows all that came before."""
        return self._number

    def event_id(self, number: int, state: str = "") -> str:
        """The id of a change, which is equal exactly for the same number and the same state of what is followed.

        It tells nothing about the number, which would show how much happens in challenges that the reader cannot see.
        """
        return hmac.digest(self._secret, f"{number} {state}".encode(), "sha256").hex()[:16]

    def seen_id(self, topics: Collection[str], state: str, *, read_since: int | None) -> str:
        """The id for a page that shows what was read after the publication `read_since` (see `number`).

        None: what is kept, which may lack changes of the last moment.
        """
        change = self.latest(topics)
        number = change.number - 1 if change.is_recent(MIN_BUILD_INTERVAL_SECONDS) else change.number
        return self.event_id(number if read_since is None else min(change.number, read_since), state)

    # ---- streams

    @property
    def count(self) -> int:
        """How many streams are open."""
        return len(self._all)

    @contextmanager
    def follow(self, topics: Collection[str], block: str) -> Iterator[Follower]:
        """A follower of these topics while the context lasts; `block` is the address block of its reader.

        Raises Unavailable and TooManyLiveReaders. Call it in the event loop.
        """
        if len(self._all) >= self._limit or self.is_closing:
            raise Unavailable(
                "Too many live pages are open.", remedy="Reload the page to see changes, or try again later."
            )
        if self._per_block[block] >= self._limit_per_block:
            detail = f"{self._limit_per_block} live pages are open at your address, which is the limit."
            raise TooManyLiveReaders(detail, headers={"Retry-After": "60"})
        follower = Follower(topics)
        with self._lock:
            self._all.add(follower)
            self._per_block[block] += 1
            for topic in follower.topics:
                self._followers.setdefault(topic, set()).add(follower)
        try:
            yield follower
        finally:
            with self._lock:
                self._leave(follower, block)

    def _leave(self, follower: Follower, block: str) -> None:
        self._all.discard(follower)
        self._per_block -= Counter({block: 1})  # drops what becomes zero
        for topic in follower.topics:
            following = self._followers[topic]
            following.discard(follower)
            if not following:
                del self._followers[topic]

    def close(self) -> None:
        """End all streams: the service shuts down. Safe from any thread."""
        self.is_closing = True
        with self._lock:
            followers = {*self._all}
        self._wake(followers)

    @staticmethod
    def _wake(followers: Iterable[Follower]) -> None:
        """Wake them by one call for each event loop."""
        by_loop: dict[asyncio.AbstractEventLoop, list[Follower]] = {}
        for follower in followers:
            by_loop.setdefault(follower.loop, []).append(follower)
        for loop, some in by_loop.items():
            with suppress(RuntimeError):  # The loop was closed.
                loop.call_soon_threadsafe(_wake_each, some)


def _wake_each(followers: list[Follower]) -> None:
    for follower in followers:
        follower.wake()
