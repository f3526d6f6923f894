"""Open event streams go on after a look at the submissions that failed in a way that nobody foresaw."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structlog.testing import capture_logs

from app.api.limits.event_streams import EventStreams
from app.api.notifier import Notifier
from app.store.session import Database, ReadSession
from tests.api.conftest import GOLD
from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import MAX_WAIT_SECONDS, open_challenge


class FailsAtFirst(Database):
    """A database whose first reading fails, with an error that the service does not know."""

    failed = False

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        if not self.failed:
            self.failed = True
            raise ValueError("a row that cannot be read")
        with super().read() as session:
            yield session


def test_an_unforeseen_error_is_logged_and_the_streams_are_looked_at_again(tmp_path: Path) -> None:
    settings = app_settings(tmp_path / "data")
    with serve_app(settings) as service:
        open_challenge(service.admin(), "digits", GOLD)
        good = {row["id"]: row["label"] for row in GOLD}
        sent = service.admin().submit("digits", good, team="Blue").json()

        async def follow() -> tuple[str, str]:
            """The status that the stream hears of, and that which one opened after all have closed hears of."""
            streams, heard = EventStreams(FailsAtFirst(settings), Notifier(), 10), []
            for caller in ("ada", "bob"):
                with streams.open(caller, sent["id"]) as stream:
                    news = await stream.wait(MAX_WAIT_SECONDS)
                    heard.append("nothing" if news is None else news.status)
            return heard[0], heard[1]

        with capture_logs() as logs:
            assert asyncio.run(follow()) == ("finished", "finished")
    assert [entry["event"] for entry in logs].count("look_failed") == 1
