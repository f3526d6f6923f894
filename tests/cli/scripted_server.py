"""A small HTTP server that gives scripted answers and records the requests."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from app.errors import NotFound


@dataclass(frozen=True)
class ScriptedAnswer:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedRequest:
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes


class ScriptedServer:
    """Answers each `METHOD /path` with its scripted answers in turn; the last one stays."""

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.requests: list[RecordedRequest] = []
        self._script: dict[str, list[ScriptedAnswer | None]] = defaultdict(list)

    def on(self, route: str, *answers: ScriptedAnswer | None) -> None:
        """None breaks the connection instead of answering."""
        self._script[route].extend(answers)

    def answer(self, request: RecordedRequest) -> ScriptedAnswer | None:
        self.requests.append(request)
        waiting = self._script[f"{request.method} {request.path}"]
        if not waiting:
            return ScriptedAnswer(404, {"code": "not_found", "detail": NotFound().detail})
        return waiting[0] if len(waiting) == 1 else waiting.pop(0)

    def sent(self, method: str) -> list[RecordedRequest]:
        return [request for request in self.requests if request.method == method]


def _handler(service: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            split = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {key.lower(): value for key, value in self.headers.items()}
            answer = service.answer(RecordedRequest(self.command, split.path, parse_qs(split.query), headers, body))
            if answer is None:
                self.close_connection = True
                return
            content = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for key, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 (the names that http.server calls)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep the test's output clean."""

    return Handler


@contextmanager
def run_server() -> Iterator[ScriptedServer]:
    service = ScriptedServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(service))
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
