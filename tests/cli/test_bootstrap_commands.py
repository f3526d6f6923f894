"""migrate, user create, token create: directly on a database of their own."""

import sqlite3
from pathlib import Path

import pytest

from app.actions.issue_token import caller_of
from app.settings import Settings
from app.store.session import Database
from tests.cli.command import Ran, run

PASSWORD = "a long enough password"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def create(folder: Path, *more: str, email: str = "ada@example.org") -> Ran:
    words = ("--email", email, "--name", "Ada", "--password", "-", "--data-dir", folder, "--json")
    return run("user", "create", *words, *more, stdin=PASSWORD + "\n")


def test_migrating_makes_the_schema_once(folder: Path) -> None:
    first = run("migrate", "--data-dir", folder, "--json").value()
    assert first["before"] is None
    assert run("migrate", "--data-dir", folder, "--json").value() == {"before": first["after"], "after": first["after"]}
    assert "already" in run("migrate", "--data-dir", folder).out
    with sqlite3.connect(folder / "assay.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM users").fetchone() == (0,)
    database.close()


def test_a_user_is_made_in_an_empty_folder_with_a_hashed_password(folder: Path) -> None:
    made = create(folder, "--approved").value()
    assert (made["email"], made["name"], made["admin"], made["approved"]) == ("ada@example.org", "Ada", False, True)
    content = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert PASSWORD.encode() not in content
    assert b"argon2" in content


def test_a_second_account_of_one_address_is_refused(folder: Path) -> None:
    create(folder)
    again = create(folder, email="ADA@example.org")
    assert (again.status, again.value()["code"]) == (1, "email_taken")


def test_a_token_works_as_long_and_as_far_as_asked(folder: Path) -> None:
    made = create(folder, "--admin").value()
    words = ("token", "create", "--email", "ada@example.org", "--data-dir", folder)
    ran = run(*words, "--scope", "read", "--scope", "admin", "--days", "1", "--json")
    token = ran.value()
    assert token["scopes"] == ["read", "admin"]
    database = Database(Settings(data_dir=folder))
    with database.read() as session:
        caller = caller_of(session, token["token"])
    database.close()
    assert (caller.user_id, caller.rules_site) == (made["id"], True)
    plain = run(*words).out
    assert plain.startswith("assay_")
    assert plain.count("\n") == 1


def test_a_token_for_nobody_is_refused(folder: Path) -> None:
    run("migrate", "--data-dir", folder)
    ran = run("token", "create", "--email", "nobody@example.org", "--data-dir", folder, "--json")
    assert (ran.status, ran.value()["code"]) == (1, "not_found")


def test_rights_beyond_the_account_are_refused(folder: Path) -> None:
    create(folder)
    words = ("--email", "ada@example.org", "--scope", "admin", "--data-dir", folder)
    assert run("token", "create", *words).status == 1


def test_a_short_password_is_wrong_usage(folder: Path) -> None:
    words = ("--email", "a@example.org", "--name", "A", "--password", "-", "--data-dir", folder)
    assert run("user", "create", *words, stdin="short\n").status == 2
    assert not folder.exists()


def test_a_password_that_is_asked_for_is_asked_twice(folder: Path) -> None:
    words = ("--email", "a@example.org", "--name", "A", "--data-dir", folder)
    assert run("user", "create", *words, stdin=f"{PASSWORD}\n{PASSWORD}\n").status == 0


def test_a_wrong_setting_is_named_without_its_value(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SIGNUP", "hunter2")
    ran = run("migrate", "--data-dir", folder, "--json")
    assert ran.status == 1
    assert "ASSAY_SIGNUP" in ran.value()["detail"]
    assert "hunter2" not in ran.out + ran.err
