"""The step-down test against a plain version written from Romano & Wolf 2005."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.uncertainty.step_down import step_down
from tests.scoring.uncertainty.boards import Floats, board_of, plain_step_down, right_and_wrong


def rejected(values: Floats, draws: Floats, allowed: "np.typing.NDArray[np.bool_]") -> set[tuple[int, int]]:
    """The pairs that the program rejects, in the numbers of the rows given."""
    order = np.argsort(-values, kind="stable")
    found = step_down(values[order], draws[order], allowed[np.ix_(order, order)])
    return {(int(order[a]), int(order[b])) for a, b in np.argwhere(found.rejected)}


@given(
    st.lists(st.sampled_from([0.2, 0.4, 0.5, 0.6, 0.8]), min_size=2, max_size=9),
    st.integers(0, 10**6),
    st.sampled_from([30, 120]),
)
def test_it_rejects_what_a_plain_version_rejects(rates: list[float], seed: int, n: int) -> None:
    board = board_of(right_and_wrong(rates, n, seed), draws=399)
    allowed = board.differing >= 6
    assert rejected(board.values, board.draws, allowed) == plain_step_down(board.values, board.draws, allowed)


def test_later_steps_reject_more_than_the_first() -> None:
    steps = set()
    for seed in range(40):
        board = board_of(right_and_wrong([0.9, 0.75, 0.62, 0.5, 0.36, 0.2], 200, seed))
        allowed = np.ones((6, 6), dtype=bool)
        found = rejected(board.values, board.draws, allowed)
        assert found == plain_step_down(board.values, board.draws, allowed)
        order = np.argsort(-board.values, kind="stable")
        steps.add(step_down(board.values[order], board.draws[order], allowed).steps)
    assert max(steps) >= 3


def test_a_rejected_hypothesis_leaves_its_reverse_in_the_family() -> None:
    """A family without the reverses would reject more in later steps."""
    more = 0
    for seed in range(40):
        board = board_of(right_and_wrong([0.9, 0.75, 0.62, 0.5, 0.36, 0.2], 200, seed))
        allowed = np.ones((6, 6), dtype=bool)
        found = rejected(board.values, board.draws, allowed)
        for better, worse in found:
            allowed[better, worse] = allowed[worse, better] = False
        more += bool(plain_step_down(board.values, board.draws, allowed))
    assert more >= 3


def test_pairs_outside_the_family_do_not_change_the_critical_value() -> None:
    board = board_of(right_and_wrong([0.7, 0.5, 0.3], 300, 1))
    noisy = np.random.default_rng(0).standard_normal((1, 999)) * 100
    order = np.argsort(-np.append(board.values, 0.0), kind="stable")
    allowed = np.ones((4, 4), dtype=bool)
    allowed[:, 3] = False
    three = step_down(board.values, board.draws, np.ones((3, 3), dtype=bool))
    four = step_down(np.append(board.values, 0.0)[order], np.vstack([board.draws, noisy])[order], allowed)
    assert four.critical_value == three.critical_value
    assert np.array_equal(four.rejected[:3, :3], three.rejected)


def test_too_few_draws_and_no_pairs_reject_nothing() -> None:
    values, draws = np.array([1.0, 0.0]), np.array([[1.0] * 18, [0.0, 0.1] * 9])
    assert step_down(values, draws, np.ones((2, 2), dtype=bool)).critical_value is None
    assert step_down(values, draws[:, :0], np.ones((2, 2), dtype=bool)).critical_value is None
    alone = step_down(values[:1], draws[:1], np.ones((1, 1), dtype=bool))
    assert (alone.critical_value, alone.steps) == (None, 0)


def test_blocks_of_any_size_give_the_same_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of(right_and_wrong([0.8, 0.7, 0.6, 0.55, 0.5, 0.3], 150, 4))
    order = np.argsort(-board.values, kind="stable")
    pairs = np.ones((6, 6), dtype=bool)
    whole = step_down(board.values[order], board.draws[order], pairs)
    for block in (1, 2_000, 10**7):
        monkeypatch.setattr("app.scoring.uncertainty.step_down._BLOCK_NUMBERS", block)
        again = step_down(board.values[order], board.draws[order], pairs)
        assert again.critical_value == whole.critical_value
        assert np.array_equal(again.standard_errors, whole.standard_errors)
        assert np.array_equal(again.rejected, whole.rejected)
