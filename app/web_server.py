"""The web server: uvicorn with a timeout for request headers, fair reading and a graceful shutdown."""

import asyncio
import math
import socket
import time
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.notifier import Notifier
from app.runtime.data_folder import AddressInUse
from app.settings import Settings

# Longer than clients keep idle connections (often 5 s): closing one just as a request arrives would lose the request.
KEEP_ALIVE_SECONDS = 75
HEADER_TIMEOUT_SECONDS = 20.0
MAX_HEADER_BYTES = 64 * 1024
TIME_SLICE_SECONDS = 0.002
MIN_READ_BYTES, MAX_READ_BYTES = 2048, 1 << 18
"""How many bytes are parsed at once: from few, if they take long, to all that a socket delivers."""


class FairConnection(H11Protocol):
    """A connection with a timeout for request headers, which shares the event loop fairly with other connections.

    The connection is closed if no complete header arrives within HEADER_TIMEOUT_SECONDS after it was opened or, on a
    connection that is reused, after the first byte of the next request. It is also closed if a request was answered
    before its body had arrived and the rest does not arrive in that time. uvicorn has no limit for these cases: any
    byte ends its timeout for idle connections.

    Received data is parsed in parts, for TIME_SLICE_SECONDS of CPU time before other connections continue: a body in
    chunks of one byte costs about a hundred times as much as one that arrives in one piece.
    """

    _deadline: asyncio.TimerHandle | None = None
    _read_bytes = MIN_READ_BYTES
    _last_slice_start = 0.0  # of all connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Called by uvicorn."""
        super().__init__(*args, **kwargs)
        self._unread = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request."""
        super().connection_made(transport)
        self._start_header_timeout()

    def data_received(self, data: bytes) -> None:
        """Parse the data now, or after earlier data that is waiting."""
        if self._unread:
            self._unread += data
            self.transport.pause_reading()  # again, as uvicorn may have resumed it
        else:
            self._read_for_one_slice(data)

    def _read_waiting_data(self) -> None:
        data, self._unread = bytes(self._unread), bytearray()
        self._read_for_one_slice(data)

    def _read_for_one_slice(self, data: bytes) -> None:
        """Parse for one time slice, then restart or cancel the header timeout and schedule the next slice."""
        began = before = time.thread_time()
        at = 0
        while at < len(data) and not self.transport.is_closing():
            part = data[at : at + self._read_bytes]  # no copy if that is all
            at += len(part)
            super().data_received(part)
            now = time.thread_time()
            was_slow = now - before > TIME_SLICE_SECONDS / 2
            self._read_bytes = MIN_READ_BYTES if was_slow else min(2 * self._read_bytes, MAX_READ_BYTES)
            if now - began > TIME_SLICE_SECONDS:
                break
            before = now
        if self.conn.their_state is h11.IDLE or self._has_answered_early():
            self._start_header_timeout()
        else:
            self._cancel_header_timeout()
        if at == len(data) or self.transport.is_closing():
            if not self.flow.read_paused:
                self.transport.resume_reading()
            return
        self._unread += data[at:]
        self.transport.pause_reading()
        self.loop.call_at(self._next_slice_start(), self._read_waiting_data)

    def _next_slice_start(self) -> float:
        """When to continue. All connections that need more than one slice together get half of the time."""
        start = max(self.loop.time() + TIME_SLICE_SECONDS, FairConnection._last_slice_start + 2 * TIME_SLICE_SECONDS)
        FairConnection._last_slice_start = start
        return start

    def on_response_complete(self) -> None:
        """Restart the header timeout if the next request has begun to arrive, or the body is still incomplete."""
        super().on_response_complete()
        if (self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]) or self._has_answered_early():
            self._start_header_timeout()

    def _has_answered_early(self) -> bool:
        """Whether the request was answered although the rest of its body has yet to arrive."""
        return self.conn.their_state is h11.SEND_BODY and self.cycle is not None and self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout and drop unread data."""
        self._cancel_header_timeout()
        self._unread.clear()
        super().connection_lost(exc)

    def _start_header_timeout(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_TIMEOUT_SECONDS, self.timeout_keep_alive_handler)

    def _cancel_header_timeout(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def uvicorn_config(app: Any, settings: Settings) -> uvicorn.Config:
    """The configuration of uvicorn."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        http=FairConnection,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
    )


class GracefulServer(uvicorn.Server):
    """A server that, on shutdown, ends live streams at once and answers requests that wait after half of the timeout."""

    def __init__(self, config: uvicorn.Config, notifier: Notifier) -> None:
        super().__init__(config)
        self._notifier = notifier

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish open requests, then stop."""
        self._notifier.end_live_streams()  # Their readers connect again, to another process if there is one.
        seconds = self.config.timeout_graceful_shutdown or 0
        asyncio.get_running_loop().call_later(seconds / 2, self._notifier.close)
        await super().shutdown(sockets)


def open_listening_socket(settings: Settings) -> socket.socket:
    """The socket to serve on; raises AddressInUse."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise AddressInUse(settings.host, settings.port, error) from error
