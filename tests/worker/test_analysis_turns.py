"""Boards and intervals share the time of a worker."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.worker.analysis_turns import AnalysisTurns


def work_through(boards: list[float], intervals: list[float]) -> list[tuple[bool, float]]:
    """Whether each computation was of a board, and its seconds, in the order of the turns."""
    turns, done = AnalysisTurns(), []
    left = {True: list(boards), False: list(intervals)}
    while left[True] or left[False]:
        board = turns.are_boards_first()
        board = board if left[board] else not board
        seconds = left[board].pop(0)
        turns.record(seconds, board=board)
        done.append((board, seconds))
    return done


def test_intervals_that_wait_are_all_computed_between_two_slow_boards() -> None:
    order = [board for board, _ in work_through([80.0, 80.0], [0.25] * 100)]
    assert order == [True, *[False] * 100, True]


def test_a_board_waits_no_longer_than_the_last_one_took() -> None:
    order = [board for board, _ in work_through([1.0, 1.0], [0.25] * 100)]
    assert order == [True, *[False] * 4, True, *[False] * 96]


DURATIONS = st.lists(st.integers(1, 40).map(lambda sixteenths: sixteenths / 16), max_size=30)


@given(DURATIONS, DURATIONS)
def test_neither_kind_starves(boards: list[float], intervals: list[float]) -> None:
    done = work_through(boards, intervals)
    places = [at for at, (board, _) in enumerate(done) if board]
    for first, second in pairwise(places):
        between = [seconds for _, seconds in done[first + 1 : second]]
        if not all(board for board, _ in done[second:]):
            assert sum(between) >= done[first][1], "intervals had as much time as the board"
        assert sum(between[:-1]) < done[first][1], "the next board waited for no more than one more of them"
