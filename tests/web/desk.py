"""People and submissions for the tests of the organizer's and the administrator's desk."""

import secrets

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD, Caller
from tests.web.reader import Reader

DESK = "/challenges/digits/organize"
TRUTH = {f"t{number}": "cat" if number % 3 else "dog" for number in range(6)}


def new_account(app: ServedApp, name: str) -> str:
    """The address of a new account with this name."""
    email = f"{name.lower()}-{secrets.token_hex(4)}@example.org"
    answer = app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD})
    assert answer.status_code == 201, answer.text
    return email


def person(app: ServedApp, name: str) -> Caller:
    """A new account that uses the API."""
    email = new_account(app, name)
    token = app.caller().post("/tokens", json={"email": email, "password": PASSWORD}).json()["token"]
    caller = app.caller(token)
    caller.email = email
    return caller


def organizer(app: ServedApp, reader: Reader, role: str = "owner", slug: str = "digits") -> str:
    """Log a reader in as a new organizer of a challenge; gives the address."""
    email = new_account(app, role.title())
    answer = app.admin().post(f"/challenges/{slug}/organizers", json={"email": email, "role": role})
    assert answer.status_code == 201, answer.text
    reader.log_in(email)
    return email


def administrator(app: ServedApp, reader: Reader) -> str:
    """Log a reader in as a new administrator; gives the address."""
    email = f"admin-{secrets.token_hex(4)}@example.org"
    body = {"email": email, "name": "Root", "password": PASSWORD, "admin": True}
    assert app.admin().post("/users", json=body).status_code == 201
    reader.log_in(email)
    return email
