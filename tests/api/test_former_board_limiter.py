"""Former boards are computed one after the other, and a crowd of requests is refused instead of holding all threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.api.limits.former_boards import MAX_AT_ONCE, MAX_WAITING, FormerBoardLimiter, FormerBoardsBusy
from tests.live_service import MAX_WAIT_SECONDS, eventually


def test_some_wait_for_their_turn_and_the_others_are_refused() -> None:
    limiter, go_on = FormerBoardLimiter(), threading.Event()
    computing: list[int] = []
    most: list[int] = []

    def compute() -> str:
        try:
            with limiter.turn():
                computing.append(1)
                most.append(len(computing))
                assert go_on.wait(MAX_WAIT_SECONDS)
                computing.pop()
        except FormerBoardsBusy:
            return "refused"
        return "computed"

    crowd = MAX_AT_ONCE + MAX_WAITING + 3
    with ThreadPoolExecutor(crowd) as pool:
        replies = [pool.submit(compute) for _ in range(crowd)]
        eventually(lambda: sum(reply.done() for reply in replies) == 3, "those beyond the limit are refused")
        go_on.set()
        results = [reply.result(MAX_WAIT_SECONDS) for reply in replies]
    assert sorted(results) == ["computed"] * (crowd - 3) + ["refused"] * 3
    assert max(most) == MAX_AT_ONCE
    with limiter.turn():
        pass


def test_an_error_gives_the_turn_back() -> None:
    limiter = FormerBoardLimiter()
    for _ in range(MAX_AT_ONCE + MAX_WAITING + 1):
        with pytest.raises(ValueError, match="no board"), limiter.turn():
            raise ValueError("no board")
