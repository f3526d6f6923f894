"""Bodies that lie about their length, break off, stall or drip: each is answered or given up, and leaves no file."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.api.limits.reader_queue import MAX_PER_CALLER
from app.formats.phase_size_limits import BASE_FILE_BYTES
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, query_rows, stored_uploads
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually, open_challenge

IDLE = 1.0
MAIN = "/api/v1/challenges/pets/phases/main"
WAYS = {
    "submission": f"{MAIN}/submissions?team=Blue",
    "dry run": f"{MAIN}/submissions?team=Blue&dry_run=true",
    "gold": f"{MAIN}/gold",
}
BODY = b'{"t0": "dog", "t1": "cat"'
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("raw") / "data", upload_idle=str(IDLE), upload_rate="2000").start()
    open_challenge(service.admin(), "pets", GOLD)
    yield service
    service.kill()


def head(service: Live, way: str, *headers: str) -> bytes:
    lines = [
        f"POST {WAYS[way]} HTTP/1.1",
        f"Host: 127.0.0.1:{service.port}",
        f"Authorization: Bearer {service.admin_token}",
        "Content-Type: application/json",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def connected(service: Live) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=MAX_WAIT_SECONDS)


def read(connection: socket.socket) -> bytes:
    """All that comes until the service hangs up, or has nothing more to say."""
    received = b""
    connection.settimeout(MAX_WAIT_SECONDS)
    try:
        while chunk := connection.recv(65536):
            received += chunk
            connection.settimeout(3 * IDLE)
    except (TimeoutError, ConnectionResetError):
        pass
    return received


def read_answer(service: Live, way: str, headers: list[str], body: bytes) -> bytes:
    """What is answered to a request of these bytes."""
    with connected(service) as connection:
        connection.sendall(head(service, way, *headers) + body)
        return read(connection)


def assert_as_before(service: Live, before: list[str]) -> None:
    """No file more, and whoever comes next is served."""
    eventually(lambda: stored_uploads(service) == before, "nothing of it is left")
    assert (
        len(before)
        == query_rows(service, "SELECT (SELECT count(*) FROM submissions) + (SELECT count(*) FROM gold_versions)")[0][0]
    )
    assert service.admin().submit("pets", CORRECT_PREDICTIONS, team="Green", dry_run="true").json()["valid"] is True


@EVERY_WAY
@pytest.mark.parametrize(
    "lengths",
    [["-5"], ["many"], ["5", "6"], ["5, 6"], ["0x10"], ["+5"], ["1_0"], ["9" * 5000], [""], ["5.0"]],
    ids=["negative", "word", "two", "list", "hexadecimal", "plus", "underscore", "huge", "empty", "fraction"],
)
def test_a_length_that_is_none_is_refused(patient: Live, way: str, lengths: list[str]) -> None:
    before = stored_uploads(patient)
    answer = read_answer(patient, way, [f"Content-Length: {each}" for each in lengths], BODY)
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:300]
    assert_as_before(patient, before)


@EVERY_WAY
def test_a_length_beyond_the_limit_is_refused_before_the_body_comes(patient: Live, way: str) -> None:
    before = stored_uploads(patient)
    answer = read_answer(patient, way, ["Content-Length: 99999999999"], b"")
    assert answer.startswith(b"HTTP/1.1 413 "), answer[:300]
    assert b'"code":"too_large"' in answer
    assert_as_before(patient, before)


@EVERY_WAY
def test_a_length_too_large_is_waited_for_and_given_up(patient: Live, way: str) -> None:
    before = stored_uploads(patient)
    answer = read_answer(patient, way, ["Content-Length: 5000"], BODY)
    assert answer.startswith(b"HTTP/1.1 408 "), answer[:300]
    assert b'"code":"too_slow"' in answer
    assert_as_before(patient, before)


@pytest.mark.parametrize("way", ["dry run", "gold"])
def test_a_length_too_small_cuts_the_file_and_the_rest_is_no_request(patient: Live, way: str) -> None:
    before = stored_uploads(patient)
    answer = read_answer(patient, way, ["Content-Length: 10"], BODY)
    assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 422 ")), answer[:300]
    assert b'"total":{"syntax":1' in answer
    assert answer.count(b"HTTP/1.1 ") == 1 or b"HTTP/1.1 400 " in answer
    assert_as_before(patient, before)


@pytest.mark.parametrize("way", WAYS)
def test_good_chunks_are_a_file(patient: Live, way: str) -> None:
    body = b"".join(b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:], b"}"))
    answer = read_answer(
        patient, way, ["Transfer-Encoding: chunked", "Connection: close"], body + b"0\r\nTrailer: x\r\n\r\n"
    )
    status = int(answer.split(b" ", 2)[1])
    assert status == {"submission": 202, "dry run": 200, "gold": 201}[way], answer[:400]
    assert_as_before(patient, stored_uploads(patient))


@EVERY_WAY
@pytest.mark.parametrize(
    "sent",
    [
        b"zz\r\nabc\r\n",
        b"-5\r\nabc\r\n",
        b"5\r\nabcdefgh\r\n",
        b"f" * 40 + b"\r\nabc",
        b"\r\n\r\n",
        b"5 5\r\nabcde\r\n",
    ],
    ids=["word", "negative", "short", "huge", "none", "two"],
)
def test_broken_chunks_are_refused(patient: Live, way: str, sent: bytes) -> None:
    before = stored_uploads(patient)
    answer = read_answer(patient, way, ["Transfer-Encoding: chunked"], b"5\r\n" + BODY[:5] + b"\r\n" + sent)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 408 ")), answer[:300]
    assert_as_before(patient, before)


@EVERY_WAY
def test_a_body_that_drips_is_given_up(patient: Live, way: str) -> None:
    before = stored_uploads(patient)
    with connected(patient) as connection:
        connection.sendall(head(patient, way, "Content-Length: 5000"))
        began = time.monotonic()
        try:
            while time.monotonic() - began < MAX_WAIT_SECONDS:
                connection.sendall(b" ")
                connection.settimeout(IDLE / 6)
                try:
                    answer = connection.recv(65536)
                    break
                except TimeoutError:
                    continue
        except ConnectionError:
            answer = b""
    assert IDLE <= time.monotonic() - began < MAX_WAIT_SECONDS
    assert answer.startswith(b"HTTP/1.1 408 "), answer[:300]
    assert_as_before(patient, before)


@EVERY_WAY
def test_a_client_that_hangs_up_midway_leaves_nothing(patient: Live, way: str) -> None:
    before = stored_uploads(patient)
    for headers in (["Content-Length: 3000000"], ["Transfer-Encoding: chunked"]):
        with connected(patient) as connection:
            chunk = b"" if "Content" in headers[0] else b"1e8480\r\n"
            connection.sendall(head(patient, way, *headers) + chunk + b" " * 1_500_000)
            eventually(lambda: any(name.endswith(".part") for name in stored_uploads(patient)), "the upload has begun")
        assert_as_before(patient, before)


def test_a_body_that_all_but_ceases_to_come_is_given_up_whatever_came_before(patient: Live) -> None:
    before = stored_uploads(patient)
    with connected(patient) as connection:
        connection.sendall(head(patient, "submission", "Content-Length: 3000000") + b" " * 1_500_000)
        began, answer = time.monotonic(), b""
        connection.settimeout(IDLE / 4)
        with contextlib.suppress(ConnectionError):
            while not answer and time.monotonic() - began < MAX_WAIT_SECONDS:
                connection.sendall(b" ")
                with contextlib.suppress(TimeoutError):
                    answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408 "), answer[:300]
    assert_as_before(patient, before)


def test_one_sender_has_so_many_large_files_under_way_and_others_theirs(tmp_path: Path) -> None:
    service = Live(tmp_path / "data").start()
    open_challenge(service.admin(), "pets", GOLD)
    red = service.person("Red").join("pets", "Red").headers["Authorization"]

    def begin_upload(token: str, query: str = "") -> socket.socket:
        lines = [
            f"POST {MAIN}/submissions{query} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: {token}",
            "Content-Type: application/json",
            "Content-Length: 3000000",
        ]
        connection = open_ones.enter_context(connected(service))
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + b" " * 1_500_000)
        return connection

    def under_way(count: int) -> None:
        eventually(
            lambda: sum(name.endswith(".part") for name in stored_uploads(service)) == count, f"{count} are under way"
        )

    with contextlib.ExitStack() as open_ones:
        for count in range(1, MAX_PER_CALLER + 1):
            begin_upload(red)
            under_way(count)
        refused = read(begin_upload(red))
        assert refused.startswith(b"HTTP/1.1 429 "), refused[:300]
        assert b'"code":"too_many_waiting"' in refused
        begin_upload(f"Bearer {service.admin_token}", "?team=Blue")
        under_way(MAX_PER_CALLER + 1)
    under_way(0)
    service.kill()


def test_a_large_body_beyond_the_quota_is_refused_before_it_comes(tmp_path: Path) -> None:
    service = Live(tmp_path / "data").start()
    open_challenge(service.admin(), "pets", GOLD, phases=[{"name": "main", "quota": {"total": 1}}])
    red = service.person("Red").join("pets", "Red")
    assert red.submit("pets", CORRECT_PREDICTIONS, wait=60).json()["status"] == "finished"
    lines = [
        f"POST {MAIN}/submissions HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: {red.headers['Authorization']}",
        "Content-Type: application/json",
        f"Content-Length: {BASE_FILE_BYTES + 100_000}",
    ]
    with connected(service) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = read(connection)
    assert answer.startswith(b"HTTP/1.1 429 "), answer[:300]
    assert b'"quota":"total"' in answer
    service.kill()


def test_a_body_in_chunks_of_one_byte_keeps_nobody_from_a_turn(patient: Live) -> None:
    """Others are answered while it is read: read in one go, each piece that comes would hold up all for long."""
    chunks, ended = b"1\r\n \r\n" * 2_000_000, threading.Event()
    connection, admin = connected(patient), patient.admin()

    def send() -> None:
        with contextlib.suppress(OSError):
            connection.sendall(head(patient, "dry run", "Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n")
            read(connection)
        ended.set()

    sender = threading.Thread(target=send)
    sender.start()
    answered = 0
    while answered < 15 and not ended.is_set():
        assert admin.get("/challenges/pets").status_code == 200
        answered += 1
    connection.shutdown(socket.SHUT_RDWR)
    sender.join(MAX_WAIT_SECONDS)
    connection.close()
    assert answered == 15
