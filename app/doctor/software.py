"""Checks of what the service runs on: Python and the libraries."""

import re
import sys
from importlib import metadata

from app.doctor.declared import Said, check, ok, problem, skipped
from app.doctor.patient import Patient

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
