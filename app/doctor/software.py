"""Checks of the runtime: Python, the installed libraries, and the limit on open files."""

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
from app.store.session import MONITORING_CONNECTIONS, SQLITE_POOL
from app.worker.worker import GOLD_PROCESSES, READER_PROCESSES

OTHER_CONNECTIONS = 200  # besides requests that wait for scores
OTHER_OPEN_FILES = 100  # libraries, logs, locks, listening sockets, files being sent or received
FILES_PER_SCORING_PROCESS = 2  # pipes
FILES_PER_SQLITE_CONNECTION = 3  # the database, its write-ahead log, and the index of the log
MIN_PYTHON_VERSION = (3, 11)
REQUIREMENT_PATTERN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)")


@check("software.python", needs=(), remedy="Install Python 3.11 or newer, and recreate the environment.")
def check_python_version(_installation: Installation) -> CheckResult:
    """The Python version is supported."""
    version = ".".join(map(str, sys.version_info[:3]))
    supported = sys.version_info >= MIN_PYTHON_VERSION
    return ok(f"Python {version}.") if supported else problem(f"Python {version} is too old.")


@check("software.libraries", needs=(), remedy="Install the pinned versions: pip install -r requirements.txt.")
def check_libraries(_installation: Installation) -> CheckResult:
    """Every required library is installed, in a sufficient version."""
    try:
        requirements = metadata.requires("assay") or []
    except metadata.PackageNotFoundError:
        return skipped("The package is not installed; it runs from source.")
    matches = [REQUIREMENT_PATTERN.match(line) for line in requirements if "extra ==" not in line]
    faults = [fault for match in matches if match and (fault := library_fault(match[1], match[2]))]
    return problem(f"{', '.join(faults)}.") if faults else ok(f"{len(matches)} libraries, in sufficient versions.")


def library_fault(name: str, minimum: str) -> str | None:
    """What is wrong with a library; None if at least the version `minimum` is installed."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    return f"{name} {version} is older than {minimum}" if _version_tuple(version) < _version_tuple(minimum) else None


def _version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


@check(
    "software.open_files",
    remedy="Raise the hard limit; the service raises its own limit to it, up to 65,536: LimitNOFILE=65536 in a systemd unit, "
    "--ulimit nofile=65536 for a container, ulimit -n 65536 in a shell. Or lower ASSAY_MAX_WAITERS.",
)
def check_open_file_limit(installation: Installation) -> CheckResult:
    """The limit on open files suffices for connections, database and scoring processes."""
    needs = _open_files_needed(installation.settings)
    required = sum(needs.values())
    pid = None if installation.settings.on_postgresql else find_lock_holder(installation.settings.data_dir)
    limit = _open_file_limit(pid)
    service = "A service started here" if pid is None else f"The service (process {pid})"
    breakdown = ", ".join(f"{count} for {use}" for use, count in needs.items())
    allowed = "any number of" if limit is None else limit
    observation = f"{service} may open {allowed} files; {required} are enough: {breakdown}."
    return warning(observation) if limit is not None and limit < required else ok(observation)


def _open_files_needed(settings: Settings) -> dict[str, int]:
    """The most files that the API has open, unless it gets more than the usual number of connections."""
    sqlite_files = FILES_PER_SQLITE_CONNECTION * int(SQLITE_POOL["pool_size"])
    processes = settings.workers + READER_PROCESSES + GOLD_PROCESSES
    return {
        "requests that wait for scores": settings.max_waiters,
        "other connections": OTHER_CONNECTIONS,
        "the database": 2 * settings.database_pool + 1 + MONITORING_CONNECTIONS
        if settings.on_postgresql
        else sqlite_files,
        "scoring processes": FILES_PER_SCORING_PROCESS * processes,
        "the rest": OTHER_OPEN_FILES,
    }


def _open_file_limit(pid: int | None) -> int | None:
    """The limit of the running service `pid`, or of one that this account would start here; None for no limit."""
    if pid is not None:
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
            soft = next(line for line in lines if line.startswith("Max open files")).split()[3]
            return None if soft == "unlimited" else int(soft)
    return reachable_limit()
