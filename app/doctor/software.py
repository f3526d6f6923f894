"""Checks of what the service runs on: Python, the libraries, and how many files it may open."""

import re
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from app.doctor.check_declaration import CheckResult, check, ok, problem, skipped, warning
from app.doctor.installation import Installation
from app.runtime.data_folder import find_lock_holder
from app.runtime.open_file_limit import reachable_limit
from app.settings import Settings
from app.store.session import SQLITE_POOL
from app.worker.worker import GOLD_PROCESSES, READER_PROCESSES

OTHER_CONNECTIONS = 200  # besides those of requests that wait for scores
OTHER_OPEN_FILES = 100  # libraries, logs, locks, sockets that listen, files that are sent or come
FILES_PER_SCORING_PROCESS = 2  # pipes
FILES_PER_SQLITE_CONNECTION = 3  # the database, its log, and the index of that
MIN_PYTHON_VERSION = (3, 11)
REQUIREMENT_PATTERN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)")


@check("software.python", needs=(), remedy="Install Python 3.11 or newer, and make the environment anew.")
def check_python_version(_installation: Installation) -> CheckResult:
    """Python is one that the service runs on."""
    found = ".".join(map(str, sys.version_info[:3]))
    return ok(f"Python {found}.") if sys.version_info >= MIN_PYTHON_VERSION else problem(f"Python {found} is too old.")


@check("software.libraries", needs=(), remedy="Install the pinned versions: pip install -r requirements.txt.")
def check_libraries(_installation: Installation) -> CheckResult:
    """Every library that the package asks for is there, and new enough."""
    try:
        wanted = metadata.requires("assay") or []
    except metadata.PackageNotFoundError:
        return skipped("The package is not installed; it runs from its sources.")
    found = [REQUIREMENT_PATTERN.match(each) for each in wanted if "extra ==" not in each]
    lacking = [text for match in found if match and (text := library_fault(match[1], match[2]))]
    return problem(f"Not as wanted: {', '.join(lacking)}.") if lacking else ok(f"{len(found)} libraries, as wanted.")


def library_fault(name: str, oldest: str) -> str | None:
    """What is wrong with a library, None if it is there and as new as said."""
    try:
        there = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    return f"{name} {there} is older than {oldest}" if _version_tuple(there) < _version_tuple(oldest) else None


def _version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


@check(
    "software.open_files",
    remedy="Raise the hard limit, which the service takes for its own up to 65,536: LimitNOFILE=65536 in a unit of systemd, "
    "--ulimit nofile=65536 for a container, ulimit -n 65536 in a shell; or lower ASSAY_MAX_WAITERS.",
)
def check_open_file_limit(installation: Installation) -> CheckResult:
    """The service may open as many files as its connections, its database and its children need."""
    needs = _open_files_needed(installation.settings)
    wanted = sum(needs.values())
    pid = None if installation.settings.on_postgresql else find_lock_holder(installation.settings.data_dir)
    limit = _open_file_limit(pid)
    whose = "A service started here" if pid is None else f"The service (process {pid})"
    listed = ", ".join(f"{count} for {what}" for what, count in needs.items())
    allowed = "any number of" if limit is None else limit
    observation = f"{whose} may open {allowed} files; {wanted} are enough: {listed}."
    return warning(observation) if limit is not None and limit < wanted else ok(observation)


def _open_files_needed(settings: Settings) -> dict[str, int]:
    """What the API has open at most, without connections that come on top of what is usual."""
    children = settings.workers + READER_PROCESSES + GOLD_PROCESSES
    database = (
        2 * settings.database_pool + 1
        if settings.on_postgresql
        else FILES_PER_SQLITE_CONNECTION * int(SQLITE_POOL["pool_size"])
    )
    return {
        "requests that wait for scores": settings.max_waiters,
        "other connections": OTHER_CONNECTIONS,
        "the database": database,
        "children": FILES_PER_SCORING_PROCESS * children,
        "the rest": OTHER_OPEN_FILES,
    }


def _open_file_limit(pid: int | None) -> int | None:
    """How many files a service may open, None for any number: the one that runs, or one that this account started here."""
    if pid is not None:
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
            soft = next(line for line in lines if line.startswith("Max open files")).split()[3]
            return None if soft == "unlimited" else int(soft)
    return reachable_limit()
