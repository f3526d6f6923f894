"""assay what-if: costs, steps, doubtful predictions and other prevalences, on small files."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from app.analysis.scenarios import expected_wrong
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.cli.run_command import run_assay, write_file

MATRIX = {"c1": (3, 5, 2, 0), "c2": (1, 1, 4, 4), "c3": (1, 2, 6, 5), "c4": (0, 0, 0, 6)}  # Van Asch 2013, Table 3
PAIRS = [(gold, list(MATRIX)[j]) for gold, row in MATRIX.items() for j, count in enumerate(row) for _ in range(count)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    gold = write_file(tmp_path / "gold.json", {str(row): gold for row, (gold, _) in enumerate(PAIRS)})
    mine = write_file(tmp_path / "mine.json", {str(row): chosen for row, (_, chosen) in enumerate(PAIRS)})
    counts = write_file(tmp_path / "train.json", {"c1": 10, "c2": 20, "c3": 30, "c4": 40})
    return ("what-if", "--gold", gold, "--predictions", mine, "--train-frequencies", counts)


@pytest.fixture
def scored_files(tmp_path: Path) -> tuple[object, ...]:
    gold = write_file(tmp_path / "gold.csv", "id,label\nt1,a\nt2,b\nt3,c\nt4,c\n")
    rows = "id,label,a,b,c\nt1,a,0.9,0.1,0.0\nt2,a,0.4,0.3,0.3\nt3,b,0.1,0.5,0.4\nt4,c,0.2,0.2,0.6\n"
    classes = write_file(tmp_path / "classes.json", ["a", "b", "c"])
    return ("what-if", "--gold", gold, "--predictions", write_file(tmp_path / "mine.csv", rows), "--classes", classes)


def test_costs_of_each_label_are_shown_where_nothing_is_tried(files: tuple[object, ...]) -> None:
    ran = run_assay(*files)
    assert ran.status == 0
    assert "macro averages where a prediction changes" in ran.out
    assert "lfb_train averages where a prediction changes" in ran.out
    costs = run_assay(*files, "--json").value()["costs"]
    assert costs["labels"]["c4"]["gives"]["macro"]["fraction"] == "1/140"  # 6 (1/14 - 1/15) / 4
    assert costs["labels"]["c4"]["gains"] is None
    assert costs["labels"]["c1"]["gains"]["recall"]["lfb_train"] == {"value": 0.01, "fraction": "1/100"}
    assert run_assay(*files, "--count", 3, "--json").value()["costs"]["labels"]["c1"]["gives"] is None


def test_steps_are_taken_together(files: tuple[object, ...]) -> None:
    found = run_assay(*files, "--move", "c4,c2,1", "--json").value()
    assert found["change"]["precision"]["lfb_train"]["fraction"] == "109/12600"
    assert found["averages"]["precision"]["macro"]["fraction"] == "13/32"
    words = ("--move", "c4,c3,3", "--move", "c3,c2,1", "--correct", "c3,c2,2")
    ran = run_assay(*files, *words)
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()[-3:]] == ["macro", "micro", "lfb_train"]
    gain = run_assay(*files, "--gain", "c3,2", "--json").value()["change"]
    assert (gain["precision"]["macro"], gain["precision"]["micro"]["fraction"]) == (None, "1/20")


def test_weighted_instances_count_as_they_weigh_whatever_the_unit(tmp_path: Path) -> None:
    """One more instance that is right, of a weight with more digits, makes the unit of counting smaller."""
    mine = write_file(tmp_path / "p.csv", "id,label\n1,a\n2,a\n3,b\n4,c\n")
    for last in ("1", "1.001"):
        rows = f"id,label,weight\n1,a,0.5\n2,b,1.5\n3,b,2\n4,c,{last}\n"
        words = ("what-if", "--gold", write_file(tmp_path / "g.csv", rows), "--predictions", mine)
        ran = run_assay(*words)
        assert "macro averages where predictions of weight 1 change" in ran.out
        row = next(line.split() for line in ran.out.splitlines() if line.startswith("a "))
        assert list(map(float, row[1:4])) == [0.5, 1.5, 0]
        costs = run_assay(*words, "--json", "--count", "0.5").value()["costs"]
        a = costs["labels"]["a"]
        assert (costs["count"], a["tp"], a["fp"], a["fn"], costs["labels"]["c"]["tp"]) == (
            0.5,
            0.5,
            1.5,
            0,
            float(last),
        )
        assert a["gives"]["macro"]["fraction"] == "1/36"  # (0.5 / 1.5 - 0.5 / 2) / 3
        change = run_assay(*words, "--correct", "a,b,1.25", "--gain", "b,0.25", "--json").value()["change"]
        assert change["recall"]["macro"]["fraction"] == "1/7"  # 1.5 / 3.5 / 3
        refused = run_assay(*words, "--move", "a,c,1.75", "--json")
        assert (refused.status, "Only 1.5 false positives" in refused.value()["detail"]) == (1, True)


def test_labels_may_hold_commas(tmp_path: Path) -> None:
    gold = write_file(tmp_path / "gold.json", {"1": "a,b", "2": "c", "3": "c"})
    mine = write_file(tmp_path / "mine.json", {"1": "c", "2": "a,b", "3": "c"})
    found = run_assay("what-if", "--gold", gold, "--predictions", mine, "--correct", "c,a,b,1", "--json").value()
    assert found["change"]["recall"]["micro"]["fraction"] == "1/3"


def test_the_least_sure_predictions_are_changed(scored_files: tuple[object, ...]) -> None:
    ran = run_assay(*scored_files, "--share", "0.5", "--target-label", "c")
    assert ran.status == 0
    assert "2 doubtful predictions, 2 of them changed to 'c': 0 right before, 1 after the change" in ran.out
    line = next(line for line in ran.out.splitlines() if line.startswith("accuracy"))
    assert line.split() == ["accuracy", "0.500000", "0.750000", "0.750000"]
    found = run_assay(
        *scored_files, "--threshold", "0.45", "--target-label", "c", "--metric", "accuracy", "--json"
    ).value()["changed"]
    assert (found["doubtful"], found["right_after"]) == (1, 0)
    assert found["metrics"] == {
        "accuracy": {"now": 0.5, "changed": 0.5, "changed_difference": 0.0, "upper": 0.75, "upper_difference": 0.25}
    }


def test_a_share_of_weighted_predictions_is_one_of_their_weight(tmp_path: Path) -> None:
    """The same result as with the heavy instance repeated five times: it is more than half of all predictions."""
    gold = write_file(tmp_path / "gold.csv", "id,label,weight\n1,a,2.5\n2,a,0.5\n3,b,0.5\n4,b,0.5\n5,b,0\n")
    mine = write_file(tmp_path / "mine.csv", "id,label,a,b\n1,b,.4,.6\n2,b,.3,.7\n3,b,.2,.8\n4,b,.1,.9\n5,b,.5,.5\n")
    words = (
        "what-if",
        "--gold",
        gold,
        "--predictions",
        mine,
        "--classes",
        write_file(tmp_path / "classes.json", ["a", "b"]),
    )
    tell = "doubtful predictions of weight {0}, {0} of it changed to 'a': {1} right before, {0} after the change"
    assert tell.format(0, 0) in run_assay(*words, "--target-label", "a", "--share", "0.5", "-m", "accuracy").out
    ran = run_assay(*words, "--target-label", "a", "--threshold", "0.75", "-m", "accuracy", "--json").value()["changed"]
    assert [ran[key] for key in ("doubtful", "moved", "right_before", "right_after")] == [3, 3, 0, 3]
    assert ran["metrics"]["accuracy"]["changed"] == 1


def test_the_upper_bound_needs_no_scores(files: tuple[object, ...]) -> None:
    ran = run_assay(*files, "--target-label", "c1", "--json")
    assert (
        ran.value()["changed"]["metrics"]["recall_macro"]["upper"] > ran.value()["averages"]["recall"]["macro"]["value"]
    )
    assert "all wrong predictions changed to 'c1'" in run_assay(*files, "--target-label", "c1").out


def test_scores_at_another_share_of_positives(files: tuple[object, ...], tmp_path: Path) -> None:
    gold = write_file(tmp_path / "g.json", {str(row): "A" if row < 5 else "B" for row in range(1005)})
    mine = write_file(tmp_path / "p.json", {str(row): "A" if row < 4 or 5 <= row < 28 else "B" for row in range(1005)})
    words = ("what-if", "--gold", gold, "--predictions", mine, "--positive-label", "A", "--prevalence", "1/20")
    found = run_assay(*words, "--json").value()["prevalence"]
    assert found["metrics"]["f1_macro"]["at_prevalence"] == pytest.approx(71735831 / 84475831, abs=1e-15)
    assert "share of positive instances: 0.00497512 now, 0.05 tried" in run_assay(*words).out
    refused = run_assay(*files, "--prevalence", "0.05", "--json")
    assert (refused.status, "Only a binary task" in refused.value()["detail"]) == (1, True)


def test_what_is_undefined_has_a_note(scored_files: tuple[object, ...], tmp_path: Path) -> None:
    only = write_file(tmp_path / "only.json", {"1": "a", "2": "a"})
    ran = run_assay(
        "what-if", "--gold", only, "--predictions", only, "--target-label", "a", "--metric", "cohen_kappa", "--json"
    )
    assert ran.value()["changed"]["metrics"]["cohen_kappa"]["upper"] is None
    assert any(note.startswith("cohen_kappa is undefined:") for note in ran.value()["notes"])


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (["--threshold", "0.5"], 2, "--target-label"),
        (["--threshold", "0.5", "--share", "0.1", "--target-label", "c1"], 2, "--share"),
        (["--threshold", "nan", "--target-label", "c1"], 2, "not a number"),
        (["--share", "1.5", "--target-label", "c1"], 2, "not a number between 0 and 1"),
        (["--share", "1/0", "--target-label", "c1"], 2, "not a number between 0 and 1"),
        (["--share", "0.1", "--target-label", "c1"], 1, "have no scores"),
        (["--target-label", "c9"], 2, "labels: c1, c2, c3, c4"),
        (["--move", "c4,c2"], 2, "FROM,TO,COUNT"),
        (["--move", "c4,c2,0"], 2, "FROM,TO,COUNT"),
        (["--move", "c4,c2,1.5"], 2, "FROM,TO,COUNT"),
        (["--count", "0"], 2, "not a number of predictions"),
        (["--count", "1.5"], 2, "not a number of predictions"),
        (["--move", "c4,c4,1"], 2, "labels: c1"),
        (["--gain", "c9,1"], 2, "labels: c1"),
        (["--move", "c4,c2,-1"], 2, "FROM,TO,COUNT"),
        (["--move", "c4,c2,6"], 1, "Only 5 false positives"),
        (["--target-label", "c1", "--metric", "f1_makro"], 1, "f1_macro"),
        (["--prevalence", "0"], 1, "Only a binary task"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_one_json_value(
    files: tuple[object, ...], words: list[str], status: int, part: str
) -> None:
    ran = run_assay(*files, *words, "--json")
    assert ran.status == status
    assert part in json.dumps(ran.value())


def test_problems_of_the_files_are_those_of_score(files: tuple[object, ...], tmp_path: Path) -> None:
    bad = write_file(tmp_path / "bad.json", {"0": "c1", "nobody": "c2"})
    ran = run_assay(*files[:4], bad, "--json")
    assert ran.status == 1
    assert ran.value()["total"] == {"unknown_id": 1, "missing_instances": 39}


def test_costs_follow_the_options_that_are_given(tmp_path: Path) -> None:
    gold = write_file(tmp_path / "g.csv", "id,label\n1,a\n2,a\n3,b\n")
    classes = write_file(tmp_path / "c.json", ["a", "b"])

    def tried(mine: str, option: str) -> dict[str, Any]:
        words = ("what-if", "--gold", gold, "--predictions", write_file(tmp_path / "p.csv", mine), "--classes", classes)
        found: dict[str, Any] = run_assay(*words, "--gain", "a,1", "--option", option, "--json").value()
        return found

    for mine, option in (("2,a\n3,b\n", "missing=empty_prediction"), ("1,zz\n2,a\n3,b\n", "unknown_label=drop")):
        found = tried("id,label\n" + mine, option)
        assert (found["averages"]["precision"]["micro"]["value"], found["change"]["precision"]["micro"]["value"]) == (
            1,
            0,
        )
    counted = tried("id,label\n1,zz\n2,a\n3,b\n", "unknown_label=count_as_fp")
    assert (
        counted["averages"]["precision"]["micro"]["fraction"],
        counted["change"]["precision"]["micro"]["fraction"],
    ) == ("2/3", "1/3")
    assert "missing" in tried("id,label\n2,a\n3,b\n", "missing=never")["detail"]


def test_costs_count_repeated_labels_as_the_options_say(tmp_path: Path) -> None:
    gold = write_file(tmp_path / "g.json", {"1": ["a"], "2": ["b"]})
    mine = write_file(tmp_path / "p.json", {"1": ["a", "a"], "2": ["b"]})
    words = ("--gold", gold, "--predictions", mine, "--json")
    for option, wanted in (("duplicates=set", 1), ("duplicates=multiset", 0.75)):
        found = run_assay("what-if", *words, "--option", option).value()["averages"]["precision"]["macro"]["value"]
        scored = run_assay("score", *words, "--option", option, "--metric", "precision_macro").value()
        assert found == wanted == scored["metrics"]["precision_macro"]


CONFIDENCES = {0.2: False, 0.3: True, 0.4: False, 0.5: False, 0.6: True, 0.8: True, 0.9: True}
"""Scores and whether their predictions are right: 0 of 1, then 1 of 3, then 3 of 3 is the best rising accuracy."""


def cut_files(folder: Path, sign: int = 1) -> tuple[object, ...]:
    gold = write_file(folder / "gold.json", {str(score): "a" if right else "b" for score, right in CONFIDENCES.items()})
    rows = "".join(f"{score},a,{sign * score},{-sign},{-sign}\n" for score in CONFIDENCES)
    mine = write_file(folder / "mine.csv", "id,label,a,b,c\n" + rows)
    classes = write_file(folder / "classes.json", ["a", "b", "c"])
    return ("what-if", "--gold", gold, "--predictions", mine, "--classes", classes, "--target-label", "c")


@pytest.mark.parametrize(
    ("accuracy", "doubtful", "right", "last"),
    [("0", 0, 0, None), ("0.3", 1, 0, 0.2), ("1/3", 1, 0, 0.2), ("0.35", 4, 1, 0.5), ("1", 4, 1, 0.5)],
)
def test_predictions_below_an_expected_accuracy_are_changed(
    accuracy: str, doubtful: int, right: int, last: float | None, tmp_path: Path
) -> None:
    words = (*cut_files(tmp_path), "--expected-accuracy", accuracy, "-m", "accuracy")
    found = run_assay(*words, "--json").value()["changed"]
    assert [found[key] for key in ("doubtful", "moved", "right_before", "right_after")] == [
        doubtful,
        doubtful,
        right,
        0,
    ]
    assert found["last_score"] == last
    assert found["metrics"]["accuracy"]["changed"] == (4 - right) / 7
    out = run_assay(*words).out
    assert (f"is {last}" if last else "at no score") in out


def test_the_cut_by_expected_accuracy_follows_the_direction_of_scores(tmp_path: Path) -> None:
    words = (*cut_files(tmp_path, -1), "--option", "score_direction=lower", "--expected-accuracy", "0.35")
    found = run_assay(*words, "-m", "accuracy", "--json").value()["changed"]
    assert (found["doubtful"], found["last_score"]) == (4, -0.5)


def test_the_cut_by_expected_accuracy_is_that_of_isotonic_regression() -> None:
    """scikit-learn fits the rising accuracy; equally confident and weighted predictions included."""
    random = np.random.default_rng(7)
    spec = TaskSpec("multiclass", ("a", "b"))
    for _ in range(30):
        n = int(random.integers(1, 60))
        confidence = random.integers(0, 20, n) / 16
        right = random.random(n) < confidence / 1.5
        weights = random.integers(1, 5, n)
        case = EvaluationInput(spec, Labels(np.where(right, 0, 1).astype(np.int32)), Labels(np.zeros(n, np.int32)))
        fit = IsotonicRegression().fit_transform(confidence, right.astype(float), sample_weight=weights)
        for accuracy in (Fraction(7, 20), Fraction(61, 100)):
            cut = expected_wrong(case, confidence, accuracy, weights)
            clear = abs(fit - float(accuracy)) > 1e-9
            assert (cut == (fit < float(accuracy)))[clear].all()


def test_only_one_way_of_selecting_doubtful_predictions_is_taken(scored_files: tuple[object, ...]) -> None:
    ran = run_assay(*scored_files, "--share", "0.1", "--expected-accuracy", "0.3", "--target-label", "c")
    assert (ran.status, "not allowed with --share" in ran.err) == (2, True)
    ran = run_assay(*scored_files, "--expected-accuracy", "0.3")
    assert (ran.status, "--target-label" in ran.err) == (2, True)
