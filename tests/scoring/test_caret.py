"""The statistics of caret's confusionMatrix, against values that R computed (tests/oracles/r/caret.R)."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results

ORACLE = Path(__file__).parents[1] / "oracles" / "r" / "caret.json"
CASES: list[dict[str, Any]] = json.loads(ORACLE.read_text(encoding="utf-8"))
SCALARS = {
    "accuracy": "Accuracy",
    "cohen_kappa": "Kappa",
    "accuracy_lower": "AccuracyLower",
    "accuracy_upper": "AccuracyUpper",
    "no_information_rate": "AccuracyNull",
    "accuracy_p_value": "AccuracyPValue",
    "mcnemar_confusion": "McnemarPValue",
}


def as_case(made: dict[str, Any], **more: Any) -> EvaluationInput:
    task: Any = "binary" if made["positive"] else "multiclass"
    return case(task, made["classes"], made["gold"], made["predicted"], positive_label=made["positive"], **more)


def same(found: Any, theirs: dict[str, float | None]) -> None:
    assert list(found) == list(theirs)
    for name, number in theirs.items():
        assert found[name] == (None if number is None else pytest.approx(number, rel=1e-11, abs=1e-300)), name


@for_each("made", CASES)
def test_the_overall_statistics(made: dict[str, Any]) -> None:
    of = as_case(made)
    found = evaluate_metric(of, "caret_overall")
    same(found.data, made["overall"])
    nulls = [name for name, number in made["overall"].items() if number is None]
    assert [note.partition(":")[0] for note in found.notes] == nulls
    scalars = results(of, list(SCALARS))
    assert {SCALARS[key]: result.value for key, result in scalars.items()} == found.data


@for_each("made", CASES)
def test_the_statistics_by_class(made: dict[str, Any]) -> None:
    given = "" if made["prevalence"] is None else f":prevalence={made['prevalence']}"
    found = evaluate_metric(as_case(made), f"caret_by_class{given}").data
    assert list(found) == made["classes"]
    for name, theirs in made["by_class"].items():
        same(found[name], theirs)


def test_the_prevalence_of_a_binary_task_is_that_of_the_positive_label() -> None:
    made = next(made for made in CASES if made["prevalence"] == 0.05)
    found = evaluate_metric(as_case(made), "caret_by_class:prevalence=0.05").data
    assert (found["yes"]["Prevalence"], found["no"]["Prevalence"]) == (0.05, 0.95)
    assert found["yes"]["Pos Pred Value"] == found["no"]["Neg Pred Value"]


def test_what_depends_on_the_number_of_instances_takes_no_weights() -> None:
    of = as_case(CASES[0], weights=[1] * len(CASES[0]["gold"]))
    for key in ("caret_overall", "accuracy_lower", "accuracy_upper", "accuracy_p_value", "mcnemar_confusion"):
        found = evaluate_metric(of, key)
        assert (found.value, found.data) == (None, None)
        assert "weights" in (found.reason or "")
    assert (
        evaluate_metric(of, "no_information_rate").value
        == evaluate_metric(as_case(CASES[0]), "no_information_rate").value
    )
    assert evaluate_metric(of, "caret_by_class").data == evaluate_metric(as_case(CASES[0]), "caret_by_class").data


def test_instances_without_a_class_are_wrong_and_have_no_cell() -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "b", "b"], ["a", "b", "a", None])
    found = results(of, ["caret_overall", "mcnemar_confusion"], {"missing": "empty_prediction"})
    assert found["caret_overall"].data["Accuracy"] == 0.25
    assert found["caret_overall"].data["McnemarPValue"] is None
    assert found["mcnemar_confusion"].reason == (
        "some instances have no label among the declared classes, and so no cell in the square table of the test"
    )


def test_why_the_test_of_symmetry_has_no_value() -> None:
    never = case("multiclass", ["a", "b", "c"], ["a", "b", "c"], ["b", "a", "c"])
    assert (
        evaluate_metric(never, "mcnemar_confusion").reason
        == "2 of 3 pairs of classes were never confused with each other (0/0)"
    )
    alone = case("multiclass", ["a"], ["a", "a"], ["a", "a"])
    assert evaluate_metric(alone, "mcnemar_confusion").reason == "there is only one class, and the test compares two"
