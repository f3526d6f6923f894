"""The reply that tells one reader of a live page of changes: server-sent events that say "changed" with an id, and nothing else."""

import asyncio
import random
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass

from fastapi import Response
from starlette.responses import ContentStream, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.caching.board_cache import MIN_BUILD_INTERVAL_SECONDS
from app.api.http.streamed_reply import HEAD_KEY
from app.api.live.change_hub import ChangeHub, Follower

HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": keep-alive\n\n"
LIFETIME_SECONDS = 600.0  # after which the reader connects again, and its rights are checked again
RECONNECT_SECONDS = (2.0, 6.0)  # each reader draws its delay, or all would return at once after a restart
SETTLING_SECONDS = MIN_BUILD_INTERVAL_SECONDS
"""How long after a change its readers are told. A kept board may lack new scores for so long, and no reader is told
more often. What changes within that time is told in one event."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What a stream follows: topics, the state that the reader must have seen, and the seconds until that state ends.

    `ends_after_change`: a change may give the reader other topics, so the stream ends after it has told of one.
    """

    topics: Collection[str]
    state: str = ""
    seconds: float = LIFETIME_SECONDS
    ends_after_change: bool = False


class ChangeStream(Response):
    """A reply that sends `changed` whenever what its reader follows may have changed.

    `seen` is the id in the reader's page (`ChangeHub.seen_id`) or of its last event; without one, the reader has seen
    everything until now.
    """

    media_type = "text/event-stream"

    def __init__(self, hub: ChangeHub, followed: Followed, *, block: str, seen: str | None) -> None:
        super().__init__()
        self._hub, self._followed, self._block, self._seen = hub, followed, block, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; to HEAD only the headers. Raises Unavailable, TooManyLiveReaders before it begins."""
        headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}  # or a proxy of nginx would keep events back
        with self._hub.follow(self._followed.topics, self._block) as follower:
            events: ContentStream = () if scope.get(HEAD_KEY) else self._events(follower)
            await StreamingResponse(events, headers=headers, media_type=self.media_type)(scope, receive, send)

    async def _events(self, follower: Follower) -> AsyncIterator[bytes]:
        hub, followed, loop = self._hub, self._followed, asyncio.get_running_loop()
        ends_at = loop.time() + min(followed.seconds, LIFETIME_SECONDS)
        told, first = self._begin()
        yield first
        while not hub.is_closing:
            follower.begin_look()
            latest = hub.latest(followed.topics).number
            if latest > told:
                await asyncio.sleep(SETTLING_SECONDS)
                told = latest
                yield self._changed(told)
                if followed.ends_after_change:
                    return
            elif (left := ends_at - loop.time()) <= 0:
                return
            elif not await follower.wait(min(HEARTBEAT_SECONDS, left)) and loop.time() < ends_at:
                yield HEARTBEAT

    def _begin(self) -> tuple[int, bytes]:
        """The number that the reader has been told of when the stream begins, and the first bytes of the stream."""
        change = self._hub.latest(self._followed.topics)
        retry = f"retry: {round(random.uniform(*RECONNECT_SECONDS) * 1000)}\n"  # noqa: S311 - no secret
        missed = self._seen is not None and self._seen != self._event_id(change.number)
        # A change of this moment is told once more when it has settled.
        told = change.number - 1 if change.is_recent(SETTLING_SECONDS) else change.number
        if missed:
            return told, retry.encode() + self._changed(told)
        return told, f"{retry}id: {self._event_id(told)}\n\n".encode()

    def _event_id(self, number: int) -> str:
        return self._hub.event_id(number, self._followed.state)

    def _changed(self, number: int) -> bytes:
        return f"event: changed\nid: {self._event_id(number)}\ndata: changed\n\n".encode()
