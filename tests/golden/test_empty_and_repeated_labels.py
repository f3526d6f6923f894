"""Empty and repeated labels: every variant of the golden vector on the two."""

import pytest

from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.per_class_report import per_class_report
from app.scoring.tally import NO_LABEL
from tests.each_case import for_each
from tests.golden.reference_data import TOLERANCE, load_vector
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, results, value

pytestmark = needs_shared


def part(name: str) -> EvaluationInput:
    data = load_vector("van_asch_empty_and_double")
    rows = data[name]["instances"]
    return case("multilabel", data["labels"], [row["gold"] for row in rows], [row["predicted"] for row in rows])


@for_each("rule", ["set", "multiset"])
def test_a_repeated_label_counts_once_or_every_time(rule: str) -> None:
    expected = load_vector("van_asch_empty_and_double")["double"][f"expected_{rule}"]["A"]
    found = per_class_report(part("double"), {"duplicates": rule})["A"]
    assert {cell: found[cell] for cell in expected} == expected
    assert found["tn"] == 0
    assert value(part("double"), "subset_accuracy", duplicates=rule) == 1.0


@for_each("variant, rule", [("a", "not_a_label"), ("b", "as_class")])
def test_the_empty_set_is_a_class_or_is_not(variant: str, rule: str) -> None:
    expected = load_vector("van_asch_empty_and_double")["empty"][f"expected_{variant}"]
    found = results(part("empty"), list(expected), {"empty_label": rule, "zero_division": "0"})
    for key, number in expected.items():
        assert found[key].value == pytest.approx(number, abs=TOLERANCE), key


def test_the_counts_with_the_empty_set_as_a_class() -> None:
    expected = {
        NO_LABEL if name == "NONE" else name: cells
        for name, cells in load_vector("van_asch_empty_and_double")["empty"]["counts_b"].items()
    }
    found = per_class_report(part("empty"), {"empty_label": "as_class"})
    assert {name: {cell: found[name][cell] for cell in cells} for name, cells in expected.items()} == expected


@for_each("rule", ["1", "0", "skip"])
def test_two_empty_sets_follow_their_own_option(rule: str) -> None:
    expected = load_vector("van_asch_empty_and_double")["empty"]["per_instance"]["expected_by_both_empty"][rule]
    # zero_division must not matter here: the two options for empties alone decide per-instance 0/0
    for zero_division in ("worst", "0", "1", "skip"):
        found = results(part("empty"), list(expected), {"both_empty": rule, "zero_division": zero_division})
        for key, number in expected.items():
            assert found[key].value == pytest.approx(number, abs=TOLERANCE), key


def test_exact_match_and_hamming_loss_need_no_rule_for_empties() -> None:
    expected = load_vector("van_asch_empty_and_double")["empty"]["per_instance"]
    assert value(part("empty"), "subset_accuracy") == pytest.approx(expected["subset_accuracy"], abs=TOLERANCE)
    assert value(part("empty"), "hamming_loss") == pytest.approx(expected["hamming_loss"], abs=TOLERANCE)
