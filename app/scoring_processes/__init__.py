"""Scoring programs beside the service: the contract of asking one.

Participants' bytes are read and scored in child programs that have no database and no secrets, so that a hostile or
huge file can end its reader but never the service.
"""

from typing import Any, Protocol


class ScoringProcessError(Exception):
    """A child did not answer; `code` is the machine-readable reason."""

    code = "child_error"


class ScoringProcessCrashed(ScoringProcessError):
    """The scoring program ended while it worked on this."""

    code = "crashed"


class ScoringProcessAborted(ScoringProcessCrashed):
    """The scoring program broke off by a fault of its own while it worked on this: it may again."""

    code = "aborted"


class ScoringTimeout(ScoringProcessError):
    """The scoring program exceeded its time limit."""

    code = "time_limit"


class CpuLimitExceeded(ScoringTimeout):
    """The scoring program exceeded its limit of CPU time in scoring the file: it would again."""

    code = "cpu_limit"


class GoldCpuLimitExceeded(ScoringTimeout):
    """The scoring program exceeded its limit of CPU time, but not on the file that was sent."""

    code = "gold_cpu_limit"


class ScoringProcessStalled(ScoringProcessError):
    """The scoring program was stopped, or made no progress."""

    code = "stalled"


class MemoryLimitExceeded(ScoringProcessError):
    """The scoring program exceeded its memory limit."""

    code = "memory_limit"


class ScoringProcessNotStarted(ScoringProcessError):
    """No scoring program can be started now."""

    code = "not_started"


class ScoringProcessesBusy(ScoringProcessError):
    """Too many requests wait for a scoring program."""

    code = "busy"


class ScoringProcessesClosed(ScoringProcessError):
    """The service is shutting down."""

    code = "shutdown"


class ScoringProcesses(Protocol):
    """Programs that answer one request at a time."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer of a free child, waiting for one; raises ChildError."""

    def close(self) -> None:
        """End all children."""
