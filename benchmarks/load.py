"""Load on an HTTP server: persistent raw sockets, one request in flight on each, every reply counted."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import cast

import uvloop

BODILESS = {204, 304}


@dataclass
class Counts:
    """The replies by status, their bytes, and the seconds of each."""

    statuses: Counter[int] = field(default_factory=Counter)
    received: int = 0
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def replies(self) -> int:
        """The number of replies."""
        return len(self.latencies)

    @property
    def rate(self) -> float:
        """Replies per second."""
        return self.replies / self.seconds


class Connection(asyncio.Protocol):
    """One connection: sends the next request as soon as the previous reply is complete."""

    def __init__(self, requests: Iterator[bytes], counts: Counts, deadline: float) -> None:
        self._requests = requests
        self._counts = counts
        self._deadline = deadline
        self._read = bytearray()
        self._began = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's class has only the methods of one
        self._send()

    def connection_lost(self, fault: Exception | None) -> None:
        """The server closed first."""
        if not self.ended.done():
            self.ended.set_exception(fault or ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Count a reply once it is complete."""
        self._read += data
        head = self._read.find(b"\r\n\r\n")
        if head < 0:
            return
        status = int(self._read[9:12])
        try:
            whole = head + 4 + (0 if status in BODILESS else _length(bytes(self._read[:head])))
        except ValueError as fault:
            self.ended.set_exception(fault)
            self._transport.abort()
            return
        if len(self._read) < whole:
            return
        self._counts.latencies.append(time.perf_counter() - self._began)
        self._counts.statuses[status] += 1
        self._counts.received += whole
        del self._read[:whole]
        self._send()

    def _send(self) -> None:
        first = not self._began  # is always sent: to connect may have taken all the time on a busy machine
        request = next(self._requests, None) if first or time.perf_counter() < self._deadline else None
        if request is None:
            self.ended.set_result(None)
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(request)


def _length(head: bytes) -> int:
    """The Content-Length of a reply; chunked replies are not supported."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError(f"a reply without Content-Length: {head!r}")


async def load(
    host: str, port: int, requests: list[bytes], connections: int, seconds: float, *, most: int | None = None
) -> Counts:
    """Send the requests repeatedly for some seconds, at most `most` of them; waits for those in flight at the end.

    Each connection sends one at least, unless the others have sent all `most` before.
    """
    counts, began = Counts(), time.perf_counter()
    shared = islice(cycle(requests), most)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Connection(shared, counts, began + seconds), host, port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(connection.ended for _, connection in made))
    counts.seconds = time.perf_counter() - began
    return counts


def loaded(port: int, requests: list[bytes], connections: int, seconds: float, *, most: int | None = None) -> Counts:
    """The same on loopback, synchronously; raises TimeoutError if it takes two minutes longer than planned."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        asked = load("127.0.0.1", port, requests, connections, seconds, most=most)
        return runner.run(asyncio.wait_for(asked, seconds + 120))


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request as bytes; underscores in the names of headers stand for hyphens."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}"] if body or method == "POST" else []
    return "\r\n".join([*lines, "", ""]).encode() + body
