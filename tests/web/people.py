"""Accounts for the tests of pages."""

import secrets

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD


def new_person(app: ServedApp, name: str) -> str:
    """The e-mail address of a new account with this name."""
    email = f"{name}-{secrets.token_hex(4)}@example.org"
    answer = app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD})
    assert answer.status_code == 201
    return email
