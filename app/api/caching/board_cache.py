"""Leaderboards cached in memory as encoded replies, until a row that they depend on changes.

A board that lacks only scores which have arrived since it was built is still shown while it is less than a second old,
except to their teams and to organizers. So it is built at most once a second, however many scores arrive.

Losing the cache loses no data: `read_leaderboard` builds a board that is not cached again from the rows, with the same
result.
"""

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from starlette.concurrency import run_in_threadpool

from app.actions.history.former_board import PRESENT, AskedBoard
from app.api.caching.cached_reply import CachedReply
from app.store.board_invalidation import (
    ALL_BOARDS,
    NO_TEAM,
    SettledTag,
    is_waiting_tag,
    parse_settled_tag,
    phase_tag,
    settled_tag,
)
from app.store.types import utcnow

BoardFormat = Literal["json", "csv", "latex"]

MAX_CACHE_BYTES = 64 << 20
MAX_BOARDS = 4096
MAX_AGE_SECONDS = 60.0  # Changes made to rows outside the service are visible by then.
MAX_JOINED_BUILDS = 3  # A request waits for this many builds of others before it builds the board itself.
MIN_BUILD_INTERVAL_SECONDS = 1.0  # between the starts of two builds of a board that only new scores change
TRUST_SECONDS = 5.0  # for which boards are trusted after it was confirmed that all changes had been reported
MAX_AWAY_SECONDS = 60.0  # for which boards are shown after the last confirmation while the database is away
MAX_KNOWN_SUBMISSIONS = 50_000
ALL_TEAMS = "*"
"""As a reader: an organizer, who sees the scores of all teams as soon as they are reported."""


class BoardKey(NamedTuple):
    """A requested board; `view` is its audience (`read_leaderboard.BoardAudience`)."""

    slug: str
    phase: str
    view: str
    split: str | None = None
    metric: str | None = None
    form: BoardFormat = "json"
    limit: int | None = None
    cursor: str | None = None
    asked: AskedBoard = PRESENT


class BoardPageKey(NamedTuple):
    """A requested board as a page, in a form that the pages define; a phase without a name is the default one.

    `origin` is the address of the site, which the page names.
    """

    board: BoardKey
    form: str
    origin: str


CacheKey = BoardKey | BoardPageKey
Render = Callable[[], CachedReply]


class BoardWhileAway(NamedTuple):
    """A board to show while the database is away, and since when changes of it may be missing."""

    reply: CachedReply
    stale_since: datetime


@dataclass(slots=True, eq=False)
class _NewScores:
    """The teams with scores that were reported since a build began; `since` is the monotonic time of the first."""

    teams: set[str] = field(default_factory=set)
    since: float = math.inf

    def add(self, teams: Iterable[str], now: float) -> None:
        self.teams.update(teams)
        if self.teams:
            self.since = min(self.since, now)

    def concern(self, reader: str | None) -> bool:
        """Whether this reader has to see them at once: a member of such a team, or an organizer (`ALL_TEAMS`)."""
        return reader in self.teams or (reader == ALL_TEAMS and bool(self.teams - {NO_TEAM}))


@dataclass(slots=True, eq=False)
class _StoredBoard:
    """A cached board, with the monotonic times when its build began and when it expires."""

    reply: CachedReply
    began: float
    expires_at: float
    lacking: _NewScores

    def is_due(self, now: float) -> bool:
        """Whether it must be built again, whoever reads it."""
        return now >= self.expires_at or (bool(self.lacking.teams) and now >= self.began + MIN_BUILD_INTERVAL_SECONDS)

    def is_useless(self, now: float) -> bool:
        """Whether it can no longer be shown, not even while the database is away."""
        return now > min(self.expires_at, self.lacking.since) + MAX_AWAY_SECONDS


@dataclass(slots=True, eq=False)
class _BoardBuild:
    """A board that is being built once for all who request it meanwhile, and what has changed since the build began."""

    future: "Future[CachedReply]" = field(default_factory=Future)
    began: float = field(default_factory=time.monotonic)
    changed_marks: set[str] = field(default_factory=set)
    settled: list[SettledTag] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()  # so that one cancelled request cannot cancel it for the others

    def restart(self) -> None:
        """Begin now: the thread that builds the board was only now there, and has read no rows yet."""
        self.began = time.monotonic()
        self.changed_marks.clear()
        self.settled.clear()

    def is_outdated(self, reader: str | None) -> bool:
        """Whether its result may be too old for a request of this reader that arrives now."""
        teams = {tag.team_id for tag in self.settled}
        is_old = bool(teams) and time.monotonic() >= self.began + MIN_BUILD_INTERVAL_SECONDS
        return bool(self.changed_marks) or is_old or _NewScores(teams).concern(reader)


class BoardCache:
    """The boards that this process caches. Safe to use from the event loop and from several threads.

    The entries are in a plain ordered dict: an invalidation walks all entries, which must not count as using them.
    Boards that are due remain for a minute, because they may be shown while the database is away.
    """

    def __init__(self, *, needs_notifications: bool) -> None:
        """`needs_notifications`: other processes change rows too; boards are trusted while their notices arrive."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[CacheKey, _StoredBoard] = OrderedDict()
        self._size = 0
        self._builds: dict[CacheKey, _BoardBuild] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._trusted_until = 0.0 if needs_notifications else math.inf
        self._confirmed_at: float | None = None
        self._known_submissions: OrderedDict[str, None] = OrderedDict()  # whose scores have been reported

    # ---- cached boards

    def get(self, key: CacheKey, reader: str | None = None, *, since: float = math.inf) -> CachedReply | None:
        """The cached board, if there is one that this reader may be shown: a team, `ALL_TEAMS` or None for others.

        A board whose build began at the monotonic time `since` or later is new enough for every reader.
        """
        entry = self._entries.get(key)  # without the lock, so that a miss costs almost nothing
        if entry is None:
            return None
        now = time.monotonic()
        if now >= self._trusted_until or entry.is_due(now):
            return None
        if entry.began < since and entry.lacking.concern(reader):
            return None
        with self._lock:
            if self._entries.get(key) is not entry:
                return None
            self._entries.move_to_end(key)
        return entry.reply

    @property
    def is_trusted(self) -> bool:
        """Whether all changes have been reported until a moment ago."""
        return time.monotonic() < self._trusted_until

    def board_while_away(self, key: CacheKey) -> BoardWhileAway | None:
        """The board to show to visitors if the database is away; None for boards that may appear or vanish by time.

        It is one that could have been shown when the database last confirmed that all changes had been reported, at
        most a minute ago.
        """
        entry, confirmed_at = self._entries.get(key), self._confirmed_at
        if entry is None or confirmed_at is None or entry.reply.refusal is not None:
            return None
        stale_since, now = min(confirmed_at, entry.lacking.since), time.monotonic()
        if confirmed_at >= entry.expires_at or now > stale_since + MAX_AWAY_SECONDS:
            return None
        if any(map(is_waiting_tag, entry.reply.marks)):
            return None
        return BoardWhileAway(entry.reply, utcnow() - timedelta(seconds=now - stale_since))

    def invalidate(self, tags: frozenset[str]) -> None:
        """Apply reported changes: drop the boards with one of these tags, and do not store those being built.

        Boards that only lack the scores of settled submissions are marked as lacking them instead.
        """
        parsed = {tag: parse_settled_tag(tag) for tag in tags}
        settled = [tag for tag in parsed.values() if tag is not None]
        marks = {tag for tag, found in parsed.items() if found is None}
        teams: dict[str, set[str]] = {}
        for one in settled:
            teams.setdefault(one.board_tag, set()).add(one.team_id)
        all_boards, now = ALL_BOARDS in marks, time.monotonic()
        with self._lock:
            self._remember(tag.submission_id for tag in settled)
            for build in self._builds.values():
                build.changed_marks |= marks
                build.settled += settled
            for key, entry in list(self._entries.items()):
                if all_boards or not marks.isdisjoint(entry.reply.marks) or entry.is_useless(now):
                    self._remove(key)
                    continue
                for tag in teams.keys() & entry.reply.marks:
                    entry.lacking.add(teams[tag], now)

    def note_settled(self, phase_id: str, team_id: str, submission_ids: Iterable[str]) -> None:
        """Apply finished submissions of a team that were found in the database before they were reported."""
        new = [each for each in submission_ids if each not in self._known_submissions]
        if new:
            self.invalidate(frozenset(settled_tag(phase_tag(phase_id), team_id, each) for each in new))

    def confirm(self, at: float) -> None:
        """All changes until this time of the monotonic clock have been reported: trust boards for some seconds."""
        self._confirmed_at, self._trusted_until = at, at + TRUST_SECONDS

    def distrust(self) -> None:
        """Serve no boards until the next confirmation, except while the database is away: changes may be missed."""
        self._trusted_until = 0.0
        with self._lock:
            for build in self._builds.values():
                build.changed_marks.add(ALL_BOARDS)

    def forget(self) -> None:
        """Drop all boards: the database answers, but changes may have been missed."""
        self.distrust()
        self.invalidate(frozenset({ALL_BOARDS}))

    def _remember(self, submission_ids: Iterable[str]) -> None:
        self._known_submissions.update(dict.fromkeys(submission_ids))
        while len(self._known_submissions) > MAX_KNOWN_SUBMISSIONS:
            self._known_submissions.popitem(last=False)

    def _remove(self, key: CacheKey) -> None:
        self._size -= self._entries.pop(key).reply.size

    def _store(self, key: CacheKey, reply: CachedReply, build: _BoardBuild) -> None:
        """Store a board, unless its rows changed during the build, it is not trusted or it is too large."""
        now = time.monotonic()
        expires_at = min(reply.expires_at, now + MAX_AGE_SECONDS)
        changed = ALL_BOARDS in build.changed_marks or build.changed_marks & reply.marks
        if changed or now >= min(expires_at, self._trusted_until) or reply.size > MAX_CACHE_BYTES:
            return
        if key in self._entries:
            self._remove(key)
        entry = self._entries[key] = _StoredBoard(reply, build.began, expires_at, _NewScores())
        entry.lacking.add((tag.team_id for tag in build.settled if tag.board_tag in reply.marks), build.began)
        self._size += reply.size
        while self._size > MAX_CACHE_BYTES or len(self._entries) > MAX_BOARDS:
            self._remove(next(iter(self._entries)))

    # ---- building boards

    async def get_or_build(self, key: CacheKey, render: Render, reader: str | None = None) -> CachedReply:
        """The cached or newly built board; waiting for another build holds no thread. Raises what `render` raises.

        A reader who has to see a new score waits until the board may be built again.
        """
        requested_at, joined = time.monotonic(), 0
        while joined < MAX_JOINED_BUILDS:
            cached = self.get(key, reader, since=requested_at)
            if cached is not None:
                return cached
            if (delay := self._seconds_until_due(key)) > 0:
                await asyncio.sleep(delay)
                continue
            joined += 1
            build, is_outdated = self._join_or_start_build(key, render, reader, requested_at)
            reply = await asyncio.wrap_future(build.future)
            if not is_outdated:
                return reply
        return await run_in_threadpool(render)

    def _seconds_until_due(self, key: CacheKey) -> float:
        """Seconds until a board that some readers may still be shown may be built again; 0 if it may be now."""
        entry, now = self._entries.get(key), time.monotonic()
        if entry is None or not entry.lacking.teams or now >= self._trusted_until or entry.is_due(now):
            return 0.0
        return max(0.0, entry.began + MIN_BUILD_INTERVAL_SECONDS - now)

    def _join_or_start_build(
        self, key: CacheKey, render: Render, reader: str | None, requested_at: float
    ) -> tuple[_BoardBuild, bool]:
        """The running build of a board, or a new one, and whether it may have read outdated rows."""
        with self._lock:
            build = self._builds.get(key)
            if build is not None:
                may_be_outdated = build.is_outdated(reader) or time.monotonic() >= self._trusted_until
                return build, build.began < requested_at and may_be_outdated
            self._builds[key] = build = _BoardBuild()
        # A task of its own: a client that disconnects must not cancel the build for the others.
        task = asyncio.get_running_loop().create_task(self._run_build(key, build, render))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return build, False

    async def _run_build(self, key: CacheKey, build: _BoardBuild, render: Render) -> None:
        try:
            reply = await run_in_threadpool(self._render, build, render)
        except BaseException as error:
            self._finish_build(key, None, build)
            build.future.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self._finish_build(key, reply, build)
            build.future.set_result(reply)

    def _render(self, build: _BoardBuild, render: Render) -> CachedReply:
        with self._lock:
            build.restart()
        return render()

    def _finish_build(self, key: CacheKey, reply: CachedReply | None, build: _BoardBuild) -> None:
        with self._lock:
            del self._builds[key]
            if reply is not None:
                self._store(key, reply, build)
