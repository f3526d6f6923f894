"""Measures of the k best labels: those of hard labels, after the others are taken away."""

from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, hamming_loss, jaccard_score, precision_score, recall_score

from app.scoring.declaration.decision_rules import decide_labels
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case, results, value
from tests.scoring.strategies import cases

MANY = settings(max_examples=60, deadline=None)
KEYS = [key for key in CATALOGUE if key.endswith("_top_k")]
CLASSES = ("a", "b", "c")


def best_labels(scores: list[list[float]], k: int, *, lower: bool = False) -> list[list[int]]:
    """The k best places of each row, by a sort of Python's own."""

    def place(row: list[float], at: int) -> tuple[float, int]:
        return row[at] if lower else -row[at], at

    return [sorted(range(len(row)), key=partial(place, row))[:k] for row in scores]


def with_predictions(of: EvaluationInput, chosen: list[list[int]]) -> EvaluationInput:
    """The case with these predictions in place of its own, and without scores."""
    names = of.spec.classes
    codes = of.gold.codes.tolist()
    assert of.gold.offsets is not None
    ends = of.gold.offsets.tolist()
    gold = [[names[code] for code in codes[ends[row] : ends[row + 1]]] for row in range(of.gold.n)]
    return case("multilabel", names, gold, [[names[at] for at in row] for row in chosen])


def test_every_form_that_is_due_is_there() -> None:
    measures = ("precision", "recall", "f1", "f0_5", "f2", "f_beta", "jaccard")
    due = {f"{each}_{average}" for each in measures for average in ("macro", "micro", "weighted", "samples")}
    due |= {f"f1_of_averages_{average}" for average in ("macro", "weighted", "samples")}
    due |= {"hamming_loss", "subset_accuracy"}
    assert {key.removesuffix("_top_k") for key in KEYS} == due


@given(of=cases("multilabel"), k=st.integers(1, 6), lower=st.booleans())
@MANY
def test_each_is_the_measure_of_the_labels_that_are_left(of: EvaluationInput, k: int, lower: bool) -> None:
    assert of.scores is not None
    kept = with_predictions(of, best_labels(of.scores.tolist(), k, lower=lower))
    for key in KEYS:
        base = key.removesuffix("_top_k")
        beta = "beta=0.5" if "f_beta" in key else ""
        text = f"{key}:{beta}{',' if beta else ''}k={k}"
        found = value(of, text, score_direction="lower" if lower else "higher")
        assert found == value(kept, f"{base}:{beta}" if beta else base), text


@given(of=cases("multilabel"), k=st.integers(1, 3))
@MANY
def test_scikit_learn_finds_the_same_on_such_labels(of: EvaluationInput, k: int) -> None:
    assert of.scores is not None
    shape = of.scores.shape
    gold, predicted = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
    assert of.gold.offsets is not None
    gold[np.repeat(np.arange(shape[0]), np.diff(of.gold.offsets)), of.gold.codes] = 1
    for row, places in enumerate(best_labels(of.scores.tolist(), k)):
        predicted[row, places] = 1
    peers: dict[str, Any] = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
    if shape[1] > 1:  # else it takes the one column for a binary task
        peers["jaccard"] = jaccard_score
        for average in ("macro", "micro", "samples"):
            for measure, peer in peers.items():
                expected = peer(gold, predicted, average=average, zero_division=0)
                found = value(of, f"{measure}_{average}_top_k:k={k}", both_empty="0")
                assert found == pytest.approx(expected, abs=1e-14), (measure, average)
    assert value(of, f"hamming_loss_top_k:k={k}") == pytest.approx(hamming_loss(gold, predicted), abs=1e-14)


def test_of_equal_scores_those_of_labels_declared_first_are_kept() -> None:
    of = case("multilabel", CLASSES, [["a"], ["b"]], [[], []], [[0.5, 0.5, 0.5], [0.2, 0.7, 0.7]])
    assert value(of, "subset_accuracy_top_k:k=1") == 1.0
    assert value(of, "recall_micro_top_k:k=3") == 1.0
    assert value(of, "precision_micro_top_k:k=5") == 2 / 6


def test_scores_speak_before_labels_and_an_instance_without_any_has_no_labels() -> None:
    nan = float("nan")
    of = case("multilabel", CLASSES, [["a"], ["b"]], [["c"], ["b"]], [[0.9, 0.1, 0.2], [nan, nan, nan]])
    assert value(of, "recall_micro_top_k:k=1") == 0.5
    assert value(of, "precision_micro_top_k:k=1") == 1.0


def test_without_scores_the_first_labels_of_each_list_count() -> None:
    of = case("multilabel", CLASSES, [["a"], ["b"]], [["c", "a"], ["b", "c", "a"]])
    found = results(of, ["precision_micro_top_k:k=1", "recall_micro_top_k:k=2"])
    assert [result.value for result in found.values()] == [0.5, 1.0]
    note = "there are no scores: labels are ranked in the order in which they were sent"
    assert note in found["precision_micro_top_k:k=1"].notes


def test_which_labels_of_a_list_take_a_place() -> None:
    of = case("multilabel", CLASSES, [["a"], ["b"]], [["b", "b", "a"], ["beyond", "b"]])
    once = {"duplicates": "set", "unknown_label": "count_as_fp"}
    assert value(of, "precision_micro_top_k:k=2", **once) == 2 / 4
    assert value(of, "recall_micro_top_k:k=1", **once) == 0.0
    assert value(of, "recall_micro_top_k:k=1", **{**once, "unknown_label": "drop"}) == 0.5
    every_time = {**once, "duplicates": "multiset"}
    assert value(of, "precision_micro_top_k:k=2", **every_time) == 1 / 4
    assert value(of, "recall_micro_top_k:k=3", **every_time) == 1.0


def test_the_best_labels_are_found_once_for_all_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(side_effect=decide_labels)
    monkeypatch.setattr("app.scoring.metrics.scores.label_measures_at_k.decide_labels", counted)
    of = case("multilabel", CLASSES, [["a"]], [["b"]], [[0.3, 0.2, 0.1]])
    texts = [f"{key}:k={k}" for key in ("f1_macro_top_k", "f1_micro_top_k", "hamming_loss_top_k") for k in (1, 2)]
    evaluate(of, [parse_metric(text, task="multilabel") for text in texts])
    assert counted.call_count == 2


def test_it_can_be_ranked_and_f_beta_with_1_is_f1() -> None:
    recipe = parse_recipe(
        {"primary": "f1_of_averages_macro_top_k:k=3", "metrics": ["f1_micro_top_k:k=3"]}, "multilabel"
    )
    assert recipe.primary == "f1_of_averages_macro_top_k:k=3"
    of = case("multilabel", CLASSES, [["a"]], [["b"]], [[0.3, 0.2, 0.1]])
    assert value(of, "f_beta_micro_top_k:beta=1,k=2") == value(of, "f1_micro_top_k:k=2") == float(Fraction(2, 3))
