"""Log loss and Brier scores, held against scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as sk

from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.probability_rows import row_sums, sums_to_one
from tests.each_case import for_each
from tests.scoring.case_builder import results

CLOSE = 1e-11
MANY = settings(max_examples=100, deadline=None)
Matrix = NDArray[np.float64]


def case(
    task: TaskKind, gold: NDArray[np.int64], scores: Matrix, weights: list[int] | None = None, at: int = 0
) -> EvaluationInput:
    m = max(2, scores.shape[1])
    classes = tuple(f"c{k}" for k in range(m))
    about = TaskSpec(task, classes, classes[at] if task == "binary" else None)
    codes = Labels(gold.astype(np.int32))
    return EvaluationInput(about, codes, codes, scores, None if weights is None else np.array(weights, dtype=np.int64))


def near(of: EvaluationInput, expected: dict[str, float]) -> None:
    found = results(of, list(expected))
    for key, number in expected.items():
        value = found[key].value
        assert value is not None, (key, found[key].reason)
        assert value == pytest.approx(number, abs=CLOSE, rel=CLOSE), key


@st.composite
def probabilities(draw: st.DrawFn, m: int, *, off: bool = False) -> tuple[NDArray[np.int64], Matrix, list[int]]:
    """Gold, rows of probabilities (with `off`, whose sums are a little off) and weights."""
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores = rng.dirichlet([draw(st.sampled_from([0.05, 0.5, 5.0]))] * m, size=n)
    if off:
        scores *= rng.uniform(0.9995, 1.0005, size=(n, 1))
    return rng.integers(0, m, size=n), scores, rng.integers(1, 5, size=n).tolist()


@given(data=st.data(), m=st.integers(2, 6), off=st.booleans(), weighed=st.booleans())
@MANY
def test_of_several_classes(data: st.DataObject, m: int, off: bool, weighed: bool) -> None:
    gold, scores, weights = data.draw(probabilities(m, off=off))
    own = scores / scores.sum(axis=1)[:, None]
    by = weights if weighed else None
    expected = {
        "log_loss": sk.log_loss(gold, own, labels=range(m), sample_weight=by),
        "brier_multiclass_sum": sk.brier_score_loss(
            gold, own, labels=list(range(m)), sample_weight=by, scale_by_half=False
        ),
    }
    near(case("multiclass", gold, scores, by), expected)


@given(data=st.data(), at=st.integers(0, 1), single=st.booleans(), weighed=st.booleans())
@MANY
def test_of_a_binary_task_with_one_column_or_two(data: st.DataObject, at: int, single: bool, weighed: bool) -> None:
    gold, scores, weights = data.draw(probabilities(2, off=not single))
    by = weights if weighed else None
    own = scores / scores.sum(axis=1)[:, None]
    given_scores = scores[:, [at]] if single else scores
    positive = scores[:, at] if single else own[:, at]
    both = np.column_stack([1 - positive if single else own[:, 1 - at], positive])
    brier = sk.brier_score_loss(gold == at, positive, sample_weight=by, pos_label=True)
    expected = {
        "log_loss": sk.log_loss(gold == at, both, labels=[False, True], sample_weight=by),
        "brier": brier,
        "brier_multiclass_sum": 2 * brier,
    }
    near(case("binary", gold, given_scores, by, at), expected)


def test_what_is_surely_wrong_costs_52_bits_and_no_more() -> None:
    of = case("multiclass", np.array([0]), np.array([[0.0, 1.0, 0.0]]))
    near(of, {"log_loss": 52 * math.log(2), "brier_multiclass_sum": 2.0})
    near(of, {"log_loss": sk.log_loss([0], [[0.0, 1.0, 0.0]], labels=[0, 1, 2])})


@for_each(
    "row, fits",
    [
        ([0.499, 0.5], True), ([0.111] * 9, True), ([0.9, 0.101], True), ([0.333, 0.333, 0.333], True),
        ([0.501, 0.5], True), ([0.4989, 0.5], False), ([0.9, 0.1011], False),
    ],
)  # fmt: skip
def test_decimals_that_are_a_thousandth_off_are_let_pass_and_no_more(row: list[float], fits: bool) -> None:
    assert sums_to_one(np.array([row, [1.0] + [0.0] * (len(row) - 1)])).tolist() == [fits, True]
    assert sums_to_one(np.array([row[::-1]])).tolist() == [fits]  # in any order


_SHARES = st.floats(0, 1) | st.floats(0, 1, width=32) | st.integers(0, 10**6).map(lambda parts: parts / 10**6)


@given(st.integers(1, 8).flatmap(lambda m: st.lists(st.lists(_SHARES, min_size=m, max_size=m), min_size=1, max_size=6)))
def test_sums_of_rows_are_correctly_rounded(rows: list[list[float]]) -> None:
    assert row_sums(np.array(rows)).tolist() == [math.fsum(row) for row in rows]


@for_each("m", [2, 100, 4096, 5000])
def test_sums_of_many_probabilities_are_correctly_rounded(m: int) -> None:
    chance = np.random.default_rng(m)
    for alpha in (0.01, 1.0):
        rows = chance.dirichlet(np.full(m, alpha), size=200)
        assert row_sums(rows).tolist() == [math.fsum(row) for row in rows.tolist()]


@for_each(
    "row",
    [
        [1.0, 2.0**-53], [1.0, 2.0**-53, 2.0**-120], [1.0, 2.0**-54, 2.0**-54], [0.0, 0.0], [5e-324, 5e-324],
        [-1.0, 2.0], [1e300, 1.0],
    ],
)  # fmt: skip
def test_sums_at_the_edge_of_rounding(row: list[float]) -> None:
    assert row_sums(np.array([row, row[::-1]])).tolist() == [math.fsum(row)] * 2
