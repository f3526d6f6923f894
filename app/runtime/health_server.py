"""A small web server for a process without the API: whether it is well, and its figures."""

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

HEADER_TIMEOUT_SECONDS = 20.0  # from its connection a caller has so long to send the whole header of its request


class HealthServer:
    """Answers GET /healthz (200, or 503 when `healthy` says no) and GET /metrics on an address, until closed."""

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, healthy: Callable[[], tuple[bool, dict[str, Any]]]
    ) -> None:
        """Listen, port 0 on a free one; raises OSError when the address cannot be had."""

        class Handler(_Handler):
            answers = {  # noqa: RUF012 - read only
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
        well, state = healthy()
    except Unavailable as away:
        well, state = False, {"status": away.detail}
    except Exception:
        # Whatever is wrong with the question, a process that cannot answer it is not well.
        log.exception("health_unknown")
        well, state = False, {"status": "unknown"}
    status = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
    return status, "application/json", json.dumps(state).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_arguments: Any) -> None:
        """A caller that hung up, as a rule: a log line, where the library would print."""
        log.warning("health_reply_failed", error=repr(sys.exception()))


class _IPv6Server(_Server):
    address_family = socket.AF_INET6


class _DeadlineReader(io.RawIOBase):
    """What comes over a connection until a deadline; a limit for each read would let a caller send byte after byte."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for some bytes; raises TimeoutError at the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request, one answer."""

    timeout = HEADER_TIMEOUT_SECONDS  # for the answer
    answers: dict[str, Callable[[], HealthReply]]

    def setup(self) -> None:
        """Read no longer than until the deadline."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_DeadlineReader(self.connection, HEADER_TIMEOUT_SECONDS))

    def do_GET(self) -> None:
        """Answer."""
        self.connection.settimeout(self.timeout)
        make = self.answers.get(self.path.partition("?")[0])
        status, media, body = make() if make else (HTTPStatus.NOT_FOUND, "text/plain", b"/healthz or /metrics\n")
        self.send_response_only(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing: whoever watches asks every few seconds."""
