"""Objects that wait are looked at again and again, and one that fails does not hold up the others."""

import pytest

from app.errors import DatabaseUnavailable
from app.worker import spaced_looks
from app.worker.spaced_looks import SpacedLooks


class Clock:
    """A clock that tests put forward."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        """Seconds since no particular time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(spaced_looks, "time", made)
    return made


def test_a_look_that_finds_nothing_takes_a_twentieth_of_the_time(clock: Clock) -> None:
    looks, seen = SpacedLooks(), list[float]()

    def look() -> bool:
        seen.append(clock.now)
        clock.now += 0.5
        return False

    for _ in range(300):
        looks.look("switch", look)
        clock.now += 0.1
    assert 3 <= len(seen) <= 5
    looks.keep([])
    looks.look("switch", look)
    assert len(seen) <= 6


def test_a_look_that_finds_something_is_followed_by_another_one(clock: Clock) -> None:
    looks, seen = SpacedLooks(), list[float]()

    def look() -> bool:
        seen.append(clock.now)
        clock.now += 10
        return True

    for _ in range(5):
        looks.look("switch", look)
    assert len(seen) == 5


def test_one_that_fails_is_tried_later_and_the_others_now(clock: Clock) -> None:
    looks, seen = SpacedLooks(), list[str]()

    def fail() -> bool:
        seen.append("failed")
        raise ValueError

    def succeed() -> bool:
        seen.append("looked")
        return True

    for _ in range(3):
        looks.look("broken", fail)
        looks.look("sound", succeed)
    assert seen == ["failed", "looked", "looked", "looked"]
    clock.now += spaced_looks.SECONDS_AFTER_ERROR
    looks.look("broken", fail)
    assert seen[-1] == "failed"


def test_an_unavailable_database_concerns_all() -> None:
    def fail() -> bool:
        raise DatabaseUnavailable

    with pytest.raises(DatabaseUnavailable):
        SpacedLooks().look("switch", fail)
