"""The declarations that resampling relies on: functions of one-vs-rest counts, proportions, and intervals that are refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.scoring.strategies import OPTION_VALUES, calls, cases, cases_with_odd_predictions

MANY = settings(max_examples=60, deadline=None)


@st.composite
def cases_with_swapped_errors(draw: st.DrawFn, task: TaskKind) -> tuple[EvaluationInput, EvaluationInput]:
    """A case, and the same with wrong predictions exchanged among instances so that all of them stay wrong."""
    of = draw(cases_with_odd_predictions(task))
    gold, predicted = of.gold.codes, of.predicted.codes.copy()
    wrong = np.flatnonzero(gold != predicted).tolist()
    for _ in range(4 if len(wrong) > 1 else 0):
        a, b = draw(st.sampled_from(wrong)), draw(st.sampled_from(wrong))
        if gold[a] != predicted[b] and gold[b] != predicted[a]:
            predicted[a], predicted[b] = predicted[b], predicted[a]
    return of, replace(of, predicted=Labels(predicted))


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@given(data=st.data(), options=OPTION_VALUES)
@MANY
def test_metrics_that_merge_cells_do_not_depend_on_which_instance_got_which_wrong_label(
    task: TaskKind, data: st.DataObject, options: dict[str, str]
) -> None:
    of, swapped = data.draw(cases_with_swapped_errors(task))
    merging = [call for call in calls(of, options) if call.metric.merges_cells]
    before, after = evaluate(of, merging), evaluate(swapped, merging)
    for call in merging:
        assert after[call.text].value == before[call.text].value, call.text


def test_metrics_of_single_cells_do_not_merge_them() -> None:
    for key in ("cohen_kappa", "expected_cost", "mean_absolute_class_distance", "mcnemar_confusion", "f1_cv_mean"):
        assert not CATALOGUE[key].merges_cells, key
    for key in ("accuracy", "f1_macro", "f1_of_averages_macro", "mcc", "balanced_accuracy", "hamming_loss"):
        assert CATALOGUE[key].merges_cells, key


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@given(data=st.data())
@MANY
def test_a_proportion_is_a_number_of_instances_divided_by_all(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    wanted = [
        call for call in calls(of) if call.metric.interval.kind == "proportion" and call.metric.key != "top_k_accuracy"
    ]
    for text, result in evaluate(of, wanted).items():
        assert result.value is not None, text
        count = round(result.value * of.gold.n)
        assert result.value == count / of.gold.n, text


def test_every_metric_without_an_interval_says_why() -> None:
    refused = {key: metric.interval.reason for key, metric in CATALOGUE.items() if metric.interval.kind == "none"}
    assert {"ece", "mce", "classwise_ece", "cramers_v", "chi_squared", "accuracy_lower", "mcnemar_confusion"} <= set(
        refused
    )
    assert all(reason.endswith(".") for reason in refused.values())
    assert not [key for key, metric in CATALOGUE.items() if metric.interval.kind != "none" and metric.interval.reason]
