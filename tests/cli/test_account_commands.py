"""Signing up, logging in and out, and the token that is remembered meanwhile."""

import json
import stat
from pathlib import Path

import pytest

from app.cli.connection import credentials_path, remember_token, resolve_url_and_token
from app.cli.terminal.output import CommandError
from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer

SUBMISSION = {"id": "s1", "status": "finished", "scores": {"f1": {"value": 0.75}}}


def test_logging_in_keeps_a_token_that_only_its_owner_can_read(service: ScriptedServer) -> None:
    service.on("POST /api/v1/tokens", ScriptedAnswer(201, {"id": "k1", "token": "assay_k1.secret"}))
    service.on("GET /api/v1/me", ScriptedAnswer(200, {"id": "u1", "name": "Ada"}))
    words = ("--email", "ada@example.org", "--password", "-", "--url", service.url)
    ran = run_assay("login", *words, stdin="a long password\n")
    assert ran.status == 0
    assert "secret" not in ran.out + ran.err
    assert json.loads(service.requests[0].body) == {"email": "ada@example.org", "password": "a long password"}
    assert stat.S_IMODE(credentials_path().stat().st_mode) == 0o600
    assert resolve_url_and_token(None, None) == (service.url, "assay_k1.secret")
    assert [path.name for path in credentials_path().parent.iterdir()] == ["credentials"]


def test_a_token_from_standard_input_is_tried_and_kept(service: ScriptedServer) -> None:
    service.on("GET /api/v1/me", ScriptedAnswer(200, {"id": "u1", "email": "ada@example.org"}))
    ran = run_assay("login", "--token", "-", "--url", service.url, "--json", stdin="assay_k2.secret\n")
    assert ran.value()["user"]["id"] == "u1"
    assert service.requests[0].headers["authorization"] == "Bearer assay_k2.secret"
    assert resolve_url_and_token(service.url, None) == (service.url, "assay_k2.secret")


def test_a_token_that_is_not_accepted_is_not_kept(service: ScriptedServer) -> None:
    service.on("GET /api/v1/me", ScriptedAnswer(401, {"code": "unauthorized", "detail": "no"}))
    assert run_assay("login", "--token", "-", "--url", service.url, stdin="x\n").status == 1
    assert not credentials_path().exists()


def test_a_kept_token_goes_to_its_own_service_only(service: ScriptedServer) -> None:
    remember_token("http://elsewhere.example", "theirs")
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, SUBMISSION))
    run_assay("submission", "s1", "--url", service.url)
    assert "authorization" not in service.requests[0].headers


def test_several_logins_are_kept_and_the_last_is_the_default() -> None:
    remember_token("http://one.example/", "t1")
    remember_token("http://two.example/api/v1", "t2")
    assert resolve_url_and_token(None, None) == ("http://two.example", "t2")
    assert resolve_url_and_token("http://one.example", None) == ("http://one.example", "t1")


def test_environment_goes_before_the_file_and_options_before_both(
    service: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_token("http://elsewhere.example", "kept")
    monkeypatch.setenv("ASSAY_URL", service.url)
    monkeypatch.setenv("ASSAY_TOKEN", "from-environment")
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, SUBMISSION))
    run_assay("submission", "s1")
    run_assay("submission", "s1", "--token", "from-option")
    sent = [request.headers["authorization"] for request in service.requests]
    assert sent == ["Bearer from-environment", "Bearer from-option"]


def test_a_file_that_others_can_read_is_warned_about(service: ScriptedServer) -> None:
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, SUBMISSION))
    remember_token(service.url, "kept")
    assert "chmod 600" not in run_assay("submission", "s1").err
    credentials_path().chmod(0o644)
    assert "chmod 600" in run_assay("submission", "s1").err


@pytest.mark.parametrize("text", ["{", "[]", '{"tokens": []}'])
def test_a_broken_credentials_file_is_explained(text: str) -> None:
    credentials_path().parent.mkdir(parents=True)
    credentials_path().write_text(text)
    with pytest.raises(CommandError, match="assay login"):
        resolve_url_and_token(None, None)
    assert run_assay("submission", "s1").status == 1


def test_a_relative_configuration_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert credentials_path() == Path.home() / ".config" / "assay" / "credentials"


def test_signing_up_makes_an_account_and_logs_in(service: ScriptedServer) -> None:
    service.on("POST /api/v1/users", ScriptedAnswer(201, {"id": "u1"}))
    service.on("POST /api/v1/tokens", ScriptedAnswer(201, {"id": "k1", "token": "assay_k1.secret"}))
    service.on("GET /api/v1/me", ScriptedAnswer(200, {"id": "u1", "name": "Ada"}))
    words = ("--email", "ada@example.org", "--name", "Ada", "--password", "-", "--url", service.url)
    assert "as Ada" in run_assay("signup", *words, stdin="a long password\n").out
    assert json.loads(service.requests[0].body) == {
        "email": "ada@example.org",
        "name": "Ada",
        "password": "a long password",
    }
    assert resolve_url_and_token(None, None) == (service.url, "assay_k1.secret")


@pytest.mark.parametrize(
    "words",
    [
        ["signup", "--name", "Ada", "--password", "-"],
        ["signup", "--email", "ada@example.org", "--password", "-"],
        ["signup", "--email", "ada@example.org", "--name", "Ada"],
        ["signup", "--email", "ada@example.org", "--name", "Ada", "--password", "in plain sight"],
        ["login"],
        ["login", "--email", "ada@example.org"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_for_has_to_be_given(service: ScriptedServer, words: list[str]) -> None:
    ran = run_assay(*words, "--url", service.url, stdin="a long password\n")
    assert (ran.status, service.requests) == (2, [])
    assert "Warning" not in ran.err


def test_logging_out_revokes_the_token_and_forgets_it(service: ScriptedServer) -> None:
    remember_token(service.url, "assay_k1.secret")
    service.on("DELETE /api/v1/tokens/k1", ScriptedAnswer(204, ""))
    assert run_assay("logout", "--json").value() == {"url": service.url, "revoked": True}
    assert service.requests[0].headers["authorization"] == "Bearer assay_k1.secret"
    assert resolve_url_and_token(None, None) == (service.url, None)
    assert run_assay("logout", "--json").value()["code"] == "not_logged_in"


@pytest.mark.parametrize("token", ["the administrator's own", "assay_expired.secret"])
def test_a_token_that_cannot_be_revoked_is_forgotten_all_the_same(service: ScriptedServer, token: str) -> None:
    remember_token(service.url, token)
    service.on("DELETE /api/v1/tokens/expired", ScriptedAnswer(401, {"code": "unauthorized"}))
    assert run_assay("logout", "--json").value() == {"url": service.url, "revoked": False}
    assert resolve_url_and_token(None, None) == (service.url, None)
