"""Rank sets: what they say, what they do not depend on, and what small samples, copies and nulls do to them."""

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.uncertainty.board_plan import plan_board
from app.scoring.uncertainty.rank_sets import Board, RankSets, rank_sets
from app.scoring.uncertainty.small_samples import Pair, PairTest
from app.scoring.uncertainty.step_down import step_down
from tests.each_case import for_each
from tests.scoring.uncertainty.boards import board_of, large, plain_step_down, right_and_wrong

RATES = st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), min_size=1, max_size=8)
SPREAD = [0.9, 0.8, 0.65, 0.5, 0.5, 0.2]


def taken(board: Board, rows: list[int]) -> Board:
    """The board with its rows in this order; without exact tests."""
    table = np.ix_(rows, rows)
    return replace(
        board, values=board.values[rows], draws=board.draws[rows], differing=board.differing[table], confirm=None
    )


def check(sets: RankSets) -> None:
    size = len(sets.rows)
    for at, row in enumerate(sets.rows):
        assert row.rank is not None
        assert row.rank_low == 1 + int(sets.better[:, at].sum())
        assert row.rank_high == size - int(sets.better[at].sum())
        assert 1 <= row.rank_low <= row.rank <= row.rank_high <= size
    assert not (sets.better & sets.better.T).any()
    assert sum(row.first_share or 0 for row in sets.rows) == pytest.approx(1)


@given(RATES, st.integers(0, 10**6))
def test_large_samples_follow_the_step_down_test_alone(rates: list[float], seed: int) -> None:
    board = large(board_of(right_and_wrong(rates, 90, seed), draws=199))
    sets = rank_sets(board)
    check(sets)
    expected = plain_step_down(board.values, board.draws, board.differing >= 6)
    assert {tuple(map(int, pair)) for pair in np.argwhere(sets.better)} == expected
    assert not sets.exact


@given(RATES, st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rates: list[float], seed: int, random: Random) -> None:
    board = large(board_of(right_and_wrong(rates, 90, seed), draws=199))
    rows = random.sample(range(len(rates)), len(rates))
    plain, mixed = rank_sets(board), rank_sets(taken(board, rows))
    for at, row in enumerate(rows):
        kept = plain.rows[row]
        assert mixed.rows[at] == replace(kept, tie_group=mixed.rows[at].tie_group)
    assert mixed.critical_value == plain.critical_value


@given(RATES, st.integers(0, 10**6))
def test_errors_that_are_better_if_lower_have_the_same_ranks(rates: list[float], seed: int) -> None:
    board = board_of(right_and_wrong(rates, 90, seed), draws=199)
    turned = replace(board, values=-board.values, draws=-board.draws, direction="lower")
    assert rank_sets(turned).rows == rank_sets(board).rows


def test_in_a_small_sample_a_pair_needs_an_exact_test_adjusted_over_all_pairs() -> None:
    board = board_of(right_and_wrong(SPREAD, 60, 5))
    alone, confirmed = rank_sets(large(board)), rank_sets(board)
    assert confirmed.exact
    assert "fewer than 2,000" in confirmed.notes[-1]
    assert (confirmed.better <= alone.better).all()
    assert confirmed.better.sum() < alone.better.sum()
    family = 15
    by_p = sorted(confirmed.tests, key=lambda pair: confirmed.tests[pair].p_value)
    for number, pair in enumerate(by_p):
        agrees = all(confirmed.tests[one].p_value <= 0.05 / (family - at) for at, one in enumerate(by_p[: number + 1]))
        assert confirmed.better[pair] == agrees
    assert {(a, b) for a, b in combinations(range(6), 2) if alone.better[a, b]} <= set(confirmed.tests)


def test_groups_and_rare_classes_need_exact_tests_too() -> None:
    board = large(board_of(right_and_wrong(SPREAD, 150, 2)))
    assert "999 groups" in rank_sets(replace(board, groups=999)).notes[-1]
    assert "fewer than 5 gold instances" in rank_sets(replace(board, rare_classes=True)).notes[-1]
    assert not rank_sets(replace(board, groups=1_000)).exact


def test_without_an_exact_test_no_pair_of_a_small_sample_is_different() -> None:
    sets = rank_sets(replace(board_of(right_and_wrong(SPREAD, 150, 2)), confirm=None))
    assert not sets.better.any()
    assert any("No exact test is available" in note for note in sets.notes)


def test_pairs_whose_units_cannot_reach_the_level_are_too_few_to_tell() -> None:
    def seven_groups(pairs: list[Pair], family: int) -> list[PairTest]:
        assert family == 15
        return [PairTest(2.0**-6, 2.0**-6) for _ in pairs]

    board = replace(board_of(right_and_wrong(SPREAD, 150, 2)), groups=7, confirm=seven_groups)  # type: ignore[arg-type]
    sets = rank_sets(board)
    assert not sets.better.any()
    assert sets.too_few == frozenset(sets.tests)
    assert (
        sets.notes[-1]
        == f"Pairs that differ on too few groups to tell at the adjusted level of 0.0033: {len(sets.tests)}."
    )


def test_near_copies_do_not_take_the_power_of_others() -> None:
    right = right_and_wrong([0.62, 0.5], 2_500, 3)
    copies = np.repeat(right[:1], 40, axis=0)
    for row, at in enumerate(np.random.default_rng(1).integers(0, 2_500, 40)):
        copies[row, at] ^= 1  # each copy differs on one instance, another one on two
    board = board_of(np.vstack([right, copies]))
    sets, pair = rank_sets(board), rank_sets(board_of(right))
    assert sets.better[0, 1]
    assert not sets.better[2:, 2:].any()
    assert sets.critical_value is not None
    assert pair.critical_value is not None
    assert sets.critical_value < pair.critical_value + 0.3
    everything = replace(board, differing=np.full((42, 42), 6))
    taken_away = rank_sets(everything).critical_value
    assert taken_away is not None
    assert taken_away > sets.critical_value + 0.5
    assert "Pairs that differ on fewer than 6 instances, which are never called different: 820." in sets.notes


def test_identical_rows_share_everything() -> None:
    right = np.repeat(right_and_wrong([0.5], 60, 0), 3, axis=0)
    sets = rank_sets(board_of(right))
    assert [(row.rank, row.rank_low, row.rank_high, row.tie_group) for row in sets.rows] == [(1, 1, 3, 1)] * 3
    assert [row.podium_shares for row in sets.rows] == [pytest.approx([1 / 3] * 3)] * 3


@given(st.integers(1, 6), st.integers(2, 40), st.integers(0, 10**6))
def test_shares_of_the_podium_are_those_of_each_draw_sorted(rows: int, draws: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(0, 4, (rows, draws)).astype(np.float64)
    expected = np.zeros((rows, min(3, rows)))
    for draw in drawn.T:
        for row, value in enumerate(draw):
            better, equal = int((draw > value).sum()), int((draw == value).sum())
            for place in range(better, min(better + equal, expected.shape[1])):
                expected[row, place] += 1 / equal / draws
    sets = rank_sets(Board(drawn.mean(axis=1), drawn, np.full((rows, rows), 50), 5_000))
    shares = [row.podium_shares for row in sets.rows]
    assert np.array(shares) == pytest.approx(expected)
    assert np.array(shares).sum(axis=0) == pytest.approx(1)


def test_a_tie_group_ends_at_the_first_row_that_differs_from_its_leader() -> None:
    values = np.array([4.0, 3.0, 2.0, 1.0])
    noise = np.random.default_rng(0).standard_normal((4, 1_999)) * 0.35
    board = Board(values, values[:, None] + noise, np.full((4, 4), 50), 5_000)
    sets = rank_sets(board)
    assert sets.better.tolist() == [
        [False, False, True, True],
        [False, False, False, True],
        [False] * 4,
        [False] * 4,
    ]
    assert [row.tie_group for row in sets.rows] == [1, 1, 2, 2]


def test_rows_without_a_value_stay_outside_and_null_draws_are_left_out() -> None:
    board = large(board_of(right_and_wrong([0.9, 0.5, 0.2], 100, 0)))
    values, draws = np.append(board.values, np.nan), np.vstack([board.draws, np.full(999, np.nan)])
    draws[0, :10] = np.nan
    sets = rank_sets(replace(board, values=values, draws=draws, differing=np.full((4, 4), 50)))
    assert (sets.rows[3].rank, sets.rows[3].rank_low, sets.rows[3].tie_group) == (None, None, None)
    assert [row.rank_high for row in sets.rows[:3]] == [1, 2, 3]
    assert (sets.draws, sets.left_out) == (989, 10)
    assert "Rows without a value, which have no rank: 1." in sets.notes
    assert "Draws left out because a row is null in them: 10 of 999." in sets.notes


def test_a_row_that_is_often_null_is_not_compared_and_does_not_harm_others() -> None:
    board = large(board_of(right_and_wrong([0.9, 0.5, 0.2], 100, 0)))
    draws = board.draws.copy()
    draws[1, :500] = np.nan
    sets = rank_sets(replace(board, draws=draws))
    assert (sets.rows[1].rank, sets.rows[1].rank_low) == (2, None)
    assert sets.better[0, 2]
    assert sets.draws == 999


@for_each("size", [0, 1])
def test_boards_of_no_and_of_one_row_have_an_answer(size: int) -> None:
    sets = rank_sets(Board(np.ones(size), np.ones((size, 50)), np.zeros((size, size), dtype=int), 1))
    assert [(row.rank, row.rank_low, row.rank_high) for row in sets.rows] == [(1, 1, 1)] * size
    assert sets.notes == ("There are fewer than two rows to compare.",)


def test_all_null_and_no_draws_have_an_answer() -> None:
    null = rank_sets(Board(np.full(3, np.nan), np.full((3, 50), np.nan), np.zeros((3, 3), dtype=int), 10))
    assert [row.rank for row in null.rows] == [None] * 3
    empty = rank_sets(Board(np.array([1.0, 0.0]), np.empty((2, 0)), np.full((2, 2), 50), 5_000))
    assert [(row.rank_low, row.rank_high, row.first_share) for row in empty.rows] == [(1, 2, None)] * 2
    assert "With 0 draws nothing can be shown at 5 %; at least 19 are needed." in empty.notes


def test_the_budget_gives_fewer_draws_then_fewer_pairs() -> None:
    assert plan_board(100) == (10_000, 100, ())
    assert plan_board(448).draws == 9_987
    assert plan_board(1_000) == (2_002, 1_000, plan_board(1_000).notes)
    assert "2,002 draws are made instead of 10,000" in plan_board(1_000).notes[0]
    wide = plan_board(5_000)
    assert (wide.draws, wide.leaders) == (2_000, 100)
    assert "Only pairs with one of the first 100 rows are compared" in wide.notes[-1]


def test_beyond_the_budget_later_rows_have_no_rank_set() -> None:
    values = np.linspace(1, 0, 1_100)
    draws = values[:, None] + np.random.default_rng(0).standard_normal((1_100, 2_000)) * 0.01
    sets = rank_sets(Board(values, draws, np.full((1_100, 1_100), 50), 5_000))
    first, last = sets.rows[0], sets.rows[-1]
    assert (first.rank_low, first.tie_group) == (1, 1)
    assert (last.rank, last.rank_low, last.rank_high, last.tie_group) == (1_100, None, None, None)
    assert sets.compared[0, 1_099]
    assert not sets.compared[500, 1_099]
    assert any("the other rows have no rank set" in note for note in sets.notes)


def test_json_has_the_pairs_by_row() -> None:
    sets = rank_sets(large(board_of(right_and_wrong([0.9, 0.2], 100, 0))))
    document = sets.to_dict()
    assert document["rows"][0]["better_than"] == [1]
    assert document["rows"][1]["rank_low"] == 2


@pytest.mark.ci
@for_each("seed", [0, 1])
def test_beyond_the_budget_the_choice_of_the_first_rows_shows_no_difference(seed: int) -> None:
    random = np.random.default_rng(seed)  # the step-down test of the first rows alone rejects
    values = random.standard_normal(1_100)
    draws = values[:, None] + random.standard_normal((1_100, 2_000))
    order = np.argsort(-values)
    assert step_down(values[order], draws[order], np.ones((100, 1_100), dtype=bool)).rejected.any()
    sets = rank_sets(Board(values, draws, np.full((1_100, 1_100), 50), 5_000))
    assert not sets.better.any()


def test_rows_that_are_first_together_but_for_rounding_share_the_draw() -> None:
    draws = np.array([[0.1 + 0.2, 0.3, 0.5], [0.3, 0.1 + 0.2, 0.1]])
    sets = rank_sets(Board(np.array([0.3, 0.3]), draws, np.full((2, 2), 50), 5_000))
    assert [row.first_share for row in sets.rows] == pytest.approx([2 / 3, 1 / 3])
