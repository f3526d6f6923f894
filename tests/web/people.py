"""People who use both the API and the pages."""

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD, Caller
from tests.web.reader import Reader

NewReader = Callable[[], Reader]


class Person(NamedTuple):
    """One account: by its token, and in a browser without scripts where it is logged in."""

    api: Caller
    browser: Reader


def new_person(app: ServedApp, new_reader: NewReader, name: str, **extra: Any) -> Person:
    """A new account, logged in both ways."""
    email = f"{name}-{secrets.token_hex(4)}@example.org"
    app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD, **extra}).raise_for_status()
    scopes = {"scopes": ["admin"]} if extra.get("admin") else {}
    token = app.caller().post("/tokens", json={"email": email, "password": PASSWORD, **scopes}).json()["token"]
    return Person(app.caller(token), new_reader().log_in(email))


def new_account(app: ServedApp, name: str) -> str:
    """The e-mail address of a new account with this name."""
    email = f"{name}-{secrets.token_hex(4)}@example.org"
    app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD}).raise_for_status()
    return email
