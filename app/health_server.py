"""A small web server for a process without the API: whether it is well, and its figures."""

import json
import socket
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from app import figures
from app.errors import Unavailable

log = structlog.get_logger()

IDLE_SECONDS = 10.0  # a caller that says nothing for so long is dropped


class HealthServer:
    """Answers GET /healthz (200, or 503 when `healthy` says no) and GET /metrics on an address, until closed."""

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, healthy: Callable[[], tuple[bool, dict[str, Any]]]
    ) -> None:
        """Listen, port 0 on a free one; raises OSError when the address cannot be had."""

        class Handler(_Handler):
            answers = {  # noqa: RUF012 - read only
                "/healthz": lambda: _health(healthy),
                "/metrics": lambda: (HTTPStatus.OK, figures.MEDIA_TYPE, figures.text(registry)),
            }

        kind = _ServerOf6 if ":" in host else _Server
        self._server = kind((host, port), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


Answer = tuple[HTTPStatus, str, bytes]


def _health(healthy: Callable[[], tuple[bool, dict[str, Any]]]) -> Answer:
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


class _ServerOf6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request, one answer."""

    timeout = IDLE_SECONDS
    answers: dict[str, Callable[[], Answer]]

    def do_GET(self) -> None:
        """Answer."""
        make = self.answers.get(self.path.partition("?")[0])
        status, media, body = make() if make else (HTTPStatus.NOT_FOUND, "text/plain", b"/healthz or /metrics\n")
        self.send_response_only(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing: whoever watches asks every few seconds."""
