"""Many connections, started where few files may be open as long as nobody asks for more."""

import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from app.doctor import software
from app.doctor.installation import Installation
from app.runtime.open_file_limit import MAX_OPEN_FILES
from app.settings import Settings
from tests.cluster import cluster
from tests.live_service import MAX_WAIT_SECONDS, Live

FEW = 200
BEGUN = b"POST /api/v1/tokens HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


@contextmanager
def few_files() -> Iterator[int]:
    """What is started meanwhile may open few files; gives how many it may, once it has asked."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, hard))
    try:
        yield MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def soft_limit(pid: int) -> int:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]


def test_more_connections_than_the_usual_limit_keep_nobody_out(tmp_path: Path) -> None:
    with few_files() as most:
        service = Live(tmp_path / "data").start()
    try:
        assert service.process is not None
        assert soft_limit(service.process.pid) == most
        with ExitStack() as connections:
            for _ in range(FEW):
                slow = connections.enter_context(
                    socket.create_connection(("127.0.0.1", service.port), timeout=MAX_WAIT_SECONDS)
                )
                slow.sendall(BEGUN)
            assert httpx.get(f"{service.url}/healthz", timeout=MAX_WAIT_SECONDS).status_code == 200
    finally:
        service.kill()


def test_an_api_and_a_worker_take_the_files_that_they_may_open(
    tmp_path: Path, postgres_database: Callable[[], str]
) -> None:
    with cluster(tmp_path, postgres_database()) as parts:
        with few_files() as most:
            parts.start()
        assert [soft_limit(part.pid) for part in parts.parts] == [most, most]


def test_the_doctor_tells_what_a_service_started_here_would_take(tmp_path: Path) -> None:
    with few_files() as most:
        finding = software.check_open_file_limit(Installation(lambda: Settings(data_dir=tmp_path), {}, deep=False))
    assert finding.observation.startswith(f"A service started here may open {most} files;")
