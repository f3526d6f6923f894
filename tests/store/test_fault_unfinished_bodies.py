"""JSON bodies that come slowly, never end, or are none: they take a bounded share of memory, connections and time."""

import asyncio
import json
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from app.api.limits.body_memory import BodyMemoryLimiter
from app.api.limits.reader_queue import CallerFairLock, TooManyWaiting
from app.api.limits.request_limits import COUNTED_PART_BYTES, RequestLimits
from app.errors import TooManyRequests
from app.settings import Settings
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import MAX_WAIT_SECONDS, eventually, open_challenge

MIB = 1 << 20
JSON = "Content-Type: application/json\r\n"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path / "data", rate_limits="20/minute", upload_idle=1)) as served:
        yield served


def begin_upload(
    site: ServedApp, stack: ExitStack, *, source: str = "127.0.0.1", size: int = MIB // 2
) -> socket.socket:
    """A connection on which so many bytes of a longer body have been sent."""
    host, port = site.url.removeprefix("http://").split(":")
    connection = stack.enter_context(socket.create_connection((host, int(port)), MAX_WAIT_SECONDS, (source, 0)))
    connection.sendall(f"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\n{JSON}Content-Length: {MIB}\r\n\r\n".encode())
    connection.sendall(b" " * size)
    return connection


def read_until_closed(connection: socket.socket) -> bytes:
    """All that the service sends before it closes the connection, in however many pieces it arrives."""
    answer = b""
    with suppress(ConnectionResetError):  # bytes of the body that nobody read
        while piece := connection.recv(65536):
            answer += piece
    return answer


def test_bodies_that_do_not_end_take_a_share_of_the_memory_and_leave_the_others_theirs(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data")) as site, ExitStack() as stack:
        memory = site.app.state.service.json_body_memory = BodyMemoryLimiter(2 * MIB)
        connections = [begin_upload(site, stack) for _ in range(4)]
        eventually(lambda: memory._total_bytes >= 2 * MIB, "there is no room")
        refused = read_until_closed(begin_upload(site, stack))
        assert refused.startswith(b"HTTP/1.1 429")
        assert b"retry-after" in refused.lower()
        other = begin_upload(site, stack, source="127.0.0.2", size=MIB - 2)
        other.sendall(b"[]")
        assert other.recv(12) == b"HTTP/1.1 422"
        for connection in connections:
            connection.sendall(b" " * (MIB // 2 - 2) + b"[]")
        answers = {connection.recv(12) for connection in connections}
        assert answers <= {b"HTTP/1.1 422", b"HTTP/1.1 429"}
        # An answer may be read before the service has returned the memory of its request.
        eventually(lambda: not memory._bytes_of_block and not memory._total_bytes, "all memory is returned")


def test_a_body_that_trickles_is_given_up(site: ServedApp) -> None:
    with ExitStack() as stack:
        connection = begin_upload(site, stack, size=0)
        connection.settimeout(0.2)
        answer = b""
        for _ in range(200):
            connection.sendall(b" ")  # never silent for so long as ends an upload
            try:
                answer = connection.recv(65536)
                break
            except TimeoutError:
                pass
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_an_empty_body_takes_room_as_a_connection_does() -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    memory = BodyMemoryLimiter()
    with ExitStack() as stack:
        for _ in range(files // 2):
            stack.enter_context(memory.admit_body("192.0.2.1"))
        with pytest.raises(TooManyWaiting):
            stack.enter_context(memory.admit_body("192.0.2.1"))
        stack.enter_context(memory.admit_body("192.0.2.2"))
    assert memory._total_bytes == 0


def test_room_is_shared_by_those_who_send() -> None:
    memory = BodyMemoryLimiter(90 * MIB)
    with ExitStack() as stack:
        holds = {name: stack.enter_context(memory.admit_body(name)) for name in "abc"}
        assert holds["a"](90 * MIB)
        assert holds["b"](30 * MIB)
        assert holds["c"](29 * MIB)
        assert not holds["a"](91 * MIB)
        assert not holds["b"](31 * MIB)
        assert holds["a"](MIB)  # what was written is held no more
        assert holds["c"](50 * MIB)


def test_an_upload_goes_to_the_disk_where_there_is_no_room_in_memory(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data")) as site:
        open_challenge(site.admin(), "pets", GOLD)
        memory = site.app.state.service.upload_memory = BodyMemoryLimiter(0)
        answer = site.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue")
        assert answer.json()["scores"]["accuracy"]["value"] == 1.0, answer.text
        assert memory._total_bytes == 0


def test_large_bodies_are_read_one_at_a_time_of_each_address_and_of_all() -> None:
    async def run() -> list[str]:
        turns, order = CallerFairLock(), list[str]()

        async def read(caller: str) -> None:
            async with turns.hold(caller):
                order.append(caller)
                await asyncio.sleep(0)

        await asyncio.gather(*(read(caller) for caller in ["many"] * 50 + ["one"]))
        return order

    order = asyncio.run(run())
    assert order.index("one") <= 1
    assert len(order) == 51


def test_parts_of_large_bodies_and_bodies_that_are_no_json_count(site: ServedApp) -> None:
    body = json.dumps({"email": [0] * (4 * COUNTED_PART_BYTES)}).encode()
    assert len(body) // COUNTED_PART_BYTES == 12
    caller = site.caller()
    answers = [caller.post("/tokens", content=body, headers={"Content-Type": "application/json"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [422, 429]
    assert "Retry-After" in answers[1].headers
    assert "64 KiB" in answers[1].json()["detail"]
    limiter = RequestLimits(Settings(rate_limits="1/hour"))
    limiter.count_body("192.0.2.1")
    with pytest.raises(TooManyRequests):
        limiter.count_body("192.0.2.1")


@pytest.mark.parametrize("start", [b"{", b'{"email":[]}'])
def test_bodies_that_mean_nothing_are_counted_unless_they_are_small(site: ServedApp, start: bytes) -> None:
    caller = site.caller()
    headers = {"Content-Type": "application/json"}
    for size, after in ((4096, 422), (4097, 429)):
        content = start.ljust(size)
        codes = [caller.post("/tokens", content=content, headers=headers).status_code for _ in range(21)]
        assert codes == [422] * 20 + [after]
