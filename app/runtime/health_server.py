"""A small HTTP server for a process without the API: health and metrics."""

import io
import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from app.errors import Unavailable
from app.runtime import telemetry

log = structlog.get_logger()

HEADER_TIMEOUT_SECONDS = 20.0  # from connecting until the whole header of the request has arrived


class HealthServer:
    """Serves GET /healthz (200, or 503 when `healthy` returns False) and GET /metrics until closed."""

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, healthy: Callable[[], tuple[bool, dict[str, Any]]]
    ) -> None:
        """Listen; port 0 selects a free one. Raises OSError when the address is not available."""

        class Handler(_Handler):
            replies = {  # noqa: RUF012 - read only
                "/healthz": lambda: _health_reply(healthy),
                "/metrics": lambda: (HTTPStatus.OK, telemetry.MEDIA_TYPE, telemetry.prometheus_text(registry)),
            }

        kind = _IPv6Server if ":" in host else _Server
        self._server = kind((host, port), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


HealthReply = tuple[HTTPStatus, str, bytes]


def _health_reply(healthy: Callable[[], tuple[bool, dict[str, Any]]]) -> HealthReply:
    try:
        is_healthy, state = healthy()
    except Unavailable as away:
        is_healthy, state = False, {"status": away.detail}
    except Exception:
        # A process whose health check itself fails is unhealthy, whatever the cause.
        log.exception("health_unknown")
        is_healthy, state = False, {"status": "unknown"}
    status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return status, "application/json", json.dumps(state).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_arguments: Any) -> None:
        """Log one line, where the library would print a traceback; usually the client hung up."""
        log.warning("health_reply_failed", error=repr(sys.exception()))


class _IPv6Server(_Server):
    address_family = socket.AF_INET6


class _DeadlineReader(io.RawIOBase):
    """Reads a connection until a deadline; with a timeout per read, a client could send one byte at a time forever."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        """True: the stream supports reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for bytes; raises TimeoutError at the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request, one reply."""

    timeout = HEADER_TIMEOUT_SECONDS  # for the reply
    replies: dict[str, Callable[[], HealthReply]]

    def setup(self) -> None:
        """Limit the time for reading the request."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_DeadlineReader(self.connection, HEADER_TIMEOUT_SECONDS))

    def do_GET(self) -> None:
        """Send the reply."""
        self.connection.settimeout(self.timeout)
        build = self.replies.get(self.path.partition("?")[0])
        status, media, body = build() if build else (HTTPStatus.NOT_FOUND, "text/plain", b"/healthz or /metrics\n")
        self.send_response_only(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Log nothing: monitoring polls every few seconds."""
