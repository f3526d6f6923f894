"""migrate, user create, token create: directly on a database of their own."""

import os
import pty
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from app.actions.accounts.bootstrap import first_log_in_advice
from app.actions.accounts.issue_token import authenticate_token
from app.cli.serve import load_settings
from app.runtime.data_folder import lock_data_folder
from app.settings import Settings
from app.store.session import Database
from tests.cli.run_command import CommandResult, run_assay
from tests.live_service import MAX_WAIT_SECONDS
from tests.migrated_databases import create_migrated_sqlite

PASSWORD = "a long enough password"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for data that is not there yet."""
    return tmp_path / "data"


@pytest.fixture
def ready(folder: Path) -> Path:
    """A folder with an empty database."""
    create_migrated_sqlite(folder / "assay.sqlite3")
    return folder


def create(folder: Path, *more: str, email: str = "ada@example.org") -> CommandResult:
    words = ("--email", email, "--name", "Ada", "--password", "-", "--data-dir", folder, "--json")
    return run_assay("user", "create", *words, *more, stdin=PASSWORD + "\n")


def test_migrating_makes_the_schema_once(folder: Path) -> None:
    first = run_assay("migrate", "--data-dir", folder, "--json").value()
    assert first["before"] is None
    assert run_assay("migrate", "--data-dir", folder, "--json").value() == {
        "before": first["after"],
        "after": first["after"],
    }
    assert "already" in run_assay("migrate", "--data-dir", folder).out
    with sqlite3.connect(folder / "assay.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM users").fetchone() == (0,)
    database.close()


@pytest.mark.parametrize("empty", [False, True])
def test_nothing_is_made_in_a_folder_without_a_database(folder: Path, empty: bool) -> None:
    if empty:
        folder.mkdir()
    for ran in (
        create(folder),
        run_assay("token", "create", "--email", "ada@example.org", "--data-dir", folder, "--json"),
    ):
        assert (ran.status, ran.value()["code"]) == (1, "no_database")
        assert str(folder) in ran.value()["detail"]
        assert "assay migrate" in ran.value()["remedy"]
    assert not folder.exists() if not empty else list(folder.iterdir()) == []


def test_a_user_has_a_hashed_password(ready: Path) -> None:
    made = create(ready, "--approved").value()
    assert (made["email"], made["name"], made["admin"], made["approved"]) == ("ada@example.org", "Ada", False, True)
    content = b"".join(path.read_bytes() for path in ready.iterdir() if path.is_file())
    assert PASSWORD.encode() not in content
    assert b"argon2" in content


def test_a_second_account_of_one_address_is_refused(ready: Path) -> None:
    create(ready)
    again = create(ready, email="ADA@example.org")
    assert (again.status, again.value()["code"]) == (1, "email_taken")


def test_a_token_works_as_long_and_as_far_as_asked(ready: Path) -> None:
    made = create(ready, "--admin").value()
    words = ("token", "create", "--email", "ada@example.org", "--data-dir", ready)
    ran = run_assay(*words, "--scope", "read", "--scope", "admin", "--days", "1", "--json")
    token = ran.value()
    assert token["scopes"] == ["read", "admin"]
    database = Database(Settings(data_dir=ready))
    with database.read() as session:
        caller = authenticate_token(session, token["token"])
    database.close()
    assert (caller.user_id, caller.has_admin_rights) == (made["id"], True)
    plain = run_assay(*words).out
    assert plain.startswith("assay_")
    assert plain.count("\n") == 1


def test_a_token_for_nobody_is_refused(ready: Path) -> None:
    ran = run_assay("token", "create", "--email", "nobody@example.org", "--data-dir", ready, "--json")
    assert (ran.status, ran.value()["code"]) == (1, "not_found")


def test_rights_beyond_the_account_are_refused(ready: Path) -> None:
    create(ready)
    words = ("--email", "ada@example.org", "--scope", "admin", "--data-dir", ready, "--json")
    ran = run_assay("token", "create", *words)
    assert (ran.status, ran.value()["code"]) == (1, "forbidden")


def test_a_short_password_is_wrong_usage(folder: Path) -> None:
    words = ("--email", "a@example.org", "--name", "A", "--password", "-", "--data-dir", folder)
    assert run_assay("user", "create", *words, stdin="short\n").status == 2
    assert not folder.exists()


def test_on_a_terminal_a_password_is_asked_for_twice_and_not_echoed(ready: Path) -> None:
    words = ["user", "create", "--email", "a@example.org", "--name", "A", "--data-dir", str(ready)]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", *words],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr
        said = b""
        for prompt in (b"Password: ", b"confirmation: "):  # what is typed before the question is thrown away
            while not said.endswith(prompt) and (more := process.stderr.read(1)):
                said += more
            os.write(ours, f"{PASSWORD}\n".encode())
        out, rest = process.communicate(timeout=MAX_WAIT_SECONDS)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, said + rest
    assert b"Created a@example.org" in out
    assert b"Warning" not in said + rest
    assert PASSWORD.encode() not in said + rest + out


def test_without_a_terminal_a_password_is_to_be_given_on_standard_input(ready: Path) -> None:
    words = ("--email", "a@example.org", "--name", "A", "--data-dir", ready)
    ran = run_assay("user", "create", *words, stdin=f"{PASSWORD}\n{PASSWORD}\n")
    assert ran.status == 2
    assert "--password -" in " ".join(ran.err.replace("│", " ").split())


def test_a_wrong_setting_is_named_without_its_value(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SIGNUP", "hunter2")
    ran = run_assay("migrate", "--data-dir", folder, "--json")
    assert ran.status == 1
    assert "ASSAY_SIGNUP" in ran.value()["detail"]
    assert "hunter2" not in ran.out + ran.err


def test_the_schema_is_not_changed_under_a_service_at_work(tmp_path: Path) -> None:
    with lock_data_folder(tmp_path):
        ran = run_assay("migrate", "--data-dir", tmp_path, "--json")
    assert (ran.status, ran.value()["code"]) == (1, "already_served")
    assert run_assay("migrate", "--data-dir", tmp_path).status == 0


@pytest.mark.parametrize(
    "wrong", ["postgresql+psycopg://ada:mar@ker@db/assay", "postgresql+psycopg://ada:password@db:5a/x"]
)
def test_a_url_that_cannot_be_read_is_refused_without_a_word_of_it(
    folder: Path, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", wrong)
    ran = run_assay("migrate", "--data-dir", folder, "--json")
    assert (ran.status, ran.value()["code"]) == (1, "bad_setting")
    assert "%40" in ran.value()["detail"] + ran.value()["remedy"]
    assert "ker@" not in ran.out + ran.err
    assert "5a" not in ran.out + ran.err


def test_the_advice_for_the_first_log_in_is_a_command_that_works(ready: Path) -> None:
    command = first_log_in_advice(load_settings(data_dir=ready)).partition(": ")[2]
    given = {"ADDRESS": "you@example.org", "NAME": "You"}
    words = [given.get(word, word) for word in shlex.split(command)]
    assert words[0] == "assay"
    ran = run_assay(*words[1:], "--password", "-", "--json", stdin=PASSWORD + "\n")
    assert ran.status == 0, ran.out
    assert ran.value()["admin"] is True
