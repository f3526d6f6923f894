"""What every reply carries, whatever the address and the method."""

import re

import httpx
import pytest
from pydantic import SecretStr

from app.settings import Settings
from tests.api.conftest import GOLD
from tests.api.in_process_app import ADMIN_TOKEN, ServedApp, serve_app

READS = ("/metrics", "/challenges", "/challenges/digits", "/challenges/digits/phases/main/leaderboard", "/me")


def at_root(app: ServedApp, method: str, path: str) -> httpx.Response:
    return app.caller().request(method, app.url + path)


def test_every_reply_carries_safe_headers(app: ServedApp) -> None:
    """Every method at every address."""
    visitor = app.caller()
    for path in (*READS, "/nothing", "/challenges/nothing"):
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            answer, asked = visitor.request(method, path), f"{method} {path}"
            assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"]), asked
            assert answer.headers["x-content-type-options"] == "nosniff", asked
            assert answer.headers["referrer-policy"] == "no-referrer", asked
            assert "authorization" in answer.headers["vary"].lower(), asked
            assert "cache-control" in answer.headers, asked
            assert "server" not in answer.headers, asked
            assert "set-cookie" not in answer.headers, asked
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json", asked


def test_every_request_has_an_id_of_its_own(app: ServedApp) -> None:
    ids = {app.caller().get("/metrics").headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize("path", ["/nothing", "/api/v1/nothing", "/static/nothing.js", "/static/../main.py", "/docs/x"])
def test_an_unknown_address_is_404(app: ServedApp, path: str) -> None:
    answer = at_root(app, "GET", path)
    assert answer.status_code == 404
    assert answer.json()["code"] == "no_such_route"


@pytest.mark.parametrize(("method", "path"), [("PUT", "/me"), ("PATCH", "/users"), ("PUT", "/challenges"), ("TRACE", "/me")])  # fmt: skip
def test_a_method_that_an_address_does_not_answer_is_405_and_says_which_it_does(
    app: ServedApp, method: str, path: str
) -> None:
    answer = app.admin().request(method, path)
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"
    assert answer.headers["allow"]


def test_head_answers_as_get_does_without_the_body(app: ServedApp) -> None:
    admin = app.admin()
    for path in READS:
        read, head = admin.get(path), admin.head(path)
        assert read.status_code == head.status_code == 200, path
        assert head.content == b"", path
        for name in ("etag", "content-type", "content-length", "cache-control"):
            assert head.headers[name] == read.headers[name], path


def test_a_reply_carries_a_strong_tag_and_is_not_sent_again_to_who_has_it(app: ServedApp) -> None:
    admin = app.admin()
    for path in READS:
        read = admin.get(path)
        tag = read.headers["etag"]
        assert re.fullmatch(r'"[0-9a-f]+"', tag), path
        for asked in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            again = admin.get(path, headers={"If-None-Match": asked})
            assert again.status_code == 304, (path, asked)
            assert again.content == b""
            assert again.headers["etag"] == tag
            assert "content-length" not in again.headers or again.headers["content-length"] == "0"
            assert again.headers["cache-control"] == "private, no-cache"
        assert admin.get(path, headers={"If-None-Match": '"other"'}).content == read.content, path


def test_a_tag_changes_with_what_its_reader_may_see(app: ServedApp) -> None:
    path = "/challenges/digits/phases/main/leaderboard"
    before = app.admin().get(path).headers["etag"]
    assert app.admin().submit("digits", {row["id"]: row["label"] for row in GOLD}, team="Blue").status_code == 201
    after = app.admin().get(path)
    assert after.headers["etag"] != before
    assert app.admin().get(path, headers={"If-None-Match": before}).status_code == 200
    as_csv = app.admin().get(path, params={"format": "csv"})
    assert as_csv.headers["etag"] != after.headers["etag"]


def test_what_only_its_caller_may_see_is_kept_by_nobody_else(app: ServedApp) -> None:
    assert app.admin().get("/challenges").headers["cache-control"] == "private, no-cache"
    assert app.caller().get("/challenges").headers["cache-control"] == "no-cache"
    assert app.caller("wrong").get("/challenges").headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_file_is_tagged_with_its_hash_and_not_sent_again(app: ServedApp, size: int) -> None:
    path = "/challenges/digits/phases/main/submissions"
    labels = {row["id"]: row["label"] for row in GOLD} | {"t0": "x" * size}
    sent = app.admin().submit("digits", labels, team="Blue")
    found = sent.json()
    read = app.admin().get(f"/submissions/{found['id']}/predictions")
    assert read.content == sent.request.content
    tag = read.headers["etag"]
    assert tag == f'"{found["sha256"]}"'
    again = app.admin().get(f"/submissions/{found['id']}/predictions", headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.content == b""
    head = app.admin().head(f"/submissions/{found['id']}/predictions")
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(found["size"])
    assert app.admin().get(path).status_code == 200


# ---- the page of documentation --------------------------------------------------------------------


def test_the_documentation_loads_files_of_its_own_only(app: ServedApp) -> None:
    page = at_root(app, "GET", "/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) == 3
    for address in loaded:
        assert address.startswith("/static/")
        assert at_root(app, "GET", address).status_code == 200
    assert "//" not in re.sub(r"<!doctype[^>]*>", "", page.text)


def test_the_documentation_may_run_and_load_nothing_from_elsewhere(app: ServedApp) -> None:
    policy = at_root(app, "GET", "/docs").headers["content-security-policy"]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["connect-src"] == "'self'"
    assert "http" not in policy
    assert "*" not in policy


def test_the_document_that_the_page_shows_is_served(app: ServedApp) -> None:
    script = at_root(app, "GET", "/static/docs.js").text
    assert "/api/v1/openapi.json" in script
    document = at_root(app, "GET", "/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["info"]["title"] == "Assay"
    assert "servers" not in document


def test_health_and_readiness(app: ServedApp) -> None:
    assert at_root(app, "GET", "/healthz").json() == {"status": "ok"}
    ready = at_root(app, "GET", "/readyz")
    assert ready.status_code == 200
    parts = ("database", "schema", "files", "space")
    assert ready.json() == {"status": "ready", "checks": dict.fromkeys(parts, "ok")}


@pytest.mark.both_databases
def test_a_null_character_is_in_no_name_and_in_no_parameter(settings: Settings) -> None:
    own = {"admin_token": SecretStr(ADMIN_TOKEN), "workers": 1, "rate_limits": "off"}
    with serve_app(settings.model_copy(update=own)) as service:
        for path in ("/challenges/a%00b", "/challenges/digits/phases/a%00b", "/submissions/a%00", "/tokens/%00"):
            answer = service.admin().request("DELETE" if "tokens" in path else "GET", path)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
        for path in ("/challenges/a/recipe?phase=%00", "/challenges?limit=1&cursor=a%00b", "/challenges?%00"):
            answer = service.admin().get(path)
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), path


BOARD = "/api/v1/challenges/digits/phases/main/leaderboard"


def test_an_encoded_slash_separates_nothing(app: ServedApp) -> None:
    visitor = app.caller()
    for path in (BOARD, "/api/v1/metrics", "/docs", "/static/docs.js", "/healthz"):
        assert visitor.get(app.url + path).status_code == 200
        segments = path.split("/")
        for at in range(1, len(segments)):
            slash, method = ("%2F", "%2f")[at % 2], ("GET", "HEAD")[at // 2 % 2]
            asked = "/".join(segments[:at]) + slash + "/".join(segments[at:])
            answer = visitor.request(method, app.url + (asked if asked.startswith("/") else f"/{asked}"))
            assert answer.status_code == 404, asked
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_metric_is_asked_for_by_a_label_that_holds_a_slash(app: ServedApp) -> None:
    answer = app.caller().get("/metrics/f1:label=a%2Fb")
    assert answer.status_code == 200
    assert "a/b" in answer.text


def test_the_page_of_the_api_cannot_be_framed_redirected_or_sent_from(app: ServedApp) -> None:
    policy = at_root(app, "GET", "/docs").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert {
        name: rules[name] for name in ("default-src", "frame-ancestors", "base-uri", "form-action")
    } == dict.fromkeys(("default-src", "frame-ancestors", "base-uri", "form-action"), "'none'")
    assert rules["script-src"] == "'self'"
