"""The page of a submission that waits follows its place in the queue, at a cost that does not grow with its readers."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from app.actions.submissions.follow_submissions import SubmissionProgress
from app.api.live import queue_watch
from app.api.live.change_hub import ChangeHub, submission_topic
from app.api.live.queue_watch import MAX_TOLD, QueueWatch, ShownPlace
from app.store.session import Database, ReadSession
from tests.api.in_process_app import app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_scoring
from tests.live_service import MAX_WAIT_SECONDS, Live, open_challenge
from tests.web.reader import Reader
from tests.web.test_live_leaderboard import following, stream_path

READERS = 500


def fetch(reader: Reader, page: httpx.Response) -> httpx.Response:
    """What htmx fetches for a page that was told of a change."""
    (address,) = re.findall(r'hx-get="([^"]+)"', page.text)
    return reader.get(address, headers={"HX-Request": "true"})


def test_the_place_follows_the_queue_and_the_whole_page_the_status(live: Live) -> None:
    open_challenge(live.admin(), "pets", GOLD)
    blue = live.person("Blue").join("pets", "Blue")
    assert blue.submit("pets", CORRECT_PREDICTIONS).status_code == 201
    with closing(Reader(live.url).log_in(blue.email)) as reader, frozen_scoring(live):
        sent = [blue.submit("pets", CORRECT_PREDICTIONS, wait=0).json()["id"] for _ in range(5)]
        first = re.sub("status=[a-z]+", "status=queued", stream_path(reader.get(f"/submissions/{sent[0]}")))
        with following(reader, first) as stream:
            stream.changed()  # the only slot has taken it
        page = reader.get(f"/submissions/{sent[4]}")
        place = blue.get(f"/submissions/{sent[4]}").json()["queue_position"]
        assert f"at position {place}." in page.text
        with following(reader, stream_path(page)) as stream:
            stream.next()
            blue.post(f"/submissions/{sent[3]}/cancel").raise_for_status()
            stream.changed()
            part = fetch(reader, page)
            assert f"at position {place - 1}." in part.text
            assert part.text.strip().startswith('<div role="status" id="submission-status">')
            assert {part.headers["hx-retarget"], part.headers["hx-reselect"]} == {"#submission-status"}
            blue.post(f"/submissions/{sent[4]}/cancel").raise_for_status()
            stream.changed()
            whole = fetch(reader, page)
            assert "Cancelled" in whole.text
            assert 'id="submission"' in whole.text
            assert "hx-retarget" not in whole.headers
            assert "sse-connect" not in whole.text
    stranger = Reader(live.url).log_in(live.person("Eve").email)
    with closing(stranger):
        assert fetch(stranger, page).status_code == 404


def test_a_place_that_no_queue_has_is_refused(live: Live) -> None:
    open_challenge(live.admin(), "birds", GOLD)
    blue = live.person("Blue").join("birds", "Blue")
    path = f"/submissions/{blue.submit('birds', CORRECT_PREDICTIONS).json()['id']}/changes?status=queued"
    with closing(Reader(live.url).log_in(blue.email)) as reader:
        with reader.client.stream("GET", f"{path}&position=1{'0' * 400}") as answer:
            assert answer.status_code == 400
        with reader.client.stream("GET", f"{path}&position=1") as answer:
            assert answer.status_code == 200


class CountingDatabase(Database):
    """A database that counts the sessions."""

    reads = 0

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        self.reads += 1
        with super().read() as session:
            yield session


def progress(position: int | None, status: str = "queued") -> SubmissionProgress:
    return SubmissionProgress(status, 0, position, None)


def test_what_the_queue_costs_does_not_grow_with_its_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session for each look; few pages are told at a time, those near the front at once and all of them in the end."""
    monkeypatch.setattr(queue_watch, "LOOK_SECONDS", 0.01)
    settings = app_settings(tmp_path / "data")
    with serve_app(settings):
        db, hub = CountingDatabase(settings), ChangeHub()
        ids = [f"{number:032x}" for number in range(1, READERS + 1)]

        def told_since(number: int) -> set[str]:
            return {key for key in ids if hub.latest([submission_topic(key)]).number > number}

        counted: list[int] = []

        async def watch() -> None:
            watch, looks = QueueWatch(db, hub), asyncio.Semaphore(0)

            def note(_: object) -> None:
                counted.append(db.reads)
                looks.release()
                if len(counted) == 1:
                    raise ValueError("One look that fails does not end the looks.")

            monkeypatch.setattr(watch._looks, "_notice", note)
            with ExitStack() as opened:
                for place, key in enumerate(ids, 1):
                    opened.enter_context(watch.follow(key, ShownPlace("queued", place)))
                for _ in range(3):
                    await asyncio.wait_for(looks.acquire(), MAX_WAIT_SECONDS)
                assert counted[:3] == [1, 2, 3]
                waiting, every = list(enumerate(ids, 1)), set[str]()
                while len(waiting) > READERS // 2:  # one is done at a time
                    number = hub.number
                    waiting = [(place - 1, key) for place, key in waiting[1:]]
                    watch.notice({key: progress(place) for place, key in waiting})
                    told = told_since(number)
                    assert len(told) == MAX_TOLD
                    assert waiting[0][1] in told
                    every |= told
                assert every == set(ids[1:])
                number = hub.number
                watch.notice({key: progress(None, "running") for _, key in waiting})
                assert told_since(number) == {key for _, key in waiting}
                number = hub.number
                watch.notice({key: progress(None, "running") for _, key in waiting})
                assert told_since(number) == set()

        asyncio.run(watch())
