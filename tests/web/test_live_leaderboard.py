"""The stream of a leaderboard's page: what each reader is told, and that the page they then fetch has changed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from sqlalchemy import event
from sqlalchemy.pool import Pool

from app.api.live.change_hub import ChangeHub
from tests.api.in_process_app import ServedApp
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.settle import settle
from tests.web.people import new_account
from tests.web.reader import Reader
from tests.web.test_leaderboard_page import PATH, links, new_challenge, submit, teams


def stream_path(page: httpx.Response) -> str:
    return page.text.partition('sse-connect="')[2].partition('"')[0].replace("&amp;", "&")


class Stream:
    """An open stream, read event by event."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def next(self) -> dict[str, str]:
        """The fields of the next event that is no comment."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                return fields
        raise EOFError

    def changed(self) -> str:
        """The id of the next event that says that something changed."""
        while True:
            fields = self.next()
            if fields.get("event") == "changed":
                return fields["id"]


@contextmanager
def following(reader: Reader, path: str, **headers: str) -> Iterator[Stream]:
    timeout = httpx.Timeout(MAX_WAIT_SECONDS)
    with reader.client.stream(
        "GET", path, headers={"Accept": "text/event-stream", **headers}, timeout=timeout
    ) as answer:
        assert answer.status_code == 200
        yield Stream(answer)


def until_shown(reader: Reader, stream: Stream, slug: str, team: str) -> None:
    """Fetch the page after each event until it shows the team: the last event of a change is never too early."""
    for _ in range(10):
        stream.changed()
        if any(name.startswith(team) for name in teams(reader.get(PATH.format(slug)))):
            return
    raise AssertionError(f"the page does not show {team}")


def test_the_page_that_is_fetched_after_an_event_has_the_new_row(
    app: ServedApp, new_reader: Callable[[], Reader]
) -> None:
    slug = new_challenge(app.admin(), "live")
    submit(app.admin(), slug, "First", 2)
    visitor, person = new_reader(), new_reader().log_in(new_account(app, "live-reader"))
    pages = [each.get(PATH.format(slug)) for each in (visitor, person)]
    with following(visitor, stream_path(pages[0])) as first, following(person, stream_path(pages[1])) as second:
        assert first.answer.headers["x-accel-buffering"] == "no"
        for stream in (first, second):
            stream.next()
        for number in range(3):
            submit(app.admin(), slug, f"Later {number}", 3)
            for reader, stream in ((visitor, first), (person, second)):
                until_shown(reader, stream, slug, f"Later {number}")


def test_a_change_between_page_and_stream_is_told_at_once(app: ServedApp, reader: Reader) -> None:
    slug = new_challenge(app.admin(), "between")
    submit(app.admin(), slug, "First", 2)
    path = stream_path(reader.get(PATH.format(slug)))
    submit(app.admin(), slug, "Second", 3)
    with following(reader, path) as stream:
        event_id = stream.changed()
    hub: ChangeHub = app.app.state.service.changes
    eventually(lambda: hub.count == 0, "all streams are closed")
    submit(app.admin(), slug, "Third", 3)
    with following(reader, path, **{"Last-Event-ID": event_id}) as stream:
        assert stream.next()["event"] == "changed"


def test_a_renamed_team_and_a_new_recipe_are_told(app: ServedApp, reader: Reader) -> None:
    admin = app.admin()
    slug = new_challenge(admin, "acts")
    submit(admin, slug, "First", 2)
    with following(reader, stream_path(reader.get(PATH.format(slug)))) as stream:
        stream.next()
        team = admin.board(slug).json()["rows"][0]["team"]["id"]
        assert admin.patch(f"/challenges/{slug}/teams/{team}", json={"name": "Renamed"}).status_code == 200
        stream.changed()
        assert teams(reader.get(PATH.format(slug)))[0].startswith("Renamed")


def test_readers_of_a_hidden_board_are_not_told_of_scores(app: ServedApp, reader: Reader) -> None:
    admin = app.admin()
    hidden = new_challenge(admin, "quiet", phases=[{"name": "main", "leaderboard": "hidden"}])
    page = reader.get(PATH.format(hidden))
    hub: ChangeHub = app.app.state.service.changes
    with following(reader, stream_path(page)) as stream:
        first = stream.next()
        eventually(lambda: hub.count == 1, "streams of other tests are closed")
        (follower,) = hub._all
        assert follower.topics == frozenset()
        submit(admin, hidden, "Secret", 3)
    eventually(lambda: hub.count == 0, "all streams are closed")
    with following(reader, stream_path(page), **{"Last-Event-ID": first["id"]}) as stream:
        assert "event" not in stream.next()


def test_a_visitor_is_refused_where_the_page_is(app: ServedApp, reader: Reader) -> None:
    slug = new_challenge(app.admin(), "unseen-stream", visibility="private")
    assert reader.get(PATH.format(slug) + "/changes?phase=main").status_code == 404


@contextmanager
def sessions_taken() -> Iterator[list[Any]]:
    """The connections that requests take from the pool meanwhile."""
    taken: list[Any] = []

    def note(*found: Any) -> None:
        if threading.current_thread().name.startswith(("AnyIO", "MainThread", "Thread-")):  # others work by themselves
            taken.append(found)

    event.listen(Pool, "checkout", note)
    try:
        yield taken
    finally:
        event.remove(Pool, "checkout", note)


def test_waiting_readers_take_no_session_and_no_thread(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    slug = new_challenge(app.admin(), "many")
    submit(app.admin(), slug, "First", 2)
    settle(app)
    hub: ChangeHub = app.app.state.service.changes
    readers = [new_reader() for _ in range(20)]
    opened = [following(each, stream_path(each.get(PATH.format(slug)))) for each in readers]
    streams = [each.__enter__() for each in opened]
    try:
        for stream in streams:
            stream.next()
        eventually(lambda: hub.count == len(streams), "streams of other tests are closed")
        threads = threading.active_count()
        with sessions_taken() as taken:
            follower = next(iter(hub._all))
            hub.publish(list(follower.topics)[:1])
            for stream in streams:
                stream.changed()
            assert taken == []
        assert threading.active_count() <= threads
    finally:
        for each in opened:
            each.__exit__(None, None, None)
    eventually(lambda: hub.count == 0, "all streams are closed")


def test_a_kept_page_takes_no_session(app: ServedApp, reader: Reader) -> None:
    slug = new_challenge(app.admin(), "kept")
    submit(app.admin(), slug, "First", 2)
    settle(app, shown=True)
    for query in ("", "?phase=main", "?metric=f1_macro"):
        address = PATH.format(slug) + query
        first = reader.get(address)
        with sessions_taken() as taken:
            again = reader.get(address)
            known = reader.get(address, headers={"If-None-Match": first.headers["etag"]})
        if query != "?metric=f1_macro":  # the cache holds boards by the primary metric
            assert taken == []
        assert (again.text, known.status_code, known.content) == (first.text, 304, b"")
        same = {name: value for name, value in first.headers.items() if name not in {"date", "x-request-id", "vary"}}
        assert same == {name: value for name, value in again.headers.items() if name in same}
        assert {name.strip() for name in again.headers["vary"].split(",")} >= {"Cookie", "Accept-Encoding"}
        assert not any(link.startswith("/account") for link in links(again))


def test_a_made_up_host_is_not_kept(app: ServedApp, reader: Reader) -> None:
    slug = new_challenge(app.admin(), "hosts")
    boards = app.app.state.service.board_cache
    answer = reader.get(PATH.format(slug), headers={"Host": "evil.example"})
    assert "evil.example" not in answer.text
    assert not any("evil.example" in repr(key) for key in boards._entries)
    assert "evil.example" not in reader.get(PATH.format(slug)).text
