"""Tells the pages of submissions that wait of their place in the queue, and of the beginning of their scoring.

A place changes whenever another submission is done, so that telling every page each time would have all of them fetch
themselves again and again. Instead one look finds the places of all that wait, and a few pages are told: those that
show the most outdated place, in proportion to it. Pages near the front follow closely, pages far behind now and then,
and what all of them cost does not depend on their number.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from app.actions.submissions.follow_submissions import SubmissionProgress
from app.api.live.change_hub import ChangeHub, submission_topic
from app.api.live.change_stream import ChangeStream, Followed
from app.api.live.submission_looks import SubmissionLooks
from app.store.session import Database

LOOK_SECONDS = 2.0
MAX_TOLD = 20  # after each look, because of their place alone


class ShownPlace(NamedTuple):
    """The status of a submission and its place in the queue, as a page shows them."""

    status: str
    queue_position: int | None

    def lag(self, now: "ShownPlace") -> float:
        """How outdated it is: the change of the place in proportion to the place now."""
        if self.status != now.status or (self.queue_position is None) != (now.queue_position is None):
            return math.inf
        if self.queue_position is None or now.queue_position is None:
            return 0.0
        return abs(self.queue_position - now.queue_position) / now.queue_position


class QueueWatch:
    """The submissions whose pages are open and not final. Use it from the event loop only."""

    def __init__(self, db: Database, hub: ChangeHub) -> None:
        """What has changed is published to the hub."""
        self._hub = hub
        self._open: Counter[str] = Counter()
        self._shown: dict[str, ShownPlace] = {}
        self._looks = SubmissionLooks(db, LOOK_SECONDS, self._open.keys, self.notice)

    @contextmanager
    def follow(self, submission_id: str, shown: ShownPlace) -> Iterator[None]:
        """Watch a submission while the context lasts; `shown` is what its page shows now."""
        self._open[submission_id] += 1
        self._shown[submission_id] = shown
        self._looks.start()
        try:
            yield
        finally:
            self._open[submission_id] -= 1
            if not self._open[submission_id]:
                del self._open[submission_id], self._shown[submission_id]

    def notice(self, seen: Mapping[str, SubmissionProgress]) -> None:
        """Publish what pages do not show: every status that has changed, and the most outdated places."""
        places = {key: ShownPlace(each.status, each.queue_position) for key, each in seen.items() if key in self._open}
        lags = {key: self._shown[key].lag(place) for key, place in places.items()}
        changed = [key for key, lag in lags.items() if lag == math.inf]
        moved = [key for key, lag in lags.items() if 0 < lag < math.inf]
        changed += heapq.nlargest(MAX_TOLD, moved, key=lags.__getitem__)
        if changed:
            self._shown |= {key: places[key] for key in changed}
            self._hub.publish(map(submission_topic, changed))


class QueueStream(ChangeStream):
    """The stream of the page of a submission that waits: it also says when its place has changed."""

    def __init__(
        self, watch: QueueWatch, hub: ChangeHub, submission_id: str, shown: ShownPlace, *, block: str, seen: str | None
    ) -> None:
        super().__init__(hub, Followed({submission_topic(submission_id)}), block=block, seen=seen)
        self._watch, self._submission_id, self._shown = watch, submission_id, shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; raises what `ChangeStream` raises, before it begins."""
        with self._watch.follow(self._submission_id, self._shown):
            await super().__call__(scope, receive, send)
