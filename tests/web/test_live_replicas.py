"""Live pages with several API processes on one PostgreSQL: a reader is told of what happens at another one."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.api.conftest import GOLD
from tests.cluster import Cluster, cluster
from tests.live_service import MAX_WAIT_SECONDS, open_challenge
from tests.web.reader import Reader
from tests.web.test_leaderboard_page import PATH
from tests.web.test_live_leaderboard import Stream, following, stream_path, until_shown

SLUG = "digits"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, postgres_database: Callable[[], str]) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("replicas"), postgres_database()) as running:
        running.start(apis=2, workers=1)
        open_challenge(running.admin(0), SLUG, GOLD)
        yield running


def submit(parts: Cluster, api: int, team: str) -> None:
    sent = {row["id"]: row["label"] for row in GOLD}
    assert parts.admin(api).submit(SLUG, sent, team=team).json()["status"] == "finished"


def test_a_reader_is_told_of_scores_that_arrive_at_another_process(parts: Cluster) -> None:
    submit(parts, 0, "First")
    with closing(Reader(parts.apis[1].url)) as browser:
        page = browser.get(PATH.format(SLUG))
        with following(browser, stream_path(page)) as stream:
            stream.next()
            for team in ("Second", "Third"):
                submit(parts, 0, team)
                until_shown(browser, stream, SLUG, team)


def test_a_page_of_one_process_whose_stream_is_at_another_is_fetched_again(parts: Cluster) -> None:
    with closing(Reader(parts.apis[0].url)) as one, closing(Reader(parts.apis[1].url)) as other:
        path = stream_path(one.get(PATH.format(SLUG)))
        with following(other, path) as stream:
            assert stream.next()["event"] == "changed"


def test_streams_end_when_a_process_is_asked_to_end(parts: Cluster) -> None:
    with closing(Reader(parts.apis[1].url)) as browser:
        path = stream_path(browser.get(PATH.format(SLUG)))
        with following(browser, path) as stream:
            stream.next()
            process = parts.apis[1].process
            assert process is not None
            process.terminate()
            assert read_to_end(stream)
            assert process.wait(MAX_WAIT_SECONDS) == 0


def read_to_end(stream: Stream) -> bool:
    """Whether the stream ends in order, and not by a broken connection."""
    try:
        while True:
            stream.next()
    except EOFError:
        return True
