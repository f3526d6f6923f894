"""An instance of weight n counts like n instances: for every metric, task and convention."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import Result, evaluate
from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case
from tests.scoring.strategies import OPTION_VALUES, calls, cases, cases_with_odd_predictions

MANY = settings(max_examples=25, deadline=None)
EXACT = {"log_loss", "log_loss_multilabel"}
"""Metrics of twelve digits whose values are equal to the bit all the same."""


def results_by_key(of: EvaluationInput, options: dict[str, str]) -> dict[str, Result]:
    wanted = [call for call in calls(of, options) if call.metric.supports_weights]
    found = evaluate(of, wanted)
    return {call.metric.key: found[call.text] for call in wanted}


def with_weights(of: EvaluationInput, weights: Sequence[int]) -> EvaluationInput:
    return replace(of, weights=np.array(weights, dtype=np.int64))


def assert_same(here: dict[str, Result], there: dict[str, Result]) -> None:
    """The same values: to the bit, except sums of roots, exponentials and powers."""
    for key, result in here.items():
        other = there[key]
        assert (result.value is None, result.reason) == (other.value is None, other.reason), key
        if result.value is not None and CATALOGUE[key].properties.significant_digits and key not in EXACT:
            assert other.value == pytest.approx(result.value, rel=1e-11, abs=1e-15), key
        else:
            assert result.value == other.value, key


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data(), options=OPTION_VALUES)
@MANY
def test_a_weight_is_as_many_repetitions(task: TaskKind, data: st.DataObject, options: dict[str, str]) -> None:
    of = data.draw(cases_with_odd_predictions(task))
    n = of.gold.n
    weights = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
    rows = [row for row, weight in enumerate(weights) for _ in range(weight)]
    repeated = of.take(np.array(rows, dtype=np.int64))
    found = results_by_key(repeated, options)
    counted = results_by_key(with_weights(of, weights), options)
    assert_same(found, counted)
    assert {key: one.data for key, one in found.items()} == {key: one.data for key, one in counted.items()}
    assert_same(found, results_by_key(with_weights(of, [10**6 * weight for weight in weights]), options))


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data(), options=OPTION_VALUES)
@MANY
def test_an_instance_that_weighs_nothing_is_not_there(
    task: TaskKind, data: st.DataObject, options: dict[str, str]
) -> None:
    of = data.draw(cases_with_odd_predictions(task))
    n = of.gold.n
    weights = data.draw(st.lists(st.sampled_from([0, 1, 7]), min_size=n, max_size=n).filter(any))
    kept = np.flatnonzero(weights)
    whole = with_weights(of, weights)
    assert results_by_key(whole, options) == results_by_key(whole.take(kept), options)  # every bit, reasons and notes


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_where_nothing_weighs_anything_there_is_no_value(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    for key, result in results_by_key(with_weights(of, [0] * of.gold.n), {}).items():
        assert (result.value, result.reason) == (None, "all instances have weight 0"), key


def test_an_instance_that_weighs_nothing_needs_no_scores() -> None:
    of = case("binary", ["a", "b"], ["a", "b"], ["a", None], [[0.5], [float("nan")]])
    found = results_by_key(with_weights(of, [1, 0]), {})
    assert found["log_loss"].value == 0.69314718056
    assert found["brier"].value == 0.25
    assert found["brier_multiclass_sum"].value == 0.5


def test_zero_division_error_speaks_of_instances_that_weigh_something() -> None:
    of = case("multilabel", ["a"], [["a"], []], [["a"], []])
    whole = results_by_key(with_weights(of, [0, 1]), {"zero_division": "error"})
    assert whole["specificity_samples"].value == 1.0
