"""Measures of the k labels ranked first, held against every order of the tied labels written out."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from app.scoring import ranking_ties
from tests.each_case import for_each
from tests.scoring import ranking_oracle as oracle
from tests.scoring.case_builder import case, evaluate_metric, results, value

MANY = settings(max_examples=50, deadline=None)
WITH_K: dict[str, Callable[[int], oracle.Measure]] = {
    "precision_at_k": oracle.precision,
    "recall_at_k": oracle.recall,
    "map_at_k": oracle.average_precision,
    "dcg_at_k": oracle.gain,
    "ndcg_at_k": oracle.normalized_gain,
    "r_precision": lambda _: oracle.r_precision,
    "mrr": lambda _: oracle.reciprocal_rank,
}
SKIPS = {"recall_at_k", "map_at_k", "ndcg_at_k", "r_precision", "mrr"}
Rankings = tuple[int, list[list[str]], list[list[float]], list[int], list[str]]


def metric_text(key: str, k: int, **settings: str) -> str:
    given = {**({} if key in {"r_precision", "mrr"} else {"k": str(k)}), **settings}
    return ":".join([key, ",".join(f"{name}={text}" for name, text in given.items())]).removesuffix(":")


def assert_close(found: float | None, expected: object) -> None:
    if expected is None:
        assert found is None
    elif isinstance(expected, Fraction):
        assert found == float(expected)
    else:
        assert found == pytest.approx(float(expected), rel=1e-11, abs=1e-14)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", WITH_K)
@pytest.mark.parametrize("rule", oracle.TIE_RULES)
@given(drawn=oracle.rankings(), data=st.data())
@settings(max_examples=4, deadline=None)
def test_every_rule_for_ties(key: str, rule: str, drawn: Rankings, data: st.DataObject) -> None:
    m, gold, scores, weights, names = drawn
    lower, kept = data.draw(st.booleans()), data.draw(st.booleans())
    if key == "ndcg_at_k" and rule not in {"average", "declared"}:
        return
    k = data.draw(st.integers(1, m))
    given_scores = [[-score for score in row] for row in scores] if lower else scores
    of = case("multilabel", names, gold, [[]] * len(gold), given_scores, weights=weights)
    setting = {"degenerate_instance": "best_value" if kept else "skip"} if key in SKIPS else {}
    found = value(of, metric_text(key, k, ties=rule, **setting), score_direction="lower" if lower else "higher")
    measure = WITH_K[key](k)
    otherwise = 0 if kept or key not in SKIPS else None
    each = [
        oracle.measure_with_ties(rule, row, labels, measure) if labels or key not in SKIPS else otherwise
        for row, labels in zip(scores, oracle.gold_sets(gold), strict=True)
    ]
    assert_close(found, oracle.weighted_mean(each, weights))


@pytest.mark.parametrize("key", WITH_K)
@given(data=st.data(), m=st.integers(1, 5), n=st.integers(1, 6), k=st.integers(1, 7))
@MANY
def test_lists_of_labels_rank_in_the_order_sent(key: str, data: st.DataObject, m: int, n: int, k: int) -> None:
    names = [f"c{label}" for label in range(m)]
    several = st.lists(st.sampled_from(names), unique=True, max_size=m)
    gold = data.draw(st.lists(several, min_size=n, max_size=n))
    sent = data.draw(st.lists(several, min_size=n, max_size=n))
    rule = data.draw(st.sampled_from(["average", "declared"]))
    found = value(case("multilabel", names, gold, sent), metric_text(key, k, ties=rule))
    measure = WITH_K[key](k)
    each = [
        measure([int(name[1:]) for name in order], labels) if labels or key not in SKIPS else None
        for order, labels in zip(sent, oracle.gold_sets(gold), strict=True)
    ]
    assert_close(found, oracle.weighted_mean(each, [1] * n))


def test_fewer_labels_than_k_are_divided_by_k() -> None:
    of = case("multilabel", ["a", "b", "c"], [["a"], ["b"]], [["a"], []])
    assert value(of, "precision_at_k:k=2") == 1 / 4
    assert value(of, "precision_at_k:k=5") == 1 / 10
    assert value(of, "recall_at_k:k=5") == 1 / 2


def test_fewer_scores_than_k_have_no_value_unless_padded() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a"], ["a"]], [[0.9, 0.1], [0.8, 0.3]])
    for key in ("precision_at_k", "recall_at_k", "ndcg_at_k", "dcg_at_k", "map_at_k"):
        found = evaluate_metric(of, f"{key}:k=3")
        assert (found.value, found.reason) == (
            None,
            "there are scores of 2 classes, fewer than k=3; pad=true allows it",
        )
    assert value(of, "precision_at_k:k=3,pad=true") == 1 / 3
    assert value(of, "recall_at_k:k=3,pad=true") == 1.0
    assert value(of, "map_at_k:k=3,pad=true") == 3 / 4
    assert value(of, "ndcg_at_k:k=3,pad=true") == value(of, "ndcg_at_k:k=2")


@for_each(
    "options, hits",
    [
        ({}, 1),
        ({"unknown_label": "count_as_fp"}, 1),
        ({"unknown_label": "drop"}, 2),
        ({"unknown_label": "drop", "duplicates": "set"}, 2),
        ({"unknown_label": "drop", "duplicates": "multiset"}, 1),
        ({"unknown_label": "count_as_fp", "duplicates": "multiset"}, 1),
    ],
)
def test_strange_and_repeated_labels_of_a_list(options: dict[str, str], hits: int) -> None:
    of = case("multilabel", ["a", "b", "c"], [["a", "b"]], [["a", "beyond", "a", "b", "c"]])
    assert value(of, "precision_at_k:k=2", **options) == hits / 2


def test_a_repeated_label_counts_where_it_comes_first() -> None:
    of = case("multilabel", ["a", "b", "c"], [["b"]], [["c", "b", "b"]])
    for rule in ("set", "multiset"):
        assert value(of, "mrr", duplicates=rule) == 1 / 2
        assert value(of, "map_at_k:k=3", duplicates=rule) == 1 / 2


def test_a_note_says_that_the_order_of_labels_is_the_ranking() -> None:
    by_order = case("multilabel", ["a", "b"], [["a"]], [["b", "a"]])
    by_scores = case("multilabel", ["a", "b"], [["a"]], [["b", "a"]], [[0.9, 0.1]])
    said = "there are no scores: labels are ranked in the order in which they were sent"
    assert evaluate_metric(by_order, "mrr").notes == (said,)
    assert evaluate_metric(by_scores, "mrr").notes == ()


def test_scores_go_before_the_order_of_labels() -> None:
    of = case("multilabel", ["a", "b"], [["a"]], [["b", "a"]], [[0.9, 0.1]])
    assert value(of, "precision_at_k:k=1") == 1.0


def test_an_instance_without_scores_leaves_no_value() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a"], []], [[0.9, 0.1], [float("nan")] * 2])
    found = results(of, ["precision_at_k:k=1", "ranking_loss"])
    assert {result.reason for result in found.values()} == {"1 instance has no scores"}


def test_where_no_instance_has_a_relevant_label() -> None:
    of = case("multilabel", ["a", "b"], [[], []], [["a"], []], [[0.9, 0.1], [0.3, 0.2]])
    for key in SKIPS:
        found = results(of, [metric_text(key, 1), metric_text(key, 1, degenerate_instance="best_value")])
        none, zero = found.values()
        assert (none.value, none.reason) == (None, "no instance is left to average over")
        assert (zero.value, zero.notes) == (0.0, ("2 instances counted as 0 (degenerate_instance=best_value)",))
    assert value(of, "precision_at_k:k=1") == 0.0
    assert value(of, "dcg_at_k:k=1") == 0.0


def test_systems_with_as_many_hits_have_the_same_precision() -> None:
    rng = np.random.default_rng(1)
    n, m, k = 300, 8, 7
    scores = rng.permuted(np.tile(np.arange(m, dtype=float), (n, 1)), axis=1)
    gold = [[f"c{label}" for label in np.flatnonzero(row)] for row in rng.random((n, m)) < 0.4]
    of = case("multilabel", [f"c{label}" for label in range(m)], gold, [[]] * n, scores.tolist())
    hits = sum(
        len(labels & set(np.argsort(-row)[:k].tolist()))
        for labels, row in zip(oracle.gold_sets(gold), scores, strict=True)
    )
    assert value(of, f"precision_at_k:k={k}") == float(Fraction(hits, n * k))


@given(seed=st.integers(0, 2**32), levels=st.integers(1, 30), weighed=st.booleans())
@MANY
def test_gains_are_those_of_scikit_learn(seed: int, levels: int, weighed: bool) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 20)), int(rng.integers(2, 40))
    k = int(rng.integers(1, m + 1))
    scores = rng.integers(0, levels, size=(n, m)) / 7
    truth = rng.random((n, m)) < rng.random()
    weights = rng.integers(1, 5, size=n).tolist()
    names = [f"c{label}" for label in range(m)]
    gold = [[names[label] for label in np.flatnonzero(row)] for row in truth]
    of = case("multilabel", names, gold, [[]] * n, scores.tolist(), weights=weights if weighed else None)
    by = weights if weighed else None
    expected = sk.ndcg_score(truth, scores, k=k, sample_weight=by)
    assert_close(value(of, f"ndcg_at_k:k={k},degenerate_instance=best_value"), expected)
    assert_close(value(of, f"dcg_at_k:k={k}"), sk.dcg_score(truth, scores, k=k, sample_weight=by))


def test_a_tie_over_many_labels_is_shared_to_twelve_digits() -> None:
    m = 34_000
    scores = np.zeros((1, m))
    scores[0, : m - 2] = 1
    of = case("multilabel", [f"c{label}" for label in range(m)], [[f"c{m - 1}"]], [[]], scores.tolist())
    shared = (1 / np.log2(float(m)) + 1 / np.log2(float(m + 1))) / 2
    assert value(of, f"ndcg_at_k:k={m}") == pytest.approx(shared, rel=1e-12)
    assert value(of, "mrr:ties=average") == pytest.approx((1 / (m - 1) + 1 / m) / 2, rel=1e-15)


@pytest.mark.parametrize("terms", [1, 7, 1 << 20])
def test_expected_precisions_are_summed_in_parts_of_any_size(terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_ties, "_MAX_TERMS_PER_PART", terms)
    made: list[int] = []
    make = ranking_ties._expected_precisions

    def counted(*given: Any) -> ranking_ties.Terms:
        found = make(*given)
        made.append(len(found[0]))
        return found

    monkeypatch.setattr(ranking_ties, "_expected_precisions", counted)
    m, n = 9, 40  # all labels of an instance are tied, and one of them is relevant
    names = [f"c{at}" for at in range(m)]
    of = case("multilabel", names, [[names[at % m]] for at in range(n)], [[]] * n, [[0.5] * m] * n)
    due = sum(Fraction(1, at) for at in range(1, m + 1)) / m
    assert value(of, f"map_at_k:k={m},ties=average") == float(due)
    assert max(made) < terms + m
    assert sum(made) >= n * m
