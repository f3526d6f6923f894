"""What the log of a service holds, and what it never does."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from tests.faults.inspection import GOLD
from tests.live_service import MAX_WAIT_SECONDS, ROOT, Live, open_challenge

PASSWORD = "marker-of-the-password"
PAYLOAD = "marker-of-the-payload"
ABOUT = "marker-of-the-description"
WRONG = "assay_" + "0" * 32 + ".marker-of-a-wrong-token"


def play(live: Live) -> tuple[list[str], dict[str, Any], str]:
    """Somebody signs up, logs in, sends a file, and errs; gives secrets, the submission and its request's id."""
    open_challenge(live.admin(), "pets", GOLD)
    body = {"email": "marker@example.org", "name": "Marker", "password": PASSWORD}
    live.caller().post("/users", json=body).raise_for_status()
    assert live.caller().post("/users", json=body).status_code == 409
    assert live.caller().post("/tokens", json=body | {"password": PASSWORD + "x"}).status_code in {401, 422}
    token = live.caller().post("/tokens", json={"email": body["email"], "password": PASSWORD}).json()["token"]
    person = live.caller(token).join("pets", "Blue")
    assert live.caller(WRONG).get("/me").status_code == 401
    predictions = {row["id"]: row["label"] for row in GOLD} | {"t0": PAYLOAD}
    answer = person.submit("pets", predictions, method=ABOUT, description=ABOUT)
    assert answer.json()["status"] == "rejected"
    broken = person.post("/challenges/pets/phases/main/submissions", content=PAYLOAD, params={"dry_run": "true"})
    assert broken.status_code >= 200
    httpx.get(f"{live.url}/api/v1/challenges", params={"limit": PAYLOAD}, timeout=MAX_WAIT_SECONDS)
    return [PASSWORD, PAYLOAD, ABOUT, WRONG, token, live.admin_token], answer.json(), answer.headers["x-request-id"]


def test_the_log_ties_each_request_and_scoring_together_and_holds_no_secret(tmp_path: Path) -> None:
    live = Live(tmp_path / "data", log_format="json").start()
    secrets, submission, request = play(live)
    right = {row["id"]: row["label"] for row in GOLD}
    following = [live.admin().submit("pets", right, team="Red").json()["id"] for _ in range(2)]  # by the same slot
    live.stop()
    text = live.log()
    assert [each for each in secrets if each in text] == []
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        assert {"event", "level", "timestamp", "process"} <= line.keys(), line
        datetime.fromisoformat(line["timestamp"])
    of_request = {line["event"]: line for line in lines if line.get("request") == request}
    assert {"submission_stored", "request"} <= of_request.keys()
    assert {line["submission"] for line in of_request.values()} == {submission["id"]}
    done = [line for line in lines if line["event"] == "task_done"]
    assert [line["submission"] for line in done] == [submission["id"], *following]
    assert {(line["attempt"], line["settled"]) for line in done} == {(1, True)}
    refused = [line for line in lines if line["event"] == "request" and line["status"] >= 400]
    assert {"unauthorized", "bad_request"} <= {line["code"] for line in refused}
    assert all("submission" not in line for line in lines if line["event"] == "request" and line["method"] == "GET")
    (listening,) = [line for line in lines if line["event"] == "listening"]
    assert listening["address"] == live.url


def test_lines_for_people_show_where_it_went_wrong_and_no_value_of_a_variable() -> None:
    program = """
import structlog
from app.runtime import logging_setup
from app.settings import Settings

logging_setup.configure(Settings(log_format="console"))
def connect(address):
    try:
        raise RuntimeError("what went wrong")
    except RuntimeError:
        structlog.get_logger().exception("engine_failed")
connect(":".join(["marker-of-the", "password"]))
structlog.get_logger().info("request", path="/\\x1b]0;title\\x07")
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "what went wrong" in ran.stderr
    assert "in connect" in ran.stderr
    assert "marker-of-the:password" not in ran.stderr
    assert r"/\x1b]0;title\x07" in ran.stderr  # or a visitor would control the terminal of the operator
