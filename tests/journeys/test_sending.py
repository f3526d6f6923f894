"""Sending predictions: waiting or not, dry runs, repetitions, and everything wrong with a file at once."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.store.tables import IdempotencyKey
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    predictions_with_hits,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.live_service import Caller, Live
from tests.settle import settle

FAULTY = [
    {"id": "t1", "label": "a"},
    {"id": "t1", "label": "a"},
    {"id": "t2", "label": "zebra"},
    {"id": "t3", "label": ""},
    {"id": "stray", "label": "b"},
]
NAMELESS = [*FAULTY, {"id": True, "label": "b"}, {"label": "b"}]


def until_final(people: People, name: str, location: str) -> dict[str, Any]:
    """What the address that an answer named says to this person in the end."""
    settle(people.live)
    found: dict[str, Any] = people[name].get(location.removeprefix("/api/v1")).json()
    return found


def uploads(live: Live) -> set[str]:
    return {path.name for path in (live.data_dir / "files" / "uploads").iterdir()}


def listed(caller: Caller, slug: str) -> list[str]:
    return [row["id"] for row in caller.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"]]


def test_without_a_wait_the_answer_is_202_and_the_address_to_follow(people: People) -> None:
    slug = create_challenge(people.admin, "no-wait")
    blue = people["Blue"].join(slug, "Blue")
    answer = blue.submit(
        slug, CORRECT_PREDICTIONS, wait=0, method="quick", description="how", link="https://example.org/x"
    )
    assert answer.status_code == 202
    sent = answer.json()
    assert answer.headers["location"] == f"/api/v1/submissions/{sent['id']}"
    assert answer.headers["retry-after"] == "1"
    assert (sent["status"], sent["scores"], sent["method"]) == ("queued", {}, "quick")
    assert sent["queue_position"] >= 1
    final = until_final(people, "Blue", answer.headers["location"])
    assert final["status"] == "finished"
    assert final["scores"]["accuracy"]["value"] == 1.0
    assert (final["attempt"], final["queue_position"], final["eta"], final["failure"]) == (1, None, None, None)
    seen = people.admin.get(f"/submissions/{sent['id']}").json()["timings"]
    moments = [datetime.fromisoformat(seen[name]) for name in ("submitted_at", "started_at", "finished_at")]
    assert moments == sorted(moments)
    assert seen["seconds_scoring"] > 0
    assert (final["description"], final["link"]) == ("how", "https://example.org/x")


def test_a_wait_answers_with_the_final_status(people: People) -> None:
    slug = create_challenge(people.admin, "wait")
    blue = people["Blue"].join(slug, "Blue")
    answer = blue.submit(slug, CORRECT_PREDICTIONS)
    assert require_finished(answer)["scores"]["f1_macro"]["value"] == 1.0
    assert answer.headers["preference-applied"] == "wait=60"
    seen = blue.get(answer.headers["location"].removeprefix("/api/v1")).json()
    assert answer.json() == seen
    rejected = blue.submit(slug, FAULTY)
    assert (rejected.status_code, rejected.json()["status"]) == (201, "rejected")
    for nonsense in ("wait=soon", "wait=-1", "wait"):
        answer = blue.post(
            f"{MAIN_PHASE_PATH.format(slug)}/submissions", json=CORRECT_PREDICTIONS, headers={"Prefer": nonsense}
        )
        require_refused(answer, 400, "bad_request")


def test_a_dry_run_finds_what_a_submission_would_and_stores_nothing(people: People) -> None:
    slug = create_challenge(people.admin, "dry-run")
    blue = people["Blue"].join(slug, "Blue")
    before = uploads(people.live)
    good, bad = (blue.submit(slug, body, dry_run="true") for body in (CORRECT_PREDICTIONS, FAULTY))
    assert (good.status_code, bad.status_code) == (200, 200)
    assert good.json() == {"valid": True, "total": {}, "problems": [], "notes": []}
    assert bad.json()["valid"] is False
    assert listed(blue, slug) == []
    assert uploads(people.live) == before
    real = blue.submit(slug, FAULTY).json()
    assert {name: real[name] for name in ("total", "problems", "notes")} == {
        name: bad.json()[name] for name in ("total", "problems", "notes")
    }


def test_everything_wrong_with_a_file_is_said_at_once_and_where(people: People) -> None:
    slug = create_challenge(people.admin, "problems")
    blue = people["Blue"].join(slug, "Blue")
    sent = blue.submit(slug, FAULTY).json()
    assert sent["status"] == "rejected"
    assert sent["scores"] == {}
    assert sent["total"] == {
        "duplicate_id": 1,
        "unknown_id": 1,
        "missing_instances": 1,
        "unknown_label": 1,
        "empty_label": 1,
    }
    found = {problem["code"]: problem for problem in sent["problems"]}
    assert found["duplicate_id"]["pointer"] == "/1/id"
    assert found["unknown_label"]["pointer"] == "/2/label"
    assert found["unknown_label"]["instance_id"] == "t2"
    assert "zebra" in found["unknown_label"]["got"]
    assert found["empty_label"]["pointer"] == "/3/label"
    assert found["unknown_id"]["pointer"] == "/4/id"
    assert found["missing_instances"]["instance_id"] == "t4"
    assert all(problem["message"] for problem in sent["problems"])
    nameless = {problem["code"]: problem for problem in blue.submit(slug, NAMELESS).json()["problems"]}
    assert nameless["wrong_shape"]["pointer"] == "/5/id"
    assert nameless["missing_id"]["pointer"] == "/6"
    assert "duplicate_id" in nameless


def test_totals_count_on_where_the_list_ends(people: People) -> None:
    slug = create_challenge(people.admin, "many-problems")
    blue = people["Blue"].join(slug, "Blue")
    sent = blue.submit(slug, [{"id": f"stray {number}", "label": "a"} for number in range(250)]).json()
    assert sent["total"] == {"unknown_id": 250, "missing_instances": 4}
    assert [problem["pointer"] for problem in sent["problems"]] == [f"/{number}/id" for number in range(100)]


def test_the_file_comes_back_byte_for_byte(people: People) -> None:
    slug = create_challenge(people.admin, "round-trip")
    blue = people["Blue"].join(slug, "Blue")
    body = b' {"t4":"b",  "t3": "b",\n"t2":"a", "t1":"\\u0061"}\n'
    answer = blue.post(f"{MAIN_PHASE_PATH.format(slug)}/submissions", content=body, headers={"Prefer": "wait=60"})
    sent = require_finished(answer)
    for caller in (blue, people.admin):
        back = caller.get(f"/submissions/{sent['id']}/predictions")
        assert back.content == body
        assert back.headers["etag"] == f'"{sent["sha256"]}"'
        assert "attachment" in back.headers["content-disposition"]
    assert sent["size"] == len(body)


def test_the_list_pages_from_new_to_old(people: People) -> None:
    slug = create_challenge(people.admin, "paging")
    blue = people["Blue"].join(slug, "Blue")
    sent = [blue.submit(slug, CORRECT_PREDICTIONS, wait=0).json()["id"] for _ in range(5)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    path = f"{MAIN_PHASE_PATH.format(slug)}/submissions"
    while True:
        page = blue.get(path, params={"limit": 2, **cursor}).json()
        seen += [row["id"] for row in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == sent[::-1]
    for nonsense in ("nonsense", "%00", "../1", "-1"):
        require_refused(blue.get(path, params={"cursor": nonsense}), 400, "bad_cursor")
    for limit in ("0", "201", "many"):
        require_refused(blue.get(path, params={"limit": limit}), 400, "bad_request")


def keyed(caller: Caller, slug: str, body: Any, key: str, path: str = "", **query: Any) -> httpx.Response:
    return caller.post(
        path or f"{MAIN_PHASE_PATH.format(slug)}/submissions", json=body, params=query, headers={"Idempotency-Key": key}
    )


def test_a_repetition_under_the_same_key_is_the_same_submission(people: People) -> None:
    slug = create_challenge(people.admin, "idempotency")
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    first = keyed(blue, slug, CORRECT_PREDICTIONS, "key one", method="m")
    files = uploads(people.live)
    again = keyed(blue, slug, CORRECT_PREDICTIONS, "key one", method="m")
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["location"] == first.headers["location"]
    require_refused(keyed(blue, slug, predictions_with_hits(3), "key one", method="m"), 422, "idempotency_mismatch")
    require_refused(keyed(blue, slug, CORRECT_PREDICTIONS, "key one", method="other"), 422, "idempotency_mismatch")
    assert uploads(people.live) == files
    other = keyed(green, slug, CORRECT_PREDICTIONS, "key one", method="m")  # keys are each user's own
    assert (other.status_code, other.json()["id"] == first.json()["id"]) == (202, False)
    assert listed(blue, slug) == [first.json()["id"]]
    final = until_final(people, "Blue", first.headers["location"])
    again = keyed(blue, slug, CORRECT_PREDICTIONS, "key one", method="m").json()
    assert again == final


def test_a_key_stands_for_one_format_and_one_challenge(people: People) -> None:
    slug = create_challenge(people.admin, "key-format")
    other = create_challenge(people.admin, "key-other", phases=[{"name": "final"}])
    blue = people["Blue"].join(slug, "Blue").join(other, "Blue")
    key, path = f"format {slug}", "/challenges/{}/submissions"
    assert keyed(blue, slug, CORRECT_PREDICTIONS, key, path=path.format(slug)).status_code == 202
    mismatch = keyed(blue, other, CORRECT_PREDICTIONS, key, path=path.format(other))
    require_refused(mismatch, 422, "idempotency_mismatch")
    headers = {"Idempotency-Key": f"csv {slug}"}
    for media, status in (("text/csv", 202), ("text/csv", 200), ("text/tab-separated-values", 422)):
        headers["Content-Type"] = media
        answer = blue.post(f"{MAIN_PHASE_PATH.format(slug)}/submissions", content=b"id\nt1\n", headers=headers)
        assert answer.status_code == status, answer.text
    require_refused(answer, 422, "idempotency_mismatch")


@pytest.mark.parametrize("way", [MAIN_PHASE_PATH + "/submissions", "/challenges/{}/submissions"])
def test_a_repetition_is_answered_after_the_phase_has_closed(people: People, way: str) -> None:
    slug = create_challenge(people.admin, "late-repeat", phases=[{"name": "main", "quota": {"total": 1}}])
    blue = people["Blue"].join(slug, "Blue")
    first = keyed(blue, slug, CORRECT_PREDICTIONS, f"late {slug}", path=way.format(slug))
    assert first.status_code == 202
    closed = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-01-02T00:00:00Z"}
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json=closed).status_code == 200
    again = keyed(blue, slug, CORRECT_PREDICTIONS, f"late {slug}", path=way.format(slug))
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    require_refused(keyed(blue, slug, CORRECT_PREDICTIONS, f"new {slug}", path=way.format(slug)), 409, "no_open_phase")


def known_keys(live: Live, slug: str, *, older: timedelta = timedelta(0)) -> set[str]:
    """The keys that end in this slug, each made older first."""
    with write_session_of(live) as session:
        found = session.scalars(select(IdempotencyKey).where(IdempotencyKey.key.endswith(slug))).all()
        for row in found:
            row.created_at -= older
        return {row.key for row in found}


def test_a_key_is_known_for_a_day_and_then_free_for_another_request(people: People) -> None:
    slug = create_challenge(people.admin, "key-life")
    blue = people["Blue"].join(slug, "Blue")
    old, idle, young = (f"{name} {slug}" for name in ("old", "idle", "young"))
    first = keyed(blue, slug, CORRECT_PREDICTIONS, old).json()["id"]
    keyed(blue, slug, CORRECT_PREDICTIONS, idle)
    assert known_keys(people.live, slug, older=timedelta(hours=1)) == {old, idle}
    kept = keyed(blue, slug, CORRECT_PREDICTIONS, young).json()["id"]
    known_keys(people.live, slug, older=timedelta(hours=22))
    again = keyed(blue, slug, CORRECT_PREDICTIONS, old)
    assert (again.status_code, again.json()["id"]) == (200, first)
    known_keys(people.live, slug, older=timedelta(hours=1))
    anew = keyed(blue, slug, predictions_with_hits(3), old)
    assert anew.status_code == 202, anew.text
    assert anew.json()["id"] != first
    assert known_keys(people.live, slug) == {old, idle, young}  # a periodic job forgets what is past its life
    for key, body, sent in ((old, predictions_with_hits(3), anew.json()["id"]), (young, CORRECT_PREDICTIONS, kept)):
        again = keyed(blue, slug, body, key)
        assert (again.status_code, again.json()["id"]) == (200, sent)
    assert len(listed(blue, slug)) == 4


def together(count: int, act: Callable[[int], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(act, range(count)))


def test_repetitions_at_the_same_time_make_one_submission(people: People) -> None:
    slug = create_challenge(people.admin, "in-flight")
    blue = people["Blue"].join(slug, "Blue")
    answers = together(8, lambda _: keyed(blue, slug, CORRECT_PREDICTIONS, f"flight {slug}"))
    stored = [answer.json()["id"] for answer in answers if answer.status_code in {200, 202}]
    for answer in answers:
        if answer.status_code not in {200, 202}:
            require_refused(answer, 409, "request_in_flight")
    assert len(set(stored)) == 1
    assert listed(blue, slug) == [stored[0]]


def test_parameters_and_headers_that_are_off_are_named(people: People) -> None:
    slug = create_challenge(people.admin, "off")
    blue = people["Blue"].join(slug, "Blue")
    off = {"link": "javascript:alert(1)", "method": "x" * 201, "description": "a\x00b", "dry_run": "perhaps"}
    for name, value in off.items():
        query: dict[str, Any] = {name: value}
        problem = require_refused(blue.submit(slug, CORRECT_PREDICTIONS, **query), 400, "bad_request")
        assert name in problem["detail"]
    require_refused(keyed(blue, slug, CORRECT_PREDICTIONS, "x" * 256), 400, "bad_request")
    assert listed(blue, slug) == []


def test_broken_json_is_a_rejection_with_its_place(people: People) -> None:
    slug = create_challenge(people.admin, "syntax")
    blue = people["Blue"].join(slug, "Blue")
    for body, code in {
        b'{"t1": "a",}': "syntax",
        b'{"t1": NaN}': "not_a_number",
        b"\xff\xfe": "encoding",
        b"": "syntax",
    }.items():
        answer = blue.post(f"{MAIN_PHASE_PATH.format(slug)}/submissions", content=body, headers={"Prefer": "wait=60"})
        assert answer.json()["status"] == "rejected", body
        assert code in answer.json()["total"], (body, answer.json()["total"])
    assert json.dumps(people.visitor.board(slug).json()["rows"]) == "[]"


def test_a_wish_in_a_second_prefer_line_counts_too(people: People) -> None:
    slug = create_challenge(people.admin, "prefer-lines")
    lines = [("Prefer", "respond-async"), ("Prefer", 'wait=60; foo="bar"')]
    answer = people.admin.post(
        f"{MAIN_PHASE_PATH.format(slug)}/submissions", params={"team": "B"}, json=CORRECT_PREDICTIONS, headers=lines
    )
    assert answer.headers["Preference-Applied"] == "wait=60"
    require_finished(answer)
