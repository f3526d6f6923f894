"""Checks of what the service runs on: Python, the libraries, and how many files it may open."""

import re
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from app.doctor.check_declaration import Said, check, ok, problem, skipped, warning
from app.doctor.installation import Patient
from app.runtime.data_folder import holder
from app.runtime.open_file_limit import reachable
from app.settings import Settings
from app.store.session import POOL
from app.worker.worker import GOLD_CHILDREN, READER_CHILDREN

OTHER_CONNECTIONS = 200  # besides those of requests that wait for scores
OWN_FILES = 100  # libraries, logs, locks, sockets that listen, files that are sent or come
PER_CHILD = 2  # pipes
PER_SQLITE = 3  # the database, its log, and the index of that
OLDEST_PYTHON = (3, 11)
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)")


@check("software.python", needs=(), remedy="Install Python 3.11 or newer, and make the environment anew.")
def python(_patient: Patient) -> Said:
    """Python is one that the service runs on."""
    found = ".".join(map(str, sys.version_info[:3]))
    return ok(f"Python {found}.") if sys.version_info >= OLDEST_PYTHON else problem(f"Python {found} is too old.")


@check("software.libraries", needs=(), remedy="Install the pinned versions: pip install -r requirements.txt.")
def libraries(_patient: Patient) -> Said:
    """Every library that the package asks for is there, and new enough."""
    try:
        wanted = metadata.requires("assay") or []
    except metadata.PackageNotFoundError:
        return skipped("The package is not installed; it runs from its sources.")
    found = [REQUIREMENT.match(each) for each in wanted if "extra ==" not in each]
    lacking = [text for match in found if match and (text := lack(match[1], match[2]))]
    return problem(f"Not as wanted: {', '.join(lacking)}.") if lacking else ok(f"{len(found)} libraries, as wanted.")


def lack(name: str, oldest: str) -> str | None:
    """What is wrong with a library, None if it is there and as new as said."""
    try:
        there = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    return f"{name} {there} is older than {oldest}" if _numbers(there) < _numbers(oldest) else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


@check(
    "software.open_files",
    remedy="Raise the hard limit, which the service takes for its own up to 65,536: LimitNOFILE=65536 in a unit of systemd, "
    "--ulimit nofile=65536 for a container, ulimit -n 65536 in a shell; or lower ASSAY_MAX_WAITERS.",
)
def open_files(patient: Patient) -> Said:
    """The service may open as many files as its connections, its database and its children need."""
    needs = _needed(patient.settings)
    wanted = sum(needs.values())
    pid = None if patient.settings.on_postgresql else holder(patient.settings.data_dir)
    limit = _limit(pid)
    whose = "A service started here" if pid is None else f"The service (process {pid})"
    listed = ", ".join(f"{count} for {what}" for what, count in needs.items())
    allowed = "any number of" if limit is None else limit
    seen = f"{whose} may open {allowed} files; {wanted} are enough: {listed}."
    return warning(seen) if limit is not None and limit < wanted else ok(seen)


def _needed(settings: Settings) -> dict[str, int]:
    """What the API has open at most, without connections that come on top of what is usual."""
    children = settings.workers + READER_CHILDREN + GOLD_CHILDREN
    database = 2 * settings.database_pool + 1 if settings.on_postgresql else PER_SQLITE * int(POOL["pool_size"])
    return {
        "requests that wait for scores": settings.max_waiters,
        "other connections": OTHER_CONNECTIONS,
        "the database": database,
        "children": PER_CHILD * children,
        "the rest": OWN_FILES,
    }


def _limit(pid: int | None) -> int | None:
    """How many files a service may open, None for any number: the one that runs, or one that this account started here."""
    if pid is not None:
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
            soft = next(line for line in lines if line.startswith("Max open files")).split()[3]
            return None if soft == "unlimited" else int(soft)
    return reachable()
