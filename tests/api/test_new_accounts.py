"""Signing up: one spelling of an address, no characters that nobody sees, no password that is guessed first."""

from typing import Any

import httpx
import pytest
import zxcvbn

from app.actions.accounts import passwords
from app.store.queries.users import by_email
from app.store.tables import User
from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD

EASY = (
    "1q2w3e4r5t", "1111111111", "aaaaaaaaaa", "0987654321", "12345678901", "123456789012345", "abcdefghij",
    "administrator", "letmein123", "Passw0rd123", "p@ssword123", "qwertyuiop", "administratoradministrator",
    "passwordpassword" * 10,
)  # fmt: skip


def sign_up(app: ServedApp, **given: Any) -> httpx.Response:
    return app.caller().post("/users", json={"name": "Ada Lovelace", "password": PASSWORD} | given)


def log_in(app: ServedApp, email: str) -> int:
    return app.caller().post("/tokens", json={"email": email, "password": PASSWORD}).status_code


def test_an_address_is_stored_in_one_spelling_and_taken_in_all(app: ServedApp) -> None:
    made = sign_up(app, email="Zoe\u0308@B\u00dcCHER.example")
    assert made.status_code == 201
    assert made.json()["email"] == "zo\u00eb@xn--bcher-kva.example"
    for spelling in ("zo\u00eb@b\u00fccher.example", "ZO\u00cb@xn--bcher-kva.EXAMPLE"):
        assert sign_up(app, email=spelling).json()["code"] == "email_taken"
        assert log_in(app, spelling) == 201


@pytest.mark.parametrize("letter", ["\u200b", "\u202e", "\u00ad", "\x7f", "\u3164"], ids=ascii)
def test_an_address_with_a_character_that_nobody_sees_is_refused(app: ServedApp, letter: str) -> None:
    refused = sign_up(app, email=f"hid{letter}den@example.org")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    (fault,) = refused.json()["errors"]
    assert fault["pointer"] == "/email"
    assert f"U+{ord(letter):04X}" in fault["detail"]


def test_an_account_of_before_that_has_such_an_address_still_logs_in(app: ServedApp) -> None:
    sign_up(app, email="former@example.org").raise_for_status()
    for stored in ("for\u200bmer@example.org", "former@b\u00fccher.example", "forme\u0301r@example.org"):
        with app.app.state.service.db.write() as session:
            model = by_email(session, "former@example.org")
            assert model is not None
            session.add(User(email=stored, name="x", password_hash=model.password_hash))
        assert log_in(app, stored.upper()) == 201
        assert sign_up(app, email=stored).status_code in {409, 422}


GUESSED_FIRST = [
    ("nine char", "at least 10"),
    ("Weak.Person@example.org!", "address"),
    ("weakPersonExampleOrg", "besides your name and e-mail address"),
    ("ada lovelace 1", "besides your name"),
    ("AdaLovelace", "besides your name"),
    ("Ada_Lovelace", "besides your name"),
    ("Ada  Lovelace", "besides your name"),
    ("Lovelace, Ada", "besides your name"),
    ("weakperson", "besides your name"),
    (" " * 10, "blanks"),
    ("\0" * 10, "blanks"),
    ("\u3164\u200b \t\n" * 2, "blanks"),
    *((word, "easy to guess") for word in EASY),
]


def test_a_password_that_is_guessed_first_is_refused_with_the_reason(app: ServedApp) -> None:
    visitor, body = app.caller(), {"name": "Ada Lovelace", "email": "weak.person@example.org"}
    for password, fault in GUESSED_FIRST:
        refused = visitor.post("/users", json=body | {"password": password})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request"), password
        (found,) = refused.json()["errors"]
        assert found["pointer"] == "/password"
        assert fault in found["detail"], password
        assert password not in refused.text


@pytest.mark.parametrize("address", ["x16ae9@b\u00fccher.example", "X16AE9@xn--bcher-kva.example"])
def test_an_address_is_no_password_in_either_form(app: ServedApp, address: str) -> None:
    refused = sign_up(app, email="x16ae9@b\u00fccher.example", password=address)
    assert refused.status_code == 422
    assert "address" in refused.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    "password",
    [PASSWORD, "a long password", "another password", "correct horse battery staple", "this is none", "tr7wq9xkzm",
     "Ada says: a long password", "1" * 32 + "a password for tests", "\u043f\u0430\u0440\u043e\u043b\u044c \u0434\u043b\u044f \u0442\u0435\u0441\u0442\u0430"],
)  # fmt: skip
def test_an_ordinary_passphrase_will_do(password: str) -> None:
    assert passwords.password_weakness(password, email="weak.person@example.org", name="Ada Lovelace") is None


def test_letters_of_a_short_address_may_occur_in_a_password() -> None:
    assert passwords.password_weakness("the crab counts slowly", email="a@bc.ou", name="Ada") is None


def test_a_password_is_judged_by_the_person_whose_it_is() -> None:
    assert passwords.password_weakness("m0ntgom3ry123", email="m@example.org", name="Montgomery") is not None
    assert passwords.password_weakness("wh1ffl3tr33s", email="m@example.org", name="Whiffletrees") is not None
    assert passwords.password_weakness("wh1ffl3tr33s", email="m@example.org", name="Ada") is None


def test_what_is_estimated_at_once_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate of 72 signs that may all stand for letters takes seconds."""
    lengths: list[int] = []

    def noted(password: str, **_: Any) -> dict[str, float]:
        lengths.append(len(password))
        return {"guesses": 1.0}

    monkeypatch.setattr(zxcvbn, "zxcvbn", noted)
    assert passwords.password_weakness("4@8({[<369!1|07+$5%2" * 50, email="m@example.org", name="Ada") is not None
    assert max(lengths) <= 32
    assert sum(lengths) <= 96


def test_an_account_of_before_keeps_a_password_that_would_be_refused_now(app: ServedApp) -> None:
    with app.app.state.service.db.write() as session:
        session.add(User(email="kept@example.org", name="x", password_hash=passwords.hash_password("short")))
    answer = app.caller().post("/tokens", json={"email": "kept@example.org", "password": "short"})
    assert answer.status_code == 201
