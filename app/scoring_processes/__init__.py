"""Scoring programs beside the service: the contract of asking one.

Participants' bytes are read and scored in child programs that have no database and no secrets, so that a hostile or
huge file can end its reader but never the service.
"""

from typing import Any, Protocol


class ChildError(Exception):
    """A child did not answer; `code` is the machine-readable reason."""

    code = "child_error"


class ChildDied(ChildError):
    """The scoring program ended while it worked on this."""

    code = "crashed"


class ChildAborted(ChildDied):
    """The scoring program broke off by a fault of its own while it worked on this: it may again."""

    code = "aborted"


class ChildTimedOut(ChildError):
    """The scoring program exceeded its time limit."""

    code = "time_limit"


class ChildOutOfCpu(ChildTimedOut):
    """The scoring program exceeded its limit of CPU time in scoring the file: it would again."""

    code = "cpu_limit"


class ChildBusyWithGold(ChildTimedOut):
    """The scoring program exceeded its limit of CPU time, but not on the file that was sent."""

    code = "gold_cpu_limit"


class ChildStalled(ChildError):
    """The scoring program was stopped, or made no progress."""

    code = "stalled"


class ChildOutOfMemory(ChildError):
    """The scoring program exceeded its memory limit."""

    code = "memory_limit"


class ChildNotStarted(ChildError):
    """No scoring program can be started now."""

    code = "not_started"


class ChildrenBusy(ChildError):
    """Too many requests wait for a scoring program."""

    code = "busy"


class ChildrenClosed(ChildError):
    """The service is shutting down."""

    code = "shutdown"


class Children(Protocol):
    """Programs that answer one request at a time."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer of a free child, waiting for one; raises ChildError."""

    def close(self) -> None:
        """End all children."""
