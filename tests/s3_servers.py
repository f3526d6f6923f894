"""Object stores for tests: two real servers in processes of their own, and a proxy that makes either of them fail."""

import contextlib
import http.client
import importlib.util
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from app.settings import Settings
from tests.live_service import MAX_WAIT_SECONDS, free_port
from tests.optional_tools import skip_or_fail

ACCESS_KEY = "accesskeyfortests"
SECRET_KEY = "a-secret-key-that-is-long-enough-for-tests"
IO_TIMEOUT_SECONDS = 60.0  # seconds that anything here may take at most


class S3Server:
    """A server that runs until `stop`; its buckets are made by `new_bucket`."""

    def __init__(self, command: list[str], url: str, make: Callable[[str], None]) -> None:
        self.url = url
        self.access_key = ACCESS_KEY
        self.secret_key = SECRET_KEY
        self._make = make
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def new_bucket(self) -> str:
        """The name of a new, empty bucket."""
        name = f"bucket-{secrets.token_hex(6)}"
        self._make(name)
        return name

    def settings(self, data_dir: Path, *, endpoint: str = "", bucket: str = "", **more: Any) -> Settings:
        """Settings of a service that keeps its uploads here, in a bucket of its own unless one is named."""
        given = {
            "data_dir": data_dir,
            "min_free": 0,
            "files_url": f"s3://{bucket or self.new_bucket()}/some/prefix",
            "s3_endpoint": endpoint or self.url,
            "s3_access_key": self.access_key,
            "s3_secret_key": SecretStr(self.secret_key),
        }
        return Settings.model_validate(given | more)

    def wait(self, seconds: float = 30) -> bool:
        """Whether it answers, after a while that is generous but has an end."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(self.url, timeout=5)
                return True
            time.sleep(0.05)
        return False

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(timeout=MAX_WAIT_SECONDS)


def moto() -> S3Server:
    """The server of moto, in memory: close to what S3 means."""
    if importlib.util.find_spec("moto") is None:
        skip_or_fail("s3", "moto is not installed")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    return _require_started(
        S3Server(command, url, lambda name: _expect_made(httpx.put(f"{url}/{name}", timeout=MAX_WAIT_SECONDS)))
    )


def rclone(folder: Path) -> S3Server:
    """The server of rclone on a folder: another make, which checks signatures and keeps real files."""
    beside = Path(sys.executable).with_name("rclone")
    program = str(beside) if beside.exists() else shutil.which("rclone")
    if program is None:
        skip_or_fail("s3", "rclone is not installed")
    port = free_port()
    command = [program, "serve", "s3", "--config", "/dev/null", "--addr", f"127.0.0.1:{port}"]
    command += ["--auth-key", f"{ACCESS_KEY},{SECRET_KEY}", "--vfs-cache-mode", "off", "--dir-cache-time", "10ms"]
    return _require_started(
        S3Server([*command, str(folder)], f"http://127.0.0.1:{port}", lambda name: (folder / name).mkdir())
    )


def _require_started(server: S3Server) -> S3Server:
    if not server.wait():
        server.stop()
        skip_or_fail("s3", "the server did not start")
    return server


def _expect_made(reply: httpx.Response) -> None:
    assert reply.status_code == 200, reply.text


class FaultyS3Proxy:
    """A proxy in front of a server; it forwards every request unless told otherwise, and records it."""

    def __init__(self, server: S3Server) -> None:
        self.server = server
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.seen: list[tuple[str, str]] = []  # method and path
        self.answers: list[int] = []  # statuses that the next requests get
        self.broken = ""  # a method that gets 503 whenever it is asked
        self.cuts = 0  # how many of the next bodies end midway
        self.closed = False
        self.healed = 0  # how often; what was stalled before is lost, not late
        self.flowing = threading.Event()  # cleared: requests are taken and not answered,
        self.stalled = ""  # those that have this in their path
        self.flowing.set()
        self._listener: ThreadingHTTPServer | None = None
        self._open()

    def refuse(self) -> None:
        """Take no connection and drop the open ones, as a machine does whose store does not run."""
        self.closed = True
        self._shut()

    def heal(self) -> None:
        """Forward every request again."""
        self.healed += 1
        self.broken = ""
        self.answers, self.cuts, self.closed, self.stalled = [], 0, False, ""
        self.flowing.set()
        self._open()

    def stop(self) -> None:
        """Stop the proxy."""
        self.closed = True
        self.flowing.set()
        self._shut()

    def request_count(self, method: str) -> int:
        """How many requests of this method have come."""
        return sum(each == method for each, _ in self.seen)

    def _open(self) -> None:
        if self._listener is None:
            proxy = self
            handler = type("OneProxy", (_FaultyProxyHandler,), {"proxy": proxy})
            self._listener = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
            threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()

    def _shut(self) -> None:
        if self._listener is not None:
            self._listener.shutdown()
            self._listener.server_close()
            self._listener = None


class _FaultyProxyHandler(BaseHTTPRequestHandler):
    proxy: FaultyS3Proxy
    protocol_version = "HTTP/1.1"
    timeout = IO_TIMEOUT_SECONDS

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()
            return
        self.close_connection = True

    def _pass(self) -> None:
        proxy = self.proxy
        length = int(self.headers.get("Content-Length") or 0)
        cut = proxy.cuts > 0 and self.command in {"GET", "PUT"}
        proxy.cuts -= cut
        body = self.rfile.read(length // 2 if cut else length)
        proxy.seen.append((self.command, self.path))
        before = proxy.healed
        if proxy.stalled in self.path:
            proxy.flowing.wait(IO_TIMEOUT_SECONDS)
        if proxy.closed or proxy.healed > before or (cut and self.command == "PUT"):
            self._drop()
        elif self.command == proxy.broken:
            self._answer(503, [], b"")
        elif proxy.answers:
            self._answer(proxy.answers.pop(0), [], b"<Error><Code>SlowDown</Code></Error>")
        else:
            status, headers, content = self._ask(body)
            self._answer(status, headers, content, half=cut)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - names that the library calls

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = http.client.HTTPConnection(urlsplit(self.proxy.server.url).netloc, timeout=IO_TIMEOUT_SECONDS)
        with contextlib.closing(upstream):
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():  # the host too: it is signed
                upstream.putheader(name, value)
            upstream.endheaders(body)
            reply = upstream.getresponse()
            content = reply.read()
            kept = {"transfer-encoding", "connection", "keep-alive"}
            return reply.status, [each for each in reply.getheaders() if each[0].lower() not in kept], content

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes, *, half: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if half else content)
        if half:
            self._drop()

    def _drop(self) -> None:
        """Reset the connection."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
