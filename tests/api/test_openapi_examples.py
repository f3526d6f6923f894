"""The examples of the OpenAPI document are what the service takes and answers: its challenge about pets, played."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from app.api.openapi import examples
from tests.api.in_process_app import ServedApp, openapi_document
from tests.live_service import MAX_WAIT_SECONDS, Caller

DOCUMENT: dict[str, Any] = openapi_document()
MAIN = "/challenges/pets/phases/main"
VARYING = {
    "id",
    "submission",
    "created_at",
    "opens_at",
    "opens_at_local",
    "activated_at",
    "as_of",
    "submitted_at",
    "timings",
    "submission_id",
    "day",
    "reset_at",
    "reset_at_local",
}


COMPUTED_LATER = {"low", "high", "interval", "rank_low", "rank_high", "tie_group", "significance"}
COMPUTED_LATER |= {"draw_seed", "commitment"}
"""Intervals and rank sets, which come some time after the scores, and what is random."""


def steady(value: Any) -> Any:
    """A reply without what differs each time: ids and moments."""
    if isinstance(value, dict):
        return {
            key: steady(item) if key not in VARYING else "…" for key, item in value.items() if key not in COMPUTED_LATER
        }
    return [steady(item) for item in value] if isinstance(value, list) else value


def sent_to(path: str) -> list[tuple[str, Any]]:
    """Media type and value of each request example of a route."""
    body = DOCUMENT["paths"][f"/api/v1/challenges/{{slug}}/phases/{{phase}}/{path}"]["post"]["requestBody"]
    return [
        (media, each["value"]) for media, one in body["content"].items() for each in one.get("examples", {}).values()
    ]


def as_body(media: str, value: Any) -> dict[str, Any]:
    if media == "multipart/form-data":
        return {"files": {name: ("predictions.json", text) for name, text in value.items()}}
    return {"json": value} if media == "application/json" else {"content": value, "headers": {"Content-Type": media}}


def stored(name: Mapping[str, Any]) -> dict[str, Any]:
    """The very bytes that a download shows, to be sent."""
    text = name["application/octet-stream"]["file"]["value"]
    return {"content": text, "headers": {"Content-Type": "application/json", "Prefer": "wait=60"}}


def first(shape: str) -> Any:
    return DOCUMENT["components"]["schemas"][shape]["examples"][0]


@pytest.fixture(scope="module")
def ada(app: ServedApp) -> Caller:
    """She registers for the challenge that the document tells of, after its gold came in every format shown."""
    admin, ada = app.admin(), app.caller()
    admin.post("/challenges", json=first("NewChallenge")).raise_for_status()
    admin.post(f"{MAIN}/gold", **stored(examples.STORED_GOLD)).raise_for_status()
    for media, value in sent_to("gold"):
        uploaded = admin.post(f"{MAIN}/gold", **as_body(media, value))
        assert uploaded.status_code == 201, uploaded.text
    admin.post(f"{MAIN}/gold/1/activate").raise_for_status()
    ada.post("/users", json=first("NewUser")).raise_for_status()
    token = ada.post("/tokens", json=first("NewToken")).json()["token"]
    ada.headers["Authorization"] = f"Bearer {token}"
    return ada


@pytest.fixture(scope="module")
def replies(app: ServedApp, ada: Caller) -> Mapping[str, Any]:
    """What the service answers, by the name of the shape in the document."""
    registration = ada.post("/challenges/pets/registrations", json=first("NewRegistration"))
    sent = ada.post(f"{MAIN}/submissions", params={"method": "guess"}, **stored(examples.STORED_PREDICTIONS))
    labels = examples.PREDICTED_LABELS | {"t1": "cow"}
    wrong = {"predictions": [{"id": name, "label": label} for name, label in labels.items()]}
    return {
        "RegistrationShape": registration.json(),
        "PostedSubmission": sent.json(),
        "SubmissionShape": ada.get(f"/submissions/{sent.json()['id']}").json(),
        "DryRun": ada.post(f"{MAIN}/submissions", params={"dry_run": "true"}, json=wrong).json(),
        "GoldShape": app.admin().get(f"{MAIN}/gold/1").json(),
        "ChallengeShape": ada.get("/challenges/pets").json(),
        "PhaseShape": ada.get(MAIN).json(),
        "QuotaShape": ada.get(f"{MAIN}/quota").json(),
        "Board": ada.board("pets").json(),
        "MetricShape": ada.get("/metrics/f1_macro").json(),
        "Readiness": httpx.get(f"{app.url}/readyz", timeout=MAX_WAIT_SECONDS).json(),
        "Health": httpx.get(f"{app.url}/healthz", timeout=MAX_WAIT_SECONDS).json(),
    }


def test_replies_are_as_the_document_shows_them(replies: Mapping[str, Any]) -> None:
    for name, reply in replies.items():
        assert steady(reply) == steady(first(name)), name


def test_every_prediction_file_shown_is_valid(ada: Caller, replies: Mapping[str, Any]) -> None:
    for media, value in sent_to("submissions"):
        answer = ada.post(f"{MAIN}/submissions", params={"dry_run": "true"}, **as_body(media, value))
        assert answer.json()["valid"], (media, answer.text)


def test_the_templates_are_as_shown(ada: Caller) -> None:
    for media, shown in examples.TEMPLATE_FILE.items():
        for name, each in shown.items():
            answer = ada.get(f"{MAIN}/template", params={"format": name})
            assert answer.headers["content-type"].partition(";")[0] == media
            assert (answer.json() if media == "application/json" else answer.text) == each["value"]


def test_the_csv_board_is_as_shown(ada: Caller, replies: Mapping[str, Any]) -> None:
    route = DOCUMENT["paths"]["/api/v1/challenges/{slug}/phases/{phase}/leaderboard"]["get"]
    shown = route["responses"]["200"]["content"]["text/csv"]["examples"]["board"]["value"]
    head, row = ada.board("pets", format="csv").text.splitlines()
    shown_head, shown_row = shown.splitlines()
    assert head == shown_head
    varying = {"submission", "submitted_at", "rank_low", "rank_high", "tie_group"}
    varying |= {name for name in head.split(",") if name.endswith((" low", " high"))}
    cells = zip(head.split(","), row.split(","), shown_row.split(","), strict=True)
    assert all(name in varying or one == other for name, one, other in cells)


def test_the_report_is_as_shown(app: ServedApp, ada: Caller, replies: Mapping[str, Any]) -> None:
    sent = replies["SubmissionShape"]["id"]
    found = ada.get(f"/submissions/{sent}/report").json()
    assert found | {"submission": ""} == examples.REPORT["application/json"]["scores"]["value"] | {"submission": ""}
    params = {"format": "csv", "part": "confusion"}
    table = app.admin().get(f"/submissions/{sent}/report", params=params).text
    assert table == examples.REPORT["text/csv"]["confusion"]["value"]
