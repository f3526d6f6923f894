"""Ratios of the counts of one class: where they are undefined, exact values, and identities."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.per_class_report import per_class_report
from tests.each_case import for_each
from tests.scoring.case_builder import case, case_of_counts, evaluate_metric, results, value
from tests.scoring.strategies import cases

SOME = settings(max_examples=60, deadline=None)
RULES = {"worst": -1.0, "0": 0.0, "1": 1.0, "skip": None, "error": None}


@for_each("rule, expected", RULES.items())
def test_the_worst_informedness_is_minus_one(rule: str, expected: float | None) -> None:
    only_positives = case_of_counts(2, 0, 1, 0)
    never_said = case_of_counts(0, 0, 2, 3)
    assert value(only_positives, "informedness", zero_division=rule) == expected
    assert value(never_said, "markedness", zero_division=rule) == expected


def test_an_undefined_class_enters_the_mean_as_the_rule_says() -> None:
    of = case("multiclass", ["a", "b", "c"], ["a", "a", "b", "b"], ["a", "b", "b", "b"])
    found = [value(of, "informedness_macro", zero_division=rule) for rule in ("worst", "0", "1", "skip")]
    assert found == [0.0, 1 / 3, 2 / 3, 0.5]
    shown = describe_call(parse_metric("informedness_macro"))
    assert shown["equation"]["latex"].endswith(r"\tfrac{0}{0}:=-1")


@for_each("key", ["fpr", "fnr", "fdr", "for"])
def test_the_worst_error_rate_is_one(key: str) -> None:
    empty = {"fpr": (3, 0, 1, 0), "fnr": (0, 2, 0, 2), "fdr": (0, 0, 2, 2), "for": (2, 2, 0, 0)}[key]
    assert value(case_of_counts(*empty), key) == 1.0
    assert value(case_of_counts(*empty), key, zero_division="0") == 0.0


@for_each(
    "key, table, quotient",
    [
        ("lr_plus", (3, 0, 1, 4), "x/0"), ("lr_plus", (0, 0, 1, 4), "0/0"), ("lr_plus", (0, 2, 0, 4), "0/0"),
        ("lr_plus", (3, 0, 1, 0), "0/0"), ("lr_minus", (3, 4, 1, 0), "x/0"), ("lr_minus", (0, 4, 0, 3), "0/0"),
        ("dor", (3, 0, 1, 4), "x/0"), ("dor", (0, 0, 1, 4), "0/0"),
    ],
)  # fmt: skip
def test_ratios_without_a_worst_value_are_null(key: str, table: tuple[int, ...], quotient: str) -> None:
    for rule in RULES:
        found = evaluate_metric(case_of_counts(*table), key, zero_division=rule)
        assert found.value is None
        assert found.reason is not None
        assert found.reason.endswith(f"is {quotient}")
    assert "zero_division" not in CATALOGUE[key].options


TABLES = st.tuples(*[st.integers(0, 40)] * 4).filter(any)


@given(table=TABLES)
@SOME
def test_every_value_is_the_exact_rational_rounded_once(table: tuple[int, int, int, int]) -> None:
    tp, fp, fn, tn = table
    of = case_of_counts(*table)
    keys = ("balanced_accuracy_ovr", "informedness", "markedness", "lr_plus", "lr_minus", "dor")
    found = {key: result.value for key, result in results(of, keys, {"zero_division": "skip"}).items()}
    gold, rest, said, unsaid = tp + fn, tn + fp, tp + fp, tn + fn
    expected = {
        "balanced_accuracy_ovr": (Fraction(tp, gold) + Fraction(tn, rest)) / 2 if gold and rest else None,
        "informedness": Fraction(tp, gold) + Fraction(tn, rest) - 1 if gold and rest else None,
        "markedness": Fraction(tp, said) + Fraction(tn, unsaid) - 1 if said and unsaid else None,
        "lr_plus": Fraction(tp, gold) / Fraction(fp, rest) if gold and fp else None,
        "lr_minus": Fraction(fn, gold) / Fraction(tn, rest) if gold and tn else None,
        "dor": Fraction(tp * tn, fp * fn) if fp and fn else None,
    }
    assert found == {key: None if exact is None else float(exact) for key, exact in expected.items()}


@given(table=TABLES, size=st.sampled_from([1, 10**6, 10**14]))
@SOME
def test_the_fowlkes_mallows_index_is_rounded_once_at_every_size(table: tuple[int, int, int, int], size: int) -> None:
    tp, fp, fn, _ = table
    classes, pairs = ["y", "n"], [("y", "y"), ("n", "y"), ("y", "n"), ("n", "n")]
    of = case("binary", classes, *zip(*pairs, strict=True), weights=[size * count for count in table])
    found = value(of, "fowlkes_mallows", zero_division="skip")
    if not (tp + fp and tp + fn):
        assert found is None
        return
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(tp) / (Decimal(tp + fp) * Decimal(tp + fn)).sqrt()
    assert found == float(exact)


@given(of=cases("multilabel"))
@SOME
def test_complements_of_averages_sum_to_one(of: EvaluationInput) -> None:
    pairs = [("precision", "fdr"), ("recall", "fnr"), ("specificity", "fpr"), ("npv", "for")]
    for average in ("macro", "micro", "weighted", "weighted_by_predicted", "lfb_test"):
        keys = [f"{key}_{average}" for pair in pairs for key in pair]
        found = [result.value for result in results(of, keys).values()]
        for good, bad in zip(found[::2], found[1::2], strict=True):
            assert (good is None) == (bad is None)
            assert good is None or bad is None or good + bad == pytest.approx(1, abs=4e-16)


@given(of=cases("multiclass"))
@SOME
def test_weights_from_the_test_data_are_the_support_and_predictions_pool_precision(of: EvaluationInput) -> None:
    keys = ["f1_lfb_test", "f1_weighted", "f1_of_averages_lfb_test", "f1_of_averages_weighted"]
    keys += ["precision_weighted_by_predicted", "precision_micro"]
    found = [result.value for result in results(of, keys).values()]
    assert found[::2] == found[1::2]


def test_the_report_of_classes_has_every_measure() -> None:
    report = per_class_report(case_of_counts(3, 2, 1, 4))
    assert report["y"]["informedness"] == 5 / 12
    assert report["y"]["fowlkes_mallows"] == math.sqrt(9 / 20)
    assert report["y"]["dor"] == 6.0
    empty = per_class_report(case_of_counts(3, 0, 1, 0))["n"]
    assert (empty["lr_plus"], empty["informedness"], empty["fnr"]) == (None, -1.0, 1.0)
    assert per_class_report(case_of_counts(3, 0, 1, 0), {"zero_division": "skip"})["n"]["informedness"] is None


def test_a_class_that_is_not_averaged_over_needs_no_samples() -> None:
    with pytest.raises(Exception, match="label sets"):
        parse_metric("balanced_accuracy_ovr_macro", task="multilabel")
