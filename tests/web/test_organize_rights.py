"""Who reads the organizer's desk, and who changes something there."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from tests.api.in_process_app import ServedApp
from tests.settle import settle
from tests.web.reader import Reader
from tests.web.test_organize_create import organizer

DESK = "/challenges/digits/organize"
PAGES = ("", "/settings", "/recipe", "/phases", "/phases/main", "/phases/main/gold")
ACTS = (
    "/publish",
    "/settings",
    "/settings/labels",
    "/recipe",
    "/recipe/drop",
    "/phases",
    "/phases/order",
    "/phases/main",
    "/phases/main/pause",
    "/phases/main/resume",
    "/phases/main/delete",
    "/phases/main/gold/1/activate",
    "/phases/main/gold/1/delete",
)


@pytest.fixture(scope="module")
def viewer(app: ServedApp) -> str:
    """The name of a viewer of the challenge."""
    with closing(Reader(app.url)) as reader:
        organizer(app, reader, "viewer")
    body = {"email": "viewer@example.org", "role": "viewer"}
    app.admin().post("/challenges/digits/organizers", json=body).raise_for_status()
    return "viewer"


def test_pages_are_for_organizers_of_any_role(app: ServedApp, new_reader: Callable[[], Reader], viewer: str) -> None:
    visitor, member = new_reader(), organizer(app, new_reader(), "outsider")
    reads = new_reader().log_in(f"{viewer}@example.org")
    for path in PAGES:
        turned_away = visitor.get(DESK + path)
        assert (turned_away.status_code, turned_away.headers["location"]) == (303, f"/log-in?next={DESK}{path}")
        assert member.get(DESK + path).status_code == 403, path
        assert member.get(f"/challenges/hidden/organize{path}").status_code == 404, path
        answer = reads.get(DESK + path)
        assert answer.status_code == 200, path
        assert "You are a viewer" in answer.text
        assert "<button" not in answer.text.split("</header>")[1]


def test_a_viewer_and_a_member_change_nothing(app: ServedApp, new_reader: Callable[[], Reader], viewer: str) -> None:
    readers = [new_reader().log_in(f"{viewer}@example.org"), organizer(app, new_reader(), "member")]
    settle(app)
    before = app.admin().get("/challenges/digits").json()
    for reader in readers:
        token = reader.get("/").text.split('name="csrf" value="')[1].split('"')[0]
        for act in ACTS:
            answer = reader.client.post(DESK + act, data={"csrf": token}, headers={"Origin": reader.url})
            assert answer.status_code == 403, act
            assert reader.client.post(DESK + act, headers={"Origin": reader.url}).status_code == 403
        sent: dict[str, Any] = {
            "data": {"csrf": token},
            "files": {"file": ("g.csv", b"id,label")},
            "headers": {"Origin": reader.url},
        }
        for act in ("/phases/main/gold", "/phases/main/gold/1/metadata/classes"):
            assert reader.client.post(DESK + act, **sent).status_code == 403
    settle(app)
    assert app.admin().get("/challenges/digits").json() == before


def test_who_may_not_create_learns_whom_to_ask(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "unapproved")
    settings = app.app.state.service.settings
    app.app.state.service.settings = settings.model_copy(update={"challenge_creation": "approved"})
    try:
        answer = reader.get("/new-challenge")
    finally:
        app.app.state.service.settings = settings
    assert answer.status_code == 403
    assert "Ask an administrator to approve your account" in answer.text
