"""assay score: its notes, the metrics that it computes by default, and the report."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric import CATALOGUE, SCORES
from tests.cli.run_command import CommandResult, run_assay, write_file


def files(folder: Path, gold: Any, predictions: Any) -> list[object]:
    return [
        "--gold",
        write_file(folder / "gold.json", gold),
        "--predictions",
        write_file(folder / "mine.json", predictions),
    ]


def run_score(*words: object) -> CommandResult:
    return run_assay("score", "--json", *words)


def score(*words: object) -> Any:
    ran = run_score(*words)
    assert ran.status == 0, ran.err + ran.out
    return ran.value()


def records(**rows: Any) -> list[dict[str, Any]]:
    return [{"id": key, **fields} for key, fields in rows.items()]


PLAIN = {"t1": "a", "t2": "b", "t3": "a"}


# ---- what checking finds out


def test_dropped_labels_and_filled_in_predictions_are_notes(tmp_path: Path) -> None:
    two = files(tmp_path, {"t1": ["a"], "t2": ["b"], "t3": ["a"]}, {"t1": ["a", "zz"], "t2": ["b"]})
    classes = write_file(tmp_path / "classes.json", ["a", "b"])
    lenient = ("--option", "unknown_label=drop", "--option", "missing=empty_prediction")
    notes = score(*two, "--metric", "f1_macro", "--classes", classes, *lenient)["notes"]
    assert "1 label outside the vocabulary was dropped (unknown_label=drop)" in notes
    assert "1 instance without a prediction counts as empty predictions (missing=empty_prediction)" in notes


@pytest.mark.parametrize(
    ("gold", "part"),
    [
        (
            records(t1={"label": "a", "weight": 0.5}, t2={"label": "b", "weight": 2}, t3={"label": "a", "weight": 1}),
            "weights",
        ),
        (
            records(**{key: {"label": label, "split": "private"} for key, label in PLAIN.items()}),
            "no instance is public",
        ),
        ({"t1": ["a", "b"], "t2": ["b"], "t3": ["a"]}, "acceptable"),
    ],
)
def test_what_the_gold_is_like_is_a_note(tmp_path: Path, gold: Any, part: str) -> None:
    notes = score(*files(tmp_path, gold, PLAIN), "--metric", "accuracy", "--task", "multiclass")["notes"]
    assert any(part in note for note in notes), notes


# ---- what is computed without being asked


def test_scores_beside_labels_are_scored_too_when_nothing_is_asked(tmp_path: Path) -> None:
    mine = records(**{key: {"label": label, "scores": {"a": 0.7, "b": 0.3}} for key, label in PLAIN.items()})
    found = score(*files(tmp_path, PLAIN, mine))["metrics"]
    assert {"accuracy", "auc_ovr_macro"} <= set(found)
    assert any(SCORES in CATALOGUE[key].needs for key in found)
    alone = score(*files(tmp_path, PLAIN, PLAIN))["metrics"]
    assert not any(SCORES in CATALOGUE[key].needs for key in alone)


def test_of_acceptable_answers_only_metrics_that_are_defined_for_them_are_shown(tmp_path: Path) -> None:
    gold = {"t1": ["a", "b"], "t2": ["b"], "t3": ["a"]}
    found = score(*files(tmp_path, gold, PLAIN), "--task", "multiclass")["metrics"]
    assert found["accuracy"] == 1.0
    assert all(CATALOGUE[key].acceptable for key in found)


def test_under_the_preset_caret_the_first_class_is_the_positive_label(tmp_path: Path) -> None:
    two = files(tmp_path, {"t1": "b", "t2": "a", "t3": "a"}, {"t1": "b", "t2": "b", "t3": "a"})
    command = (*two, "--task", "binary", "--metric", "recall")
    classes = ("--classes", write_file(tmp_path / "classes.json", ["b", "a"]))
    assert score(*command, *classes, "--preset", "caret")["metrics"]["recall"] == 1.0
    assert score(*command, *classes, "--preset", "caret", "--positive-label", "a")["metrics"]["recall"] == 0.5
    assert run_score(*command, *classes).status == 2  # without the preset somebody has to say it
    assert run_score(*command, "--preset", "caret").status == 2  # and without classes none is the first


def test_a_metric_is_keyed_by_the_name_that_was_asked(tmp_path: Path) -> None:
    two = files(tmp_path, PLAIN, PLAIN | {"t3": "b"})
    metrics = ("threat_score_macro", "jaccard_macro", "threat_score_micro:label_set=gold")
    found = score(*two, *(word for key in metrics for word in ("--metric", key)))["metrics"]
    assert list(found) == list(metrics)
    assert found["threat_score_macro"] == found["jaccard_macro"] == 0.5


# ---- probabilities


@pytest.mark.parametrize(
    ("row", "fits"), [([0.499, 0.5], True), ([0.111] * 9, True), ([0.9, 0.101], True), ([0.4989, 0.5], False)]
)
def test_rows_that_are_a_thousandth_off_are_probabilities_and_the_refusal_says_how_far(
    tmp_path: Path, row: list[float], fits: bool
) -> None:
    classes = [f"c{at}" for at in range(len(row))]
    gold = {f"t{at}": label for at, label in enumerate(classes)}
    mine = records(**{key: {"scores": dict(zip(classes, row, strict=True))} for key in gold})
    ran = run_score(*files(tmp_path, gold, mine), "--metric", "brier_multiclass_sum", "--task", "multiclass")
    assert ran.status == (0 if fits else 1), ran.err + ran.out
    if not fits:
        assert ran.value()["problems"][0]["expected"] == "a sum of 1, within 0.001"


# ---- a hierarchy


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        ({"parents": {"a": ["r"]}}, {"parents": {"a": ["r"], "r": [], "b": []}}),
        ({"parent": {"a": "r"}}, {"parent": {"a": "r", "r": None, "b": None}}),
    ],
)
def test_a_class_outside_the_hierarchy_is_mended_as_the_remedy_says(tmp_path: Path, given: Any, mended: Any) -> None:
    command = (*files(tmp_path, PLAIN, PLAIN), "--metric", "hierarchical_f1", "--hierarchy")
    refused = run_score(*command, write_file(tmp_path / "tree.json", given))
    assert refused.status == 1
    assert '"b": [], "r": []' in json.dumps(refused.value(), ensure_ascii=False).replace("\\", "")
    assert refused.value()["code"] == "invalid_accessory"
    assert score(*command, write_file(tmp_path / "mended.json", mended))["metrics"]["hierarchical_f1"] == 1.0


def test_a_hierarchy_in_both_forms_is_refused(tmp_path: Path) -> None:
    tree = write_file(tmp_path / "tree.json", {"parents": {"a": ["r"]}, "parent": {"a": "r"}})
    ran = run_score(*files(tmp_path, PLAIN, PLAIN), "--metric", "hierarchical_f1", "--hierarchy", tree)
    assert ran.status == 1
    assert "both" in ran.value()["detail"]


# ---- the report


def test_a_report_of_label_sets_holds_notes_options_and_version(tmp_path: Path) -> None:
    gold = {"t1": ["a"], "t2": ["a", "b"]}
    mine = records(
        t1={"labels": ["a"], "scores": {"a": 0.9, "b": 0.1}}, t2={"labels": [], "scores": {"a": 0.2, "b": 0}}
    )
    path = tmp_path / "report.json"
    words = ("--preset", "sklearn", "--option", "label_set=gold", "--report", path)
    shown = score(*files(tmp_path, gold, mine), "--metric", "f1_macro", *words)
    report = json.loads(path.read_text())
    assert report["scorer_version"] == SCORER_VERSION
    assert report["options"] == {"preset": "sklearn", "label_set": "gold"}
    assert report["notes"] == shown["notes"] != []
    assert report["metrics"] == shown["metrics"]
    assert {"per_class", "label_sets", "confusion", "roc_curve"} <= set(report)


def test_a_report_may_be_the_table_of_classes(tmp_path: Path) -> None:
    path = tmp_path / "report.CSV"
    score(*files(tmp_path, PLAIN, PLAIN), "--metric", "accuracy", "--report", path)
    with path.open() as table:
        assert [row["label"] for row in csv.DictReader(table)] == ["a", "b"]


@pytest.mark.parametrize("name", ["report.xlsx", "report", "report.json.gz"])
def test_a_report_of_another_ending_is_refused_before_anything_is_scored(tmp_path: Path, name: str) -> None:
    ran = run_score(*files(tmp_path, PLAIN, PLAIN), "--report", tmp_path / name)
    assert ran.status == 2
    assert ".json or .csv" in ran.out + ran.err
    assert not (tmp_path / name).exists()


def test_one_is_one(tmp_path: Path) -> None:
    ran = run_assay("score", *files(tmp_path, {"t1": "a"}, {"t1": "a"}), "--metric", "accuracy")
    assert "multiclass, 1 instance, 1 class\n" in ran.out
