"""The limit on open files and connections of a process, which a server raises as far as it may."""

import resource
from contextlib import suppress

MAX_OPEN_FILES = 65_536  # with more, memory runs out before files


def raise_limit() -> None:
    """Raise the soft limit to the highest value that this process may set.

    The soft limit is 1,024 on most systems, for compatibility with old programs; with it, 1,024 idle connections would
    block all others.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = reachable_limit()
    if limit is not None and limit != soft:
        # Some systems have further limits; `assay doctor` shows the effective one.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def reachable_limit() -> int | None:
    """The number of files that this process may open after `raise_limit`; None for no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    return max(soft, MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES))
