"""Looks at all submissions that somebody follows at once, every few seconds while there are any."""

import asyncio
from collections.abc import Callable, Collection, Mapping

import structlog
from starlette.concurrency import run_in_threadpool

from app.actions.submissions.follow_submissions import SubmissionProgress, look_at_submissions
from app.errors import AssayError
from app.store.session import Database

log = structlog.get_logger()


class SubmissionLooks:
    """A task that looks at submissions. It takes one session for each look, whatever their number.

    `followed` gives their ids; `notice` gets what was seen of them. Use it from the event loop only.
    """

    def __init__(
        self,
        db: Database,
        seconds: float,
        followed: Callable[[], Collection[str]],
        notice: Callable[[Mapping[str, SubmissionProgress]], None],
    ) -> None:
        """`seconds` pass before each look."""
        self._db, self._seconds = db, seconds
        self._followed, self._notice = followed, notice
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look from now on, until nothing is followed any more."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_while_followed())

    async def _look_while_followed(self) -> None:
        try:
            while self._followed():
                await asyncio.sleep(self._seconds)
                followed = {*self._followed()}
                if not followed:
                    break
                try:
                    self._notice(await run_in_threadpool(self._look, followed))
                except AssayError:
                    continue  # the database is away; whoever follows reads again after a while
                except Exception:
                    log.exception("look_failed")
        finally:
            self._looking = None

    def _look(self, followed: Collection[str]) -> dict[str, SubmissionProgress]:
        with self._db.read() as session:
            return look_at_submissions(session, followed)
