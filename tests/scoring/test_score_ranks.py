"""Ranks, curves and pairs of classes against their definitions, counted pair by pair in exact fractions."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.class_pair_wins import pairwise_wins
from app.scoring.curves import (
    corner_mask,
    delong_variance,
    equal_error_rate,
    fp_at_recall,
    partial_roc_area,
    roc_corners,
    run_end_mask,
    standardize_partial_area,
    threshold_counts,
)
from app.scoring.score_ranks import (
    TIE_CREDIT_IN_HALVES,
    ScoreRanks,
    average_precision_sum,
    doubled_wins,
    rank_positives,
    trapezoid_sum,
)
from tests.each_case import for_each

FEW = settings(max_examples=150, deadline=None)
Rows = list[tuple[float, bool, int]]  # score, whether positive, weight
VALUES = st.sampled_from([-1.5, -0.0, 0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 1.0])
ROWS = st.lists(st.tuples(VALUES, st.booleans(), st.integers(1, 4)), min_size=1, max_size=14)
BOTH = ROWS.filter(lambda rows: len({own for _, own, _ in rows}) == 2)
HUGE = 2**49  # fourteen weights of up to 4 times this stay below 2**55, their products far above int64


def arrays(rows: Rows, scale: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, own, weights = zip(*rows, strict=True)
    return np.array(values), np.array(own), scale * np.array(weights, dtype=np.int64)


def ranks_of_repetitions(rows: Rows) -> ScoreRanks:
    """The ranks of the rows, each as often as it weighs."""
    values, own, weights = arrays(rows)
    return rank_positives(np.repeat(values, weights), np.repeat(own, weights))


def ranks(rows: Rows, scale: int = 1) -> ScoreRanks:
    return rank_positives(*arrays(rows, scale))


def auc(rows: Rows, tie: Fraction) -> Fraction:
    pairs = [
        (Fraction(wp * wn), Fraction(1 if p > n else 0) if p != n else tie)
        for (p, yes, wp), (n, no, wn) in product(rows, rows)
        if yes and not no
    ]
    return sum((w * v for w, v in pairs), Fraction()) / sum(w for w, _ in pairs)


def points(rows: Rows) -> list[tuple[int, int]]:
    """(false, true) positives at every threshold, beginning with one that no score reaches."""
    found = [(0, 0)]
    for least in sorted({score for score, _, _ in rows}, reverse=True):
        reached = [(own, weight) for score, own, weight in rows if score >= least]
        found.append((sum(w for own, w in reached if not own), sum(w for own, w in reached if own)))
    return found


@given(rows=BOTH)
@FEW
def test_wins_are_those_of_all_pairs(rows: Rows) -> None:
    for ties, halves in TIE_CREDIT_IN_HALVES.items():
        expected = auc(rows, Fraction(halves, 2))
        for found in (ranks_of_repetitions(rows), ranks(rows), ranks(rows, HUGE)):
            assert Fraction(doubled_wins(found, ties), 2 * found.positives * found.negatives) == expected


@given(rows=ROWS.filter(lambda rows: any(own for _, own, _ in rows)))
@FEW
def test_areas_of_precision_and_recall_are_those_of_all_thresholds(rows: Rows) -> None:
    curve = [(tp, Fraction(tp, fp + tp) if fp + tp else Fraction(1)) for fp, tp in points(rows)]
    steps = sum(((after[0] - before[0]) * after[1] for before, after in pairwise(curve)), Fraction())
    lines = sum(((b[0] - a[0]) * (a[1] + b[1]) for a, b in pairwise(curve)), Fraction())
    for of in (ranks(rows), ranks_of_repetitions(rows)):
        assert average_precision_sum(of).nearest() == float(steps)  # to the bit
        assert trapezoid_sum(of).nearest() == float(lines)
    assert average_precision_sum(ranks(rows, HUGE)).nearest() == float(steps * HUGE)


@given(rows=ROWS, order=st.randoms(use_true_random=False))
@FEW
def test_the_order_of_the_instances_leaves_no_trace(rows: Rows, order: object) -> None:
    mixed = list(rows)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = ranks(rows), ranks(mixed)
    assert (one.positives, one.negatives) == (other.positives, other.negatives)
    for name in ("positives_at_score", "tied", "ahead"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


@given(rows=ROWS)
@FEW
def test_steps_are_the_points_of_all_thresholds(rows: Rows) -> None:
    values, own, weights = arrays(rows)
    for steps in (
        threshold_counts(values, own, weights),
        threshold_counts(np.repeat(values, weights), np.repeat(own, weights)),
    ):
        assert [(0, 0), *zip(steps.fp.tolist(), steps.tp.tolist(), strict=True)] == points(rows)
        assert steps.thresholds.tolist() == sorted({score for score, _, _ in rows}, reverse=True)


def height(curve: list[tuple[int, int]], at: Fraction) -> Fraction:
    """The highest true positives of the curve at a number of false positives, on its lines."""
    found = []
    for (x0, y0), (x1, y1) in pairwise(curve):
        if x0 <= at <= x1:
            found.append(Fraction(y1) if x0 == x1 else y0 + (at - x0) * Fraction(y1 - y0, x1 - x0))
    return max(found)


@given(rows=BOTH, most=st.fractions(min_value=Fraction(1, 50), max_value=1))
@FEW
def test_a_part_of_the_area_is_that_under_the_lines(rows: Rows, most: Fraction) -> None:
    curve = points(rows)
    (negatives, positives), limit = curve[-1], most * curve[-1][0]
    cuts = sorted({Fraction(x) for x, _ in curve if x < limit} | {limit})
    between = pairwise(cuts)  # the line is straight there: its middle is its mean
    area = sum(((x1 - x0) * height(curve, (x0 + x1) / 2) for x0, x1 in between), Fraction())
    expected = area / (negatives * positives)
    for scale in (1, HUGE):
        assert partial_roc_area(roc_corners(ranks(rows, scale)), most) == expected
    assert 0 <= standardize_partial_area(expected, most) <= 1
    whole = partial_roc_area(roc_corners(ranks(rows)), Fraction(1))
    assert whole == auc(rows, Fraction(1, 2))
    assert standardize_partial_area(whole, Fraction(1)) == whole


@given(rows=BOTH)
@FEW
def test_at_the_equal_error_rate_both_errors_are_the_same(rows: Rows) -> None:
    curve = points(rows)
    negatives, positives = curve[-1]
    rate = equal_error_rate(roc_corners(ranks(rows)))
    assert equal_error_rate(roc_corners(ranks(rows, HUGE))) == rate
    on_the_curve = [
        (Fraction(x0), Fraction(x1), Fraction(y0), Fraction(y1))
        for (x0, y0), (x1, y1) in pairwise(curve)
        if x0 <= rate * negatives <= x1 and y0 <= (1 - rate) * positives <= y1
    ]
    assert any(
        (rate * negatives - x0) * (y1 - y0) == ((1 - rate) * positives - y0) * (x1 - x0)
        for x0, x1, y0, y1 in on_the_curve
    )


@given(rows=BOTH, recall=st.fractions(min_value=0, max_value=1))
@FEW
def test_the_fewest_false_positives_at_a_recall(rows: Rows, recall: Fraction) -> None:
    curve = points(rows)
    expected = min(fp for fp, tp in curve if tp >= recall * curve[-1][1])
    assert fp_at_recall(ranks(rows), recall) == expected


@given(rows=BOTH)
@FEW
def test_the_variance_is_that_of_the_structural_components(rows: Rows) -> None:
    values, own, weights = arrays(rows)
    values, own = np.repeat(values, weights), np.repeat(own, weights)
    positive, negative = values[own].tolist(), values[~own].tolist()
    if min(len(positive), len(negative)) < 2:
        return
    beats = [[Fraction(int(p > n) * 2 + int(p == n), 2) for n in negative] for p in positive]
    of_rows = [sum(row, Fraction()) / len(negative) for row in beats]
    of_columns = [sum(column, Fraction()) / len(positive) for column in zip(*beats, strict=True)]

    def spread(parts: list[Fraction]) -> Fraction:
        mean = sum(parts, Fraction()) / len(parts)
        return sum(((part - mean) ** 2 for part in parts), Fraction()) / (len(parts) - 1) / len(parts)

    assert delong_variance(threshold_counts(values, own)) == spread(of_rows) + spread(of_columns)


def by_class(rows: Rows, codes: list[int], i: int, j: int, tie: Fraction) -> Fraction:
    mine = [(score, True, weight) for (score, _, weight), code in zip(rows, codes, strict=True) if code == i]
    theirs = [(score, False, weight) for (score, _, weight), code in zip(rows, codes, strict=True) if code == j]
    return auc(mine + theirs, tie)


@pytest.mark.parametrize("scale", [1, HUGE])
@given(rows=ROWS, data=st.data())
@FEW
def test_wins_of_classes_are_those_of_all_pairs(scale: int, rows: Rows, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(-1, 4), min_size=len(rows), max_size=len(rows)))  # -1 and 4: of no class
    values, _, weights = arrays(rows, scale)
    other = 1 - values
    wins = pairwise_wins(lambda own: values if own % 2 else other, np.array(codes), 4, weights)
    alike = pairwise_wins(
        lambda own: np.repeat(values if own % 2 else other, weights // scale), np.repeat(codes, weights // scale), 4
    )
    for i, j in product(range(4), range(4)):
        if i != j and i in codes and j in codes:
            seen = [(float(score), own, w) for score, (_, own, w) in zip(values if i % 2 else other, rows, strict=True)]
            for ties, halves in TIE_CREDIT_IN_HALVES.items():
                pairs = 2 * int(wins.sizes[i]) * int(wins.sizes[j])
                expected = by_class(seen, codes, i, j, Fraction(halves, 2))
                assert Fraction(int(wins.doubled(ties, (i, j))[0, 1]), pairs) == expected
                assert int(alike.doubled(ties, (i, j))[0, 1]) * scale**2 == int(wins.doubled(ties, (i, j))[0, 1])


def same_line(across: list[int], up: list[int], kept: np.ndarray) -> bool:
    """Whether every point that was dropped lies on the line between its kept neighbours."""
    where = np.flatnonzero(kept).tolist()
    return all(
        (across[at] - across[low]) * (up[high] - up[low]) == (up[at] - up[low]) * (across[high] - across[low])
        for low, high in pairwise(where)
        for at in range(low, high + 1)
    )


@given(rows=ROWS)
@FEW
def test_points_on_a_line_are_told_exactly(rows: Rows) -> None:
    across, up = (list(part) for part in zip(*points(rows), strict=True))
    kept = corner_mask(np.array(across), np.array(up))
    assert kept[0]
    assert kept[-1]
    assert same_line(across, up, kept)
    left = [[part[at] for at in np.flatnonzero(kept)] for part in (across, up)]
    assert corner_mask(np.array(left[0]), np.array(left[1])).all()


@for_each("levels, kept", [([0, 0, 0, 1, 2, 2, 2, 2], [1, 0, 1, 1, 1, 0, 0, 1]), ([3], [1]), ([0, 0], [1, 1])])
def test_ends_of_runs(levels: list[int], kept: list[int]) -> None:
    assert run_end_mask(np.array(levels)).astype(int).tolist() == kept


def test_a_million_products_beyond_int64_are_exact() -> None:
    weights = np.full(1000, 2**43, dtype=np.int64)
    values = np.arange(1000.0)
    found = rank_positives(values, values % 2 == 1, weights)
    odd_over_even = sum(range(1, 501))
    assert doubled_wins(found, "half") == 2 * odd_over_even * 2**86


@for_each("make", [rank_positives, threshold_counts])
def test_no_positives_and_no_negatives_are_told_apart(make: Callable[..., object]) -> None:
    none = make(np.array([0.5, 0.5]), np.array([False, False]))
    every = make(np.array([0.5, 0.5]), np.array([True, True]))
    assert (none.positives, none.negatives) == (0, 2)  # type: ignore[attr-defined]
    assert (every.positives, every.negatives) == (2, 0)  # type: ignore[attr-defined]
    assert average_precision_sum(rank_positives(np.array([0.5]), np.array([True]))).nearest() == 1.0
