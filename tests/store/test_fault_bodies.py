"""Bodies that lie about their length, break off, stall or drip: each is answered or given up, and leaves no file.

One of each kind is sent to every route that takes a file, over sockets of the test's own.
"""

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest
from sqlalchemy import func, select

from app.api.limits.reader_queue import MAX_PER_CALLER
from app.formats.phase_size_limits import BASE_FILE_BYTES
from app.store.tables import GoldVersion, Submission
from tests.api.in_process_app import ADMIN_TOKEN, ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, eventually, open_challenge

IDLE = 1.0
MAIN = "/api/v1/challenges/pets/phases/main"
WAYS = {
    "submission": f"{MAIN}/submissions?team=Blue",
    "dry run": f"{MAIN}/submissions?team=Blue&dry_run=true",
    "gold": f"{MAIN}/gold",
}
BODY = b'{"t0": "dog", "t1": "cat"'
NO_LENGTHS: dict[str, list[str]] = {
    "negative": ["-5"],
    "word": ["many"],
    "two": ["5", "6"],
    "list": ["5, 6"],
    "hexadecimal": ["0x10"],
    "plus": ["+5"],
    "underscore": ["1_0"],
    "huge": ["9" * 5000],
    "empty": [""],
    "fraction": ["5.0"],
}
NO_CHUNKS = {
    "word": b"zz\r\nabc\r\n",
    "negative": b"-5\r\nabc\r\n",
    "short": b"5\r\nabcdefgh\r\n",
    "huge": b"f" * 40 + b"\r\nabc",
    "none": b"\r\n\r\n",
    "two": b"5 5\r\nabcde\r\n",
}


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    settings = app_settings(tmp_path_factory.mktemp("raw") / "data", upload_idle=IDLE, upload_rate=2000)
    with serve_app(settings) as service:
        open_challenge(service.admin(), "pets", GOLD)
        yield service


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """A service that waits longer for the next bytes of a body than any of these tests takes."""
    with serve_app(app_settings(tmp_path_factory.mktemp("calm") / "data", upload_idle=MAX_WAIT_SECONDS)) as service:
        open_challenge(service.admin(), "pets", GOLD, phases=[{"name": "main", "quota": {"total": 1}}])
        yield service


def stored(service: ServedApp) -> list[str]:
    """The names of the stored files, whole or in part."""
    uploads = service.app.state.service.settings.files_dir / "uploads"
    return sorted(path.name for path in uploads.iterdir())


def parts(service: ServedApp) -> int:
    """How many uploads are under way."""
    return sum(name.endswith(".part") for name in stored(service))


def head(path: str, token: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", "Content-Type: application/json"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def connect(service: ServedApp, stack: ExitStack) -> socket.socket:
    host, port = service.url.removeprefix("http://").split(":")
    return stack.enter_context(socket.create_connection((host, int(port)), timeout=MAX_WAIT_SECONDS))


def read(connection: socket.socket) -> bytes:
    """All that comes until the service hangs up, or has nothing more to say."""
    received = b""
    connection.settimeout(MAX_WAIT_SECONDS)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while chunk := connection.recv(65536):
            received += chunk
            connection.settimeout(IDLE)
    return received


def answers(service: ServedApp, headers: Sequence[str], body: bytes, ways: Sequence[str] = tuple(WAYS)) -> list[bytes]:
    """What is answered to requests of these bytes, sent to all routes at once."""
    with ExitStack() as stack:
        connections = [connect(service, stack) for _ in ways]
        for way, connection in zip(ways, connections, strict=True):
            connection.sendall(head(WAYS[way], ADMIN_TOKEN, *headers) + body)
        return [read(connection) for connection in connections]


@contextlib.contextmanager
def leaving_nothing(service: ServedApp) -> Iterator[None]:
    """No file more, and whoever comes next is served."""
    before = stored(service)
    yield
    eventually(lambda: stored(service) == before, "nothing of it is left")
    with service.app.state.service.db.read() as session:
        tables = (Submission, GoldVersion)
        assert len(before) == sum(session.scalar(select(func.count()).select_from(table)) or 0 for table in tables)
    answer = service.admin().submit("pets", CORRECT_PREDICTIONS, team="Green", wait=0, dry_run="true")
    assert answer.json()["valid"] is True


def test_a_length_that_is_none_is_refused(patient: ServedApp) -> None:
    with leaving_nothing(patient):
        wrong = []
        for name, lengths in NO_LENGTHS.items():
            found = answers(patient, [f"Content-Length: {each}" for each in lengths], BODY)
            wrong += [(name, answer[:300]) for answer in found if not answer.startswith(b"HTTP/1.1 400 ")]
        assert wrong == []


def test_a_length_beyond_the_limit_is_refused_before_the_body_comes(patient: ServedApp) -> None:
    with leaving_nothing(patient):
        for answer in answers(patient, ["Content-Length: 99999999999"], b""):
            assert answer.startswith(b"HTTP/1.1 413 "), answer[:300]
            assert b'"code":"too_large"' in answer


def test_a_length_too_large_is_waited_for_and_given_up(patient: ServedApp) -> None:
    with leaving_nothing(patient):
        for answer in answers(patient, ["Content-Length: 5000"], BODY):
            assert answer.startswith(b"HTTP/1.1 408 "), answer[:300]
            assert b'"code":"too_slow"' in answer


def test_a_length_too_small_cuts_the_file_and_the_rest_is_no_request(patient: ServedApp) -> None:
    with leaving_nothing(patient):
        for answer in answers(patient, ["Content-Length: 10"], BODY, ["dry run", "gold"]):
            assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 422 ")), answer[:300]
            assert b'"total":{"syntax":1' in answer
            assert answer.count(b"HTTP/1.1 ") == 1 or b"HTTP/1.1 400 " in answer


def test_good_chunks_are_a_file(patient: ServedApp) -> None:
    body = b"".join(b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:], b"}"))
    headers = ["Transfer-Encoding: chunked", "Connection: close"]
    found = answers(patient, headers, body + b"0\r\nTrailer: x\r\n\r\n")
    assert [int(answer.split(b" ", 2)[1]) for answer in found] == [202, 200, 201], found


def test_broken_chunks_are_refused(patient: ServedApp) -> None:
    with leaving_nothing(patient):
        wrong = []
        for name, sent in NO_CHUNKS.items():
            found = answers(patient, ["Transfer-Encoding: chunked"], b"5\r\n" + BODY[:5] + b"\r\n" + sent)
            refusals = (b"HTTP/1.1 400 ", b"HTTP/1.1 408 ")
            wrong += [(name, answer[:300]) for answer in found if not answer.startswith(refusals)]
        assert wrong == []


def drip(service: ServedApp, way: str, length: int, before: bytes) -> bytes:
    """The answer to a body that comes a byte at a time, never silent for so long as ends an upload."""
    with ExitStack() as stack:
        connection, began, answer = connect(service, stack), time.monotonic(), b""
        connection.sendall(head(WAYS[way], ADMIN_TOKEN, f"Content-Length: {length}") + before)
        with contextlib.suppress(ConnectionError):
            while not answer and time.monotonic() - began < MAX_WAIT_SECONDS:
                connection.sendall(b" ")
                connection.settimeout(IDLE / 6)
                with contextlib.suppress(TimeoutError):
                    answer = connection.recv(65536)
    assert time.monotonic() - began >= IDLE
    return answer


@pytest.mark.parametrize(
    ("way", "length", "before"),
    [("dry run", 5000, b""), ("gold", 5000, b""), ("submission", 3_000_000, b" " * 1_500_000)],
    ids=["dry run", "gold", "after much"],
)
def test_a_body_that_drips_is_given_up_whatever_came_before(
    patient: ServedApp, way: str, length: int, before: bytes
) -> None:
    with leaving_nothing(patient):
        assert drip(patient, way, length, before).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    ("headers", "chunk"), [("Content-Length: 3000000", b""), ("Transfer-Encoding: chunked", b"1e8480\r\n")]
)
def test_a_client_that_hangs_up_midway_leaves_nothing(patient: ServedApp, headers: str, chunk: bytes) -> None:
    with leaving_nothing(patient), ExitStack() as stack:
        for path in WAYS.values():
            connect(patient, stack).sendall(head(path, ADMIN_TOKEN, headers) + chunk + b" " * 1_500_000)
        eventually(lambda: parts(patient) == len(WAYS), "all uploads have begun")


def person(service: ServedApp, name: str) -> Caller:
    """The only member of a new team."""
    account = {"email": f"{name}-{secrets.token_hex(4)}@example.org", "password": PASSWORD}
    service.admin().post("/users", json={"name": name, **account}).raise_for_status()
    token = service.caller().post("/tokens", json=account).raise_for_status().json()["token"]
    return service.caller(token).join("pets", name)


def token_of(caller: Caller) -> str:
    return caller.headers["Authorization"].removeprefix("Bearer ")


def test_one_sender_has_so_many_large_files_under_way_and_others_theirs(calm: ServedApp) -> None:
    red = token_of(person(calm, "Red"))

    def begin_upload(token: str, query: str = "") -> socket.socket:
        connection = connect(calm, open_ones)
        path = f"{MAIN}/submissions{query}"
        connection.sendall(head(path, token, "Content-Length: 3000000") + b" " * 1_500_000)
        return connection

    with ExitStack() as open_ones:
        for count in range(1, MAX_PER_CALLER + 1):
            begin_upload(red)
            eventually(lambda count=count: parts(calm) == count, f"{count} are under way")  # type: ignore[misc]
        refused = read(begin_upload(red))
        assert refused.startswith(b"HTTP/1.1 429 "), refused[:300]
        assert b'"code":"too_many_waiting"' in refused
        begin_upload(ADMIN_TOKEN, "?team=Blue")
        eventually(lambda: parts(calm) == MAX_PER_CALLER + 1, "that of another is under way")
    eventually(lambda: parts(calm) == 0, "none is left")


def test_a_large_body_beyond_the_quota_is_refused_before_it_comes(calm: ServedApp) -> None:
    green = person(calm, "Green")
    assert green.submit("pets", CORRECT_PREDICTIONS, wait=60).json()["status"] == "finished"
    with ExitStack() as stack:
        connection = connect(calm, stack)
        length = f"Content-Length: {BASE_FILE_BYTES + 100_000}"
        connection.sendall(head(f"{MAIN}/submissions", token_of(green), length))
        answer = read(connection)
    assert answer.startswith(b"HTTP/1.1 429 "), answer[:300]
    assert b'"quota":"total"' in answer


@pytest.mark.ci
def test_a_body_in_chunks_of_one_byte_keeps_nobody_from_a_turn(calm: ServedApp) -> None:
    """Others are answered while it is read: read in one go, each piece that comes would hold up all for long."""
    chunks, ended = b"1\r\n \r\n" * 300_000, threading.Event()
    with ExitStack() as stack:
        connection, admin = connect(calm, stack), calm.admin()

        def send() -> None:
            with contextlib.suppress(OSError):
                connection.sendall(head(WAYS["dry run"], ADMIN_TOKEN, "Transfer-Encoding: chunked"))
                connection.sendall(chunks + b"0\r\n\r\n")
                read(connection)
            ended.set()

        sender = threading.Thread(target=send)
        sender.start()
        answered = 0
        while answered < 5 and not ended.is_set():
            assert admin.get("/challenges/pets").status_code == 200
            answered += 1
        connection.shutdown(socket.SHUT_RDWR)
        sender.join(MAX_WAIT_SECONDS)
    assert answered == 5
