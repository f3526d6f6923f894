"""What hashes passwords, on the event loop of the service: whoever waits for a slowed queue gets a turn."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvloop

from app.api.limits.fair_queue import FairQueuePosition
from app.api.limits.password_hashing import HashingPool
from tests.live_service import MAX_WAIT_SECONDS

PACE = 0.0054  # seconds: uvloop rounds it down to whole milliseconds


@dataclass
class Slowed:
    """One of many attempts on an account that is slowed down."""

    source: str

    def queue_position(self) -> FairQueuePosition:
        return FairQueuePosition(("account", "attacked"), self.source, PACE)

    def can_begin(self) -> bool:
        return True

    def begin(self) -> None:
        """Nothing to note."""

    def end(self, result: Any) -> None:
        """Nothing to note."""


def test_a_slowed_queue_comes_to_its_end_when_nobody_else_comes() -> None:
    """A timer of uvloop may fire before its time: then the queue is looked at just when its next start comes."""

    async def all_of(count: int) -> list[int]:
        pool = HashingPool(2)
        try:
            waiting = [pool.run(Slowed(str(number)), partial(int, number)) for number in range(count)]
            return await asyncio.wait_for(asyncio.gather(*waiting), MAX_WAIT_SECONDS)
        finally:
            pool.close()

    assert uvloop.run(all_of(400)) == list(range(400))
