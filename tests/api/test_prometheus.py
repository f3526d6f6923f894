"""The figures of operation: what they count, what they never tell, and who may read them."""

import math
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError
from starlette.requests import Request

from app.api.caching.board_cache import BoardKey
from app.api.caching.board_times import BoardTimes
from app.api.caching.cached_reply import CachedReply
from app.api.prometheus import is_loopback_request
from app.runtime.telemetry import Telemetry, prometheus_text
from app.settings import Settings
from tests.api.conftest import GOLD
from tests.api.in_process_app import ADMIN_TOKEN, ServedApp, app_settings, serve_app
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD
from tests.prometheus_scrape import Scrape, scrape
from tests.settle import settle

LABELS = {row["id"]: row["label"] for row in GOLD}
FORWARDED = {"X-Forwarded-For": "192.0.2.7"}
SUBMIT = "/api/v1/challenges/{slug}/phases/{phase}/submissions"


def read(app: ServedApp, **headers: str) -> httpx.Response:
    return httpx.get(f"{app.url}/metrics", headers=headers, timeout=MAX_WAIT_SECONDS)


@pytest.fixture(scope="module")
def token(app: ServedApp) -> str:
    """Of somebody who rules nothing."""
    body = {"email": "grace@example.org", "name": "Grace", "password": PASSWORD}
    app.caller().post("/users", json=body).raise_for_status()
    answer = app.caller().post("/tokens", json={"email": body["email"], "password": PASSWORD})
    return str(answer.json()["token"])


# ---- what is counted ------------------------------------------------------------------------------


def test_a_submission_is_counted_by_its_final_status_and_its_times_are_observed(app: ServedApp) -> None:
    before = scrape(app.url)
    assert app.admin().submit("digits", LABELS, team="Blue").json()["status"] == "finished"
    after = scrape(app.url)
    for name, labels in (
        ("assay_settled_total", {"status": "finished"}),
        ("assay_scoring_seconds_count", {}),
        ("assay_queued_seconds_count", {}),
        ("assay_http_requests_total", {"method": "POST", "route": SUBMIT, "status": "201"}),
        ("assay_http_request_seconds_count", {"method": "POST", "route": SUBMIT}),
    ):
        assert after.value(name, **labels) - before.value(name, **labels) == 1, name
    assert after.value("assay_scoring_seconds_sum") > before.value("assay_scoring_seconds_sum")
    assert after.value("assay_queue_depth") == 0


def test_a_rejected_file_is_counted_once_under_each_of_its_codes(app: ServedApp) -> None:
    before = scrape(app.url)
    sent = app.admin().submit("digits", {"t0": "dog", "x1": "dog", "x2": "dog"}, team="Blue").json()
    assert sent["status"] == "rejected"
    after = scrape(app.url)
    codes = {problem["code"] for problem in sent["problems"]}
    assert len(codes) > 1
    for code in codes:
        counted = [each.value("assay_rejected_files_total", code=code) for each in (before, after)]
        assert counted[1] - counted[0] == 1, code
    assert after.value("assay_settled_total", status="rejected") - before.value("assay_settled_total", status="rejected") == 1  # fmt: skip


@pytest.mark.parametrize(
    ("request_line", "route", "status", "code"),
    [
        ("GET /api/v1/challenges/secret-slug", "/api/v1/challenges/{slug}", 404, "not_found"),
        ("GET /api/v1/me", "/api/v1/me", 401, "unauthorized"),
        ("DELETE /api/v1/metrics", "/api/v1/metrics", 405, "method_not_allowed"),
        ("GET /secret/nothing", "other", 404, "no_such_route"),
        ("GET /static/secret.js", "/static/{name}", 404, "no_such_route"),
        ("GET /api/v1/challenges?limit=many", "/api/v1/challenges", 400, "bad_request"),
        ("HEAD /api/v1/challenges/secret-slug", "/api/v1/challenges/{slug}", 404, "not_found"),
    ],
)
def test_a_refusal_is_counted_under_its_code_and_the_template_of_its_route(
    app: ServedApp, request_line: str, route: str, status: int, code: str
) -> None:
    method, path = request_line.split()
    before = scrape(app.url)
    assert httpx.request(method, app.url + path, timeout=MAX_WAIT_SECONDS).status_code == status
    after = scrape(app.url)
    asked = {"method": method, "route": route, "status": str(status)}
    for name, labels in (("assay_http_requests_total", asked), ("assay_refused_total", {"code": code})):
        assert after.value(name, **labels) - before.value(name, **labels) == 1, name
    assert "secret" not in read(app).text


def test_build_time_and_age_of_boards_are_measured(app: ServedApp) -> None:
    admin, board = app.admin(), "/challenges/digits/phases/main/leaderboard"  # an organizer sees new scores at once
    admin.submit("digits", LABELS, team="Blue").raise_for_status()
    settle(app)
    admin.get(board).raise_for_status()
    before = scrape(app.url)
    assert admin.submit("digits", LABELS, team="Blue").json()["status"] == "finished"
    for _ in range(50):  # most are served from memory; it is built again for the score and what is computed of it
        admin.get(board).raise_for_status()
    after = scrape(app.url)
    for name in ("assay_board_build_seconds", "assay_board_age_seconds"):
        assert 0 < after.value(f"{name}_count") - before.value(f"{name}_count") < 50, name
        assert after.value(f"{name}_sum") > before.value(f"{name}_sum"), name


def test_the_age_of_a_board_counts_from_its_last_build_and_at_most_while_it_is_shown() -> None:
    now, figures = [100.0], Telemetry()
    times = BoardTimes(figures, lambda: now[0])
    reply = CachedReply.build(b"{}", "application/json", marks=frozenset(), expires_at=math.inf)

    def build() -> CachedReply:
        now[0] += 2
        return reply

    for key, pause in (("a", 5), ("a", 1000), ("b", 0), ("a", 0)):
        assert times.measured(BoardKey(key, "main", "visitor"), build)() is reply
        now[0] += pause
    found = Scrape(prometheus_text(figures.registry).decode())
    assert [found.value(f"assay_board_build_seconds_{name}") for name in ("count", "sum")] == [4, 8]
    assert [found.value(f"assay_board_age_seconds_{name}") for name in ("count", "sum")] == [2, 7 + 60]


def test_a_board_that_is_not_cached_has_no_age_and_its_key_is_not_kept() -> None:
    """Anybody can invent such keys: spaces around a metric do not change it, and the next page may be any number."""
    figures = Telemetry()
    times = BoardTimes(figures, lambda: 100.0)
    reply = CachedReply.build(b"{}", "application/json", marks=frozenset(), expires_at=100.0)
    for _ in range(2):
        times.measured(BoardKey("a", "main", "visitor", metric="accuracy" + " " * 60_000), lambda: reply)()
    found = Scrape(prometheus_text(figures.registry).decode())
    assert found.value("assay_board_build_seconds_count") == 2
    assert found.value("assay_board_age_seconds_count") == 0
    assert not times._began


def test_refused_logins_are_counted_by_reason(app: ServedApp) -> None:
    body = {"email": "nobody@example.org", "password": "a wrong password"}
    before = scrape(app.url)
    assert {"wrong_password", "rate_limited", "unavailable"} == {
        sample.labels["code"] for sample in before.samples if sample.name == "assay_refused_logins_total"
    }
    for _ in range(2):
        assert app.caller().post("/tokens", json=body).status_code == 401
    after = scrape(app.url)
    counts = [each.value("assay_refused_logins_total", code="wrong_password") for each in (before, after)]
    assert counts[1] - counts[0] == 2


def test_two_routes_of_one_name_under_different_prefixes_are_told_apart(app: ServedApp) -> None:
    before = scrape(app.url).value("assay_http_requests_total", route="/api/v1/metrics", method="GET")
    assert app.caller().get("/metrics").status_code == 200
    after = scrape(app.url)
    assert after.value("assay_http_requests_total", route="/api/v1/metrics", method="GET") - before == 1
    assert after.value("assay_http_requests_total", route="/metrics", method="GET") > 0


def test_an_invented_method_makes_no_label(app: ServedApp) -> None:
    assert httpx.request("SECRETS", f"{app.url}/api/v1/me", timeout=MAX_WAIT_SECONDS).status_code == 405
    assert scrape(app.url).value("assay_http_requests_total", method="other", route="/api/v1/me") == 1


def test_no_label_names_a_challenge_a_team_a_person_or_a_submission(app: ServedApp) -> None:
    sent = app.admin().submit("digits", LABELS, team="Blue").json()
    app.admin().get(f"/submissions/{sent['id']}").raise_for_status()
    app.admin().get("/challenges/digits/phases/main/leaderboard").raise_for_status()
    text = read(app).text
    for secret in (sent["id"], "digits", "Blue", "main/", ADMIN_TOKEN, "example.org"):
        assert secret not in text, secret


def test_two_services_of_one_process_count_apart(app: ServedApp, tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", workers=1)) as other:
        assert httpx.get(f"{other.url}/api/v1/me", timeout=MAX_WAIT_SECONDS).status_code == 401
        assert scrape(other.url).value("assay_http_requests_total", route="/api/v1/me") == 1
        assert scrape(other.url).value("assay_settled_total") == 0


def test_the_process_the_version_and_the_database_are_told_of(app: ServedApp) -> None:
    found = scrape(app.url)
    assert found.value("assay_database_up") == 1
    assert found.value("assay_build_info") == 1
    assert found.value("process_open_fds") > 0
    assert found.value("assay_queue_oldest_seconds") == 0
    for reason in ("crashed", "interrupted", "file_lost"):
        assert found.value("assay_retries_total", reason=reason) == 0
    assert {"assay_retries_total", "assay_reaped_total"} <= found.names()


# ---- who may read them ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host"])
def test_what_is_passed_on_for_somebody_else_does_not_come_from_this_machine(app: ServedApp, name: str) -> None:
    answer = read(app, **{name: "192.0.2.7"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert answer.json()["code"] == "unauthorized"


def test_a_token_of_an_administrator_opens_them_and_no_other(app: ServedApp, token: str) -> None:
    assert read(app, **FORWARDED, Authorization=f"Bearer {ADMIN_TOKEN}").status_code == 200
    refused = read(app, **FORWARDED, Authorization=f"Bearer {token}")
    assert refused.status_code == 403
    assert refused.json()["code"] == "forbidden"
    assert read(app, **FORWARDED, Authorization="Bearer wrong").status_code == 401
    assert read(app, Authorization=f"Bearer {token}").status_code == 200


@pytest.mark.parametrize(
    "host", ["challenges.example.org", "127.0.0.1", "localhost", "assay:{port}", "127.0.0.1:1", ""]
)
def test_what_a_silent_proxy_on_this_machine_passes_on_is_not_of_this_machine(app: ServedApp, host: str) -> None:
    port = httpx.URL(app.url).port
    refused = read(app, Host=host.format(port=port))
    assert refused.status_code == 401
    assert refused.json()["code"] == "unauthorized"
    for here in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert read(app, Host=here).status_code == 200


def test_a_request_in_the_old_protocol_of_proxies_is_not_of_this_machine(app: ServedApp) -> None:
    url = httpx.URL(app.url)
    with socket.create_connection((url.host, url.port)) as line:
        line.sendall(f"GET /metrics HTTP/1.0\r\nHost: {url.host}:{url.port}\r\n\r\n".encode())
        assert line.makefile("rb").readline().split()[1] == b"401"


@pytest.mark.parametrize("how", [{"metrics_access": "administrators"}, {"trusted_proxies": "192.0.2.1"}])
def test_settings_leave_the_figures_to_administrators_alone(tmp_path: Path, how: dict[str, Any]) -> None:
    with serve_app(app_settings(tmp_path / "data", **how)) as running:
        assert read(running).status_code == 401
        assert read(running, Authorization=f"Bearer {ADMIN_TOKEN}").status_code == 200


def test_without_a_setting_a_request_over_the_loopback_device_needs_a_token_too(tmp_path: Path) -> None:
    """A proxy on the same machine that sets the Host to its upstream and adds no header sends just such requests."""
    default = Settings.model_fields["metrics_access"].default
    with serve_app(app_settings(tmp_path / "data", metrics_access=default)) as running:
        refused = read(running)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
        assert read(running, Authorization=f"Bearer {ADMIN_TOKEN}").status_code == 200


def test_the_value_of_former_versions_is_no_setting(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="metrics_access"):
        app_settings(tmp_path / "data", metrics_access="guarded")


def test_they_are_shown_to_everybody_where_the_setting_says_so(open_to_all: ServedApp) -> None:
    answer = read(open_to_all, **FORWARDED)
    assert answer.status_code == 200
    assert Scrape(answer.text).value("assay_build_info") == 1


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("open") / "data", metrics_access="open")) as running:
        yield running


@pytest.mark.parametrize(
    ("client", "here"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("192.0.2.7", False),
     ("::ffff:192.0.2.7", False), ("2001:db8::1", False), ("localhost", False), (None, False)],
)  # fmt: skip
def test_only_loopback_addresses_are_of_this_machine(client: str | None, here: bool) -> None:
    sent = {"type": "http", "headers": [(b"host", b"127.0.0.1:8000")], "server": ("127.0.0.1", 8000)}
    scope: dict[str, Any] = sent | {"client": None if client is None else (client, 1)}
    assert is_loopback_request(Request(scope)) is here
