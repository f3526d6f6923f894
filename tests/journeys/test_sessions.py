"""Sessions of browsers: opened after a log-in, rotated, ended by the user or with the access of the account."""

from datetime import timedelta

import pytest

from app import errors
from app.actions.accounts.log_in import VerifiedPassword, find_login_account
from app.actions.accounts.sessions import authenticate_session, end_session, open_session
from app.store.tables import UserSession
from tests.journeys.support import People, write_session_of
from tests.live_service import PASSWORD, Caller

NEW_PASSWORD = "sieben Zwerge trinken Tee"


def open_one(people: People, person: Caller) -> str:
    """The text of a new session, as a log-in page would open it."""
    with write_session_of(people.live) as session:
        account = find_login_account(session, person.email, "a block")
        assert account is not None
        return open_session(session, VerifiedPassword(account, "a block"))[1]


def is_live(people: People, text: str) -> bool:
    with write_session_of(people.live) as session:
        try:
            return authenticate_session(session, text).user_id is not None
        except errors.Unauthorized:
            return False


def test_a_session_acts_for_its_user_until_it_is_ended(people: People) -> None:
    person = people.live.person("Browser")
    text = open_one(people, person)
    with write_session_of(people.live) as session:
        caller = authenticate_session(session, text)
        assert (caller.email, sorted(caller.scopes)) == (person.email.lower(), ["organize", "read", "submit"])
        row = session.get_one(UserSession, text.partition(".")[0])
        assert row.expires_at - row.created_at == timedelta(days=30)
        assert text.partition(".")[2] not in row.secret_hash
    with write_session_of(people.live) as session:
        end_session(session, text)
    assert not is_live(people, text)
    assert not is_live(people, f"{text}x")
    assert not is_live(people, "")


def test_an_expired_session_is_none(people: People) -> None:
    text = open_one(people, people.live.person("Sleeper"))
    with write_session_of(people.live) as session:
        row = session.get_one(UserSession, text.partition(".")[0])
        row.expires_at = row.created_at
    assert not is_live(people, text)


def test_a_new_password_and_a_disabling_end_all_sessions(people: People) -> None:
    person = people.live.person("Ender")
    user = str(person.get("/me").json()["id"])
    text = open_one(people, person)
    with write_session_of(people.live) as session:
        account = find_login_account(session, person.email, "a block")
    assert account is not None
    assert person.post("/me/password", json={"current": PASSWORD, "new": NEW_PASSWORD}).status_code == 204
    assert not is_live(people, text)
    with write_session_of(people.live) as session, pytest.raises(errors.WrongPassword):
        open_session(
            session, VerifiedPassword(account, "a block")
        )  # the former password, which was checked before the change
    text = open_one(people, person)
    disabled = people.admin.patch(f"/users/{user}", json={"disabled": True, "reason": "A test"})
    assert disabled.status_code == 200
    assert not is_live(people, text)
    with pytest.raises(errors.AccountDisabled):
        open_one(people, person)
    assert people.admin.patch(f"/users/{user}", json={"disabled": False}).status_code == 200
    assert not is_live(people, text)
