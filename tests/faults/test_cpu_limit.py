"""Files that take too much CPU time to read or to score, or at which the scoring program breaks off."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.store.tables import QuotaEntry, ScoreTask
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import Caller, open_challenge
from tests.worker.endless_scoring import ABORT_ON_READING, ENDLESS_READING, ENDLESS_SCORING, RAISE_ON_READING

LIMIT = 0.25
MAIN = "/challenges/pets/phases/main"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """A service whose children never end with certain files."""
    settings = app_settings(tmp_path_factory.mktemp("cpu") / "data", scoring_cpu=LIMIT, crash_cap=2)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("app.worker.process_pool.SCORING_PROCESS_MODULE", "tests.worker.endless_scoring")
        with serve_app(settings) as app:
            quota = {"invalid_per_day": 1}
            open_challenge(app.admin(), "pets", GOLD, phases=[{"name": "main", "quota": quota}])
            yield app


@pytest.fixture
def member(service: ServedApp) -> Caller:
    """The only member of a new team."""
    account = {"email": f"{secrets.token_hex(4)}@example.org", "password": "a long password"}
    service.admin().post("/users", json={"name": "Blue", **account}).raise_for_status()
    caller = service.caller(service.caller().post("/tokens", json=account).raise_for_status().json()["token"])
    return caller.join("pets", account["email"])


def post_json(caller: Caller, path: str, content: Any, *, before: bytes, **query: str) -> httpx.Response:
    """Send JSON that begins with white space."""
    headers = {"Content-Type": "application/json", "Prefer": "wait=60"}
    return caller.post(path, content=before + json.dumps(content).encode(), params=query, headers=headers)


def task_and_ledger(service: ServedApp, submission: str) -> tuple[ScoreTask, list[tuple[str, str]]]:
    """The task of a submission, and what the ledger says of it."""
    entries = select(QuotaEntry.kind, QuotaEntry.reason).filter_by(submission_id=submission).order_by(QuotaEntry.id)
    with service.app.state.service.db.read() as session:
        task = session.scalars(select(ScoreTask).filter_by(submission_id=submission)).one()
        return task, [(row[0], row[1]) for row in session.execute(entries)]


def assert_too_large(answer: dict[str, Any]) -> None:
    """The one problem says which limit was met, how large it is, and how to mend it."""
    assert answer["total"] == {"too_large": 1}
    (problem,) = answer["problems"]
    assert f"{LIMIT:g} s of CPU time" in problem["message"]
    assert "Remove everything" in problem["message"]
    assert "ASSAY_SCORING_CPU" in problem["message"]


def test_a_file_that_takes_too_long_to_read_is_rejected_at_its_first_try_and_counts_as_invalid(
    service: ServedApp, member: Caller
) -> None:
    body = post_json(member, f"{MAIN}/submissions", CORRECT_PREDICTIONS, before=ENDLESS_READING).json()
    assert body["status"] == "rejected", body
    assert_too_large(body)
    assert body["failure"] is None
    task, ledger = task_and_ledger(service, body["id"])
    assert (task.status, task.attempt, task.crashes) == ("done", 1, 0)
    assert ledger == [("reserve", "admitted"), ("refund", "rejected")]
    refused = member.submit("pets", CORRECT_PREDICTIONS)
    assert (refused.status_code, refused.json()["quota"]) == (429, "invalid_per_day")


def test_a_dry_run_and_an_upload_of_gold_get_the_same_answer(service: ServedApp, member: Caller) -> None:
    dry = post_json(member, f"{MAIN}/submissions", CORRECT_PREDICTIONS, before=ENDLESS_READING, dry_run="true")
    assert dry.status_code == 200, dry.text
    assert dry.json()["valid"] is False
    assert_too_large(dry.json())
    gold = post_json(service.admin(), f"{MAIN}/gold", GOLD, before=ENDLESS_READING)
    assert (gold.status_code, gold.json()["code"]) == (422, "invalid_gold"), gold.text
    assert_too_large(gold.json())
    assert (
        member.post(f"{MAIN}/submissions", json=CORRECT_PREDICTIONS, params={"dry_run": "true"}).json()["valid"] is True
    )


def test_a_limit_met_in_scoring_fails_at_the_first_try_uncharged_but_counted_as_invalid(
    service: ServedApp, member: Caller
) -> None:
    body = post_json(member, f"{MAIN}/submissions", CORRECT_PREDICTIONS, before=ENDLESS_SCORING).json()
    assert body["status"] == "failed", body
    assert body["failure"]["code"] == "cpu_limit"
    task, ledger = task_and_ledger(service, body["id"])
    assert (task.attempt, task.crashes) == (1, 1)
    assert ledger == [("reserve", "admitted"), ("refund", "cpu_limit")]
    used = member.get(f"{MAIN}/quota").json()["used"]
    assert used == {"per_day": 0, "total": 0, "concurrent": 0, "invalid_per_day": 1}
    refused = member.submit("pets", CORRECT_PREDICTIONS)
    assert (refused.status_code, refused.json()["quota"]) == (429, "invalid_per_day")


@pytest.mark.parametrize("before", [ABORT_ON_READING, RAISE_ON_READING])
def test_a_file_at_which_the_program_breaks_off_is_tried_again_uncharged_but_counts_as_invalid(
    service: ServedApp, member: Caller, before: bytes
) -> None:
    dry = post_json(member, f"{MAIN}/submissions", CORRECT_PREDICTIONS, before=before, dry_run="true")
    assert (dry.status_code, dry.json()["code"]) == (422, "invalid_content")
    assert "crashed on this one" in dry.json()["detail"]
    body = post_json(member, f"{MAIN}/submissions", CORRECT_PREDICTIONS, before=before).json()
    assert (body["status"], body["failure"]["code"]) == ("failed", "aborted")
    task, ledger = task_and_ledger(service, body["id"])
    assert (task.attempt, task.crashes) == (2, 2)
    assert ledger == [("reserve", "admitted"), ("refund", "aborted")]
    refused = member.submit("pets", CORRECT_PREDICTIONS)
    assert (refused.status_code, refused.json()["quota"]) == (429, "invalid_per_day")
