"""Bodies arrive whole, however they are cut and whatever follows them on the connection."""

import asyncio
import hashlib
import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from app.web_server import FairConnection
from tests.live_service import MAX_WAIT_SECONDS

DRAW = random.Random(3)
LARGE = DRAW.randbytes(3_000_000)


async def digest(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the SHA-256 of the body; /early before it reads the body, and reads no more."""
    if scope["type"] != "http":
        return
    found = hashlib.sha256()
    if scope["path"] != "/early":
        async for chunk in Request(scope, receive).stream():
            found.update(chunk)
    body = json.dumps(found.hexdigest()).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(digest, http=FairConnection, lifespan="off", log_config=None))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(MAX_WAIT_SECONDS)
    listener.close()


@contextmanager
def connected(port: int) -> Iterator[tuple[socket.socket, Any]]:
    with socket.create_connection(("127.0.0.1", port), MAX_WAIT_SECONDS) as sending, sending.makefile("rb") as replies:
        yield sending, replies


def read_reply(replies: Any) -> str:
    """The body of the next reply."""
    assert replies.readline().split()[1] == b"200"
    length = 0
    while line := replies.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return str(json.loads(replies.read(length)))


def request(body: bytes, *, chunked: bool = False, path: str = "/") -> bytes:
    if not chunked:
        return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in cut(body, 7)) + b"0\r\n\r\n"
    return b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


def cut(data: bytes, count: int) -> list[bytes]:
    """The data in so many parts at most, none of them empty."""
    ends = (
        sorted({*DRAW.sample(range(1, len(data)), min(count, len(data)) - 1), len(data)})
        if len(data) > 1
        else [len(data)]
    )
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("count", [1, 2, 9, 40])
def test_requests_on_one_connection_are_read_whole_however_they_are_cut(port: int, count: int) -> None:
    bodies = [DRAW.randbytes(size) for size in (1, 2048, 2049, 70_000, 400_000)] + [LARGE, b"x"]
    stream = b"".join(request(body, chunked=number % 3 == 2) for number, body in enumerate(bodies))
    with connected(port) as (sending, replies):

        def send() -> None:
            for part in cut(stream, count):
                sending.sendall(part)

        sender = threading.Thread(target=send)
        sender.start()
        assert [read_reply(replies) for _ in bodies] == [hashlib.sha256(body).hexdigest() for body in bodies]
        sender.join(MAX_WAIT_SECONDS)


def test_the_rest_of_a_body_that_was_answered_early_is_not_taken_for_a_request(port: int) -> None:
    with connected(port) as (sending, replies):
        whole = request(LARGE, path="/early")
        sending.sendall(whole[:100])
        assert read_reply(replies) == hashlib.sha256().hexdigest()
        sender = threading.Thread(target=sending.sendall, args=[whole[100:] + request(b"next")])
        sender.start()
        assert read_reply(replies) == hashlib.sha256(b"next").hexdigest()
        sender.join(MAX_WAIT_SECONDS)


def test_a_client_that_waits_for_100_may_send_its_body_and_another_request(port: int) -> None:
    head = request(LARGE)[: -len(LARGE)].replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    with connected(port) as (sending, replies):
        for _ in range(2):
            sending.sendall(head)
            assert replies.readline() + replies.readline() == b"HTTP/1.1 100 Continue\r\n\r\n"
            sending.sendall(LARGE)
            assert read_reply(replies) == hashlib.sha256(LARGE).hexdigest()
        sending.sendall(head + LARGE)  # one that does not wait
        first = replies.peek(30)
        if first.startswith(b"HTTP/1.1 100"):
            replies.readline(), replies.readline()
        assert read_reply(replies) == hashlib.sha256(LARGE).hexdigest()
