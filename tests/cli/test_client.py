from pathlib import Path

import pytest

from app.client import ApiError, Client, ClientError, Json, UnreachableError
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer

OPEN = "POST /api/v1/challenges/irony/submissions"
DONE = {"id": "s1", "status": "finished", "scores": {"f1_macro": {"value": 0.5}}}
QUEUED = {"id": "s1", "status": "queued"}
AWAY = ScriptedAnswer(503, {"code": "unavailable", "detail": "away"}, {"Retry-After": "0"})


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(bytes(range(256)) * 4000)
    return path


def test_a_file_is_sent_whole_with_name_length_and_token(service: ScriptedServer, predictions: Path) -> None:
    service.on(OPEN, ScriptedAnswer(202, QUEUED))
    seen: list[tuple[int, int]] = []
    with Client(service.url, "secret") as client:
        client.submit("irony", predictions, method="SVM & co", progress=lambda sent, total: seen.append((sent, total)))
    (request,) = service.requests
    size = predictions.stat().st_size
    assert request.body == predictions.read_bytes()
    assert request.headers["content-length"] == str(size)
    assert "transfer-encoding" not in request.headers
    assert "content-type" not in request.headers  # the name tells the format
    assert request.headers["authorization"] == "Bearer secret"
    assert request.query == {"filename": ["mine.jsonl.gz"], "method": ["SVM & co"]}
    assert seen[-1] == (size, size)
    assert [sent for sent, _ in seen] == sorted({sent for sent, _ in seen})


def test_a_submission_is_retried_whole_under_one_key_when_the_service_is_away(
    service: ScriptedServer, predictions: Path
) -> None:
    service.on(
        OPEN,
        AWAY,
        None,
        ScriptedAnswer(409, {"code": "request_in_flight"}, {"Retry-After": "0"}),
        ScriptedAnswer(201, DONE),
    )
    with Client(service.url) as client:
        assert client.submit("irony", predictions) == DONE
    assert len(service.requests) == 4
    assert {request.headers["idempotency-key"] for request in service.requests} == {
        service.requests[0].headers["idempotency-key"]
    }
    assert {request.body for request in service.requests} == {predictions.read_bytes()}


def test_two_submissions_have_two_keys(service: ScriptedServer) -> None:
    service.on(OPEN, ScriptedAnswer(202, QUEUED))
    with Client(service.url) as client:
        client.submit("irony", b"{}")
        client.submit("irony", b"{}")
    first, second = (request.headers["idempotency-key"] for request in service.requests)
    assert first != second


def test_retries_end_after_three(service: ScriptedServer) -> None:
    service.on(OPEN, AWAY)
    with Client(service.url) as client, pytest.raises(ApiError) as caught:
        client.submit("irony", b"{}")
    assert caught.value.status == 503
    assert len(service.requests) == 4


@pytest.mark.parametrize("pause", ["86400", "-1"])
def test_a_retry_after_beyond_bounds_is_not_waited_for(service: ScriptedServer, pause: str) -> None:
    service.on(OPEN, ScriptedAnswer(503, {"code": "storage_short"}, {"Retry-After": pause}))
    with Client(service.url) as client, pytest.raises(ApiError):
        client.submit("irony", b"{}")
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415, 422, 429, 500])
def test_what_a_repetition_cannot_mend_is_not_repeated(service: ScriptedServer, status: int) -> None:
    service.on(OPEN, ScriptedAnswer(status, {"code": "no", "detail": "no"}, {"Retry-After": "0"}))
    with Client(service.url) as client, pytest.raises(ApiError) as caught:
        client.submit("irony", b"{}")
    assert caught.value.status == status
    assert len(service.requests) == 1


def test_a_call_that_creates_is_sent_once(service: ScriptedServer) -> None:
    service.on("POST /api/v1/users", AWAY)
    with Client(service.url) as client, pytest.raises(ApiError, match="away"):
        client.sign_up("ada@example.org", "Ada", "long enough a word")
    assert len(service.requests) == 1


def test_waiting_asks_the_service_to_wait_and_then_asks_until_the_status_is_final(service: ScriptedServer) -> None:
    service.on(OPEN, ScriptedAnswer(202, QUEUED))
    service.on(
        "GET /api/v1/submissions/s1", ScriptedAnswer(200, QUEUED | {"status": "running"}), ScriptedAnswer(200, DONE)
    )
    waiting: list[Json] = []
    with Client(service.url) as client:
        assert client.submit("irony", b"{}", wait=100, on_waiting=waiting.append) == DONE
    assert [each["status"] for each in waiting] == ["queued", "running"]
    assert service.requests[0].headers["prefer"] == "wait=60"


def test_the_wait_ends_in_time_with_the_submission_as_it_is(service: ScriptedServer) -> None:
    service.on(OPEN, ScriptedAnswer(202, QUEUED))
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, QUEUED))
    with Client(service.url) as client:
        assert client.submit("irony", b"{}", wait=0.1) == QUEUED
    assert "prefer" not in service.requests[0].headers


def test_a_dry_run_says_so(service: ScriptedServer) -> None:
    service.on(
        "POST /api/v1/challenges/irony/phases/test/submissions",
        ScriptedAnswer(200, {"valid": True, "total": {}, "problems": []}),
    )
    with Client(service.url) as client:
        assert client.dry_run("irony", b"{}", phase="test")["valid"]
    assert service.requests[0].query["dry_run"] == ["true"]


def test_lists_follow_the_cursor_to_the_end(service: ScriptedServer) -> None:
    service.on(
        "GET /api/v1/challenges",
        ScriptedAnswer(200, {"items": [{"slug": "a"}, {"slug": "b"}], "next": "x-1"}),
        ScriptedAnswer(200, {"items": [{"slug": "c"}], "next": None}),
    )
    with Client(service.url) as client:
        assert [one["slug"] for one in client.list_challenges()] == ["a", "b", "c"]
    assert "cursor" not in service.requests[0].query
    assert service.requests[1].query["cursor"] == ["x-1"]


def test_an_error_carries_the_whole_explanation(service: ScriptedServer) -> None:
    problems = [{"code": "unknown_id", "line": 3, "message": "mend it"}]
    document = {
        "status": 422,
        "code": "invalid_gold",
        "detail": "wrong",
        "remedy": "mend",
        "errors": [{"pointer": "/a", "detail": "b"}],
        "problems": problems,
        "total": {"unknown_id": 1},
    }
    service.on("POST /api/v1/challenges/irony/phases/main/gold", ScriptedAnswer(422, document))
    with Client(service.url) as client, pytest.raises(ApiError) as caught:
        client.upload_gold("irony", "main", Path(__file__))
    error = caught.value
    assert (error.status, error.code, error.detail, error.remedy) == (422, "invalid_gold", "wrong", "mend")
    assert error.problems == problems
    assert error.errors == document["errors"]
    assert error.document == document


@pytest.mark.parametrize("body", ["<html>", "[]", ""])
def test_an_error_without_an_explanation_is_an_error_still(service: ScriptedServer, body: str) -> None:
    service.on("GET /api/v1/me", ScriptedAnswer(500, body))
    with Client(service.url) as client, pytest.raises(ApiError) as caught:
        client.me()
    assert caught.value.code == "unexpected_answer"


def test_an_answer_that_is_not_from_this_service_is_refused(service: ScriptedServer) -> None:
    service.on("GET /api/v1/me", ScriptedAnswer(200, "<html>hello</html>"))
    with Client(service.url) as client, pytest.raises(ClientError, match="not as an Assay service"):
        client.me()


def test_names_are_escaped_in_addresses(service: ScriptedServer) -> None:
    with Client(service.url) as client, pytest.raises(ApiError):
        client.challenge("a/../b?c")
    assert service.requests[0].path == "/api/v1/challenges/a%2F..%2Fb%3Fc"


def test_nobody_there_is_said_with_the_address() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1"):
        client.create_token("a@example.org", "b")


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://localhost", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ClientError, match="not a valid service address"):
        Client(url)


def test_the_api_prefix_may_be_given(service: ScriptedServer) -> None:
    service.on("GET /api/v1/me", ScriptedAnswer(200, {"id": "u1"}))
    with Client(service.url + "/api/v1/") as client:
        assert client.me() == {"id": "u1"}


def test_readiness_is_false_until_the_service_says_otherwise(service: ScriptedServer) -> None:
    service.on("GET /readyz", ScriptedAnswer(503, {}), ScriptedAnswer(200, {}))
    with Client(service.url) as client:
        assert not client.ready()
        assert client.ready()
    with Client("http://127.0.0.1:1") as client:
        assert not client.ready()


PHASES = {
    "one": ([{"name": "Main", "slug": "main"}], "main"),
    "the open one": ([{"slug": "dev", "open": False}, {"slug": "test", "open": True}], "test"),
    "several open": ([{"slug": "dev", "open": True}, {"slug": "test", "open": True}], None),
    "none open": ([{"slug": "dev", "open": False}, {"slug": "test", "open": False}], None),
}


@pytest.mark.parametrize("case", PHASES)
def test_the_phase_meant_is_found_or_asked_for(service: ScriptedServer, case: str) -> None:
    phases, meant = PHASES[case]
    service.on("GET /api/v1/challenges/irony", ScriptedAnswer(200, {"slug": "irony", "phases": phases}))
    with Client(service.url) as client:
        assert client.phase("irony", "given") == "given"
        if meant is None:
            with pytest.raises(ClientError, match="dev, test"):
                client.phase("irony")
        else:
            assert client.phase("irony") == meant


def test_what_remains_is_read_again_after_a_wait(service: ScriptedServer) -> None:
    sent = {"id": "s1", "status": "queued", "phase": "main", "remaining": {"total": 1}}
    service.on("POST /api/v1/challenges/irony/submissions", ScriptedAnswer(202, sent))
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, {**DONE, "phase": "main"}))
    quota = {"remaining": {"total": 2}, "reset_at": "2027-01-01T00:00:00Z", "used": {}}
    service.on("GET /api/v1/challenges/irony/phases/main/quota", ScriptedAnswer(200, quota))
    with Client(service.url, "t") as client:
        done = client.submit("irony", b"{}", wait=30.0)
    assert (done["status"], done["remaining"], done["reset_at"]) == ("finished", {"total": 2}, quota["reset_at"])
