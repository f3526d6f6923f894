"""Signing up: one spelling of an address, no characters that nobody sees, no password that is guessed first."""

from typing import Any

import httpx
import pytest

from app.actions import passwords
from app.store.tables import User
from app.store.users import by_email
from tests.api.served import Served
from tests.live import PASSWORD


def sign_up(app: Served, **given: Any) -> httpx.Response:
    return app.caller().post("/users", json={"name": "Ada Lovelace", "password": PASSWORD} | given)


def log_in(app: Served, email: str) -> int:
    return app.caller().post("/tokens", json={"email": email, "password": PASSWORD}).status_code


def test_an_address_is_stored_in_one_spelling_and_taken_in_all(app: Served) -> None:
    made = sign_up(app, email="Zoe\u0308@B\u00dcCHER.example")
    assert made.status_code == 201
    assert made.json()["email"] == "zo\u00eb@xn--bcher-kva.example"
    for spelling in ("zo\u00eb@b\u00fccher.example", "ZO\u00cb@xn--bcher-kva.EXAMPLE"):
        assert sign_up(app, email=spelling).json()["code"] == "email_taken"
        assert log_in(app, spelling) == 201


@pytest.mark.parametrize("letter", ["\u200b", "\u202e", "\u00ad", "\x7f", "\u3164"], ids=ascii)
def test_an_address_with_a_character_that_nobody_sees_is_refused(app: Served, letter: str) -> None:
    refused = sign_up(app, email=f"hid{letter}den@example.org")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    (fault,) = refused.json()["errors"]
    assert fault["pointer"] == "/email"
    assert f"U+{ord(letter):04X}" in fault["detail"]


def test_an_account_of_before_that_has_such_an_address_still_logs_in(app: Served) -> None:
    sign_up(app, email="former@example.org").raise_for_status()
    for stored in ("for\u200bmer@example.org", "former@b\u00fccher.example", "forme\u0301r@example.org"):
        with app.app.state.service.db.write() as session:
            model = by_email(session, "former@example.org")
            assert model is not None
            session.add(User(email=stored, name="x", password_hash=model.password_hash))
        assert log_in(app, stored.upper()) == 201
        assert sign_up(app, email=stored).status_code in {409, 422}


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("nine char", "at least 10"),
        ("1q2w3e4r5t", "common"),
        ("Weak.Person@example.org!", "address"),
        ("ada lovelace 1", "beside your name"),
    ],
)
def test_a_password_that_is_guessed_first_is_refused_with_the_reason(app: Served, password: str, fault: str) -> None:
    refused = sign_up(app, email="weak.person@example.org", password=password)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    (found,) = refused.json()["errors"]
    assert found["pointer"] == "/password"
    assert fault in found["detail"]
    assert password not in refused.text


def test_an_account_of_before_keeps_a_password_that_would_be_refused_now(app: Served) -> None:
    with app.app.state.service.db.write() as session:
        session.add(User(email="kept@example.org", name="x", password_hash=passwords.hashed("short")))
    answer = app.caller().post("/tokens", json={"email": "kept@example.org", "password": "short"})
    assert answer.status_code == 201
