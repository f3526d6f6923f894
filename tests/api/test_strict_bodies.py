"""JSON bodies mean exactly what they say; whatever else comes in is refused with a problem document, never a 500."""

import itertools
import json

import httpx
import pytest

from tests.api.in_process_app import ServedApp

JSON = {"Content-Type": "application/json"}
BODY = {"slug": "a", "title": "T", "task": "multiclass", "recipe": {"primary": "accuracy"}}


def with_title(raw: str) -> bytes:
    """The body of a new challenge with this JSON text as its title."""
    return json.dumps(BODY | {"title": "@@"}).replace('"@@"', raw).encode("utf-8", "surrogatepass")


def with_options(raw: str) -> bytes:
    """The body of a new challenge with this JSON text as an option of its recipe, where any value is let in."""
    body = BODY | {"recipe": {"primary": "accuracy", "options": {"x": "@@"}}}
    return json.dumps(body).replace('"@@"', raw).encode("utf-8", "surrogatepass")


def assert_problem(answer: httpx.Response, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["type"] == f"urn:assay:problem:{body['code']}"
    assert body["detail"]
    assert body["remedy"]


NOT_PLAIN_JSON = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "9" * 3000,
    "-" + "9" * 31,
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\ud800"',
    "{" + '"a":1,' + '"a":2}',
    '{"b":{"a":1,"a":1}}',
    "'x'",
    "",
    "[1,]",
    "01",
    "+1",
    "/* */ 1",
    "True",
]


def test_what_is_not_plain_json_is_refused(app: ServedApp) -> None:
    admin = app.admin()
    for place, raw in itertools.product((with_title, with_options), NOT_PLAIN_JSON):
        answer = admin.post("/challenges", content=place(raw), headers=JSON)
        assert_problem(answer, 422)
        assert answer.json()["code"] == "invalid_request", (place, raw)


@pytest.mark.parametrize("raw", ['"\\u0000"', '"\\u001b[2J"', '"a\\u0007"', '"   "', '""', json.dumps("x" * 201)])
def test_a_name_that_cannot_be_shown_is_refused(app: ServedApp, raw: str) -> None:
    answer = app.admin().post("/challenges", content=with_title(raw), headers=JSON)
    assert_problem(answer, 422)
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/title"]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_refused(app: ServedApp, opening: str) -> None:
    for raw in (opening * 700, "[" * 1500 + "]" * 1500):
        answer = app.admin().post("/challenges", content=with_options(raw), headers=JSON)
        assert_problem(answer, 422)
        assert answer.json()["code"] == "invalid_request"


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"1", b'"text"', b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'{"slug": "\xff"}', b"{} {}", b"\x00"],
)  # fmt: skip
def test_a_body_of_another_kind_is_refused(app: ServedApp, content: bytes) -> None:
    answer = app.admin().post("/challenges", content=content, headers=JSON)
    assert_problem(answer, 422)


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "", "nonsense"])
def test_a_body_of_another_media_type_is_refused(app: ServedApp, media: str) -> None:
    answer = app.admin().post("/challenges", content=json.dumps(BODY | {"slug": "b"}), headers={"Content-Type": media})
    assert_problem(answer, 415, 422)


def test_a_body_beyond_the_limit_is_refused_however_its_length_is_told(app: ServedApp) -> None:
    content = with_title(json.dumps("x" * 5000))
    told = app.admin().post("/challenges", content=content, headers=JSON)
    assert_problem(told, 413)
    assert "ASSAY_MAX_JSON_BODY" in told.json()["remedy"]
    assert_problem(app.admin().post("/challenges", content=iter([content[:3000], content[3000:]]), headers=JSON), 413)
    assert app.admin().get("/challenges/a").status_code == 404


def test_an_upload_beyond_the_limit_is_refused_however_its_length_is_told(app: ServedApp) -> None:
    path = "/challenges/digits/phases/main/submissions"
    content = b'{"t1": "' + b"x" * 300_000 + b'"}'
    for sent in (content, iter([content[:150_000], content[150_000:]])):
        answer = app.admin().post(path, params={"team": "Blue"}, content=sent, headers=JSON)
        assert_problem(answer, 413)
        assert "ASSAY_MAX_UPLOAD" in answer.json()["remedy"]
    assert app.admin().get(path).json()["items"] == []


def test_all_faults_of_a_body_come_in_one_answer_with_pointers(app: ServedApp) -> None:
    answer = app.admin().post("/challenges", json={"slug": "A B", "task": "poetry", "recipe": {}, "colour": "red"})
    assert_problem(answer, 422)
    pointers = {fault["pointer"] for fault in answer.json()["errors"]}
    assert pointers == {"/slug", "/title", "/task", "/recipe/primary", "/colour"}


def test_wrong_parameters_are_400_and_name_the_parameter(app: ServedApp) -> None:
    for query in ("limit=0", "limit=x", "limit=201", "cursor=zzz", "limit=" + "9" * 5000):
        assert_problem(app.admin().get(f"/challenges?{query}"), 400)
    answer = app.admin().get("/challenges?limit=0")
    assert answer.json()["errors"][0]["pointer"] == "limit"
    for header in ("wait=x", "wait=-1", "wait="):
        path = "/challenges/digits/phases/main/submissions?team=Blue"
        assert_problem(app.admin().post(path, json={}, headers={"Prefer": header}), 400)


def test_a_version_that_cannot_be_is_absent_or_refused(app: ServedApp) -> None:
    admin = app.admin()
    for version in ("0", "-1", str(2**63), "9" * 30, "9" * 5000, "1.5", "x", "%00", "1%2F2", "é"):
        assert_problem(admin.get(f"/challenges/digits/phases/main/gold/{version}"), 400, 404)


def test_an_address_that_cannot_be_is_absent(app: ServedApp) -> None:
    admin = app.admin()
    for slug in ("%00", "%ff", "..%2f..", "a" * 5000, "%F0%9F%98%80", "'%20OR%201=1", "%ED%A0%80"):
        for path in ("/challenges/", "/submissions/", "/metrics/", "/challenges/digits/phases/"):
            assert_problem(admin.get(path + slug), 400, 404)
        assert_problem(admin.delete(f"/tokens/{slug}"), 404)


@pytest.mark.parametrize(
    "token", ["x", "assay_", "assay_x.y", "assay_" + "0" * 32 + ".x", "\x80\xff", "a b", "x" * 20_000]
)
def test_a_bad_token_is_401_wherever_it_comes(app: ServedApp, token: str) -> None:
    visitor = app.caller()
    headers = [(b"Authorization", b"Bearer " + token.encode("latin-1"))]
    for path in ("/metrics", "/me", "/challenges/digits"):
        answer = visitor.get(path, headers=headers)
        assert_problem(answer, 401)
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert_problem(visitor.get("/me", headers={"Authorization": "Basic YTpi"}), 401)
    assert_problem(visitor.get("/me"), 401)


def test_a_description_is_checked_while_another_request_writes(app: ServedApp) -> None:
    with app.app.state.service.db.write():
        answer = app.admin().post("/challenges", json=BODY | {"recipe": {"primary": "unknown"}})
    assert_problem(answer, 422)
