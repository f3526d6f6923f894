"""What somebody might send on purpose: each gets a bounded, documented answer, and the others go on undisturbed."""

import gzip
import itertools
import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually, open_challenge

GOLD = [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]
RECIPE = {"primary": "accuracy"}


@pytest.fixture(scope="module")
def challenge(live: Live) -> str:
    open_challenge(live.admin(), "target", GOLD)
    return "target"


def dry_run(live: Live, content: bytes, **headers: str) -> dict[str, Any]:
    answer = live.admin().post(
        "/challenges/target/phases/main/submissions",
        params={"dry_run": "true", "team": "T"},
        content=content,
        headers={"Content-Type": "application/json"}
        | {name.replace("_", "-"): value for name, value in headers.items()},
    )
    assert answer.status_code == 200, answer.text[:500]
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tokens", {"email": "a@b", "password": "x", "scopes": [1] * 100_000}),
        (
            "/users",
            {"email": "a@b", "name": "x", "password": "long enough it is"} | {f"k{n}": 1 for n in range(50_000)},
        ),
        ("/challenges", {"slug": "s", "title": "t", "task": "multiclass", "recipe": RECIPE, "classes": [[]] * 100_000}),
    ],
)
def test_a_flood_of_faults_is_answered_in_few_words(live: Live, path: str, body: dict[str, Any]) -> None:
    answer = live.admin().post(path, json=body)
    assert answer.status_code == 422
    assert len(answer.content) < 20_000


def test_a_header_of_too_many_columns_is_refused(live: Live, challenge: str) -> None:
    found = dry_run(live, b",".join(b"c%d" % number for number in range(100_200)) + b"\n", Content_Type="text/csv")
    assert found["total"]["too_large"] == 1


def test_gzip_of_endless_empty_members_is_refused(live: Live, challenge: str) -> None:
    found = dry_run(live, gzip.compress(b"") * 110_000, Content_Encoding="gzip")
    assert found["total"]["too_large"] == 1


def test_a_moment_without_a_place_in_the_calendar_is_refused(live: Live, challenge: str) -> None:
    moments = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", 0, "2027-01-01")
    for field, moment in itertools.product(("opens_at", "closes_at"), moments):
        answer = live.admin().patch("/challenges/target/phases/main", json={field: moment})
        assert answer.status_code == 422, (field, moment)
        assert answer.json()["errors"][0]["pointer"] == f"/{field}"


def test_nested_nonsense_in_a_recipe_is_refused(live: Live, challenge: str) -> None:
    for depth in (40, 300, 900, 100_000):
        body = b'{"primary":"accuracy","decision":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        headers = {"Content-Type": "application/json"}
        assert live.admin().put("/challenges/target/recipe", content=body, headers=headers).status_code == 422, depth


def test_readiness_does_not_wait_for_a_writer(live: Live) -> None:
    with closing(sqlite3.connect(live.data_dir / "assay.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        eventually(lambda: live.caller().get(f"{live.url}/readyz").status_code == 200, "it is ready")
        other.execute("ROLLBACK")


def test_an_upload_that_the_database_cannot_take_leaves_no_file(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data")) as service:
        open_challenge(service.admin(), "target", GOLD)
    with serve_app(app_settings(tmp_path / "data", database_wait=1)) as service:
        admin = service.admin()
        uploads = tmp_path / "data" / "files" / "uploads"
        before = sorted(uploads.iterdir())
        database = tmp_path / "data" / "assay.sqlite3"
        with closing(sqlite3.connect(database, isolation_level=None, timeout=MAX_WAIT_SECONDS)) as other:
            other.execute("BEGIN IMMEDIATE")
            answer = admin.submit("target", {"t1": "cat", "t2": "cat"}, wait=0, team="T")
            other.execute("ROLLBACK")
        assert answer.status_code == 503
        assert answer.json()["code"] == "database_away"
        assert answer.headers["Retry-After"]
        assert sorted(uploads.iterdir()) == before


def test_endless_headers_are_cut_off(live: Live) -> None:
    with socket.create_connection(("127.0.0.1", live.port), timeout=MAX_WAIT_SECONDS) as connection:
        sent = 0
        try:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
            for number in range(4000):
                sent += connection.send(b"X-%d: " % number + b"a" * 1000 + b"\r\n")
        except OSError:
            pass
        assert sent < 4_000_000
    assert live.caller().get(f"{live.url}/healthz").status_code == 200


def test_no_answer_sends_anybody_to_another_host(live: Live) -> None:
    answer = live.caller().get("/challenges/", headers={"Host": "evil.example"})
    assert answer.status_code == 404
    assert "Location" not in answer.headers


def test_names_that_cannot_be_told_apart_are_refused(live: Live) -> None:
    for name in ("\u200b", "   ", "Blue\u202e", "a\u0000b"):
        body = {"slug": "named", "title": name, "task": "multiclass", "recipe": RECIPE}
        assert live.admin().post("/challenges", json=body).status_code == 422, name


def test_a_number_is_written_in_plain_digits(live: Live) -> None:
    for metric in ("f_beta_macro:beta=1_0", "f_beta_macro:beta=９", "f_beta_macro:beta=1e9999"):
        body = {"slug": "numbers", "title": "t", "task": "multiclass", "recipe": {"primary": metric}}
        answer = live.admin().post("/challenges", json=body)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/recipe/primary"


def test_a_misspelt_parameter_is_not_ignored(live: Live, challenge: str) -> None:
    admin = live.admin()
    sent = admin.submit("target", {"t1": "cat", "t2": "dog"}, team="T", dryrun="true")
    assert (sent.status_code, sent.json()["code"]) == (400, "bad_request")
    assert "dry_run" in sent.json()["remedy"]
    assert admin.board("target", formt="csv").status_code == 400


def test_a_form_is_told_that_json_is_due(live: Live) -> None:
    answer = live.caller().post("/users", data={"email": "a@b"})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["remedy"]


def test_every_fault_of_a_description_comes_back_at_once(live: Live) -> None:
    body = {
        "slug": "faulty",
        "title": "t",
        "task": "binary",
        "classes": ["a", "a", "b"],
        "timezone": "Mars/North",
        "recipe": {"primary": "nonsense", "metrics": ["f1_macro", "f1_macro"], "options": {"zero": "1"}},
        "phases": [
            {"name": "x", "opens_at": "2027-01-02T00:00:00Z", "closes_at": "2027-01-01T00:00:00Z"},
            {"name": "X"},
            {"name": "???"},
        ],
    }
    answer = live.admin().post("/challenges", json=body)
    assert answer.status_code == 422, answer.text
    assert {fault["pointer"] for fault in answer.json()["errors"]} >= {
        "/classes",
        "/positive_label",
        "/timezone",
        "/recipe/primary",
        "/recipe/metrics/1",
        "/recipe/options/zero",
        "/phases/0/closes_at",
        "/phases/1/name",
        "/phases/2/name",
    }


def test_the_faults_of_many_phases_end_where_nobody_reads_on(live: Live) -> None:
    unknown = {"primary": "accuracy", "metrics": [f"unknown_{number}" for number in range(100)]}
    phases = [{"name": f"p{number}", "recipe": unknown} for number in range(3)]
    body = {"slug": "unknown", "title": "t", "task": "multiclass", "recipe": RECIPE, "phases": phases}
    answer = live.admin().post("/challenges", json=body)
    assert answer.status_code == 422, answer.text
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [
        f"/phases/0/recipe/metrics/{number}" for number in range(100)
    ]


def test_integer_classes_are_taken_as_their_decimal_text(live: Live) -> None:
    body = {"slug": "ints", "title": "t", "task": "multiclass", "classes": [1, 2], "recipe": RECIPE}
    assert live.admin().post("/challenges", json=body).json()["classes"] == ["1", "2"]
    refused = live.admin().post("/challenges", json=body | {"slug": "floats", "classes": [1.0, True]})
    assert refused.status_code == 422


def test_broken_json_is_told_with_its_place(live: Live) -> None:
    answer = live.caller().post("/users", content=b'{"email": }', headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"pointer": "", "detail": "not JSON at character 10: Expecting value"}]
    json.dumps(answer.json())


def test_a_name_that_only_looks_different_is_the_same_name(live: Live, challenge: str) -> None:
    live.person("One").join("target", "Blue")
    other = live.person("Two")
    for name in ("blue", " BLUE ", "Ｂｌｕｅ"):
        answer = other.post("/challenges/target/registrations", json={"team": name})
        assert (answer.status_code, answer.json()["code"]) == (409, "team_name_taken"), name
    for name in ("Bl\u200bue", "B\u00adlue", "\u200b"):
        assert other.post("/challenges/target/registrations", json={"team": name}).status_code == 422, name


def test_a_template_is_made_once_and_then_not_sent_again(live: Live, challenge: str) -> None:
    path = "/challenges/target/phases/main/template"
    first = live.caller().get(path, params={"format": "csv"})
    again = live.caller().get(path, params={"format": "csv"}, headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert live.caller().get(path).headers["ETag"] != first.headers["ETag"]
