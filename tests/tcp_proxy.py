"""A line between a program and a server that a test may silence, as a network does: nothing is closed, nothing comes."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

POLL_SECONDS = 0.05


class TcpProxy:
    """Forwards to a port of this machine; lines that were silenced stay so until `drop` or `resume`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._lines: list[tuple[socket.socket, socket.socket, threading.Event]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> int:
        """Forward nothing more on the lines that there are, in neither direction; gives their number."""
        with self._lock:
            for *_, passing in self._lines:
                passing.clear()
            return len(self._lines)

    def resume(self) -> None:
        """Forward what has been kept back, and what comes."""
        with self._lock:
            for *_, passing in self._lines:
                passing.set()

    def drop(self) -> None:
        """Close all lines."""
        with self._lock:
            lines, self._lines = self._lines, []
        for one, other, passing in lines:
            for end in (one, other):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            passing.set()

    def close(self) -> None:
        """Close all lines, and take no more."""
        self._listener.close()
        self.drop()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            passing = threading.Event()
            passing.set()
            with self._lock:
                self._lines.append((near, far, passing))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, sink, passing), daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, sink: socket.socket, passing: threading.Event) -> None:
        with suppress(OSError):
            while chunk := source.recv(1 << 16):
                passing.wait()
                sink.sendall(chunk)
        passing.wait()  # the end of a line is no news that a silent one would bring
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()


@contextmanager
def run_proxy(target: int) -> Iterator[TcpProxy]:
    """A proxy for the time of a block."""
    made = TcpProxy(target)
    try:
        yield made
    finally:
        made.close()
