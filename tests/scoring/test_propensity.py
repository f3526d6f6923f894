"""Propensity-scored measures, held against the formulas of the extreme classification repository written out."""

from math import exp, log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from tests.each_case import for_each
from tests.scoring import ranking_oracle as oracle
from tests.scoring.case_builder import case, evaluate_metric, results, value

MANY = settings(max_examples=80, deadline=None)
Rankings = tuple[int, list[list[str]], list[list[float]], list[int], list[str]]


def inverses(counts: list[int], n: int, a: float = 0.55, b: float = 1.5) -> list[float]:
    """1 / p of each label, by the formula of Jain et al."""
    c = (log(n) - 1) * (b + 1) ** a
    return [1 / (1 / (1 + c * exp(-a * log(count + b)))) for count in counts]


def discounts(k: int) -> float:
    return sum(1 / log2(1 + at) for at in range(1, k + 1))


def gain(k: int, weights: list[float]) -> oracle.Measure:
    return lambda order, gold: oracle.gain(k, weights)(order, gold) / discounts(k)


def best(weights: list[float], gold: set[int], k: int, *, gain: bool) -> float:
    """What the best ranking of an instance reaches."""
    heaviest = sorted((weights[label] for label in gold), reverse=True)[:k]
    if not gain:
        return sum(heaviest) / k
    return sum(weight / log2(at) for at, weight in enumerate(heaviest, 2)) / discounts(k)


@pytest.mark.parametrize("key", ["psp_at_k", "psndcg_at_k"])
@pytest.mark.parametrize("rule", oracle.TIE_RULES)
@given(drawn=oracle.rankings(), data=st.data(), normalized=st.booleans())
@MANY
def test_every_rule_for_ties(key: str, rule: str, drawn: Rankings, data: st.DataObject, normalized: bool) -> None:
    m, gold, scores, weights, names = drawn
    k, a, b = (
        data.draw(st.integers(1, m)),
        data.draw(st.sampled_from([0, 0.5, 0.55])),
        data.draw(st.sampled_from([0.4, 1.5])),
    )
    counts = data.draw(st.lists(st.integers(0, 50), min_size=m, max_size=m))
    of = case(
        "multilabel",
        names,
        gold,
        [[]] * len(gold),
        scores,
        weights=weights,
        train_frequencies=dict(zip(names, counts, strict=True)),
    )
    text = f"{key}:k={k},n_train=100,a={a},b={b},ties={rule},normalized={str(normalized).lower()}"
    found = value(of, text)
    inverse = inverses(counts, 100, a, b)
    measure = (oracle.weighed_precision if key == "psp_at_k" else gain)(k, inverse)
    rows = list(zip(scores, oracle.gold_sets(gold), strict=True))
    expected = oracle.weighted_mean(
        [oracle.measure_with_ties(rule, row, labels, measure) for row, labels in rows], weights
    )
    if normalized:
        reachable = [best(inverse, set(labels), k, gain=key == "psndcg_at_k") for _, labels in rows]
        divisor = oracle.weighted_mean(reachable, weights)
        expected = expected / divisor if divisor else None
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-11, abs=1e-14))


def test_the_order_of_labels_sent_is_a_ranking_too() -> None:
    counts = {"a": 40, "b": 5, "c": 0}
    of = case("multilabel", list(counts), [["a", "c"], ["b"]], [["c", "b", "a"], ["a"]], train_frequencies=counts)
    inverse = inverses(list(counts.values()), 50)
    assert value(of, "psp_at_k:k=2,n_train=50") == pytest.approx(inverse[2] / 2 / 2, rel=1e-11)
    gained = (inverse[2] + inverse[0] / 2) / discounts(3) / 2
    assert value(of, "psndcg_at_k:k=3,n_train=50") == pytest.approx(gained, rel=1e-11)


def test_the_best_ranking_reaches_one_when_normalized() -> None:
    rng = np.random.default_rng(5)
    n, m, k = 200, 30, 5
    counts = {f"c{label}": int(count) for label, count in enumerate(rng.integers(0, 300, size=m))}
    inverse = np.array(inverses(list(counts.values()), 1000))
    truth = rng.random((n, m)) < 0.2
    gold = [[f"c{label}" for label in np.flatnonzero(row)] for row in truth]
    of = case(
        "multilabel", list(counts), gold, [[]] * n, np.where(truth, inverse, 0).tolist(), train_frequencies=counts
    )
    for key in ("psp_at_k", "psndcg_at_k"):
        assert value(of, f"{key}:k={k},n_train=1000,normalized=true") == 1.0


@for_each(
    "given, reason",
    [
        ("n_train=30", "'a' occurs 40 times in training, more often than n_train=30"),
        ("n_train=50,b=0", "with b=0 a label absent from training has no propensity, and gold has such a label"),
        ("n_train=50,ties=best", None),
    ],
)
def test_what_has_no_value_says_why(given: str, reason: str | None) -> None:
    counts = {"a": 40, "b": 5, "c": 0}
    of = case("multilabel", list(counts), [["a", "c"]], [["c"]], train_frequencies=counts)
    for key in ("psp_at_k", "psndcg_at_k"):
        found = evaluate_metric(of, f"{key}:k=1,{given}")
        assert found.reason == reason


def test_gold_without_relevant_labels() -> None:
    of = case("multilabel", ["a"], [[], []], [["a"], []], train_frequencies={"a": 1})
    found = results(of, [f"{key}:k=1,n_train=9" for key in ("psp_at_k", "psndcg_at_k")])
    assert [result.value for result in found.values()] == [0.0, 0.0]
    for key in ("psp_at_k", "psndcg_at_k"):
        none = evaluate_metric(of, f"{key}:k=1,n_train=9,normalized=true")
        assert none.reason == "no instance has a relevant label, so the best attainable value is 0"


@for_each("key", ["psp_at_k", "psndcg_at_k"])
def test_the_equation_shows_the_settings(key: str) -> None:
    plain = describe_call(parse_metric(f"{key}:k=3,n_train=12345", task="multilabel"))["equation"]
    assert "0.55" in plain["latex"]
    normalized = describe_call(parse_metric(f"{key}:k=3,n_train=12345,normalized=true", task="multilabel"))["equation"]
    assert r"\frac{1}{n}" in plain["latex"]
    assert r"\frac{1}{n}" not in normalized["latex"]
    assert r"\max" in normalized["latex"]
