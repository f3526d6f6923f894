"""How many files, connections among them, a process may open: what serves connections takes all that it is given."""

import resource
from contextlib import suppress

MAX_OPEN_FILES = 65_536  # beyond that memory is short sooner than files


def raise_limit() -> None:
    """Raise the limit in force to the one that this process may go up to.

    The former is 1,024 on most systems, for the sake of old programs: that many connections kept everybody else out.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = reachable_limit()
    if most is not None and most != soft:
        # Some systems have yet another limit; `assay doctor` tells what is in force.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def reachable_limit() -> int | None:
    """How many files this process may open once it has raised its limit, None for any number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    return max(soft, MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES))
