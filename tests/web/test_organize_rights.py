"""Who reads the organizer's desk, and who changes something there."""

from collections.abc import Callable

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.reader import Reader

DESK = "/challenges/digits/organize"


def person(app: ServedApp, name: str) -> str:
    """The address of a new account."""
    email = f"{name}@example.org"
    assert app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD}).status_code == 201
    return email


def test_the_desk_is_for_organizers(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    owner = new_reader().log_in(person(app, "owner"))
    answer = new_reader().get(DESK)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/log-in?next={DESK}")
    assert owner.get(DESK).status_code == 403
    assert (
        app.admin()
        .post("/challenges/digits/organizers", json={"email": "owner@example.org", "role": "viewer"})
        .status_code
        < 300
    )
    answer = owner.get(DESK)
    assert answer.status_code == 200
    assert "You are a viewer" in answer.text
