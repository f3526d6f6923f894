"""Tests of rankings exchange ranks: no increasing transformation of either system's scores changes a p-value."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from app.scoring.declaration.metric import CATALOGUE, PROBABILITIES, RANKING, SCORES, MetricCall
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.rank_scores import as_seen, seen_by
from tests.each_case import for_each
from tests.scoring.case_builder import case
from tests.scoring.strategies import parsed_call
from tests.scoring.uncertainty.pairs import compare, compare_calls

Scores = np.ndarray
RANK_METRICS = [
    (key, task)
    for key, metric in CATALOGUE.items()
    for task in metric.tasks
    if metric.scalar and PROBABILITIES not in metric.needs and {SCORES, RANKING} & set(metric.needs)
]
INCREASING: dict[str, Callable[[Scores], Scores]] = {
    "shift": lambda scores: scores * 3 - 1,
    "power": lambda scores: scores**5,
    "odds": lambda scores: scores / (1.5 - scores),
}


def scored(task: TaskKind, n: int, seed: int) -> tuple[EvaluationInput, EvaluationInput]:
    """Two systems with scores, some of them tied; they differ on a part of the instances."""
    random = np.random.default_rng(seed)
    classes = ["a", "b"] if task == "binary" else ["a", "b", "c"]
    gold = [classes[code] for code in random.integers(0, len(classes), n)]
    truth = [[label] for label in gold] if task == "multilabel" else gold
    first = np.round(random.random((n, len(classes))), 1)
    second = np.where(random.random((n, 1)) < 0.6, np.round(random.random(first.shape), 1), first)
    one, other = (
        case(task, classes, truth, truth, scores.tolist(), train_frequencies={"a": 3, "b": 2, "c": 1})
        for scores in (first, second)
    )
    return one, other


def transformed(of: EvaluationInput, by: Callable[[Scores], Scores]) -> EvaluationInput:
    assert of.scores is not None
    return replace(of, scores=by(of.scores))


def metric(key: str, of: EvaluationInput) -> MetricCall:
    return parsed_call(CATALOGUE[key], of, {})


@for_each("n", [6, 25])
@for_each("task", TASK_KINDS)
def test_p_does_not_change_if_the_scores_of_either_system_are_transformed(task: TaskKind, n: int) -> None:
    """With few instances all exchanges are tried, with more some are drawn."""
    a, b = scored(task, n, seed=n)
    wanted = [metric(key, a) for key, of in RANK_METRICS if of == task and (not key.endswith("_top_k") or "f1" in key)]
    assert len(wanted) > 10
    settings: dict[str, Any] = {"rounds": 19, "resamples": 1}
    expected = compare_calls(a, b, wanted, **settings)
    assert any(comparison.p_value not in {None, 1.0} for comparison in expected.values())
    for name, by in INCREASING.items():
        for pair in ((transformed(a, by), b), (a, transformed(b, by)), (transformed(a, by), transformed(b, np.sqrt))):
            found = compare_calls(*pair, wanted, **settings)
            for text, comparison in expected.items():
                assert found[text].p_value == comparison.p_value, (name, text)
                assert found[text].discordant == comparison.discordant, (name, text)


@for_each("key, task", RANK_METRICS)
def test_ranks_do_not_change_the_value_of_a_metric(key: str, task: TaskKind) -> None:
    a, _ = scored(task, 20, seed=1)
    call = metric(key, a)
    ranks = replace(a, scores=as_seen(a, seen_by(call, a), columns=len(a.spec.classes)))
    assert evaluate(ranks, [call])[call.text].value == evaluate(a, [call])[call.text].value


def test_exchanged_scores_would_not_be_invariant() -> None:
    """The same exchange of raw scores: why ranks are exchanged."""
    a, b = scored("binary", 40, seed=3)
    brier = compare(a, b, "brier", rounds=499)["brier"].p_value
    assert compare(transformed(a, np.sqrt), b, "brier", rounds=499)["brier"].p_value != brier


@for_each("key, axis", [("auc_ovr_macro", 0), ("auc_ovr_micro", None), ("top_k_accuracy", 1)])
def test_mid_ranks_are_those_of_scipy(key: str, axis: int | None) -> None:
    a, _ = scored("multiclass", 30, seed=4)
    assert a.scores is not None
    expected = rankdata(a.scores, axis=axis).reshape(a.scores.shape)
    call = metric(key, a)
    assert (as_seen(a, seen_by(call, a), columns=3) == expected).all()


def test_weights_rank_like_repeated_instances() -> None:
    a, _ = scored("multiclass", 12, seed=5)
    weights = np.array([1, 3, 2, 1, 1, 4, 2, 1, 1, 2, 1, 3])
    ranks = as_seen(replace(a, weights=weights), "ranks of instances", columns=3)
    repeated = as_seen(a.take(np.repeat(np.arange(12), weights)), "ranks of instances", columns=3)
    assert (np.repeat(ranks, weights, axis=0) == repeated).all()


def test_scores_of_the_positive_label_alone_are_compared_with_those_of_both() -> None:
    """One system sent one score an instance, the other one two: the ranks are the same."""
    a, b = scored("binary", 30, seed=6)
    assert a.scores is not None
    single = replace(a, scores=a.scores[:, :1])
    both = replace(a, scores=np.stack([a.scores[:, 0], 1 - a.scores[:, 0]], axis=1))
    assert compare(single, b, "auc", rounds=99)["auc"] == compare(both, b, "auc", rounds=99)["auc"]
    found = compare(single, both, "auc", "average_precision")
    assert {comparison.discordant for comparison in found.values()} == {0}


def test_lists_cannot_be_exchanged_with_scores() -> None:
    a, b = scored("multilabel", 15, seed=7)
    found = compare(a, replace(b, scores=None), "mrr")["mrr"]
    assert found.p_value is None
    assert found.a is not None
    assert "cannot be exchanged" in str(found.reason)


def test_the_order_of_labels_is_exchanged_where_there_are_no_scores() -> None:
    classes, gold = ["a", "b", "c"], [["a"], ["b"], ["c"]] * 4
    a = case("multilabel", classes, gold, [["a", "b"], ["b", "a"], ["c", "a"]] * 4)
    b = case("multilabel", classes, gold, [["b", "a"], ["b", "a"], ["a", "c"]] * 4)
    found = compare(a, b, "mrr", "f1_micro")
    assert found["mrr"].discordant == 8
    assert found["mrr"].p_value == 2 / 2**8  # a is better on all 8: only none and all exchanged reach that
    assert found["f1_micro"].discordant == 0
