"""Top-k accuracy: every rule for ties, sets of acceptable answers, binary tasks, and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring import ranking_oracle as oracle
from tests.scoring.case_builder import case, evaluate_metric, labels, value

MANY = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize("rule", oracle.TIE_RULES)
@given(data=st.data(), several=st.booleans(), lower=st.booleans())
@MANY
def test_every_rule_for_ties(rule: str, data: st.DataObject, several: bool, lower: bool) -> None:
    m, n = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 5))
    k = data.draw(st.integers(1, m + 1))
    names = [f"c{label}" for label in range(m)]
    levels = st.sampled_from([0.0, 0.25, 0.75][: data.draw(st.integers(1, 3))])
    scores = data.draw(st.lists(st.lists(levels, min_size=m, max_size=m), min_size=n, max_size=n))
    some = st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=m if several else 1)
    gold = data.draw(st.lists(some, min_size=n, max_size=n))
    weights = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    sides = labels(gold, names, multilabel=True), labels([None] * n, names, multilabel=False)
    given_gold = sides[0] if several else labels([row[0] for row in gold], names, multilabel=False)
    turned = np.array(scores) * (-1 if lower else 1)
    of = EvaluationInput(TaskSpec("multiclass", tuple(names)), given_gold, sides[1], turned, np.array(weights))
    found = value(of, f"top_k_accuracy:k={k},ties={rule}", score_direction="lower" if lower else "higher")
    each = [
        oracle.measure_with_ties(rule, row, answers, oracle.any_hit(k))
        for row, answers in zip(scores, oracle.gold_sets(gold), strict=True)
    ]
    assert found == float(oracle.weighted_mean(each, weights))


@given(seed=st.integers(0, 2**32), levels=st.integers(1, 10), weighed=st.booleans())
@MANY
def test_scikit_learn_ranks_the_class_declared_later_ahead(seed: int, levels: int, weighed: bool) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 40)), int(rng.integers(3, 12))
    k = int(rng.integers(1, m))
    scores = rng.integers(0, levels, size=(n, m)) / 4
    truth = rng.integers(0, m, size=n)
    weights = rng.integers(1, 5, size=n).tolist() if weighed else None
    names = [f"c{label}" for label in range(m)]
    gold = [names[label] for label in truth]
    of = case("multiclass", names, gold, gold, scores.tolist(), weights=weights)
    expected = sk.top_k_accuracy_score(truth, scores, k=k, labels=range(m), sample_weight=weights)
    assert value(of, f"top_k_accuracy:k={k},ties=last") == pytest.approx(expected, rel=1e-14)
    assert value(of, f"top_k_accuracy:k={k}", preset="sklearn") == pytest.approx(expected, rel=1e-14)


@for_each("positive", ["no", "yes"])
@for_each("direction", ["higher", "lower"])
def test_one_score_of_the_positive_label_is_held_against_1_less_it(positive: str, direction: str) -> None:
    own = [[0.7], [0.2], [0.5], [0.4]]
    sent = [[1 - p] for [p] in own] if direction == "lower" else own
    gold = [positive, positive, positive, "no" if positive == "yes" else "yes"]
    of = case("binary", ["no", "yes"], gold, gold, sent, positive_label=positive)
    found = {rule: value(of, f"top_k_accuracy:k=1,ties={rule}", score_direction=direction) for rule in oracle.TIE_RULES}
    early, late = (3 / 4, 2 / 4) if positive == "no" else (2 / 4, 3 / 4)
    assert found == {"worst": 2 / 4, "best": 3 / 4, "average": 5 / 8, "declared": early, "last": late}
    everything = evaluate_metric(of, "top_k_accuracy:k=2")
    assert (everything.value, everything.notes) == (1.0, ("k=2 covers all 2 classes",))


def test_one_score_that_is_no_probability_is_not_held_against_1_less_it() -> None:
    of = case("binary", ["a", "b"], ["a", "b"], ["a", "b"], [[2.5], [-1.0]])
    found = evaluate_metric(of, "top_k_accuracy:k=1")
    assert found.value is None
    assert "from 0 to 1" in (found.reason or "")
    both = case("binary", ["a", "b"], ["a", "b"], ["a", "b"], [[2.5, 0.0], [-1.0, 3.0]])
    assert value(both, "top_k_accuracy:k=1") == 1.0


def test_chances_of_many_tied_answers_are_exact() -> None:
    m, answers = 200, 60
    names = tuple(f"c{label}" for label in range(m))
    gold = labels([list(names[:answers])], names, multilabel=True)
    of = EvaluationInput(TaskSpec("multiclass", names), gold, labels([None], names, multilabel=False), np.zeros((1, m)))
    missed = 1.0
    for drawn in range(30):
        missed *= (m - answers - drawn) / (m - drawn)
    assert value(of, "top_k_accuracy:k=30,ties=average") == pytest.approx(1 - missed, rel=1e-13)
