"""The quota holds however many come at once, at whichever replica, and what a ledger says is stored with what it is about."""

from typing import Any

import httpx
import pytest

from tests.live_service import Caller, eventually
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    FINAL_STATUSES,
    INVALID_PREDICTIONS,
    ConcurrentClients,
    call_concurrently,
    count_statuses,
)

LIMIT = 5


def rush(callers: list[Caller], address: str, body: Any, posts: int) -> list[httpx.Response]:
    """So many posts at once, in turn at each door."""
    doors = [callers[number % len(callers)] for number in range(posts)]
    return call_concurrently([lambda door=door: door.post(address, json=body) for door in doors])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "body", "posts"),
    [
        ("per_day", CORRECT_PREDICTIONS, 40),
        ("total", CORRECT_PREDICTIONS, 20),
        ("concurrent", CORRECT_PREDICTIONS, 20),
        ("invalid_per_day", INVALID_PREDICTIONS, 20),
    ],
)
def test_a_rush_gets_what_the_quota_allows_and_no_more(
    crowd: ConcurrentClients, name: str, body: Any, posts: int
) -> None:
    slug = f"rush-{name.replace('_', '-')}"
    address = crowd.challenge(slug, quota={name: LIMIT})
    blue, files = crowd.member(slug), crowd.stored()
    with crowd.scoring_paused():
        answers = rush(blue, address, body, posts)
        assert count_statuses(answers) == {202: LIMIT, 429: posts - LIMIT}
        for refused in (each for each in answers if each.status_code == 429):
            problem = refused.json()
            assert (problem["code"], problem["quota"], problem["limit"]) == ("quota_exceeded", name, LIMIT)
            assert int(refused.headers["retry-after"]) >= 1
        assert crowd.count("submissions", slug) == crowd.count("score_tasks", slug) == LIMIT
        assert crowd.ledger(slug) == {"reserve": LIMIT}
        assert crowd.stored() == files + LIMIT
    eventually(lambda: set(crowd.statuses(slug)) <= FINAL_STATUSES, "all that was admitted has ended")
    end, entry = ("rejected", "refund") if body is INVALID_PREDICTIONS else ("finished", "charge")
    assert crowd.statuses(slug) == {end: LIMIT}
    assert crowd.ledger(slug) == {"reserve": LIMIT, entry: LIMIT}
    again = blue[-1].post(address, json=body)
    assert again.status_code == (202 if name == "concurrent" else 429), again.text


def test_what_is_refunded_may_be_used_again_by_as_many_as_it_was(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("refunds", quota={"total": LIMIT})
    blue = crowd.member("refunds")
    for _ in range(2):
        codes_of_bad = count_statuses(rush(blue, address, INVALID_PREDICTIONS, LIMIT))
        assert codes_of_bad == {202: LIMIT}
        eventually(lambda: set(crowd.statuses("refunds")) == {"rejected"}, "all were refused")
    assert count_statuses(rush(blue, address, CORRECT_PREDICTIONS, 4 * LIMIT)) == {202: LIMIT, 429: 3 * LIMIT}
    eventually(lambda: set(crowd.statuses("refunds")) <= FINAL_STATUSES, "all have ended")
    assert crowd.ledger("refunds") == {"reserve": 3 * LIMIT, "refund": 2 * LIMIT, "charge": LIMIT}
