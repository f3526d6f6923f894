"""Values that are equal in exact arithmetic are equal to the bit and share a rank: independent sums in exact fractions."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.metrics.labels import whole_task
from app.scoring.standings import BoardEntry, ranking_key, standings
from tests.scoring.case_builder import case, results, value

FEW = settings(max_examples=60, deadline=None)
Table = tuple[int, int, int, int]
Measure = Callable[[int, int, int, int], Fraction]


# ---- measures of tables under every average --------------------------------------------------------


def f(square: Fraction) -> Measure:
    return lambda tp, fp, fn, _: part((1 + square) * tp, (1 + square) * tp + fp + square * fn)


def part(above: int | Fraction, below: int | Fraction) -> Fraction:
    """A quotient, 0 for 0/0."""
    return Fraction(above) / below if below else Fraction(0)


def all_or_0(*sides: tuple[int, int]) -> Fraction | None:
    """The sum of quotients, None where one of them would be x/0."""
    return sum((Fraction(a, b) for a, b in sides), Fraction(0)) if all(b for _, b in sides) else None


def balanced(tp: int, fp: int, fn: int, tn: int) -> Fraction:
    both = all_or_0((tp, tp + fn), (tn, tn + fp))
    return Fraction(0) if both is None else both / 2


def informedness(tp: int, fp: int, fn: int, tn: int) -> Fraction:
    both = all_or_0((tp, tp + fn), (tn, tn + fp))
    return Fraction(0) if both is None else both - 1


def markedness(tp: int, fp: int, fn: int, tn: int) -> Fraction:
    both = all_or_0((tp, tp + fp), (tn, tn + fn))
    return Fraction(0) if both is None else both - 1


def ratio(above: str, below: str) -> Measure:
    """The sum of some of the four counts, over that of others."""

    def measure(*counts: int) -> Fraction:
        of = dict(zip(("tp", "fp", "fn", "tn"), counts, strict=True))
        return part(*(sum(of[name] for name in side.split()) for side in (above, below)))

    return measure


MEASURES: dict[str, Measure] = {
    "recall": ratio("tp", "tp fn"),
    "precision": ratio("tp", "tp fp"),
    "f1": f(Fraction(1)),
    "f0_5": f(Fraction(1, 4)),
    "f2": f(Fraction(4)),
    "jaccard": ratio("tp", "tp fp fn"),
    "specificity": ratio("tn", "tn fp"),
    "accuracy_ovr": ratio("tp tn", "tp fp fn tn"),
    "error_rate_ovr": ratio("fp fn", "tp fp fn tn"),
    "npv": ratio("tn", "tn fn"),
    "fdr": ratio("fp", "tp fp"),
    "for": ratio("fn", "tn fn"),
    "fpr": ratio("fp", "fp tn"),
    "fnr": ratio("fn", "fn tp"),
    "prevalence": ratio("tp fn", "tp fp fn tn"),
    "detection_rate": ratio("tp", "tp fp fn tn"),
    "detection_prevalence": ratio("tp fp", "tp fp fn tn"),
    "balanced_accuracy_ovr": balanced,
    "informedness": informedness,
    "markedness": markedness,
}
CLASSES = ("a", "b", "c", "d")
TRAINING = {"a": 7, "b": 0, "c": 3, "d": 12}
ZERO = {"zero_division": "0", "both_empty": "0", "one_empty": "0"}


@st.composite
def sets(draw: st.DrawFn) -> tuple[EvaluationInput, list[tuple[set[str], set[str], int]]]:
    """Multi-label or single-label data with weights, as a case and written out."""
    several = draw(st.booleans())
    one = st.lists(st.sampled_from(CLASSES), unique=True, min_size=0 if several else 1, max_size=4 if several else 1)
    n = draw(st.integers(1, 9))
    gold, predicted = (draw(st.lists(one, min_size=n, max_size=n)) for _ in range(2))
    weights = draw(st.lists(st.integers(1, draw(st.sampled_from([1, 5, 2**40]))), min_size=n, max_size=n))
    if several:
        of = case("multilabel", CLASSES, gold, predicted, weights=weights, train_frequencies=TRAINING)
    else:
        sides = [row[0] for row in gold], [row[0] for row in predicted]
        of = case("multiclass", CLASSES, *sides, weights=weights, train_frequencies=TRAINING)
    return of, [(set(g), set(p), w) for g, p, w in zip(gold, predicted, weights, strict=True)]


def tables(rows: list[tuple[set[str], set[str], int]]) -> dict[str, Table]:
    def count(name: str, in_gold: bool, in_predicted: bool) -> int:
        return sum(w for g, p, w in rows if (name in g) is in_gold and (name in p) is in_predicted)

    return {
        name: (count(name, True, True), count(name, False, True), count(name, True, False), count(name, False, False))
        for name in CLASSES
    }


def exact_average(
    measure: Measure, rows: list[tuple[set[str], set[str], int]], average: str, *, sizes: bool
) -> Fraction | None:
    """An average of a measure; `sizes`: an instance without gold or without predicted labels counts 0."""
    of = tables(rows)
    if average == "samples":
        found = Fraction(0)
        for g, p, w in rows:
            table = len(g & p), len(p - g), len(g - p), len(CLASSES) - len(g | p)
            found += 0 if sizes and not (g and p) else w * measure(*table)
        return found / sum(w for _, _, w in rows)
    weights = {
        "macro": dict.fromkeys(CLASSES, 1),
        "weighted": {name: table[0] + table[2] for name, table in of.items()},
        "weighted_by_predicted": {name: table[0] + table[1] for name, table in of.items()},
        "lfb_train": TRAINING,
    }[average]
    divisor = sum(weights.values())
    top = sum((weights[name] * measure(*table) for name, table in of.items()), Fraction(0))
    return top / divisor if divisor else None


AVERAGES = ("macro", "weighted", "weighted_by_predicted", "lfb_train", "samples")
SET_LIKE = {"recall", "precision", "f1", "f0_5", "f2", "jaccard"}


@given(drawn=sets())
@settings(max_examples=25, deadline=None)
def test_every_average_of_every_measure_is_its_fraction(
    drawn: tuple[EvaluationInput, list[tuple[set[str], set[str], int]]],
) -> None:
    of, rows = drawn
    expected = {}
    for average in AVERAGES:
        for key, measure in MEASURES.items():
            metric = CATALOGUE.get(f"{key}_{average}")
            if metric is not None and of.spec.task in metric.tasks:
                expected[metric.key] = exact_average(measure, rows, average, sizes=key in SET_LIKE)
        if average != "weighted_by_predicted" and (average != "samples" or of.spec.task == "multilabel"):
            p, r = (exact_average(MEASURES[key], rows, average, sizes=True) for key in ("precision", "recall"))
            for name, square in (("f1", Fraction(1)), ("f0_5", Fraction(1, 4)), ("f2", Fraction(4))):
                both = None if p is None or r is None else part((1 + square) * p * r, square * p + r)
                expected[f"{name}_of_averages_{average}"] = both
    found = results(of, list(expected), ZERO)
    for key, exact in expected.items():
        assert found[key].value == (None if exact is None else float(exact)), (key, found[key])


# ---- ranked scores and pairs of classes ------------------------------------------------------------


@st.composite
def scored_cases(draw: st.DrawFn) -> tuple[EvaluationInput, list[str], list[list[float]], list[int]]:
    n = draw(st.integers(3, 12))
    gold = [*"abc", *draw(st.lists(st.sampled_from("abc"), min_size=n - 3, max_size=n - 3))]
    scores = draw(
        st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.7]), min_size=3, max_size=3), min_size=n, max_size=n)
    )
    weights = draw(st.lists(st.integers(1, draw(st.sampled_from([1, 4, 2**44]))), min_size=n, max_size=n))
    return case("multiclass", "abc", gold, gold, scores, weights=weights), gold, scores, weights


def wins(of: list[tuple[float, int]], other: list[tuple[float, int]]) -> Fraction:
    pairs = [(Fraction(p > q) + Fraction(p == q, 2), w * v) for p, w in of for q, v in other]
    return sum((won * weight for won, weight in pairs), Fraction(0)) / sum(weight for _, weight in pairs)


def precision_at(rows: list[tuple[float, bool, int]], least: float) -> Fraction:
    hits = sum(w for score, own, w in rows if own and score >= least)
    return Fraction(hits, sum(w for score, _, w in rows if score >= least))


@given(drawn=scored_cases())
@FEW
def test_areas_averaged_over_classes_are_their_fractions(
    drawn: tuple[EvaluationInput, list[str], list[list[float]], list[int]],
) -> None:
    of, gold, scores, weights = drawn
    columns = {
        name: [(row[at], label == name, w) for row, label, w in zip(scores, gold, weights, strict=True)]
        for at, name in enumerate("abc")
    }
    sizes = {name: sum(w for _, own, w in rows if own) for name, rows in columns.items()}
    auc, ap, lines = {}, {}, {}
    for name, rows in columns.items():
        auc[name] = wins([(s, w) for s, own, w in rows if own], [(s, w) for s, own, w in rows if not own])
        ap[name] = sum((w * precision_at(rows, s) for s, own, w in rows if own), Fraction(0)) / sizes[name]
        higher = {s: min((o for o, _, _ in rows if o > s), default=None) for s, _, _ in rows}
        before = {s: Fraction(1) if up is None else precision_at(rows, up) for s, up in higher.items()}
        both = sum((w * (precision_at(rows, s) + before[s]) for s, own, w in rows if own), Fraction(0))
        lines[name] = both / (2 * sizes[name])

    def pair(i: str, j: str) -> Fraction:
        sides = []
        for own, other in ((i, j), (j, i)):
            at = "abc".index(own)
            of_class = {
                c: [(row[at], w) for row, g, w in zip(scores, gold, weights, strict=True) if g == c]
                for c in (own, other)
            }
            sides.append(wins(of_class[own], of_class[other]))
        return sum(sides, Fraction(0)) / 2

    pairs = {both: pair(*both) for both in combinations("abc", 2)}
    heavy = {(i, j): sizes[i] + sizes[j] for i, j in pairs}
    expected = {
        "auc_ovo_macro": sum(pairs.values(), Fraction(0)) / 3,
        "auc_ovo_weighted": sum((heavy[both] * one for both, one in pairs.items()), Fraction(0)) / sum(heavy.values()),
    }
    for key, each in (("auc_ovr", auc), ("average_precision", ap), ("auprc_trapezoid", lines)):
        expected[f"{key}_macro"] = sum(each.values(), Fraction(0)) / 3
        expected[f"{key}_weighted"] = sum((sizes[c] * one for c, one in each.items()), Fraction(0)) / sum(
            sizes.values()
        )
    found = results(of, list(expected))
    for key, exact in expected.items():
        assert found[key].value == float(exact), key


# ---- equal values, equal ranks ---------------------------------------------------------------------


def average_precision_at(positions: Sequence[int], n: int) -> float:
    """The average precision where the positives stand at these positions of n."""
    gold = ["yes" if at in positions else "no" for at in range(1, n + 1)]
    found = value(case("binary", ["yes", "no"], gold, gold, [[1 - at / 100] for at in range(n)]), "average_precision")
    assert found is not None
    return found


def board(text: str, values: Sequence[float]) -> list[int | None]:
    recipe = parse_recipe({"primary": text}, "binary", positive_label="yes")
    direction = recipe.metrics[0].metric.direction
    keys = [(ranking_key(direction, each),) for each in values]
    return [row.rank for row in standings(BoardEntry(str(at), str(at), False, key) for at, key in enumerate(keys))]


def test_average_precisions_of_41_88_share_a_rank() -> None:
    values = [average_precision_at((2, 3, 9, 11), 11), average_precision_at((2, 4, 6, 11), 11)]
    assert values == [41 / 88, 41 / 88]
    assert board("average_precision", values) == [1, 1]


def test_all_rankings_with_the_same_average_precision_share_a_rank_and_no_others() -> None:
    exact: dict[tuple[int, ...], Fraction] = {}
    for positions in combinations(range(1, 12), 4):
        exact[positions] = sum((Fraction(k, at) for k, at in enumerate(positions, 1)), Fraction(0)) / 4
    shared = [positions for positions, one in exact.items() if list(exact.values()).count(one) > 1]
    assert len(shared) > 20
    values = {positions: average_precision_at(positions, 11) for positions in shared}
    assert values == {positions: float(exact[positions]) for positions in shared}
    ranks = board("average_precision", list(values.values()))
    assert len(set(ranks)) == len({exact[positions] for positions in shared})


def test_values_that_differ_by_one_bit_differ_in_rank() -> None:
    assert board("f1_macro", [2 / 3, math.nextafter(2 / 3, 1)]) == [1, 2]


def test_brier_scores_of_equal_probabilities_are_equal_in_any_order_and_size() -> None:
    gold, scores = ["y", "n", "y"], [0.1, 0.7, 0.3]
    exact = sum(((Fraction(p) - (g == "y")) ** 2 for g, p in zip(gold, scores, strict=True)), Fraction(0)) / 3
    for times in (1, 7, 1000):
        of = case("binary", ["y", "n"], gold * times, gold * times, [[p] for p in scores * times])
        assert value(of, "brier") == float(exact)
        assert value(of, "brier_multiclass_sum") == float(2 * exact)


def test_metrics_say_whether_their_values_have_12_digits() -> None:
    rounded = {key for key, metric in CATALOGUE.items() if metric.properties.significant_digits == 12}
    assert {metric.properties.significant_digits for metric in CATALOGUE.values()} == {None, 12}
    families = "alpha_score gmean_recall dcg_at_k ndcg_at_k psp_at_k psndcg_at_k accuracy_p_value mcnemar_confusion"
    families += " log_loss log_loss_multilabel log_loss_meka accuracy_lower accuracy_upper caret_overall"
    assert rounded == set(families.split())


def test_the_geometric_mean_is_computed_too_where_a_class_is_never_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the time would reveal whether the only instance of a class is right, which may be private."""
    classes = [f"c{at}" for at in range(200)]
    gold = [name for name in classes for _ in range(5)]
    taken: list[int] = []
    product = whole_task._product

    def counted(factors: Sequence[Decimal]) -> Decimal:
        taken.append(len(factors))
        return product(factors)

    monkeypatch.setattr(whole_task, "_product", counted)
    for right in (True, False):
        predicted = [classes[0] if at % 5 > 1 else name for at, name in enumerate(gold)]
        predicted[5:10] = [classes[1] if right else classes[0]] + [classes[0]] * 4
        of = case("multiclass", classes, gold, predicted)
        assert (value(of, "gmean_recall") == 0.0) is not right
    with_all, without_one = taken
    assert 0 <= with_all - without_one <= 1
