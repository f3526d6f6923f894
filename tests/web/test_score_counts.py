"""The counts behind a score, for every metric of the catalogue: what is shown gives the score, or a sentence says why not."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from app.scoring.catalogue import worked_examples
from app.scoring.declaration.metric import CATALOGUE, FOLDS, GROUPS, HIERARCHY, LABELS, PROBABILITIES, RANKING
from app.scoring.declaration.metric_parser import effective_options, parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.detailed_report import build_detailed_report
from app.web.class_counts import classes_of, is_shown_as
from app.web.score_counts import Asked, ScoreCounts, count_score, summary
from tests.scoring.case_builder import case

CLASSES = ("cat", "dog", "fox")
CONFIRMED = re.compile(r"^\w+_(macro|micro|weighted|weighted_by_predicted|lfb_test)$")


def counted(
    of: EvaluationInput, text: str, options: Mapping[str, str] | None = None, **more: Any
) -> tuple[ScoreCounts, float | None]:
    """What is shown of a metric of these data, with the score."""
    shared = options or {}
    call = parse_metric(text, options=shared, task=of.spec.task)
    value = evaluate(of, [call])[call.text].value
    report = build_detailed_report(of, shared)
    asked = Asked(
        call,
        report,
        classes_of(report),
        value,
        effective_options(CATALOGUE["f1_macro"], shared),
        of.spec.positive_label,
        **more,
    )
    return count_score(asked), value


@cache
def of_example(key: str) -> tuple[ScoreCounts, float | None]:
    metric = CATALOGUE[key]
    params = ",".join(f"{name}={value}" for name, value in metric.example.params.items())
    return counted(worked_examples.example_input(metric.example), f"{key}:{params}" if params else key)


def value_of(latex: str) -> float:
    """The value of an equation with numbers in it."""
    text = latex.replace(r"\left", "").replace(r"\right", "").replace(r"\cdot", "*").replace(r"\,", "*")
    text = re.sub(r"\^\{([^{}]*)\}", r"**\1", text)
    fraction = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}|\\sqrt\{([^{}]*)\}")
    while found := fraction.search(text):
        new = f"(({found[3]})**0.5)" if found[3] else f"(({found[1]})/({found[2]}))"
        text = text[: found.start()] + new + text[found.end() :]
    text = re.sub(r"([0-9)])\(", r"\1*(", text)
    assert re.fullmatch(r"[-+*/().0-9 ]+", text), text
    return float(eval(text))


def wrong_with(key: str) -> Iterator[str]:
    """What does not hold of the counts of a metric's example."""
    found, value = of_example(key)
    if not found.source.endswith("."):
        yield "the source is no sentence"
    if bool(found.absence) == bool(found.totals or found.rows or found.bins) or bool(found.short) == bool(
        found.absence
    ):
        yield "neither counts nor a reason, or both"
    if found.equation is not None:
        left, _, right = found.equation.rpartition("=")
        if value is None or value_of(left) != pytest.approx(value, rel=1e-12) or float(right) != value:
            yield f"{found.equation} is not {value}"
    added = [row.adds for row in found.rows if row.adds is not None]
    if added:
        shares = math.fsum(row.share or 0 for row in found.rows)
        if math.fsum(added) != pytest.approx(value, rel=1e-12) or shares != pytest.approx(1):
            yield f"the rows add up to {math.fsum(added)} and {shares}"
    measures = CATALOGUE[key].counted.measures
    if CONFIRMED.match(key) and measures and len(measures) == 1 and not found.is_confirmed:
        yield "the equation is not confirmed"


def test_every_metric_has_counts_or_a_reason_and_equations_give_the_score() -> None:
    assert [f"{key}: {fault}" for key in CATALOGUE for fault in wrong_with(key)] == []


def test_most_metrics_of_hard_labels_show_the_counts_that_give_their_score() -> None:
    kinds: Counter[str] = Counter()
    for key, metric in CATALOGUE.items():
        found, _ = of_example(key)
        kinds["confirmed" if found.is_confirmed else "counts" if found.absence is None else "none"] += 1
        if found.absence is None:
            assert not {HIERARCHY, FOLDS, GROUPS, RANKING} & set(metric.needs), key
            assert PROBABILITIES not in metric.needs or found.bins, key
        if metric.counted.measures and metric.needs == (LABELS,) and "multilabel" not in metric.tasks[:1]:
            assert found.absence is None, key
    assert kinds["confirmed"] > 140
    assert kinds["counts"] > 60


@pytest.mark.parametrize(
    "text", ["f1_micro", "precision_micro", "recall_micro", "f_beta_micro:beta=0.5", "jaccard_micro"]
)
def test_a_micro_average_is_computed_from_the_sums_of_the_classes_that_count(text: str) -> None:
    of = case("multiclass", CLASSES, ["cat", "cat", "dog", "fox", "fox"], ["cat", "dog", "dog", "fox", "cat"])
    for text_of in (text, f"{text}{',' if ':' in text else ':'}exclude_labels=fox"):
        found, value = counted(of, text_of)
        sums = {total.name: total.value for total in found.totals}
        for name in ("tp", "fp", "fn", "tn"):
            assert sums[name] == sum(getattr(row, name) for row in found.rows)
        assert found.equation is not None
        assert value_of(found.equation.rpartition("=")[0]) == pytest.approx(value)
        assert ("fox" in [row.label for row in found.rows]) == ("exclude" not in text_of)
        assert any("exclude_labels: fox" in remark for remark in found.remarks) == ("exclude" in text_of)
        assert found.short == "tp {tp}, fp {fp}, fn {fn}".format(**sums)


@pytest.mark.parametrize(
    ("text", "left", "remark"),
    [
        ("f1_macro", ["cat", "dog", "fox", "owl"], ""),
        ("f1_macro:label_set=gold", ["cat", "dog"], "label_set=gold: fox, owl"),
        ("f1_macro:label_set=gold_or_predicted", ["cat", "dog", "fox"], "owl"),
        ("f1_macro:label_set=predicted", ["cat", "dog", "fox"], "owl"),
        ("f1_macro:absent_gold=skip", ["cat", "dog"], "absent_gold=skip: fox, owl"),
        ("f1_macro:exclude_labels=dog|owl", ["cat", "fox"], "exclude_labels: dog, owl"),
        ("precision_macro:zero_division=skip", ["cat", "dog", "fox"], "zero_division=skip: owl"),
        ("precision_macro:zero_division=1", ["cat", "dog", "fox", "owl"], ""),
        ("f1_weighted", ["cat", "dog", "fox", "owl"], ""),
        ("balanced_accuracy", ["cat", "dog"], "Absent from gold"),
    ],
)
def test_a_mean_lists_the_classes_that_it_averages_and_says_which_it_does_not(
    text: str, left: list[str], remark: str
) -> None:
    of = case("multiclass", (*CLASSES, "owl"), ["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "fox"])
    found, value = counted(of, text)
    assert [row.label for row in found.rows] == left
    assert math.fsum(row.adds or 0 for row in found.rows) == pytest.approx(value)
    assert remark in " ".join(found.remarks)
    assert bool(found.remarks) == bool(remark)
    assert found.short == f"{len(left)} classes"


def test_the_f_of_averages_shows_both_means_and_a_geometric_mean_no_shares() -> None:
    of = case("multiclass", CLASSES, ["cat", "cat", "dog", "fox"], ["cat", "dog", "dog", "fox"])
    found, value = counted(of, "f1_of_averages_macro")
    precision, recall = (total.value for total in found.totals)
    assert 2 * precision * recall / (precision + recall) == pytest.approx(value)
    assert found.measures == ("precision", "recall")
    geometric, _ = counted(of, "gmean_recall")
    assert not geometric.has_shares
    assert [row.values for row in geometric.rows] == [(0.5,), (1.0,), (1.0,)]


def test_accuracy_counts_right_answers_and_error_rate_the_rest() -> None:
    of = case("multiclass", CLASSES, ["cat", "cat", "dog", "fox"], ["cat", "dog", "dog", "fox"])
    for text, equation in (("accuracy", r"\frac{3}{4}=0.75"), ("error_rate", r"1-\frac{3}{4}=0.25")):
        found, _ = counted(of, text)
        assert found.equation == equation
        assert [(total.name, total.value) for total in found.totals] == [("right", 3), ("wrong", 1), ("instances", 4)]
        assert (found.short, found.links) == ("3 of 4 right", ("confusion",))
    kappa, _ = counted(of, "cohen_kappa")
    assert (kappa.short, kappa.equation, kappa.links) == ("3 of 4 right", None, ("confusion",))


def test_one_class_and_the_positive_label_have_their_own_row() -> None:
    of = case("multiclass", CLASSES, ["cat", "cat", "dog", "fox"], ["cat", "dog", "dog", "fox"])
    found, _ = counted(of, "precision:label=dog")
    assert found.equation == r"\frac{1}{1+1}=0.5"
    assert [row.label for row in found.rows] == ["dog"]
    binary = case("binary", ("spam", "ham"), ["spam", "ham", "spam"], ["spam", "spam", "ham"])
    assert counted(binary, "recall")[0].equation == r"\frac{1}{1+1}=0.5"
    undefined, value = counted(case("multiclass", (*CLASSES, "owl"), ["cat"], ["cat"]), "precision:label=owl")
    assert (undefined.equation, value) == (None, 0.0)
    assert "divides by 0" in undefined.remarks[-1]


def test_counts_of_weighted_instances_are_sums_of_weights_and_say_so() -> None:
    of = case("multiclass", CLASSES, ["cat", "cat", "dog"], ["cat", "dog", "dog"], weights=[3, 1, 2])
    found, value = counted(of, "accuracy")
    assert found.is_weighted
    assert summary(found) == "5 of 6 right, by weight"
    assert value == 5 / 6
    assert counted(of, "f1_macro")[0].has_shares


def test_counts_that_are_not_those_of_the_score_are_not_shown() -> None:
    of = case("multilabel", CLASSES, [["cat"], []], [["cat", "dog"], ["owl"]])
    own, _ = counted(of, "f1_micro:unknown_label=count_as_fp", {"unknown_label": "drop"})
    assert "unknown_label=count_as_fp" in (own.absence or "")
    lacking, _ = counted(of, "precision_micro", {"unknown_label": "count_as_fp"})
    assert lacking.equation is None
    assert "outside the vocabulary" in lacking.remarks[-1]
    dropped, value = counted(of, "precision_micro", {"unknown_label": "drop"})
    assert (dropped.equation, value) == (r"\frac{1}{1+1}=0.5", 0.5)


def test_a_reader_without_a_report_or_without_classes_reads_why() -> None:
    of = case("multiclass", CLASSES, ["cat"], ["cat"])
    withheld, _ = counted(of, "accuracy", withheld="Not now.")
    assert (withheld.absence, withheld.totals, withheld.links) == ("Not now.", (), ())
    call = parse_metric("accuracy")
    options = effective_options(CATALOGUE["f1_macro"], {})
    report = build_detailed_report(of, {}, ["confusion", "roc_curve"])
    hidden = count_score(Asked(call, report, (), 1.0, options, is_counted=False))
    assert hidden.absence == "This phase does not show its participants the counts of classes."
    assert hidden.links == ("confusion",)
    left_out = {"left_out": [{"part": "per_class", "reason": "it is too large"}]}
    assert "it is too large" in (count_score(Asked(call, left_out, (), 1.0, options)).absence or "")
    assert "several acceptable answers" in (count_score(Asked(call, {}, (), 1.0, options)).absence or "")


def test_metrics_of_scores_show_positives_and_negatives_or_bins() -> None:
    of = case(
        "multiclass", CLASSES, ["cat", "dog", "fox", "cat"], ["cat", "dog", "fox", "dog"],
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.6, 0.1]],
    )  # fmt: skip
    auc, _ = counted(of, "auc_ovr:label=cat")
    assert (auc.short, auc.links) == ("2 positives, 2 negatives", ("roc_curve",))
    macro, _ = counted(of, "auc_ovr_macro")
    assert [(row.support, row.negatives) for row in macro.rows] == [(2, 2), (1, 3), (1, 3)]
    assert counted(of, "auc_ovr_micro")[0].short == "4 positives, 8 negatives"
    bins, _ = counted(of, "ece")
    assert (len(bins.bins), bins.short) == (15, "15 bins")
    assert "other settings" in (counted(of, "ece:bins=4")[0].absence or "")
    assert len(counted(of, "ece", {"bins": "4"})[0].bins) == 4
    assert counted(of, "log_loss")[0].absence is not None


def test_label_sets_show_how_many_instances_are_right() -> None:
    of = case("multilabel", CLASSES, [["cat"], ["cat", "dog"], []], [["cat"], ["cat"], ["dog"]])
    subset, _ = counted(of, "subset_accuracy")
    assert subset.equation == rf"\frac{{1}}{{3}}={1 / 3!r}"
    assert subset.short == "1 of 3 fully right"
    assert {total.name: total.value for total in subset.totals}["partly right"] == 1
    assert counted(of, "hamming_loss")[0].short == "2 of 9 decisions wrong"
    assert counted(of, "f1_samples")[0].totals == subset.totals
    assert counted(of, "label_cardinality_gold")[0].equation == r"\frac{3}{3}=1"


@pytest.mark.parametrize(
    ("value", "score", "digits", "is_same"),
    [
        (0.5000004, 0.5, 6, True),
        (0.46, 0.5, 6, False),
        (12.34567, 12.3457, 6, True),
        (12.35, 12.3457, 6, False),
        (0.0, 0.0, 6, True),
        (0.1 + 0.2, 0.3, None, True),
        (0.3000001, 0.3, None, False),
    ],
)
def test_a_score_is_compared_with_as_many_digits_as_it_is_shown_with(
    value: float, score: float, digits: int | None, *, is_same: bool
) -> None:
    assert is_shown_as(value, score, digits) == is_same
