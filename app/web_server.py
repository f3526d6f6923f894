"""The web server: uvicorn, with an end to waiting for the header of a request and for those who wait for scores."""

import asyncio
import math
import socket
import time
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.dependencies import Notifier
from app.runtime.data_folder import AddressInUse
from app.settings import Settings

# Longer than clients keep a connection that is idle, many of them 5 s: one that closes as a request comes loses it.
KEEP_ALIVE_SECONDS = 75
HEADER_TIMEOUT_SECONDS = 20.0
MAX_HEADER_BYTES = 64 * 1024
TIME_SLICE_SECONDS = 0.002
MIN_READ_BYTES, MAX_READ_BYTES = (
    2048,
    1 << 18,
)  # bytes that are read at once: as few as take long, or all that a socket gives


class FairConnection(H11Protocol):
    """A connection that neither waits for the header of a request for ever nor keeps the others from their turns.

    It is closed HEADER_SECONDS after it opened if it has sent no whole header of a request by then; one that is kept, that
    long after the first byte of its next request; so is one whose request was answered before its body had come, if the rest
    has not by then. uvicorn has no limit for these: any byte ends its limit for idle connections.

    What came is read in parts, for TURN_SECONDS of processor time before others have their turns: a body in chunks of one
    byte costs some hundred times as much as one that comes in one piece.
    """

    _deadline: asyncio.TimerHandle | None = None
    _read_bytes = MIN_READ_BYTES
    _last_slice_start = 0.0  # that has been given to any connection

    def __init__(self, *given: Any, **named: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*given, **named)
        self._unread = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first request."""
        super().connection_made(transport)
        self._start_header_timeout()

    def data_received(self, data: bytes) -> None:
        """Read it now, or after what came before."""
        waiting = bool(self._unread)
        self._unread += data
        if waiting:
            self.transport.pause_reading()  # uvicorn may have resumed it
        else:
            self._read_for_one_slice()

    def _read_for_one_slice(self) -> None:
        """Read for one turn, and see whether the header is complete now."""
        began = time.thread_time()
        while self._unread and not self.transport.is_closing():
            part = bytes(self._unread[: self._read_bytes])
            del self._unread[: self._read_bytes]
            before = time.thread_time()
            super().data_received(part)
            now = time.thread_time()
            self._read_bytes = (
                MIN_READ_BYTES if now - before > TIME_SLICE_SECONDS / 2 else min(2 * self._read_bytes, MAX_READ_BYTES)
            )
            if now - began > TIME_SLICE_SECONDS:
                break
        if self.conn.their_state is h11.IDLE or self._has_answered_early():
            self._start_header_timeout()
        else:
            self._cancel_header_timeout()
        if not self._unread or self.transport.is_closing():
            if not self.flow.read_paused:
                self.transport.resume_reading()
            return
        self.transport.pause_reading()
        self.loop.call_at(self._next_slice_start(), self._read_for_one_slice)

    def _next_slice_start(self) -> float:
        """When to go on: those that have more than a turn to read share half of the time, however many they are."""
        turn = max(self.loop.time() + TIME_SLICE_SECONDS, FairConnection._last_slice_start + 2 * TIME_SLICE_SECONDS)
        FairConnection._last_slice_start = turn
        return turn

    def on_response_complete(self) -> None:
        """Go on with what came meanwhile: perhaps the beginning of another request."""
        super().on_response_complete()
        if (self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]) or self._has_answered_early():
            self._start_header_timeout()

    def _has_answered_early(self) -> bool:
        """Whether the rest of a body is still to come that nobody reads any more."""
        return self.conn.their_state is h11.SEND_BODY and self.cycle is not None and self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
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
    """How the app is served."""
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
    """Asked to end, it answers those who wait for scores halfway through the time that open requests have."""

    def __init__(self, config: uvicorn.Config, notifier: Notifier) -> None:
        super().__init__(config)
        self._notifier = notifier

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let open requests end, then the service."""
        seconds = self.config.timeout_graceful_shutdown or 0
        asyncio.get_running_loop().call_later(seconds / 2, self._notifier.close)
        await super().shutdown(sockets)


def open_listening_socket(settings: Settings) -> socket.socket:
    """The socket to serve on; raises AddressTaken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as refused:
        raise AddressInUse(settings.host, settings.port, refused) from refused
