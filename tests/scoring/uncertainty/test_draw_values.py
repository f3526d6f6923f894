"""The value of a metric in many draws at once is what the engine gives for each draw: for every metric and convention."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE, MetricCall
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.draw_values import draw_values
from tests.scoring.case_builder import case
from tests.scoring.strategies import OPTION_VALUES, calls, cases, cases_with_odd_predictions

FEW = settings(max_examples=25, deadline=None)  # each computes every metric for three draws, twice


def scalar_calls(of: EvaluationInput, options: dict[str, str]) -> list[MetricCall]:
    return [call for call in calls(of, options) if call.metric.scalar]


def engine_values(of: EvaluationInput, wanted: list[MetricCall], block: Any) -> dict[str, list[float]]:
    """The value of each draw by the engine on rows that are repeated as often as their multiplicity says."""
    found: dict[str, list[float]] = {call.text: [] for call in wanted}
    for draw in block.T:
        results = evaluate(of.take(np.repeat(np.arange(len(draw)), draw)), wanted)
        for text, values in found.items():
            value = results[text].value
            values.append(float("nan") if value is None else value)
    return found


def check(of: EvaluationInput, options: dict[str, str], block: Any) -> None:
    wanted = scalar_calls(of, options)
    expected = engine_values(of, wanted, block)
    found = draw_values(of, wanted, [block[:, :1], block[:, 1:]])
    for text, values in expected.items():
        assert found[text] == pytest.approx(values, rel=1e-10, abs=1e-12, nan_ok=True), text


@st.composite
def blocks(draw: st.DrawFn, rows: int) -> Any:
    one = st.lists(st.integers(0, 3), min_size=rows, max_size=rows)
    return np.array(draw(st.lists(one, min_size=3, max_size=3)), dtype=np.int64).T


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data(), options=OPTION_VALUES)
@FEW
def test_odd_predictions_and_every_convention(task: TaskKind, data: st.DataObject, options: dict[str, str]) -> None:
    of = data.draw(cases_with_odd_predictions(task))
    check(of, options, data.draw(blocks(of.gold.n)))


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@FEW
def test_default_conventions(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    check(of, {}, data.draw(blocks(of.gold.n)))


def test_a_draw_without_the_instances_that_are_undefined_has_a_value() -> None:
    of = case("multilabel", ["a", "b"], [["a", "b"], ["a"]], [["a"], ["b"]])
    wanted = [call for call in calls(of, {"zero_division": "error"}) if call.metric.key.endswith("_samples")]
    draws = np.array([[0, 1, 1], [1, 1, 0]])
    expected, found = engine_values(of, wanted, draws), draw_values(of, wanted, [draws])
    assert not np.isnan(found["specificity_samples"][0])
    for text, values in expected.items():
        assert found[text] == pytest.approx(values, rel=1e-10, nan_ok=True), text


SLOW = {
    "accuracy_lower",
    "accuracy_p_value",
    "accuracy_upper",
    "chi_squared",
    "classwise_ece",
    "cramers_v",
    "delong_variance",
    "ece",
    "mce",
    "mcnemar_confusion",
}
"""Metrics without a form for many draws: each of them costs one evaluation a draw."""


def test_only_these_metrics_are_evaluated_draw_by_draw() -> None:
    found = {key for key, metric in CATALOGUE.items() if metric.scalar and metric.compute_draws is None}
    assert found == SLOW
