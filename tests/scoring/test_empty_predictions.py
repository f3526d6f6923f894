"""Every metric defines what an instance without a prediction counts as, or is null with a reason."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from app.scoring.catalogue.worked_examples import example_input
from app.scoring.declaration.metric import CATALOGUE, RANKING, SCORES, Metric, MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.options import DEFAULTS
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Labels
from app.scoring.tally import EvaluationContext
from app.scoring.uncertainty.draw_values import draw_values
from tests.each_case import for_each
from tests.scoring.case_builder import case

NULL = {
    "expected_cost": "no cost",
    "mean_absolute_class_distance": "no position",
    "mean_absolute_class_distance_macro": "no position",
    "mcnemar_confusion": "no cell",
    "tree_induced_error": "some instances have no prediction",
}
"""The metrics of hard labels that have no meaning for an instance without a label, and a part of the reason."""
CUT_LISTS = "_top_k"
"""Measures of label sets that consist of the best k labels: an instance without scores has none."""
REWEIGHTED = "_weighted_by_predicted"
"""Averages that weigh classes by how often they are predicted, so that fewer predictions may raise them."""


def without_prediction(of: EvaluationInput, row: int) -> EvaluationInput:
    """The same input, in which this instance has neither labels nor scores."""
    scores = None
    if of.scores is not None:
        scores = of.scores.copy()
        scores[row] = np.nan
    if of.predicted.offsets is None and of.spec.task != "multilabel":
        codes = of.predicted.codes.copy()
        codes[row] = MISSING_CODE
        return replace(of, predicted=Labels(codes), scores=scores)
    sets = of.predicted.as_sets()
    sizes = sets.sizes.copy()
    sizes[row] = 0
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return replace(of, predicted=Labels(sets.codes[sets.rows != row], offsets), scores=scores)


def right_rows(of: EvaluationInput) -> Iterator[int]:
    """The instances that are predicted entirely right."""
    gold, predicted = of.gold.as_sets(), of.predicted.as_sets()
    for row in range(of.gold.n):
        labels = [set(each.codes[each.rows == row].tolist()) for each in (gold, predicted)]
        if labels[0] and labels[0] == labels[1]:
            yield row


def is_ranking(metric: Metric) -> bool:
    return RANKING in metric.needs and not metric.key.endswith(CUT_LISTS)


def example_call(metric: Metric) -> MetricCall:
    return parse_metric({"key": metric.key, "params": dict(metric.example.params)}, task=metric.example.task)


@for_each("key", CATALOGUE)
def test_an_empty_prediction_is_defined_or_null(key: str) -> None:
    metric = CATALOGUE[key]
    of, call = example_input(metric.example), example_call(metric)
    full = evaluate(of, [call])[call.text]
    ignored = set(range(of.gold.n)) if key.endswith((REWEIGHTED, CUT_LISTS)) else set()
    for row in range(of.gold.n):
        found = evaluate(without_prediction(of, row), [call])[call.text]
        if of.scores is not None and (SCORES in metric.needs or is_ranking(metric)):
            assert (found.value, found.data, found.reason) == (None, None, "1 instance has no scores")
        elif key in NULL:
            assert found.value is None
            assert found.data is None
            assert NULL[key] in str(found.reason)
        elif metric.scalar and found.value is None:
            assert found.reason
        elif metric.scalar:
            assert found.value is not None
            assert metric.range[0] <= found.value <= metric.range[1]
        else:
            assert found.data is not None
        if metric.direction != "none" and found.value is not None and row in set(right_rows(of)) - ignored:
            assert full.value is not None
            sign = 1 if metric.direction == "higher" else -1
            assert sign * found.value <= sign * full.value, "an empty prediction in place of a right one is no gain"


@for_each("key", [key for key, metric in CATALOGUE.items() if metric.scalar])
def test_intervals_count_it_in_the_same_way(key: str) -> None:
    metric = CATALOGUE[key]
    of, call = without_prediction(example_input(metric.example), 0), example_call(metric)
    value = evaluate(of, [call])[call.text].value
    once = np.ones((of.gold.n, 1), dtype=np.int64)
    (drawn,) = draw_values(of, [call], [once])[call.text]
    assert drawn == pytest.approx(np.nan if value is None else value, rel=1e-10, nan_ok=True)


def test_it_is_a_false_negative_of_its_class_and_no_false_positive() -> None:
    of = case("multiclass", ["a", "b", "c"], ["a", "a", "b", "c"], ["a", None, "a", "c"])
    counts = EvaluationContext(of).tally(DEFAULTS).classes
    assert [column.tolist() for column in counts.columns] == [[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 3, 3]]


def test_lists_of_labels_without_one_are_empty_and_scores_without_one_make_a_ranking_null() -> None:
    ranking = [metric for metric in CATALOGUE.values() if RANKING in metric.needs]
    assert len(ranking) > 30
    gold = [["a"], ["b", "c"], ["c"]]
    scored = case("multilabel", ["a", "b", "c"], gold, [["a"], [], ["c"]], [[0.9, 0.1, 0.2], [np.nan] * 3, [0, 0, 1]])
    listed = case("multilabel", ["a", "b", "c"], gold, [["a"], [], ["c"]])
    for metric in ranking:
        call = parse_metric({"key": metric.key, "params": dict(metric.example.params)}, task="multilabel")
        ends = [
            evaluate(replace(of, spec=replace(of.spec, train_frequencies={"a": 5, "b": 3, "c": 2})), [call])[call.text]
            for of in (scored, listed)
        ]
        assert ends[1].value is not None or ends[1].reason, metric.key
        if is_ranking(metric):
            assert (ends[0].value, ends[0].reason) == (None, "1 instance has no scores"), metric.key
        elif metric.example.params.get("k", "1") == "1":  # the lists have as many labels as are cut off
            assert ends[0].value == ends[1].value, metric.key
