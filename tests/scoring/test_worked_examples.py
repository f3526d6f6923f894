"""What a worked example comes from: the parts that are shown make up the value."""

import math
from fractions import Fraction

import pytest

from app.scoring.catalogue import worked_examples
from app.scoring.declaration.metric import CATALOGUE, Metric
from tests.each_case import for_each
from tests.scoring.case_builder import case

SHOWN = {key: worked_examples.explain_example_value(metric) for key, metric in CATALOGUE.items()}
MACRO = [key for key in SHOWN if key.endswith("_macro") and key.removesuffix("_macro") in SHOWN]


def exact(metric: Metric) -> float:
    return float(Fraction(metric.example.value))


@for_each("key", [key for key, rows in SHOWN.items() if "value" in rows.get("of_instances", [{}])[0]])
def test_the_values_of_single_instances_have_the_value_as_their_mean(key: str) -> None:
    values = [row["value"] for row in SHOWN[key]["of_instances"] if row["value"] is not None]
    assert math.fsum(values) / len(values) == pytest.approx(exact(CATALOGUE[key]), abs=1e-5)


@for_each("key", [key for key in MACRO if key.removesuffix("_macro") in SHOWN[key].get("of_classes", [{}])[0]])
def test_the_measures_of_the_classes_have_the_macro_value_as_their_mean(key: str) -> None:
    values = [row[key.removesuffix("_macro")] for row in SHOWN[key]["of_classes"]]
    defined = [value for value in values if value is not None]
    assert math.fsum(defined) / len(defined) == pytest.approx(exact(CATALOGUE[key]), abs=1e-5)


def test_counts_are_shown_as_the_equation_names_them() -> None:
    assert SHOWN["f1_macro"]["of_classes"][0] == {"class": "cat", "tp": 2, "fp": 1, "fn": 2, "f1": 0.571429}
    assert SHOWN["recall_weighted"]["of_classes"][2] == {
        "class": "mouse",
        "tp": 1,
        "fn": 1,
        "support": 2,
        "recall": 0.5,
    }
    assert SHOWN["cohen_kappa"]["of_classes"][1] == {"class": "dog", "tp": 2, "support": 3, "predicted": 5}
    assert SHOWN["f1_of_averages_macro"]["of_classes"][1] == {"class": "dog", "precision": 0.4, "recall": 0.666667}
    assert SHOWN["f1_samples"]["of_instances"][3] == {"tp": 1, "fp": 0, "fn": 0, "value": 1.0}
    assert "of_classes" not in SHOWN["subset_accuracy"]


def test_the_data_is_the_declared_one() -> None:
    rows = worked_examples.example_data_rows(CATALOGUE["f1_samples"])
    assert rows[0] == {"instance": 1, "gold": "art, law", "predicted": "art"}
    scores = worked_examples.example_data_rows(CATALOGUE["brier"])
    assert scores[1] == {"instance": 2, "gold": "ham", "score of spam": 0.25}
    declared = CATALOGUE["f1_samples"].example
    built = worked_examples.example_input(declared)
    meant = case(declared.task, declared.classes, declared.gold, declared.predicted)
    assert built.gold.codes.tolist() == meant.gold.codes.tolist()
    assert built.predicted.codes.tolist() == meant.predicted.codes.tolist()


def test_a_fraction_is_shown_with_its_decimal() -> None:
    assert worked_examples.format_example_value(CATALOGUE["f1_macro"]) == "73/126 = 0.579365"
    assert worked_examples.format_example_value(CATALOGUE["brier"]) == "0.15625"
