"""Statements as people write them: how they are parsed, and errors with a remedy."""

from collections.abc import Mapping
from itertools import permutations, product
from typing import Any

import pytest

from app.analysis.convert.report import report
from app.analysis.convert.statements import FigureFormat, PublishedFigures, parse_problem
from app.errors import InvalidContent
from tests.each_case import for_each

PLAIN = FigureFormat()
ROWS = (
    {"label": "cat", "size": "10", "precision": "0.50", "recall": "0.90"},
    {"label": "dog", "size": "20", "precision": "0.63", "recall": "0.60"},
    {"label": "emu", "size": "30", "precision": "0.91", "recall": "0.70"},
)


def test_figures_without_a_table_are_of_the_positive_class_or_of_both() -> None:
    stated = PublishedFigures(whole={"Sensitivity": "0.5", "PPV": "50%", "acc uracy": " "}, n=8, positives=4)
    with pytest.raises(InvalidContent, match="acc_uracy"):
        parse_problem(PublishedFigures(whole={"acc uracy": "0.5"}, n=8), PLAIN)
    problem, labels = parse_problem(stated, PLAIN)
    assert (labels, problem.sizes) == (("positive", "rest"), (4, 4))
    assert [(claim.key, claim.row) for claim in problem.claims] == [("recall", 0), ("precision", 0)]


def test_classes_that_exclude_each_other_sum_to_all_instances() -> None:
    problem, labels = parse_problem(PublishedFigures(ROWS, {"f1-macro": "0.684"}), PLAIN)
    assert (problem.n, problem.sizes, labels) == (60, (10, 20, 30), ("cat", "dog", "emu"))
    assert problem.claims[-1].key == "f1_macro"
    assert problem.claims[-1].row is None
    with pytest.raises(InvalidContent, match="sum to 60, but there are 50") as caught:
        parse_problem(PublishedFigures(ROWS, n=50), PLAIN)
    assert "--multilabel" in caught.value.advice
    assert parse_problem(PublishedFigures(ROWS, n=50, exclusive=False), PLAIN)[0].n == 50


def test_one_class_is_held_against_the_rest() -> None:
    problem, labels = parse_problem(PublishedFigures(ROWS[:1], {"accuracy": "0.8"}, n=60), PLAIN)
    assert (labels, problem.sizes) == (("cat", "rest"), (10, 50))
    assert parse_problem(PublishedFigures(({"label": "rest", "recall": "0.5"},), n=9), PLAIN)[1] == ("rest", "others")


@for_each(
    "stated, detail, remedy",
    [
        (PublishedFigures(n=10), "No figure", "--precision"),
        (PublishedFigures(whole={"recall": "0.5"}), "number of instances", "--n"),
        (PublishedFigures(whole={"recall": "0.5"}, n=10, positives=11), "number of instances, 10", "--n"),
        (PublishedFigures(whole={"recall": "78.3"}, n=10), "outside the range", "--percent"),
        (PublishedFigures(whole={"recal": "0.5"}, n=10), "did you mean recall", "docs/convert.md"),
        (PublishedFigures(whole={"recall": "0.5", "tpr": "0.5"}, n=10), "given twice", "once"),
        (PublishedFigures(ROWS, {"f1": "0.5"}), "f1_macro, f1_micro or f1_weighted", "docs/convert.md"),
        (PublishedFigures(ROWS, {"accuracy": "0.5"}, 60, exclusive=False), "one label per instance", "--multilabel"),
        (PublishedFigures(whole={"accuracy": "0.5"}, n=9, exclusive=False), "several classes", "--table"),
        (PublishedFigures((*ROWS, ROWS[0])), "a unique name", "1000"),
        (PublishedFigures(tuple({**row, "size": ""} for row in ROWS), n=60), "sizes of the classes", "size"),
        (PublishedFigures(({**ROWS[0], "size": "ten"},), n=60), "'ten'", "whole numbers"),
        (PublishedFigures(({**ROWS[0], "accuracy": "0.9"},), n=60), "belongs to the whole task", "docs/convert.md"),
        (PublishedFigures(whole={"correct": "0.5"}, n=10), "is not a count", "whole number"),
        (PublishedFigures(whole={"recall": "0.5"}, n=10**16), "is not a valid number", "1000000000000000"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_way_to_mend_it(
    stated: PublishedFigures, detail: str, remedy: str
) -> None:
    with pytest.raises(InvalidContent, match=detail) as caught:
        parse_problem(stated, PLAIN)
    assert remedy in caught.value.advice


def report_of(whole: Mapping[str, str], **how: Any) -> dict[str, Any]:
    return report(PublishedFigures(whole=whole, n=10, positives=5), FigureFormat(**how))


def test_a_report_lists_counts_and_between_what_they_lie() -> None:
    found = report_of({"precision": "0.75"})
    assert (found["fits"], found["complete"], found["count"]) == (True, True, 1)
    assert found["counts"] == [
        {"positive": {"tp": 3, "fp": 1, "fn": 2, "tn": 4}, "rest": {"tp": 4, "fp": 2, "fn": 1, "tn": 3}}
    ]
    assert found["ranges"]["positive"]["fn"] == [2, 2]
    assert found["figures"] == [{"figure": "precision", "label": "positive", "printed": "0.75"}]


def test_a_report_of_a_contradiction_says_what_each_figure_could_be() -> None:
    found = report_of({"recall": "0.743", "mcc": "0.99"})
    assert (found["fits"], found["count"], found["counts"]) == (False, 0, [])
    (recall,) = found["conflict"]["figures"]
    assert recall["above"] == {
        "printed": "0.800",
        "value": 0.8,
        "fraction": "4/5",
        "counts": {"positive": {"tp": 4, "fp": 0, "fn": 1, "tn": 5}, "rest": {"tp": 5, "fp": 1, "fn": 0, "tn": 4}},
    }
    (root,) = report_of({"mcc": "0.99"})["conflict"]["figures"]
    assert (root["below"]["printed"], root["above"]["printed"]) == ("0.82", "1.00")
    assert root["below"]["fraction"] is None


def test_digits_that_were_cut_off_are_tried_where_nothing_fits() -> None:
    assert report_of({"recall": "0.6", "precision": "0.42"})["fits_if_cut"] is True  # 3/7
    assert report_of({"recall": "0.6", "precision": "0.42"}, cut=True)["fits"] is True
    assert report_of({"recall": "0.743"})["fits_if_cut"] is False


def test_conventions_with_the_same_counts_are_told_together_in_every_order_of_the_classes() -> None:
    rows = {"label": "a", "size": "0"}, {"label": "b", "size": "0", "npv": "1.0000"}, {"label": "c", "size": "2"}
    whole = {"error_rate_ovr_macro": "0.3333", "mcc": "0.0000", "for_weighted": "1.0000", "f2_weighted": "0.5556"}
    for first, order in product((1, 10), permutations(rows)):
        found = report(PublishedFigures(order, whole, 2, None, True), FigureFormat(), first=first)
        assert (found["undefined"], found["otherwise"]) == (["worst", "0", "1", "skip"], [])
        assert (found["count"], len(found["counts"])) == (2, min(first, 2))
        listed = [[list(table.values()) for table in tables.values()] for tables in found["counts"]]
        assert listed == sorted(listed)
