"""Label sets, split counts, cross-validation and association: the values of the golden vectors and of real challenges."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from app.scoring.chi_squared import association
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.per_class_report import confusion
from tests.each_case import for_each
from tests.golden.reference_data import (
    ORACLE,
    TOLERANCE,
    challenge_input,
    load_vector,
    metric_strings,
    systems,
    vector_input,
)
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, evaluate_metric

pytestmark = needs_shared
SETS = ("sefidian_example", "van_asch_table6", "wenzel_fig9")
TABLES = ("doering_example", "van_asch_table2", "wenzel_fig5", "wenzel_fig6", "wenzel_fig7", "wenzel_fig8")
CARDINALITIES = ("germeval2019-blurbs-a", "germeval2019-blurbs-b", "litcovid")


def value(of: EvaluationInput, text: str, options: Mapping[str, str] = ORACLE) -> float:
    result = evaluate_metric(of, text, **options)
    assert result.value is not None, result.reason
    return result.value


@for_each("name", SETS)
def test_alpha_and_hamming_scores(name: str) -> None:
    data = load_vector(name)
    of = vector_input(data)
    mapped = {key: text for key, text in metric_strings().items() if key.startswith("alpha_score")} | {
        "hamming_score": "hamming_score"
    }
    assert len(mapped) == 5
    for key, text in mapped.items():
        found = value(of, text)
        assert abs(found - data["expected"][key]) <= TOLERANCE, key
        exact = float(Fraction(data["expected_fraction"][key]))
        assert abs(found - exact) <= 2 * math.ulp(exact), key


def test_the_alpha_score_of_an_empty_prediction_is_that_of_its_equation() -> None:
    """The last instance of Sefidian's example misses its only label: 1 - 0.25, whereas one_empty would give 0."""
    of = vector_input(load_vector("sefidian_example"))
    text = "alpha_score:alpha=1,beta=0.25,gamma=1"
    assert value(of, text) == 11 / 16
    assert value(of, text, {**ORACLE, "one_empty": "skip"}) == float(Fraction(2, 3))


def test_split_counts_are_those_of_table_7() -> None:
    data = load_vector("van_asch_table7")
    found = evaluate_metric(vector_input(data), "confusion_split").data
    assert found["labels"] == data["labels"]
    for cell, counts in data["expected_cells"].items():
        row, column = (data["labels"].index(label) for label in cell.split("|"))
        assert found["row_counts"][row][column] == counts["row_count"], cell
        assert found["column_counts"][row][column] == counts["column_count"], cell
    assert dict(zip(found["labels"], found["row_totals"], strict=True)) == data["expected_row_totals"]
    assert dict(zip(found["labels"], found["column_totals"], strict=True)) == data["expected_column_totals"]
    assert found["grand_total"] == data["expected_grand_total"]


def folds() -> EvaluationInput:
    """The instances that the counts of the vector's folds stand for."""
    data = load_vector("crossval_small")
    yes, cells = data["positive_label"], (("tpA", 1, 1), ("fnA", 1, 0), ("tpB", 0, 0), ("fpA", 0, 1))
    rows = [
        (bool(gold), bool(predicted), str(number))
        for number, counts in enumerate(data["folds"], 1)
        for cell, gold, predicted in cells
        for _ in range(counts[cell])
    ]
    names = {True: yes, False: "B"}
    gold, predicted, parts = zip(*rows, strict=True)
    return case("binary", [yes, "B"], [names[g] for g in gold], [names[p] for p in predicted], folds=parts)


def test_f_over_folds() -> None:
    data, of = load_vector("crossval_small"), folds()
    for key, exact in data["expected_fraction"].items():
        found = value(of, metric_strings().get(key, key))
        assert abs(found - data["expected"][key]) <= TOLERANCE, key
        assert abs(found - float(Fraction(exact))) <= 2 * math.ulp(found), key


def test_the_table_of_folds() -> None:
    expected = load_vector("crossval_small")["expected"]
    zero: Any = evaluate_metric(folds(), "cv_table:undefined=zero", **ORACLE).data
    assert [row["f1"] for row in zero["folds"]] == pytest.approx(expected["per_fold_f1"], abs=TOLERANCE)
    summary = zero["f1"]
    assert summary["standard_deviation"]["population"] == pytest.approx(expected["f1_std_population"], abs=TOLERANCE)
    of_means = expected["f1_cv_of_mean_precision_recall_zero_division_0"]
    assert summary["of_mean_precision_and_recall"] == pytest.approx(of_means, abs=TOLERANCE)
    assert summary["pooled"] == pytest.approx(expected["f1_cv_pooled"], abs=TOLERANCE)
    assert (summary["folds"], summary["undefined"]) == (4, ["4"])
    skipping: Any = evaluate_metric(folds(), "cv_table", **ORACLE).data
    assert skipping["folds"][3]["f1"] is None
    mean = expected["f1_cv_mean_skip_undefined_recall_folds"]
    assert skipping["f1"]["mean"] == pytest.approx(mean, abs=TOLERANCE)
    assert skipping["f1"]["folds"] == 3


@for_each("name", TABLES)
def test_association_of_gold_and_predicted(name: str) -> None:
    data = load_vector(name)
    found = association(confusion(vector_input(data))["matrix"])
    assert found.chi_squared == pytest.approx(data["expected"]["chi_squared"], abs=1e-9)
    assert found.cramers_v == pytest.approx(data["expected"]["cramers_v"], abs=TOLERANCE)
    if "chi_squared" in data["expected_fraction"]:
        assert found.chi_squared == float(Fraction(data["expected_fraction"]["chi_squared"]))


@for_each("name", CARDINALITIES)
def test_cardinalities_of_real_systems(name: str) -> None:
    compared = 0
    for system, version, expected in systems(name):
        of = challenge_input(name, system, version)
        for key in ("label_cardinality_gold", "label_cardinality_predicted"):
            assert value(of, key) == pytest.approx(expected[key], abs=1e-12), (system, key)
            compared += 1
        assert value(of, "hamming_score") == pytest.approx(1 - expected["hamming_loss"], abs=1e-12)
        status: Any = evaluate_metric(of, "instance_status").data
        assert status["full"]["share"] == pytest.approx(expected["subset_accuracy"], abs=1e-12)
    assert compared >= 2
