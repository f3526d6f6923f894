"""Refusals at the command line: advice names commands, facts are in words, and the object of the request is named."""

import re
from pathlib import Path
from typing import Any

import pytest

import app.main  # all errors are known once the service is loaded
from app.cli.connection import remember_token
from app.cli.terminal.error_advice import ADVICE, FailedRequest, explain_problem
from app.errors import AssayError, NotFound
from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer
from tests.error_classes import error_classes

SUBMISSIONS = "POST /api/v1/challenges/irony/submissions"
SPEAKS_HTTP = re.compile(r"\b(GET|POST|PUT|DELETE|PATCH)\b|/api/v1|\?\w|Authorization|Retry-After|Idempotency|/docs")
CODES: dict[str, type[AssayError]] = {kind.code: kind for kind in error_classes()}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    path.write_text('{"t1": "a"}')
    return path


def test_no_advice_speaks_of_requests() -> None:
    assert app.main
    wrong = []
    for with_token in (True, False):
        request = FailedRequest("http://here", "/challenges/irony/phases/main/submissions", with_token)
        for code, kind in CODES.items():
            remedy = explain_problem({"code": code, "detail": "d", "remedy": kind.remedy}, request)["remedy"]
            if SPEAKS_HTTP.search(remedy) or "{" in remedy:
                wrong.append((code, remedy))
    assert wrong == []
    assert len(CODES) > 100


@pytest.mark.parametrize(("with_token", "named"), [(True, "assay submissions SLUG"), (False, "assay login")])
def test_an_unknown_submission_is_answered_with_where_ids_are(with_token: bool, named: str) -> None:
    request = FailedRequest("http://here", "/submissions/deadbeef/receipt", with_token)
    told = explain_problem({"code": "not_found", "detail": NotFound().detail, "remedy": NotFound.remedy}, request)
    assert told["detail"] == "There is no submission 'deadbeef' at http://here that is visible to you."
    assert "32 characters" in told["remedy"]
    assert named in told["remedy"]


def test_the_remedy_of_a_single_error_is_more_exact_than_the_advice() -> None:
    said = {"code": "bad_request", "detail": "'as_of' is not a time.", "remedy": "Write it like this."}
    assert explain_problem(said)["remedy"] == "Write it like this."


def test_advice_is_for_codes_that_exist() -> None:
    known = {*CODES, "which_phase"}
    assert {key.partition("+")[0] for key in ADVICE} <= known


@pytest.mark.parametrize(
    ("document", "headers", "parts"),
    [
        ({"code": "not_registered"}, {}, ["assay register irony --team NAME"]),
        ({"code": "unauthorized"}, {}, ["assay login"]),
        (
            {"code": "insufficient_scope"},
            {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="organize"'},
            ["--scope organize"],
        ),
        ({"code": "several_open_phases", "phases": ["dev", "test"]}, {}, ["--phase: dev, test"]),
        ({"code": "no_open_phase", "opens_at": "2026-05-01T00:00:00+00:00"}, {}, ["Opens at 2026-05-01 00:00:00 UTC."]),
        (
            {"code": "no_open_phase", "opens_at": "2026-05-01T00:00:00Z", "closes_at": "2026-06-01T00:00:00Z"},
            {},
            ["Open from 2026-05-01 00:00:00 UTC to 2026-06-01 00:00:00 UTC."],
        ),
        (
            {"code": "registration_barred", "reason": "two accounts", "remedy": "Ask them."},
            {},
            ["Reason: two accounts"],
        ),
        ({"code": "wrong_password"}, {}, ["To create an account: assay signup."]),
        ({"code": "selection_full", "selected": ["s1", "s2"]}, {}, ["Selected now: s1, s2.", "assay unselect ID"]),
        ({"code": "not_releasable"}, {}, ["assay phase release irony --phase"]),
        ({"code": "rate_limited"}, {"Retry-After": "7"}, ["7 seconds"]),
        ({"code": "unforeseen", "remedy": "Do what the service says."}, {}, ["Do what the service says."]),
        (
            {
                "code": "quota_exceeded",
                "quota": "per_day",
                "limit": 5,
                "used": 5,
                "reset_at": "2026-01-02T00:00:00+01:00",
            },
            {},
            ["Resets at 2026-01-01 23:00:00 UTC.", "assay quota irony"],
        ),
    ],
    ids=lambda value: value.get("code", "") if isinstance(value, dict) else "",
)
def test_a_refusal_says_what_helps_and_stays_as_it_is_under_json(
    service: ScriptedServer, mine: Path, document: dict[str, Any], headers: dict[str, str], parts: list[str]
) -> None:
    whole = {"status": 403, "detail": "It is refused.", "remedy": "Send GET /api/v1/x.", **document}
    service.on(SUBMISSIONS, ScriptedAnswer(403, whole, headers))
    ran = run_assay("submit", "irony", "-f", mine, "--url", service.url)
    assert (ran.status, ran.out) == (1, "")
    for part in ("Error: It is refused.", *parts):
        assert part in ran.err
    assert "GET" not in ran.err
    as_json = run_assay("submit", "irony", "-f", mine, "--url", service.url, "--json")
    assert (as_json.status, as_json.value()) == (1, whole)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["challenge", "show", "nope"], "There is no challenge 'nope' at {url} that is visible to you."),
        (["submission", "a b"], "There is no submission 'a b' at {url} that is visible to you."),
        (
            ["quota", "nope", "--phase", "x"],
            "There is no phase 'x' in challenge 'nope' at {url} that is visible to you.",
        ),
    ],
)
def test_what_is_not_found_is_named(service: ScriptedServer, words: list[str], named: str) -> None:
    ran = run_assay(*words, "--url", service.url)
    assert f"Error: {named.format(url=service.url)}" in ran.err
    assert "assay login" in ran.err
    assert "this token" not in ran.err
    remember_token(service.url, "mine")
    assert "assay login" not in run_assay(*words, "--url", service.url).err


def test_an_unknown_phase_is_answered_with_those_that_there_are(service: ScriptedServer) -> None:
    known = {"code": "not_found", "status": 404, "detail": "The challenge 'pets' has no phase 'tset'."}
    service.on(
        "GET /api/v1/challenges/pets/phases/tset/quota", ScriptedAnswer(404, known | {"known_phases": ["dev", "test"]})
    )
    ran = run_assay("quota", "pets", "--phase", "tset", "--url", service.url)
    assert "Error: The challenge 'pets' has no phase 'tset'." in ran.err
    assert "Specify the phase with --phase: dev, test." in ran.err


@pytest.mark.parametrize("remedy", [NotFound.remedy, "Ask them to sign up first."])
def test_what_the_service_names_as_missing_is_not_taken_for_the_challenge(service: ScriptedServer, remedy: str) -> None:
    missing = {"code": "not_found", "detail": "There is no account with the address a@example.org.", "remedy": remedy}
    service.on("POST /api/v1/challenges/pets/organizers", ScriptedAnswer(404, missing))
    ran = run_assay("organizer", "add", "pets", "a@example.org", "--url", service.url)
    told = "Check the name or id." if remedy == NotFound.remedy else remedy
    assert ran.err.splitlines() == [f"Error: {missing['detail']}", told]


def test_each_fault_is_listed_once(service: ScriptedServer, tmp_path: Path) -> None:
    description = tmp_path / "challenge.yaml"
    description.write_text("slug: Irony\n")
    faults = [{"pointer": "/slug", "detail": "must be small letters"}, {"pointer": "/title", "detail": "is missing"}]
    detail = "The request body is not valid: " + "; ".join(f"{one['pointer']}: {one['detail']}" for one in faults) + "."
    document = {"code": "invalid_request", "detail": detail, "remedy": "See /docs.", "errors": faults}
    service.on("POST /api/v1/challenges", ScriptedAnswer(422, document))
    ran = run_assay("challenge", "create", "-f", description, "--url", service.url)
    assert ran.err.splitlines()[:3] == [
        "Error: The request body is not valid:",
        "  /slug: must be small letters",
        "  /title: is missing",
    ]
