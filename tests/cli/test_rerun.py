"""assay rerun: confirmation, orders, output and exit status."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer

PATH = "/api/v1/challenges/irony/phases/main/rerun"
STATE: dict[str, Any] = {
    "id": "r1",
    "status": "running",
    "challenge": "irony",
    "phase": "main",
    "total": 3,
    "done": 1,
    "failed": 0,
    "different": 0,
    "differences": [],
    "next": {"total": 3, "seconds": 0.5},
}
DONE = STATE | {"status": "finished", "done": 3}
VALUE = {"split": "all", "metric": "f1", "stored": 0.5, "computed": 0.75}
FOUND = {"count": 2, "values": [VALUE], "refused": {}}
DIFFERENT = DONE | {"different": 1, "differences": [{"submission": "s1", **FOUND}]}
ORDER = ("rerun", "irony", "--phase", "main")


@pytest.fixture(autouse=True)
def address(service: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_URL", service.url)


def test_without_a_terminal_it_wants_to_be_told(service: ScriptedServer) -> None:
    service.on(f"GET {PATH}", ScriptedAnswer(200, STATE | {"status": "none"}))
    ended = run_assay(*ORDER)
    assert ended.status == 2
    assert "--yes" in ended.err
    assert service.sent("POST") == []


def test_an_order_is_given_and_told(service: ScriptedServer) -> None:
    service.on(f"POST {PATH}", ScriptedAnswer(202, STATE))
    ended = run_assay(*ORDER, "--yes")
    assert ended.status == 0
    assert "Rescored 1 of 3 so far." in ended.out
    assert "assay rerun irony --phase main --wait" in ended.out


@pytest.mark.parametrize(("end", "code"), [(DONE, 0), (DIFFERENT, 1), (DONE | {"failed": 1}, 1)])
def test_waiting_ends_with_what_was_found(service: ScriptedServer, end: dict[str, Any], code: int) -> None:
    service.on(f"POST {PATH}", ScriptedAnswer(202, STATE))
    service.on(f"GET {PATH}", ScriptedAnswer(200, STATE), ScriptedAnswer(200, end))
    ended = run_assay(*ORDER, "--yes", "--wait", "--json")
    assert ended.status == code
    assert json.loads(ended.out) == end
    if end is DIFFERENT:
        assert "s1 differs: f1 (all): 0.5 stored, 0.75 now; and 1 more." in ended.err


def test_the_wait_may_be_over_first(service: ScriptedServer) -> None:
    service.on(f"POST {PATH}", ScriptedAnswer(202, STATE))
    assert run_assay(*ORDER, "--yes", "--wait", "--timeout", "0").status == 3


def test_an_order_is_taken_back(service: ScriptedServer) -> None:
    service.on(f"DELETE {PATH}", ScriptedAnswer(200, STATE | {"status": "cancelled"}))
    ended = run_assay(*ORDER, "--cancel")
    assert (ended.status, ended.out) == (0, "Cancelled; 1 already rescored.\n")


def test_single_submissions_are_followed_until_they_are_done(service: ScriptedServer) -> None:
    again = {"id": "s1", "status": "finished", "rerun": {"status": "queued", "difference": None}}
    service.on("POST /api/v1/submissions/s1/rerun", ScriptedAnswer(202, again))
    service.on(
        "GET /api/v1/submissions/s1",
        ScriptedAnswer(200, again),
        ScriptedAnswer(200, again | {"rerun": {"status": "done"}}),
    )
    ended = run_assay("rerun", "irony", "--submission", "s1", "--wait")
    assert (ended.status, ended.out) == (0, "Rescored 1.\n")


def test_only_those_that_failed(service: ScriptedServer) -> None:
    rows = [{"id": "s1", "status": "finished"}, {"id": "s2", "status": "failed"}]
    service.on(
        "GET /api/v1/challenges/irony/phases/main/submissions", ScriptedAnswer(200, {"items": rows, "next": None})
    )
    service.on("POST /api/v1/submissions/s2/rerun", ScriptedAnswer(202, {"id": "s2", "status": "queued"}))
    ended = run_assay(*ORDER, "--failed")
    assert (ended.status, ended.out) == (0, "Rescored 0 of 1 so far.\n")
    assert [request.path for request in service.sent("POST")] == ["/api/v1/submissions/s2/rerun"]


def test_one_that_is_refused_keeps_no_other_from_being_scored(service: ScriptedServer) -> None:
    rows = [{"id": each, "status": "failed"} for each in ("s1", "s2")]
    service.on(
        "GET /api/v1/challenges/irony/phases/main/submissions", ScriptedAnswer(200, {"items": rows, "next": None})
    )
    beyond = {"status": 409, "code": "not_rescorable", "detail": "Used 2 of 2.", "remedy": "Raise the quota."}
    service.on("POST /api/v1/submissions/s1/rerun", ScriptedAnswer(409, beyond))
    service.on("POST /api/v1/submissions/s2/rerun", ScriptedAnswer(202, {"id": "s2", "status": "queued"}))
    ended = run_assay(*ORDER, "--failed")
    assert (ended.status, ended.out) == (1, "Rescored 0 of 1 so far.\n")
    assert "s1: Used 2 of 2. Raise the quota." in ended.err


def test_one_kind_of_order_at_a_time(service: ScriptedServer) -> None:
    assert run_assay(*ORDER, "--failed", "--cancel").status == 2
    assert service.requests == []


@pytest.mark.parametrize(("last", "code"), [({"difference": FOUND}, 1), ({"failure": "memory"}, 1), ({}, 0)])
def test_the_exit_status_is_that_of_the_last_status_of_a_rescoring(
    service: ScriptedServer, last: dict[str, Any], code: int
) -> None:
    queued = {"id": "s1", "status": "finished", "rerun": {"status": "queued"}}
    service.on("POST /api/v1/submissions/s1/rerun", ScriptedAnswer(202, queued))
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, queued | {"rerun": {"status": "done"} | last}))
    ended = run_assay("rerun", "irony", "--submission", "s1", "--wait")
    assert (ended.status, ended.out) == (code, "Rescored 1.\n")
    assert len(service.sent("GET")) == 1
