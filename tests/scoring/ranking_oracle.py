"""An oracle for the measures of rankings: every order of the tied labels is written out, and counted in fractions."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import groupby, permutations, product
from math import log2
from typing import Any

from hypothesis import strategies as st

Order = Sequence[int]
Measure = Callable[[Order, AbstractSet[int]], Fraction | float]
TIE_RULES = ("worst", "best", "declared", "last", "average")


def orders(scores: Sequence[float]) -> list[Order]:
    """Every order of the labels, best first, that these scores allow."""
    best_first = sorted(range(len(scores)), key=lambda label: -scores[label])
    groups = [list(tied) for _, tied in groupby(best_first, key=lambda label: scores[label])]
    ways = product(*(permutations(tied) for tied in groups))
    return [[label for tied in way for label in tied] for way in ways]


def measure_with_ties(rule: str, scores: Sequence[float], gold: AbstractSet[int], measure: Measure) -> Fraction | float:
    """The measure of one instance under a rule for ties; of measures of which more is better."""
    if rule in {"declared", "last"}:
        turn = 1 if rule == "declared" else -1
        return measure(sorted(range(len(scores)), key=lambda label: (-scores[label], turn * label)), gold)
    found = [measure(order, gold) for order in orders(scores)]
    if rule == "average":
        return sum(found) / len(found)
    return min(found) if rule == "worst" else max(found)


def precision(k: int) -> Measure:
    return lambda order, gold: Fraction(len(gold & set(order[:k])), k)


def recall(k: int) -> Measure:
    return lambda order, gold: Fraction(len(gold & set(order[:k])), len(gold))


def any_hit(k: int) -> Measure:
    return lambda order, gold: Fraction(bool(gold & set(order[:k])))


def r_precision(order: Order, gold: AbstractSet[int]) -> Fraction:
    return Fraction(len(gold & set(order[: len(gold)])), len(gold))


def reciprocal_rank(order: Order, gold: AbstractSet[int]) -> Fraction:
    return next((Fraction(1, at) for at, label in enumerate(order, 1) if label in gold), Fraction(0))


def average_precision(k: int) -> Measure:
    def measure(order: Order, gold: AbstractSet[int]) -> Fraction:
        found = Fraction(0)
        for at, label in enumerate(order[:k], 1):
            if label in gold:
                found += Fraction(len(gold & set(order[:at])), at)
        return found / min(k, len(gold))

    return measure


def gain(k: int, weights: Sequence[float] | None = None) -> Measure:
    def measure(order: Order, gold: AbstractSet[int]) -> float:
        terms = enumerate(order[:k], 2)
        return sum((weights[label] if weights else 1.0) / log2(at) for at, label in terms if label in gold)

    return measure


def normalized_gain(k: int) -> Measure:
    def measure(order: Order, gold: AbstractSet[int]) -> float:
        return gain(k)(order, gold) / sum(1 / log2(1 + at) for at in range(1, min(k, len(gold)) + 1))

    return measure


def weighed_precision(k: int, weights: Sequence[float]) -> Measure:
    return lambda order, gold: sum(weights[label] for label in order[:k] if label in gold) / k


def weighted_mean(values: Iterable[Any], weights: Sequence[int]) -> Any:
    """The weighted mean of the values that are not None, if any."""
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    divisor = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / divisor if divisor else None


@st.composite
def rankings(draw: st.DrawFn, *, most: int = 5) -> tuple[int, list[list[str]], list[list[float]], list[int], list[str]]:
    """Labels, gold sets (some empty, some full), scores with many ties, weights of instances, names of the classes."""
    m = draw(st.integers(1, most))
    n = draw(st.integers(1, 6))
    names = [f"c{label}" for label in range(m)]
    several = st.lists(st.sampled_from(names), unique=True, max_size=m)
    levels = st.sampled_from([-1.5, 0.0, 0.25, 3.0][: draw(st.integers(1, 4))])
    scores = draw(st.lists(st.lists(levels, min_size=m, max_size=m), min_size=n, max_size=n))
    gold = draw(st.lists(several, min_size=n, max_size=n))
    return m, gold, scores, draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)), names


def gold_sets(gold: Sequence[Sequence[str]]) -> list[AbstractSet[int]]:
    """The gold sets as numbers of labels."""
    return [{int(name[1:]) for name in labels} for labels in gold]
