"""Tables of weighted instances hold sums of the weights of the gold, whatever unit they are counted in."""

import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import ReadingRules
from app.pipeline import SourceFile, predicted_case
from app.prepared.gold_arrays import encode_gold
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.detailed_report import build_detailed_report, write_csv
from tests.each_case import for_each
from tests.formats.reading import load_gold_both_ways
from tests.scoring.case_builder import case, evaluate_metric, results

WEIGHTS = ("0.5", "0.25", "1.5", "0.75")


def weighted_case(folds: list[str] | None = None) -> EvaluationInput:
    """Weights of 2, 1, 6 and 3 quarters."""
    scores = [[0.9], [0.8], [0.7], [0.2]]
    of = case(
        "binary", ["a", "b"], ["a", "a", "b", "b"], ["a", "b", "a", "b"], scores, weights=[2, 1, 6, 3], folds=folds
    )
    return replace(of, weight_unit=Fraction(1, 4))


def test_the_weights_of_a_file_are_those_of_its_tables(tmp_path: Path) -> None:
    gold, answers = tmp_path / "gold.csv", tmp_path / "answers.csv"
    labels, predicted = "aabb", "abab"
    rows = [f"{at},{label},{weight}" for at, (label, weight) in enumerate(zip(labels, WEIGHTS, strict=True))]
    gold.write_text("\n".join(["id,label,weight", *rows]))
    answers.write_text("\n".join(["id,label", *(f"{at},{label}" for at, label in enumerate(predicted))]))
    kind = FileKind("csv")
    found, problems = load_gold_both_ways(SourceFile(gold, kind), task="multiclass", classes=["a", "b"])
    assert found is not None, problems.to_dict()
    of = predicted_case(found, SourceFile(answers, kind), ReadingRules())
    matrix = evaluate_metric(of, "confusion_matrix").data
    assert matrix["matrix"] == [[0.5, 0.25], [1.5, 0.75]]
    assert matrix["one_vs_rest"]["tp"] == [0.5, 0.75]
    header, _ = encode_gold(found)
    assert json.loads(json.dumps(header))["weight_unit"] == "1/4"


def test_every_table_has_the_weights_of_gold() -> None:
    of = weighted_case(folds=["x", "x", "y", "y"])
    keys = ["cv_table:label=a", "roc_curve", "calibration_bins:bins=1", "confusion_matrix"]
    folds, roc, bins, matrix = (result.data for result in results(of, keys).values())
    assert [(row["n"], row["tp"], row["fn"]) for row in folds["folds"]] == [(0.75, 0.5, 0.25), (2.25, 0, 0)]
    assert (roc["curves"][0]["positives"], roc["curves"][0]["negatives"]) == (0.75, 2.25)
    assert bins["bins"][0]["weight"] == 3
    assert matrix["matrix"] == [[0.5, 0.25], [1.5, 0.75]]
    sets = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a"], ["a", "b"]], weights=[2, 3])
    split = results(replace(sets, weight_unit=Fraction(1, 10)), ["confusion_split", "instance_status"])
    assert split["confusion_split"].data["row_totals"][:2] == [0.2, 0.3]
    assert split["instance_status"].data["full"] == {"count": 0.2, "share": 0.4}


@for_each("unit", [Fraction(1), Fraction(7), Fraction(7, 2), Fraction(1, 10**9), Fraction(3, 10**40)])
@for_each("weight", [2, 14, 2**50])
def test_a_cell_of_split_counts_is_rounded_once(weight: int, unit: Fraction) -> None:
    # as 14/3 of a weight of 14 over three labels, whatever the unit is, which follows from the weights of all splits
    of = case("multilabel", "abcdef", [["a", "b"], ["c"]], [["d", "e", "f"], ["c"]], weights=[weight, 1])
    data = evaluate_metric(replace(of, weight_unit=unit), "confusion_split").data
    third, half = (float(weight * unit / parts) for parts in (3, 2))
    assert data["row_counts"][0] == [0, 0, 0, third, third, third]
    assert [row[3] for row in data["column_counts"]] == [half, half, 0, 0, 0, 0]


def test_the_empty_sets_of_a_report_weigh_as_much_as_their_instances() -> None:
    of = case("multilabel", ["a", "b"], [[], ["a"], ["b"], []], [[], [], ["b"], []], weights=[1, 4, 3, 0])
    found = build_detailed_report(replace(of, weight_unit=Fraction(1, 2)), parts=["label_sets"])["label_sets"]
    assert found["empty"] == {"gold": 0.5, "predicted": 2.5}
    assert found["status"]["none"]["count"] == 2


def test_the_report_and_its_tables_have_them_too() -> None:
    report = build_detailed_report(weighted_case(), parts=["per_class", "confusion", "roc_curve"])
    assert {name: report["per_class"]["a"][name] for name in ("tp", "fp", "fn", "tn", "support")} == {
        "tp": 0.5,
        "fp": 1.5,
        "fn": 0.25,
        "tn": 0.75,
        "support": 0.75,
    }
    target = io.StringIO()
    write_csv(report, "confusion", target)
    assert target.getvalue().splitlines()[1:] == ["a,a,0.5", "a,b,0.25", "b,a,1.5", "b,b,0.75"]


def test_values_do_not_depend_on_the_unit() -> None:
    of = weighted_case()
    for unit in (Fraction(1), Fraction(1, 3), Fraction(10**6)):
        assert results(replace(of, weight_unit=unit), ["f1_macro", "auc"]) == results(of, ["f1_macro", "auc"])
    assert replace(of, weight_unit=Fraction(1, 3)).take(np.array([0])).weight_unit == Fraction(1, 3)


@for_each("name", ["cells", "matrix", "n", "weight"])
def test_a_class_may_be_called_like_a_part_of_a_table(name: str) -> None:
    """Their names are keys of the data, too."""
    plain = case("multiclass", ["a", "b"], list("aabb"), list("abab"), weights=[2, 1, 6, 3])
    named = case("multiclass", [name, "b"], [name, name, "b", "b"], [name, "b", name, "b"], weights=[2, 1, 6, 3])
    expected, found = (
        evaluate_metric(replace(of, weight_unit=Fraction(1, 4)), "caret_by_class").data for of in (plain, named)
    )
    assert found == {name if key == "a" else key: row for key, row in expected.items()}
