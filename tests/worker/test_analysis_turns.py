"""Boards and intervals share the time of a worker, and so do the boards of several phases."""

from itertools import accumulate, pairwise

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
        if board:
            turns.record_board("phase", seconds)
        else:
            turns.record_intervals(seconds)
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


def compute_boards(waiting: dict[str, list[float]], *, arriving: dict[str, list[float]]) -> list[tuple[str, float]]:
    """Phase and seconds of each comparison in the order of the turns; some phases arrive after the first comparison."""
    turns, done, queues = AnalysisTurns(), [], {name: list(each) for name, each in waiting.items()}
    while any(queues.values()):
        phase = turns.order_boards([name for name, each in queues.items() if each])[0]
        seconds = queues[phase].pop(0)
        turns.record_board(phase, seconds)
        done.append((phase, seconds))
        if len(done) == 1:
            queues |= {name: list(each) for name, each in arriving.items()}
    return done


def test_the_boards_of_a_small_phase_do_not_wait_for_all_those_of_a_large_one() -> None:
    done = compute_boards({"large": [45.0] * 3}, arriving={"small": [0.25] * 8})
    assert [phase for phase, _ in done] == ["large", *["small"] * 8, "large", "large"]


def test_a_phase_whose_boards_change_all_the_time_leaves_others_their_turns() -> None:
    done = compute_boards({"busy": [1.0] * 20, "quiet": [2.0, 2.0]}, arriving={})
    assert [phase for phase, _ in done][:6] == ["busy", "quiet", "busy", "busy", "quiet", "busy"]


@given(DURATIONS, DURATIONS)
def test_while_two_phases_wait_neither_gets_more_time_than_one_comparison_of_each(
    first: list[float], second: list[float]
) -> None:
    """Theorem 1 of Goyal, Vin and Cheng, for equal weights, in every part of the time in which both wait."""
    done = compute_boards({"a": first, "b": second}, arriving={})
    left = {"a": len(first), "b": len(second)}
    both = []
    for phase, seconds in done:
        if not all(left.values()):
            break
        left[phase] -= 1
        both.append(seconds if phase == "a" else -seconds)
    bound = max(first, default=0.0) + max(second, default=0.0)
    sums = [0.0, *accumulate(both)]
    assert max(sums) - min(sums) <= bound
