"""What every metric of the catalogue promises, checked for each one and each task that it is for."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.catalogue.description import describe_call, describe_metric
from app.scoring.declaration.metric import CATALOGUE, RANKING, SCORES, Metric
from app.scoring.declaration.metric_parser import applicable_metrics, parse_metric
from app.scoring.declaration.options import OPTIONS
from app.scoring.declaration.requirements import needs_met
from app.scoring.declaration.task import TASK_KINDS, TaskKind, TaskSpec
from app.scoring.evaluate import Result, evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.reports.per_class_report import per_class_report
from tests.each_case import for_each
from tests.scoring.case_builder import case, value
from tests.scoring.strategies import (
    METRIC_TASK_PAIRS,
    OPTION_VALUES,
    calls,
    cases,
    cases_with_odd_predictions,
    metric_object,
)

# the best that a ranking can reach depends on how many relevant labels each instance has; so does that of its k best
BY_SIZE = {"coverage", "coverage_plus_one", "precision_at_k", "dcg_at_k", "psp_at_k", "psndcg_at_k"}
# one decision value: to be sure of its class is not to know how the others lie
ONE_VALUE = {"auc_pairwise_univariate"}
WIDTH = {"partial_auc": 0.5}  # the best value is the width of the area that is asked for
FEW = settings(max_examples=25, deadline=None)  # each computes every metric


def metrics_for(task: TaskKind) -> list[Metric]:
    return [metric for metric in CATALOGUE.values() if task in metric.tasks]


def results_by_key(of: EvaluationInput, options: dict[str, str] | None = None) -> dict[str, Result]:
    wanted = calls(of, options)
    by_text = evaluate(of, wanted)
    return {call.metric.key: by_text[call.text] for call in wanted}


def swap_gold_and_predictions(of: EvaluationInput) -> EvaluationInput:
    return replace(of, gold=of.predicted, predicted=of.gold)


def select_rows(of: EvaluationInput, rows: Sequence[int]) -> EvaluationInput:
    at = np.array(rows, dtype=np.int64)
    return of.take(at)


def scalar(key: str) -> bool:
    return CATALOGUE[key].scalar


def has_best_value(key: str) -> bool:
    """Whether it has a best value."""
    return scalar(key) and CATALOGUE[key].direction != "none" and key not in ONE_VALUE


def example_case(metric: Metric) -> EvaluationInput:
    shown = metric.example
    return case(
        shown.task,
        shown.classes,
        shown.gold,
        shown.predicted,
        positive_label=shown.positive_label,
        scores=shown.scores,
        train_frequencies=shown.train_frequencies,
        hierarchy=shown.hierarchy,
        folds=shown.folds,
        groups=shown.groups,
        cost_matrix=shown.cost_matrix,
        class_weights=shown.class_weights,
    )


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@FEW
def test_values_lie_within_the_declared_range_or_have_a_reason_and_none_beats_the_best_attainable(
    task: TaskKind, data: st.DataObject
) -> None:
    for key, result in results_by_key(data.draw(cases(task)), data.draw(OPTION_VALUES)).items():
        low, high = CATALOGUE[key].range
        assert ((result.value is None) and (result.data is None)) == (result.reason is not None), key
        assert result.value is None or low <= result.value <= high, key
        said = [note for note in result.notes if note.startswith("the best attainable value")]
        if said and result.value is not None:
            best = float(said[0].partition(" is ")[2].partition(",")[0])
            above = result.value - best
            assert (above if CATALOGUE[key].direction == "higher" else -above) <= 1e-6, key


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@FEW
def test_no_prediction_however_odd_leaves_the_range(task: TaskKind, data: st.DataObject) -> None:
    of, options = data.draw(cases_with_odd_predictions(task)), data.draw(OPTION_VALUES)
    of = of if data.draw(st.booleans()) else replace(of, scores=None)
    for key, result in results_by_key(of, options).items():
        low, high = CATALOGUE[key].range
        assert result.value is None or low <= result.value <= high, key
    counts = [row[cell] for row in per_class_report(of, options).values() for cell in ("tp", "fp", "fn", "tn")]
    assert all(count is not None and count >= 0 for count in counts)


def reorder_classes(of: EvaluationInput, order: Sequence[int]) -> EvaluationInput:
    """The same labels under classes that are declared in another order."""
    code = np.empty(len(order) + 3, dtype=np.int32)
    code[list(order)] = np.arange(len(order))
    code[len(order) :] = [len(order), len(order) + 1, -1]
    assert of.scores is not None
    return replace(
        of,
        spec=replace(of.spec, classes=tuple(of.spec.classes[at] for at in order)),
        gold=Labels(code[of.gold.codes], of.gold.offsets),
        predicted=Labels(code[of.predicted.codes], of.predicted.offsets),
        scores=of.scores[:, list(order)],
    )


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@FEW
def test_symmetric_metrics_do_not_tell_gold_from_prediction(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    there, back = results_by_key(of), results_by_key(swap_gold_and_predictions(of))
    for key, metric in ((metric.key, metric) for metric in metrics_for(task)):
        if metric.properties.symmetric:
            assert there[key].value == back[key].value, key


@for_each(
    "key",
    [
        key
        for key, metric in CATALOGUE.items()
        if metric.scalar and not (metric.properties.symmetric or {SCORES, RANKING} & set(metric.needs))
    ],
)  # scores cannot change places with gold
def test_a_metric_declared_asymmetric_is_so(key: str) -> None:
    metric = CATALOGUE[key]
    shown = [example_case(metric)]
    if "multilabel" in metric.tasks:  # with one label per instance some of them are accuracy, which is symmetric
        gold, predicted = [["a"], ["a", "b"], ["b"], ["c"]], [["a", "b"], ["a"], ["a", "b", "c"], ["a", "c"]]
        shown.append(case("multilabel", ["a", "b", "c"], gold, predicted, train_frequencies={"a": 3, "b": 2, "c": 1}))

    def moves(of: EvaluationInput) -> bool:
        text = parse_metric(metric_object(metric, of), task=of.spec.task).text
        return value(of, text) != value(swap_gold_and_predictions(of), text)

    assert any(moves(of) for of in shown)


@cache
def perfect(task: TaskKind, *, pairs: bool = False) -> dict[str, Result]:
    """All metrics of a perfect answer in which every class occurs; with `pairs`, each set has as many labels as k."""
    classes = ["a", "b"] if task == "binary" else ["a", "b", "c"]
    gold: list[Any] = [*classes, classes[0]]
    if task == "multilabel":
        gold = [["a", "b"], ["b", "c"], ["a", "c"]] if pairs else [[label] for label in gold] + [["a", "b"]]
    sure = [[float(name in label if task == "multilabel" else name == label) for name in classes] for label in gold]
    of = case(
        task,
        classes,
        gold,
        gold,
        sure,
        train_frequencies=dict.fromkeys(classes, 1),
        hierarchy={name: ["root"] for name in classes},
        folds=["1"] * len(gold),
        cost_matrix={a: {b: float(a != b) for b in classes} for a in classes},
    )
    return results_by_key(of)


@for_each("key, task", [(key, task) for key, task in METRIC_TASK_PAIRS if has_best_value(key) and key not in BY_SIZE])
def test_a_perfect_prediction_has_the_best_value(key: str, task: TaskKind) -> None:
    metric = CATALOGUE[key]
    best = metric.range[1] if metric.direction == "higher" else metric.range[0]
    found = perfect(task, pairs=key.endswith("_top_k"))[key].value
    if math.isinf(best):  # costs may be negative, and odds of no error at all have no value
        assert found == {"expected_cost": 0.0}.get(key)
        return
    assert found == WIDTH.get(key, best)


@for_each("key", [key for key in CATALOGUE if scalar(key)])
def test_the_worked_example_is_true(key: str) -> None:
    metric = CATALOGUE[key]
    shown = metric.example
    call = parse_metric({"key": key, "params": shown.params}, task=shown.task)
    found = evaluate(example_case(metric), [call])[call.text].value
    exact = float(Fraction(shown.value))
    if metric.properties.significant_digits:
        assert found == pytest.approx(exact, abs=1e-11)
    else:
        assert found == exact


def repeat_class(of: EvaluationInput, label: str) -> EvaluationInput:
    """The instances of one class twice."""
    code = of.spec.classes.index(label)
    sets = of.gold.as_sets()
    assert sets.offsets is not None
    own = [row for row in range(of.gold.n) if code in sets.codes[sets.offsets[row] : sets.offsets[row + 1]]]
    return select_rows(of, [*range(of.gold.n), *own])


@for_each("key", [key for key in CATALOGUE if scalar(key)])
def test_prevalence_moves_exactly_the_metrics_that_say_so(key: str) -> None:
    metric = CATALOGUE[key]
    of = example_case(metric)
    text = parse_metric(metric_object(metric, of), task=of.spec.task).text
    here = value(of, text)
    moved = [value(repeat_class(of, label), text) != here for label in of.spec.classes]
    assert any(moved) == metric.properties.prevalence_sensitive


@given(of=cases("multiclass"))
@FEW
def test_recalls_averaged_over_classes_never_feel_prevalence(of: EvaluationInput) -> None:
    before, after = results_by_key(of), results_by_key(repeat_class(of, of.spec.classes[0]))
    for key in ("recall", "recall_macro", "recall_lfb_train", "balanced_accuracy", "weighted_accuracy"):
        assert before[key].value == after[key].value, key


@for_each("key", CATALOGUE)
def test_every_declaration_is_complete_and_renders(key: str) -> None:
    metric = CATALOGUE[key]
    shown = describe_metric(metric)
    assert shown["equation"]["mathml"].startswith("<math")
    assert metric.name
    assert metric.source
    assert set(metric.options) <= set(OPTIONS)
    assert set(metric.hints) <= set(TASK_KINDS) - set(metric.tasks)
    of = example_case(metric)
    assert describe_call(parse_metric(metric_object(metric, of), task=of.spec.task))["equation"]["mathml"].startswith(
        "<math"
    )


@for_each("task", TASK_KINDS)
def test_all_fitting_metrics_compute_without_further_choices(task: TaskKind) -> None:
    classes = ("a", "b")
    bare = TaskSpec(task, classes, positive_label="a" if task == "binary" else None)
    trained = TaskSpec(task, classes, bare.positive_label, {"a": 1, "b": 2})
    keys = {call.metric.key for call in applicable_metrics(task, None, needs_met(bare))}
    assert not any("lfb_train" in key or key.startswith("f_beta") for key in keys)
    assert {call.metric.key for call in applicable_metrics(task, None, needs_met(trained))} - keys == {
        key
        for key, metric in CATALOGUE.items()
        if "lfb_train" in key and task in metric.tasks and not key.startswith("f_beta")
    }
    assert ("f1" in keys) == (task == "binary")
    assert all(task in CATALOGUE[key].tasks for key in keys)
