"""The golden vectors: worked examples of the source documents, recomputed exactly."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.per_class_report import confusion, per_class_report
from tests.each_case import for_each
from tests.golden.reference_data import ORACLE, TOLERANCE, load_vector, metric_string, vector_input
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, evaluate_metric, value

NAMES = (
    "doering_example",
    "doering_specificity_10x10",
    "sefidian_example",
    *(f"van_asch_table{k}" for k in range(2, 7)),
    *(f"wenzel_fig{k}" for k in range(5, 10)),
)
pytestmark = needs_shared


def options_of(key: str) -> tuple[str, ...]:
    return CATALOGUE[key].options if key in CATALOGUE else ()


def comparisons(name: str) -> Iterator[tuple[str, EvaluationInput, str, Mapping[str, str], float]]:
    """Every expected value of a vector that this scorer can compute: section, case, string, options, value."""
    data = load_vector(name)
    of = vector_input(data)
    for section, rule in (("expected", "0"), ("expected_positive_label", "0"), ("expected_zero_division_1", "1")):
        for key, expected in data.get(section, {}).items():
            text = metric_string(key)
            if section == "expected_zero_division_1" and "one_empty" in options_of(key):
                continue  # an empty prediction beside a gold label is one_empty's business, which knows no 1
            if text is not None and of.spec.task in CATALOGUE[text.partition(":")[0]].tasks:
                yield section, of, text, {**ORACLE, "zero_division": rule}, expected
    for label, values in data.get("expected_per_label", {}).items():
        for key, expected in values.items():
            if key in CATALOGUE:
                yield "expected_per_label", of, f"{key}:label={label}", ORACLE, expected


@for_each("name", NAMES)
def test_every_expected_value_that_the_catalogue_covers_is_reproduced(name: str) -> None:
    compared = list(comparisons(name))
    assert compared
    for section, of, text, options, expected in compared:
        found = evaluate_metric(of, text, **options)
        assert found.value is not None, (section, text, found.reason)
        assert abs(found.value - expected) <= TOLERANCE, (section, text)


COMPARED = {
    "doering_example": 150,
    "doering_specificity_10x10": 19,
    "sefidian_example": 73,
    "van_asch_table2": 93,
    "van_asch_table3": 135,
    "van_asch_table4": 135,
    "van_asch_table5": 135,
    "van_asch_table6": 72,
    "wenzel_fig5": 112,
    "wenzel_fig6": 112,
    "wenzel_fig7": 112,
    "wenzel_fig8": 112,
    "wenzel_fig9": 68,
}


def test_the_number_of_compared_values_does_not_shrink() -> None:
    counted = {name: sum(1 for _ in comparisons(name)) for name in NAMES}
    assert {name: max(number, COMPARED[name]) for name, number in counted.items()} == counted
    assert sum(counted.values()) >= 1328


def exact_fractions(name: str) -> Iterator[tuple[EvaluationInput, str, Fraction]]:
    data = load_vector(name)
    of = vector_input(data)
    for key, text in data.get("expected_fraction", {}).items():
        if metric_string(key) == key and of.spec.task in CATALOGUE[key].tasks:
            yield of, key, Fraction(text)


@for_each("name", NAMES)
def test_values_are_within_two_ulp_of_the_exact_fraction(name: str) -> None:
    for of, key, exact in exact_fractions(name):
        found = value(of, key, **ORACLE)
        assert found is not None
        assert abs(found - float(exact)) <= 2 * math.ulp(float(exact)), key


def slips() -> Iterator[tuple[str, EvaluationInput, str, Mapping[str, Any]]]:
    """Published figures that are wrong, of metrics that this scorer has."""
    for name in NAMES:
        data = load_vector(name)
        for figure in data.get("published") or []:
            text = metric_string(figure["metric"])
            printed = figure["claimed"].startswith(tuple("0123456789"))
            if figure["wrong"] and printed and text is not None and isinstance(figure["exact"], float):
                yield name, vector_input(data), text, figure


def test_published_slips_stay_slips() -> None:
    seen = []
    for name, of, text, figure in slips():
        found = value(of, text, **ORACLE)
        assert found is not None
        assert abs(found - figure["exact"]) <= TOLERANCE, (name, text)
        seen.append((name, text))
        if (name, text) not in SAME_VALUE:
            claimed = Fraction(figure["claimed"])
            places = len(figure["claimed"].partition(".")[2]) or TOLERANCE_PLACES
            assert round(Fraction(found), places) != claimed, (name, text)
    assert set(seen) >= {
        ("doering_example", "f1_micro"),
        ("wenzel_fig6", "accuracy_ovr_micro"),
        ("wenzel_fig8", "f1_weighted"),
        ("sefidian_example", "precision_samples"),
        ("sefidian_example", "recall_samples"),
    }


# the source prints these two right numbers under each other's name, so the "wrong" figure is the right value
SAME_VALUE = {("sefidian_example", "precision_samples"), ("sefidian_example", "recall_samples")}
TOLERANCE_PLACES = 11


@for_each("name", [name for name in NAMES if name != "doering_specificity_10x10"])
def test_counts_per_class_and_confusion_cells_agree(name: str) -> None:
    data = load_vector(name)
    of = vector_input(data)
    report = per_class_report(of)
    for label, counts in data["counts"].items():
        assert {cell: report[label][cell] for cell in counts} == counts, label
    if "confusion_matrix_rows_gold" in data:
        matrix = confusion(of)
        found = {
            gold: dict(zip(matrix["labels"], row, strict=True))
            for gold, row in zip(matrix["labels"], matrix["matrix"], strict=True)
        }
        assert found == data["confusion_matrix_rows_gold"]


@for_each("system", ["system_a", "system_b"])
def test_scores_of_the_randomization_example(system: str) -> None:
    data = load_vector("approx_randomization_small")
    gold = [row["gold"] for row in data["instances"]]
    of = case("multiclass", data["labels"], gold, [row[system] for row in data["instances"]])
    for key, expected in data["expected"].items():
        found = value(of, key, **ORACLE)
        assert found is not None
        assert abs(found - expected[f"score_{system[-1]}"]) <= TOLERANCE
