"""Scoring processes: the interface to the programs that read and score files for the service.

Files of participants are read in separate processes that have no database and no secrets, so that a hostile or huge
file can end the process that reads it, but never the service.
"""

from typing import Protocol

from app.prepared.gold_folder import PreparedGoldFolder
from app.scoring_processes.messages import Reply, Request


class ScoringProcessError(Exception):
    """A scoring process gave no result; `code` is the machine-readable reason."""

    code = "child_error"


class ScoringProcessCrashed(ScoringProcessError):
    """The scoring process ended while it worked on this file."""

    code = "crashed"


class ScoringProcessAborted(ScoringProcessCrashed):
    """The scoring process aborted through a fault of its own while it worked on this file, and may do so again."""

    code = "aborted"


class ScoringTimeout(ScoringProcessError):
    """The scoring process exceeded its time limit."""

    code = "time_limit"


class CpuLimitExceeded(ScoringTimeout):
    """Scoring the file exceeded the limit of CPU time, and would exceed it again."""

    code = "cpu_limit"


class GoldCpuLimitExceeded(ScoringTimeout):
    """The scoring process exceeded its limit of CPU time before it read the file that was sent."""

    code = "gold_cpu_limit"


class ScoringProcessStalled(ScoringProcessError):
    """The scoring process was stopped, or made no progress."""

    code = "stalled"


class MemoryLimitExceeded(ScoringProcessError):
    """The scoring process exceeded its memory limit."""

    code = "memory_limit"


class ScoringProcessNotStarted(ScoringProcessError):
    """No scoring process can be started now."""

    code = "not_started"


class ScoringProcessesBusy(ScoringProcessError):
    """Too many requests wait for a scoring process."""

    code = "busy"


class ScoringProcessesClosed(ScoringProcessError):
    """The service is shutting down."""

    code = "shutdown"


class ScoringProcesses(Protocol):
    """Programs that each reply to one request at a time."""

    @property
    def prepared_gold(self) -> PreparedGoldFolder | None:
        """The folder in which they write the gold that they prepare; None if they prepare none."""

    def call(self, request: Request) -> Reply:
        """Send the request to a free process, waiting for one; raises ScoringProcessError and FileNotFoundError."""

    def close(self) -> None:
        """End all processes."""
