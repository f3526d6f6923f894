"""What counts as progress of a child, told by files as Linux writes them in /proc."""

from pathlib import Path

import pytest

from app.scoring_processes import ScoringProcessStalled
from app.worker import stall_detection
from app.worker.stall_detection import StallDetector

PID = 4711
SECONDS = 10.0


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    new_clock = Clock()
    monkeypatch.setattr(stall_detection, "time", new_clock)
    monkeypatch.setattr(stall_detection, "PROC_FOLDER", tmp_path)
    return new_clock


def write_proc_files(state: str, ticks: int, *, thread: str = "S") -> None:
    """Write what Linux says: of the process, and of its second thread."""
    for folder, its in (("", state), ("task/4711", state), ("task/4712", thread)):
        path = stall_detection.PROC_FOLDER / str(PID) / folder
        path.mkdir(parents=True, exist_ok=True)
        (path / "stat").write_text(
            f"{PID} (py (x) thon) {its} " + " ".join(["1"] * 10) + f" {ticks} 3 0 0 20 0 2 0 99 "
        )


def look(detector: StallDetector, clock: Clock, count: int, each: float = 1.0) -> None:
    for _ in range(count):
        clock.now += each
        detector.check()


@pytest.mark.parametrize("state", ["T", "t", "S", "R"])
def test_no_cpu_time_for_so_long_is_a_stall_and_not_a_moment_sooner(clock: Clock, state: str) -> None:
    write_proc_files(state, 5)
    detector = StallDetector(PID, SECONDS)
    look(detector, clock, 9)
    with pytest.raises(ScoringProcessStalled):
        look(detector, clock, 1)


def test_any_cpu_time_is_progress(clock: Clock) -> None:
    write_proc_files("S", 5)
    detector = StallDetector(PID, SECONDS)
    for ticks in range(6, 10):
        look(detector, clock, 9)
        write_proc_files("S", ticks)
        look(detector, clock, 1)


@pytest.mark.parametrize(("state", "thread"), [("D", "S"), ("S", "D")])
def test_whoever_waits_for_the_disk_is_waited_for(clock: Clock, state: str, thread: str) -> None:
    write_proc_files(state, 5, thread=thread)
    detector = StallDetector(PID, SECONDS)
    look(detector, clock, 100)
    write_proc_files("S", 5)
    with pytest.raises(ScoringProcessStalled):
        look(detector, clock, 10)


def test_time_in_which_the_service_itself_was_stopped_is_not_held_against_a_child(clock: Clock) -> None:
    write_proc_files("S", 5)
    detector = StallDetector(PID, SECONDS)
    look(detector, clock, 4, each=3600.0)
    with pytest.raises(ScoringProcessStalled):
        look(detector, clock, 1, each=3600.0)


def test_where_linux_does_not_tell_nothing_is_a_stall(clock: Clock) -> None:
    detector = StallDetector(PID, SECONDS)
    look(detector, clock, 100)
