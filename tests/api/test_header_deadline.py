"""A connection ends whose request header does not come to its end; one that is slow otherwise goes on."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from app.runtime.health_server import HealthServer
from app.runtime.telemetry import Telemetry
from app.web_server import FairConnection
from tests.api.in_process_app import ServedApp
from tests.live_service import MAX_WAIT_SECONDS, eventually

GET = b"GET /api/v1/challenges HTTP/1.1\r\nHost: localhost\r\n\r\n"
PART = GET[:-2]


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=MAX_WAIT_SECONDS) as made:
        yield made


def answer(line: socket.socket) -> bytes:
    """The status line of the next answer, whose body is read too; empty where the connection has ended."""
    received = b""
    try:
        while b"\r\n\r\n" not in received:
            chunk = line.recv(1 << 16)
            if not chunk:
                return b""
            received += chunk
        head, _, body = received.partition(b"\r\n\r\n")
        fields = dict(each.lower().split(b": ", 1) for each in head.split(b"\r\n")[1:])
        while len(body) < int(fields[b"content-length"]):
            body += line.recv(1 << 16)
    except ConnectionError:
        return b""
    return head.partition(b"\r\n")[0]


def has_ended(line: socket.socket) -> bool:
    """Whether the other side has closed the connection; waits for what comes from there for a moment only."""
    line.settimeout(0.02)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def ends_although_bytes_come(line: socket.socket) -> None:
    def one_more() -> bool:
        try:
            line.sendall(b"x")
        except OSError:
            return True
        return has_ended(line)

    eventually(one_more, "the connection has ended")


# ---- the API --------------------------------------------------------------------------------------


TRIES = 100


class TooSlow(Exception):
    """This busy machine has found the request itself too slow already: it is made again."""


def require_answer(line: socket.socket) -> None:
    try:
        answered = answer(line)
    except OSError:
        answered = b""
    if not answered:
        raise TooSlow


def silent(line: socket.socket) -> None:
    eventually(lambda: has_ended(line), "the connection has ended")


def part(line: socket.socket) -> None:
    line.sendall(PART)
    silent(line)


def byte_after_byte(line: socket.socket) -> None:
    line.sendall(PART + b"X-Long: ")
    ends_although_bytes_come(line)


def part_behind_a_request(line: socket.socket) -> None:
    line.sendall(GET + PART)
    require_answer(line)
    silent(line)


def part_after_an_answer(line: socket.socket) -> None:
    line.sendall(GET)
    require_answer(line)
    line.sendall(PART + b"X-Long: ")
    ends_although_bytes_come(line)


def body_after_an_answer(line: socket.socket) -> None:
    line.sendall(GET[:-2] + b"Content-Length: 1000000\r\n\r\n")
    require_answer(line)
    ends_although_bytes_come(line)


def silence_after_an_answer(line: socket.socket) -> None:
    line.sendall(GET[:-2] + b"Content-Length: 1000000\r\n\r\nx")
    require_answer(line)
    silent(line)


CALLERS = (
    silent,
    part,
    byte_after_byte,
    part_behind_a_request,
    part_after_an_answer,
    body_after_an_answer,
    silence_after_an_answer,
)


def test_a_connection_without_a_whole_header_ends(app: ServedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """All callers at once, because the deadline is of real time."""
    monkeypatch.setattr("app.web_server.HEADER_TIMEOUT_SECONDS", 0.3)

    def call(caller: Callable[[socket.socket], None]) -> None:
        for _ in range(TRIES):
            with connection(app.url) as line, suppress(TooSlow):
                return caller(line)
        raise TooSlow(caller.__name__)

    with ThreadPoolExecutor(len(CALLERS)) as threads:
        for each in [threads.submit(call, caller) for caller in CALLERS]:
            each.result()


class Clock:
    """The deadlines of connections, which come when the test says so."""

    def __init__(self) -> None:
        self.connections: list[FairConnection] = []

    def strike(self) -> None:
        """Let every deadline that is set now come."""
        done = threading.Event()

        def end() -> None:
            for each in self.connections:
                if each._deadline is not None:
                    each.timeout_keep_alive_handler()
            done.set()

        self.connections[0].loop.call_soon_threadsafe(end)
        assert done.wait(MAX_WAIT_SECONDS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made, begin = Clock(), FairConnection.connection_made

    def connection_made(self: FairConnection, transport: asyncio.Transport) -> None:
        begin(self, transport)
        made.connections.append(self)

    monkeypatch.setattr(FairConnection, "connection_made", connection_made)
    return made


def test_idle_connections_and_slow_bodies_go_on(app: ServedApp, clock: Clock) -> None:
    body = b'{"email": "slow@example.org", "password": "this is none"}'
    head = (
        b"POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    with ExitStack() as open_now:
        idle, slow, late, silent_one = (open_now.enter_context(connection(app.url)) for _ in range(4))
        idle.sendall(GET)
        assert answer(idle) == b"HTTP/1.1 200 OK"
        slow.sendall(head + body[:10])
        late.sendall(GET + PART)
        assert answer(late) == b"HTTP/1.1 200 OK"
        eventually(lambda: len(clock.connections) == 4, "all are connected")
        eventually(lambda: sum(each._deadline is not None for each in clock.connections) == 2, "two are expected")
        clock.strike()
        for ended in (late, silent_one):
            assert ended.recv(1) == b""
        idle.sendall(GET)
        assert answer(idle) == b"HTTP/1.1 200 OK"
        for at in range(10, len(body)):
            slow.sendall(body[at : at + 1])
        assert answer(slow) == b"HTTP/1.1 401 Unauthorized"
        slow.sendall(GET)
        assert answer(slow) == b"HTTP/1.1 200 OK"


def test_what_follows_an_early_answer_is_expected_like_any_request(app: ServedApp, clock: Clock) -> None:
    head = b"POST /api/v1/challenges HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
    with connection(app.url) as line:
        line.sendall(head)
        assert answer(line).startswith(b"HTTP/1.1 4")
        line.sendall(b"late")
        eventually(lambda: clock.connections[0]._deadline is not None, "a header is expected")
        line.sendall(GET)
        assert answer(line) == b"HTTP/1.1 200 OK"
        clock.strike()
        line.sendall(GET)
        assert answer(line) == b"HTTP/1.1 200 OK"


# ---- a worker -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sends", [b"", b"GET /healthz HTTP/1.1\r\nX-Long: "])
def test_a_worker_does_not_wait_for_ever_either(sends: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.runtime.health_server.HEADER_TIMEOUT_SECONDS", 0.3)
    server = HealthServer("127.0.0.1", 0, Telemetry().registry, lambda: (True, {}))
    try:
        with connection(f"http://127.0.0.1:{server.port}") as line:
            if sends:
                line.sendall(sends)
                ends_although_bytes_come(line)
            else:
                silent(line)
    finally:
        server.close()
