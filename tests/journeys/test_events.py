"""Following a submission by server-sent events: what they say, when they end, who gets them and how many there may be."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from app.api.limits.event_streams import MAX_PER_CALLER
from app.client import Client
from tests.faults.inspection import frozen_scoring
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    require_finished,
    require_refused,
)
from tests.live_service import Caller

Event = tuple[str, str, dict[str, Any]]


def read_events(lines: Iterator[str]) -> Iterator[Event]:
    """Name, id and data of each event as it comes."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, fields[name] = line.partition(": ")
        elif "data" in fields:
            yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
            fields = {}


@pytest.fixture(scope="module")
def slug(people: People) -> str:
    slug = create_challenge(people.admin, "events")
    require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))
    return slug


def send(caller: Caller, slug: str) -> str:
    return str(caller.submit(slug, CORRECT_PREDICTIONS, wait=0).json()["id"])


def test_a_submission_is_followed_from_the_queue_to_its_scores(people: People, slug: str) -> None:
    blue = people["Blue"]
    with ExitStack() as opened:
        with frozen_scoring(people.live):
            sent = [send(blue, slug) for _ in range(4)]
            stream = opened.enter_context(blue.stream("GET", f"/submissions/{sent[-1]}/events"))
            assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
            events = read_events(stream.iter_lines())
            name, event_id, first = next(events)
            assert (name, event_id, first["status"]) == ("status", "queued-0", "queued")
            assert blue.post(f"/submissions/{sent[2]}/cancel").status_code == 200
            name, event_id, place = next(events)
            assert (name, event_id) == ("queue", "")
            assert place["queue_position"] < first["queue_position"]
            assert "id: cancelled-0\n" in blue.get(f"/submissions/{sent[2]}/events").text
        seen = list(events)
    name, event_id, last = seen[-1]
    assert (name, event_id) == ("status", "finished-1")
    assert last == blue.get(f"/submissions/{sent[-1]}").json()
    ids = [event_id for _, event_id, _ in seen if event_id]
    assert sorted(ids) == sorted(set(ids))


def test_a_client_that_comes_again_gets_nothing_twice(people: People, slug: str) -> None:
    blue = people["Blue"]
    with ExitStack() as opened:
        with frozen_scoring(people.live):
            sent = [send(blue, slug) for _ in range(3)][-1]
            path = f"/submissions/{sent}/events"
            with blue.stream("GET", path) as stream:
                assert next(read_events(stream.iter_lines()))[1] == "queued-0"
            again = opened.enter_context(blue.stream("GET", path, headers={"Last-Event-ID": "queued-0"}))
            lines = again.iter_lines()
            assert next(lines) == ": keep-alive"
        ids = [event_id for _, event_id, _ in read_events(lines) if event_id]
    assert ids[-1] == "finished-1"
    assert "queued-0" not in ids
    assert blue.get(path, headers={"Last-Event-ID": "finished-1"}).status_code == 204
    assert blue.head(path).status_code == 200
    with Client(people.live.url, blue.headers["authorization"].removeprefix("Bearer ")) as client:
        assert [(name, data["status"]) for name, data in client.events(sent)] == [("status", "finished")]


def test_whoever_loses_the_right_to_read_gets_no_further_event(people: People) -> None:
    slug = create_challenge(people.admin, "lost-right")
    editor = people.with_scopes(people["Editor"], "read", "organize")
    team = {"email": editor.email, "role": "editor"}
    people.admin.post(f"/challenges/{slug}/organizers", json=team).raise_for_status()
    green = people["Green"].join(slug, "Green")
    require_finished(green.submit(slug, CORRECT_PREDICTIONS))
    with ExitStack() as opened:
        with frozen_scoring(people.live):
            sent = send(green, slug)
            path = f"/submissions/{sent}/events"
            streams = [opened.enter_context(who.stream("GET", path)) for who in (editor, green)]
            events = [read_events(stream.iter_lines()) for stream in streams]
            assert all(next(each)[2]["status"] in {"queued", "running"} for each in events)
            people.admin.delete(f"/challenges/{slug}/organizers", params={"email": editor.email}).raise_for_status()
        assert "finished" in {event[2].get("status") for event in events[1]}
        assert "finished" not in {event[2].get("status") for event in events[0]}


def test_so_many_streams_of_one_caller_and_others_have_theirs(people: People, slug: str) -> None:
    blue = people["Blue"]
    with ExitStack() as opened, frozen_scoring(people.live):
        path = f"/submissions/{send(blue, slug)}/events"
        for _ in range(MAX_PER_CALLER):
            opened.enter_context(blue.stream("GET", path))
        require_refused(blue.get(path), 429, "too_many_streams")
        with people.admin.stream("GET", path) as stream:
            assert stream.status_code == 200
        assert blue.get("/me").status_code == 200  # no stream holds a thread or a session
    assert blue.get(path).status_code == 200
