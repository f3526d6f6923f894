"""A witness written from the text of C2SP tlog-witness and tlog-cosignature, as a server of its own."""

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

NAME = "witness.example/w1"


def key_id(name: str, kind: int, public: bytes) -> bytes:
    """SHA-256 over the name, a newline, the type and the key, cut after four bytes."""
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


def consistent(old: int, old_root: bytes, size: int, root: bytes, proof: list[bytes]) -> bool:
    """The verification of RFC 9162, section 2.1.4.2."""
    if old == size:
        return old_root == root and not proof
    if old == 0:
        return not proof
    if not proof and old & (old - 1):
        return False
    path = [old_root, *proof] if old & (old - 1) == 0 else proof
    fn, sn = old - 1, size - 1
    while fn % 2:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn % 2 or fn == sn:
            fr = hashlib.sha256(b"\x01" + c + fr).digest()
            sr = hashlib.sha256(b"\x01" + c + sr).digest()
            while fn and not fn % 2:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = hashlib.sha256(b"\x01" + sr + c).digest()
        fn, sn = fn >> 1, sn >> 1
    return fr == old_root and sr == root and sn == 0


class WitnessServer(HTTPServer):
    """Cosigns consistent checkpoints of one log."""

    def __init__(self, vkey: str) -> None:
        """`vkey` is the key of the log that it supports."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.origin, _, rest = vkey.partition("+")
        self.log_public = base64.b64decode(rest.partition("+")[2])[1:]
        self.key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        self.state = (0, b"")
        self.answers: list[int] = []
        self.cosigns_wrongly = False

    @property
    def public(self) -> bytes:
        """Its public key."""
        return self.key.public_key().public_bytes_raw()

    @property
    def setting(self) -> str:
        """How the log is told of it."""
        encoded = base64.b64encode(b"\x04" + self.public).decode()
        return f"http://127.0.0.1:{self.server_port} {NAME}+{key_id(NAME, 4, self.public).hex()}+{encoded}"

    def add_checkpoint(self, body: str) -> tuple[int, str, str]:
        """Status, media type and body of the answer."""
        head, _, note = body.partition("\n\n")
        old_line, *lines = head.split("\n")
        text, _, signatures = note.partition("\n\n")
        text += "\n"
        origin, size_line, root_line = text.split("\n")[:3]
        old, size, root = int(old_line.removeprefix("old ")), int(size_line), base64.b64decode(root_line)
        if origin != self.origin:
            return 404, "text/plain", ""
        if not self._is_signed(text, signatures):
            return 403, "text/plain", ""
        if old > size:
            return 400, "text/plain", ""
        if old != self.state[0]:
            return 409, "text/x.tlog.size", f"{self.state[0]}\n"
        if not consistent(*self.state, size, root, [base64.b64decode(line) for line in lines if line]):
            return (409 if old == size else 422), "text/plain", ""
        self.state = (size, root)
        time = 1_800_000_000
        signed = self.key.sign(f"cosignature/v1\ntime {time}\n{text if not self.cosigns_wrongly else 'x'}".encode())
        line = base64.b64encode(key_id(NAME, 4, self.public) + time.to_bytes(8) + signed).decode()
        return 200, "text/plain", f"— {NAME} {line}\n"

    def _is_signed(self, text: str, signatures: str) -> bool:
        for line in signatures.splitlines():
            _, name, encoded = line.split(" ")
            content = base64.b64decode(encoded)
            if name == self.origin and content[:4] == key_id(self.origin, 1, self.log_public):
                try:
                    Ed25519PublicKey.from_public_bytes(self.log_public).verify(content[4:], text.encode())
                except InvalidSignature:
                    return False
                return True
        return False


class Handler(BaseHTTPRequestHandler):
    """Its one call."""

    server: WitnessServer

    def do_POST(self) -> None:
        """Add a checkpoint."""
        assert self.path == "/add-checkpoint"
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status, media_type, answer = self.server.add_checkpoint(body)
        self.server.answers.append(status)
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(answer.encode())))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def witness_of(vkey: str) -> Iterator[WitnessServer]:
    """A witness of this log, for the time of a block."""
    server = WitnessServer(vkey)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
