"""The catalogue over HTTP: a metric by its key, or as a metric string has it."""

import gzip
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from app.api import catalogue
from app.scoring.catalogue.description import describe_metric
from app.scoring.declaration.metric import CATALOGUE
from tests.api.in_process_app import ServedApp
from tests.live_service import MAX_WAIT_SECONDS

FIXED = ("metrics?limit=200", "metrics?limit=7", "metrics?limit=3&cursor=accuracy", "openapi.json")


def test_a_metric_string_fills_in_the_equation(app: ServedApp) -> None:
    who = app.caller()
    general = who.get("/metrics/f_beta_macro").json()
    asked = who.get(f"/metrics/{quote('f_beta_macro:label_set=gold,beta=0.50', safe='')}").json()
    assert (general["key"], general["metric"]) == ("f_beta_macro", "f_beta_macro")
    assert (asked["key"], asked["metric"]) == ("f_beta_macro:beta=0.5,label_set=gold", "f_beta_macro")
    assert general.keys() == asked.keys()
    assert r"\beta" in general["equation"]["latex"]
    assert asked["equation"]["latex"].startswith(r"\frac{1}{|L|}\sum_{j\in L} \frac{1.25")
    assert asked["symbols"]["L"] == "the labels that enter the average"
    assert [param["value"] for param in asked["params"]] == ["0.5"]
    assert "label_set=gold: labels that occur in gold." in asked["conventions"]


def test_a_label_may_hold_any_sign(app: ServedApp) -> None:
    text = "f1:label=" + quote("a/b, c<d>", safe="")
    found = app.caller().get(f"/metrics/{quote(text, safe='')}")
    assert found.status_code == 200
    assert found.json()["key"] == "f1:label=a/b%2C c<d>"
    assert "<d>" not in found.json()["equation"]["mathml"]


def test_an_unknown_key_is_absent_and_a_wrong_parameter_invalid(app: ServedApp) -> None:
    who = app.caller()
    absent = who.get("/metrics/macro_f1:label_set=gold")
    assert (absent.status_code, absent.json()["code"]) == (404, "not_found")
    assert "f1_macro" in absent.json()["detail"]
    for wrong in ("f_beta_macro:beta=x", "f_beta_macro:", "f1_macro:label_set=gould", "f_beta:label=a"):
        answer = who.get(f"/metrics/{wrong}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_metric"), wrong


def test_the_list_shows_the_same_fields_as_one_metric(app: ServedApp) -> None:
    who = app.caller()
    listed = who.get("/metrics", params={"limit": 3}).json()["items"]
    assert listed == [who.get(f"/metrics/{one['key']}").json() for one in listed]


def test_another_name_of_a_measure_leads_to_it(app: ServedApp) -> None:
    who = app.caller()
    assert who.get("/metrics/threat_score_macro").json() == who.get("/metrics/jaccard_macro").json()
    narrowed = who.get(f"/metrics/{quote('threat_score_macro:label_set=gold', safe='')}").json()
    assert narrowed["key"] == "jaccard_macro:label_set=gold"


def test_the_pages_hold_what_the_declarations_say(app: ServedApp) -> None:
    whole = json.loads(json.dumps([describe_metric(metric) for metric in CATALOGUE.values()]))
    found: list[Any] = []
    cursor = None
    while found == [] or cursor is not None:
        page = app.caller().get("/metrics", params={"limit": 50} | ({"cursor": cursor} if cursor else {})).json()
        found += page["items"]
        cursor = page["next"]
    assert found == whole
    assert app.caller().get("/metrics", params={"cursor": "no such metric"}).json()["code"] == "bad_cursor"


@pytest.mark.parametrize("path", FIXED)
def test_what_never_changes_is_tagged_and_packed(app: ServedApp, path: str) -> None:
    plain, packed = (raw(app, path, encoding) for encoding in ("identity", "gzip"))
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.content) < len(plain.content) / 3
    assert gzip.decompress(packed.content) == plain.content
    assert plain.headers["etag"] != packed.headers["etag"]
    for sent in (plain, packed):
        assert sent.headers["etag"].startswith('"')
        assert {"Accept-Encoding", "Authorization"} <= set(sent.headers["vary"].split(", "))
        encoding = sent.headers.get("content-encoding", "identity")
        again = raw(app, path, encoding, **{"If-None-Match": sent.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_no_metric_is_described_anew_for_a_list(app: ServedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {path: raw(app, path).content for path in FIXED[:3]}

    def again(*_: Any) -> None:
        raise AssertionError("described anew")

    monkeypatch.setattr(catalogue, "describe_metric", again)
    assert {path: raw(app, path).content for path in FIXED[:3]} == first
    other = json.loads(raw(app, "metrics?limit=11").content)  # a page that nobody asked for yet
    assert other["items"] == json.loads(first["metrics?limit=200"])["items"][:11]


def test_the_document_is_written_once(app: ServedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    first = raw(app, "openapi.json").content
    monkeypatch.setattr(json, "dumps", lambda *_, **__: "written anew")
    again = raw(app, "openapi.json").content
    monkeypatch.undo()
    assert again == first


def raw(app: ServedApp, path: str, encoding: str = "identity", **headers: str) -> httpx.Response:
    """The bytes as they came."""
    with httpx.stream(
        "GET", f"{app.url}/api/v1/{path}", headers={"Accept-Encoding": encoding} | headers, timeout=MAX_WAIT_SECONDS
    ) as answer:
        answer._content = b"".join(answer.iter_raw())  # httpx would unpack them
        return answer
