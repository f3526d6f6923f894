"""The parts of a report laid out as tables."""

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

from app.scoring.reports import report_size
from app.scoring.reports.detailed_report import REPORT_PARTS, build_detailed_report, table_rows, write_csv
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric


@for_each("names", [("curves", "x"), ("labels", "matrix"), ("labels", "cells")])
def test_classes_may_be_called_as_the_fields_of_other_parts(names: tuple[str, str]) -> None:
    of = case("multiclass", names, [names[0], names[1], names[0]], [names[0], names[1], names[1]])
    target = io.StringIO()
    write_csv(build_detailed_report(of, {}, ["per_class"]), "per_class", target)
    rows = list(csv.DictReader(io.StringIO(target.getvalue())))
    assert [(row["label"], row["tp"], row["fn"]) for row in rows] == [(names[0], "1", "1"), (names[1], "1", "0")]
    assert [row["label"] for row in table_rows(evaluate_metric(of, "caret_by_class").data)] == list(names)


SCORED = case("multiclass", ["a", "b"], ["a", "b", "b"], ["a", "a", "b"], [[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]])


@pytest.mark.parametrize(("part", "points"), [("roc_curve", 6), ("pr_curve", 6)])
def test_curves_with_too_many_points_are_left_out_before_they_are_made(
    part: str, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build_detailed_report(SCORED)[part]["curves"]
    assert sum(curve["points"] for curve in made) == points
    monkeypatch.setattr(report_size, "MAX_CURVE_POINTS", points)
    assert "left_out" not in build_detailed_report(SCORED)
    monkeypatch.setattr(report_size, "MAX_CURVE_POINTS", points - 1)
    found = build_detailed_report(SCORED)
    assert part not in found
    reasons = {entry["part"]: entry["reason"] for entry in found["left_out"]}
    assert list(reasons) == ["roc_curve", "pr_curve"]
    assert reasons[part].startswith(f"it has more than {points - 1} points")
    assert {"per_class", "confusion"} <= set(found)
    assert part in build_detailed_report(SCORED, parts=[part])
    monkeypatch.setattr(report_size, "SINGLE_PART_FACTOR", 1)
    assert "left_out" in build_detailed_report(SCORED, parts=[part])


LARGEST = 1.7976931348623157e308


@for_each(
    "scores",
    [
        [0.0, 0.0], [0.3, -0.3], [2.0, 3.0], [0.9, 0.5], [1e308, 1e308], [LARGEST, -LARGEST], [5e-324, 0.0],
        [-1.0], [2.0],
    ],
)  # fmt: skip
def test_scores_that_are_no_probabilities_have_all_but_the_calibration(scores: list[float]) -> None:
    of = case("binary", ["a", "b"], ["a", "b"], ["a", "a"], [scores, scores[::-1]])
    for digits in (None, 1, 6):
        found = json.loads(json.dumps(build_detailed_report(of, {}, digits=digits), allow_nan=False))
        assert {"per_class", "confusion", "roc_curve", "pr_curve"} <= set(found)
        assert "calibration" not in found
        (left_out,) = found["left_out"]
        assert left_out["part"] == "calibration"
        assert "scores from 0 to 1" in left_out["reason"]


@for_each("scores", [None, [[0.9, 0.1], [0.6, 0.4]]])
def test_where_lower_scores_are_surer_there_is_a_report(scores: list[list[float]] | None) -> None:
    found = build_detailed_report(
        case("multiclass", ["a", "b"], ["a", "b"], ["a", "a"], scores), {"score_direction": "lower"}
    )
    assert "per_class" in found
    assert ("roc_curve" in found) is (scores is not None)
    assert [entry["part"] for entry in found.get("left_out", [])] == ["calibration"] * (scores is not None)


@pytest.mark.parametrize("columns", [1, 2])
def test_a_binary_task_has_one_curve(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [[0.1, 0.5][:columns], [0.2, 0.5][:columns], [0.3, 0.5][:columns]]
    of = case("binary", ["a", "b"], ["a", "b", "b"], ["a", "a", "b"], scores)
    monkeypatch.setattr(report_size, "MAX_CURVE_POINTS", 4)
    assert build_detailed_report(of)["roc_curve"]["curves"][0]["points"] == 4
    monkeypatch.setattr(report_size, "MAX_CURVE_POINTS", 3)
    assert "roc_curve" not in build_detailed_report(of)


def test_confusion_with_too_many_cells_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{code}" for code in range(9)]
    single = case("multiclass", names, names, names)
    sets = case("multilabel", names, [names[:2]] * 3, [names[:3]] * 3)
    for of, most in ((single, 9), (sets, 18)):
        monkeypatch.setattr(report_size, "MAX_CONFUSION_CELLS", most)
        assert "confusion" in build_detailed_report(of)
        monkeypatch.setattr(report_size, "MAX_CONFUSION_CELLS", most - 1)
        (left_out,) = build_detailed_report(of)["left_out"]
        assert left_out == {
            "part": "confusion",
            "reason": f"it may have {most} cells; a report holds at most {most - 1}",
        }


@pytest.mark.ci  # the limit itself; what happens beyond it is tested above with a small one
def test_half_a_million_instances_with_ten_classes_leave_their_curves_out() -> None:
    names = [f"c{code}" for code in range(10)]
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 10, 500_000)
    gold = [names[code] for code in codes.tolist()]
    scores = rng.dirichlet(np.ones(10), 500_000)
    found = build_detailed_report(case("multiclass", names, gold, gold, scores.tolist()))
    assert [entry["part"] for entry in found["left_out"]] == ["roc_curve", "pr_curve"]


def test_one_part_alone_has_no_list_of_the_classes() -> None:
    assert build_detailed_report(SCORED)["classes"] == ["a", "b"]
    for part in REPORT_PARTS:
        assert "classes" not in build_detailed_report(SCORED, parts=[part])


def rows(report: dict[str, Any], part: str) -> list[dict[str, str]]:
    target = io.StringIO()
    write_csv(report, part, target)
    return list(csv.DictReader(io.StringIO(target.getvalue())))


GOLD, PREDICTED = [["a"], ["a", "b"], ["c"]], [["a", "b"], ["b"], ["c"]]


def test_label_sets_with_scores_have_every_part_that_asks_for_no_label() -> None:
    scores = [[0.9, 0.5, 0.1], [0.4, 0.8, 0.2], [0.1, 0.2, 0.7]]
    found = build_detailed_report(case("multilabel", ["a", "b", "c"], GOLD, PREDICTED, scores=scores))
    assert {"per_class", "label_sets", "confusion", "roc_curve", "pr_curve"} <= set(found)
    assert "calibration" not in found  # its bins are of one label, and nobody says which
    assert found["label_sets"]["empty"] == {"gold": 0, "predicted": 0}
    binary = case("binary", ["a", "b"], ["a", "b"], ["a", "b"], scores=[[0.9, 0.1], [0.2, 0.8]])
    assert "calibration" in build_detailed_report(binary)


@for_each("classes", [["a", "b", "c"], ["a", "b", "c", *(f"x{at}" for at in range(2000))]])
def test_cells_of_label_sets_have_both_counts(classes: list[str]) -> None:
    report = build_detailed_report(case("multilabel", classes, GOLD, PREDICTED), {}, ["confusion"])
    assert ("cells" in report["confusion"]) is (len(classes) > 3)
    found = rows(report, "confusion")
    assert list(found[0]) == ["gold", "predicted", "row_count", "column_count"]
    by_pair = {(row["gold"], row["predicted"]): row for row in found}
    assert float(by_pair["c", "c"]["row_count"]) == float(by_pair["c", "c"]["column_count"]) == 1.0
    cells = {pair: (float(row["row_count"]), float(row["column_count"])) for pair, row in by_pair.items()}
    assert all(any(counts) for counts in cells.values())
    assert sum(counts[0] for counts in cells.values()) == 4.0  # each gold label once: the rows are divided
    assert sum(counts[1] for counts in cells.values()) == 4.0  # each predicted label once
