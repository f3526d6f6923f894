"""What `assay doctor` says, on demand: one run at a time, in a thread of its own."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol


class Finding(Protocol):
    """The result of one check, as app.doctor gives it."""

    @property
    def check(self) -> str:
        """The key of the check."""

    @property
    def state(self) -> str:
        """One of ok, warning, problem and skipped."""

    @property
    def seen(self) -> str:
        """What the check saw."""

    @property
    def remedy(self) -> str:
        """What to do; empty unless the state is warning or problem."""


@dataclass(slots=True)
class CheckRun:
    """A run of all checks."""

    started_at: datetime
    findings: list[Finding] = field(default_factory=list)
    """So far, while it runs."""
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def running(self) -> bool:
        """Whether checks are still going on."""
        return not self.finished.is_set()

    def count(self, state: str) -> int:
        """How many checks ended in a state."""
        return sum(finding.state == state for finding in self.findings)


class CheckRunner:
    """Runs the checks of the doctor; whoever asks while they run waits for the same run."""

    def __init__(self, run_checks: Callable[[], Iterable[Finding]]) -> None:
        """`run_checks` yields the findings one by one; each check has a time limit of its own."""
        self._run_checks = run_checks
        self._lock = threading.Lock()
        self._current: CheckRun | None = None

    def run(self, seconds: float) -> CheckRun:
        """Start the checks unless they run, and wait so long for their end; a run that takes longer goes on."""
        with self._lock:
            run = self._current
            if run is None or not run.running:
                run = self._current = CheckRun(datetime.now(UTC))
                threading.Thread(target=self._fill, args=(run,), name="doctor", daemon=True).start()
        run.finished.wait(seconds)
        return run

    def _fill(self, run: CheckRun) -> None:
        try:
            for finding in self._run_checks():
                run.findings.append(finding)
        finally:
            run.finished.set()
