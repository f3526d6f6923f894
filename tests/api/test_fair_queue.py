"""Whose turn it is to hash: queues in turn, sources in turn within one, paces kept by a clock of the test's own."""

from dataclasses import dataclass
from typing import Any

import pytest

from app.api.limits.fair_queue import FairQueue, FairQueuePosition


@dataclass(eq=False)
class Item:
    """Something that waits."""

    name: str
    place: FairQueuePosition
    ready: bool = True


class Clock:
    now = 100.0
    tick = 0.0  # by which each reading is later than the one before

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def turns(most: int = 1000, most_of_one: int = 1000) -> tuple[FairQueue[Item], Clock]:
    clock = Clock()
    made: FairQueue[Item] = FairQueue(
        lambda item: item.place, lambda item: item.ready, limit=most, limit_per_queue=most_of_one, clock=clock
    )
    return made, clock


def put(line: FairQueue[Item], names: str, queue: str, **place: Any) -> None:
    for name in names:
        assert line.put(Item(name, FairQueuePosition((queue,), **({"source": ""} | place)))) is None


def taken(line: FairQueue[Item]) -> str:
    names = ""
    while (item := line.take()) is not None:
        names += item.name
    return names


def test_queues_are_served_in_turn_however_long_one_of_them_is() -> None:
    line, _ = turns()
    put(line, "abcdef", "long")
    put(line, "x", "other")
    put(line, "yz", "another")
    assert taken(line) == "axybzcdef"


def test_within_a_queue_the_sources_have_turns() -> None:
    line, _ = turns()
    put(line, "abcd", "account", source="attacker")
    put(line, "x", "account", source="owner")
    assert taken(line) == "axbcd"
    put(line, "ef", "account", source="attacker")
    put(line, "y", "account", source="owner")
    assert taken(line) == "eyf"


def test_a_preferred_queue_gets_every_second_turn() -> None:
    line, _ = turns()
    for queue in "abcd":
        put(line, queue, queue)
    put(line, "xyz", "known", preferred=True)
    assert taken(line) == "xaybzcd"


def test_a_paced_queue_waits_and_holds_nobody_else_up() -> None:
    line, clock = turns()
    put(line, "abc", "slow", min_interval=2)
    put(line, "xyz", "quick")
    assert taken(line) == "axyz"
    assert line.seconds_until_allowed() == 2
    clock.now += 1.5
    assert taken(line) == ""
    assert line.seconds_until_allowed() == 0.5
    clock.now += 0.5
    assert taken(line) == "b"
    clock.now += 100
    assert taken(line) == "c"
    assert line.seconds_until_allowed() is None


@pytest.mark.parametrize("tick", [0.25, 0.375, 0.5, 0.75])
def test_a_paced_queue_is_served_or_waited_for_however_the_clock_goes_on_between_two_readings(tick: float) -> None:
    line, clock = turns()
    clock.tick = tick
    put(line, "a" * 10, "slow", min_interval=1)
    names = ""
    while len(names) < 10:
        item = line.take()
        names += item.name if item is not None else ""
        assert item is not None or line.seconds_until_allowed() is not None, "nothing would wake those who wait"


def test_who_is_not_ready_waits_and_holds_nobody_of_other_queues_up() -> None:
    line, _ = turns()
    blocked = Item("a", FairQueuePosition(("one",), ""), ready=False)
    line.put(blocked)
    put(line, "xy", "other")
    assert taken(line) == "xy"
    blocked.ready = True
    assert taken(line) == "a"


def test_an_item_whose_place_has_changed_is_served_at_its_new_one() -> None:
    line, clock = turns()
    items = [Item(name, FairQueuePosition((name,), name)) for name in "abc"]
    for item in items:
        line.put(item)
        item.place = FairQueuePosition(("shared",), item.name, 1.0)
    assert taken(line) == "a"
    clock.now += 1
    assert taken(line) == "b"
    clock.now += 1
    assert taken(line) == "c"


def test_where_all_is_full_the_last_of_the_longest_queue_goes() -> None:
    line, _ = turns(most=4, most_of_one=3)
    put(line, "abc", "long")
    fourth = Item("d", FairQueuePosition(("long",), ""))
    assert line.put(fourth) is fourth
    put(line, "x", "other")
    gone = line.put(Item("y", FairQueuePosition(("another",), "")))
    assert gone is not None
    assert gone.name == "c"
    assert taken(line) == "axyb"
