"""score, validate and metrics without a service, on small real files."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import confusion_matrix, f1_score, matthews_corrcoef, precision_recall_fscore_support

from app.cli.terminal.notes import ScoreNotes
from tests.cli.run_command import run_assay, write_file
from tests.reference_material import needs_shared, shared

GOLD = ["cat", "cat", "cat", "dog", "dog", "emu"]
PREDICTED = ["cat", "dog", "cat", "dog", "emu", "emu"]
IDS = [f"t{number}" for number in range(len(GOLD))]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    lines = (json.dumps({"id": key, "label": label}) + "\n" for key, label in zip(IDS, GOLD, strict=True))
    return write_file(tmp_path / "gold.jsonl", "".join(lines))


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    return write_file(tmp_path / "mine.json", dict(zip(IDS, PREDICTED, strict=True)))


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    return write_file(tmp_path / "classes.json", ["cat", "dog", "emu"])


def score(gold: Path, predictions: Path, *more: object) -> Any:
    ran = run_assay("score", "--gold", gold, "--predictions", predictions, "--json", *more)
    assert ran.status == 0, ran.err + ran.out
    return ran.value()


def test_metrics_are_keyed_as_asked_at_full_precision(gold: Path, predictions: Path) -> None:
    metrics = ("f_beta_macro:beta=0.50", "f1_macro", "mcc")
    found = score(gold, predictions, *(word for metric in metrics for word in ("--metric", metric)))
    assert list(found["metrics"]) == list(metrics)
    assert found["metrics"]["f1_macro"] == pytest.approx(f1_score(GOLD, PREDICTED, average="macro"), abs=1e-15)
    assert found["metrics"]["mcc"] == pytest.approx(matthews_corrcoef(GOLD, PREDICTED), abs=1e-12)
    assert {key: found[key] for key in ("task", "n", "classes")} == {
        "task": "multiclass",
        "n": 6,
        "classes": ["cat", "dog", "emu"],
    }


def test_per_class_and_confusion_agree_with_scikit_learn(gold: Path, predictions: Path) -> None:
    found = score(gold, predictions, "--metric", "accuracy", "--per-class", "--confusion")
    labels = ["cat", "dog", "emu"]
    precision, recall, f1, support = precision_recall_fscore_support(GOLD, PREDICTED, labels=labels)
    for row, label in enumerate(labels):
        entry = found["per_class"][label]
        assert entry["support"] == support[row]
        assert [entry["precision"], entry["recall"], entry["f1"]] == pytest.approx(
            [precision[row], recall[row], f1[row]]
        )
    assert found["confusion"]["labels"] == labels
    assert found["confusion"]["matrix"] == confusion_matrix(GOLD, PREDICTED, labels=labels).tolist()


def test_the_confusion_matrix_of_weighted_gold_holds_its_weights(tmp_path: Path) -> None:
    gold = write_file(tmp_path / "gold.csv", "id,label,weight\n1,a,0.5\n2,b,1.5\n3,a,1\n4,b,0.25\n")
    mine = write_file(tmp_path / "mine.csv", "id,label\n1,a\n2,a\n3,a\n4,b\n")
    found = score(gold, mine, "--task", "multiclass", "--metric", "confusion_matrix", "--confusion")
    assert found["confusion"]["matrix"] == found["data"]["confusion_matrix"]["matrix"] == [[1.5, 0], [1.5, 0.25]]


def test_without_metric_all_that_fit_are_computed(gold: Path, predictions: Path, tmp_path: Path) -> None:
    bare = score(gold, predictions)["metrics"]
    assert {"f1_macro", "f1_of_averages_macro", "accuracy", "mcc", "cohen_kappa"} <= set(bare)
    assert "recall_lfb_train" not in bare
    counts = write_file(tmp_path / "counts.json", {"cat": 2, "dog": 1, "emu": 1})
    assert "recall_lfb_train" in score(gold, predictions, "--train-frequencies", counts)["metrics"]


def test_the_vocabulary_is_both_files_and_said_unless_declared(gold: Path, predictions: Path, tmp_path: Path) -> None:
    predictions.write_text(json.dumps(dict(zip(IDS, ["gnu", *PREDICTED[1:]], strict=True))))
    found = score(gold, predictions, "--metric", "f1_macro")
    assert found["classes"] == ["cat", "dog", "emu", "gnu"]
    assert any("gold and predictions" in note for note in found["notes"])
    more = write_file(tmp_path / "more.json", ["gnu", "emu", "dog", "cat", "yak"])
    declared = score(gold, predictions, "--metric", "f1_macro", "--classes", more)
    assert declared["classes"] == ["gnu", "emu", "dog", "cat", "yak"]
    assert declared["metrics"]["f1_macro"] == pytest.approx(
        f1_score(GOLD, ["gnu", *PREDICTED[1:]], labels=declared["classes"], average="macro", zero_division=0)
    )


def test_an_undefined_value_is_null_with_a_note(tmp_path: Path) -> None:
    only = write_file(tmp_path / "only.json", {"a": "x", "b": "x"})
    found = score(only, only, "--metric", "cohen_kappa")
    assert found["metrics"] == {"cohen_kappa": None}
    assert any(note.startswith("cohen_kappa is undefined:") for note in found["notes"])


def test_the_task_is_inferred_and_said(tmp_path: Path, gold: Path) -> None:
    sets: dict[str, Any] = {
        "records.json": [{"id": "a", "labels": ["x", "y"]}, {"id": "b", "labels": []}],
        "columns.json": {"ids": ["a", "b"], "labels": [["x", "y"], []]},
        "map.json": {"a": ["x", "y"], "b": []},
        "lines.jsonl": '{"id": "a", "labels": ["x", "y"]}\n{"id": "b", "labels": []}\n',
        "table.csv": "id,label\na,x|y\nb,\n",
    }
    for name, content in sets.items():
        path = write_file(tmp_path / name, content)
        found = score(path, path, "--metric", "f1_macro")
        assert (found["task"], found["metrics"]) == ("multilabel", {"f1_macro": 1.0}), name
        assert any("multilabel" in note for note in found["notes"])
    singles: dict[str, Any] = {
        "columns1.json": {"ids": ["a", "b"], "labels": ["x", "y"]},
        "map1.json": {"a": "x", "b": "y"},
        "table1.csv": "id,label\na,x\nb,y\n",
    }
    for name, content in singles.items():
        path = write_file(tmp_path / name, content)
        assert score(path, path, "--metric", "accuracy")["task"] == "multiclass"
        assert score(path, path, "--metric", "f1", "--positive-label", "y")["task"] == "binary"


def test_options_concern_all_metrics(gold: Path, predictions: Path, tmp_path: Path) -> None:
    more = write_file(tmp_path / "more.json", ["cat", "dog", "emu", "yak"])
    words = ("--classes", more, "--metric", "f1_macro")
    over_four = score(gold, predictions, *words)["metrics"]["f1_macro"]
    over_three = score(gold, predictions, *words, "--option", "label_set=gold")["metrics"]["f1_macro"]
    assert over_three == pytest.approx(over_four * 4 / 3)
    assert score(gold, predictions, *words, "--option", "exclude_labels=yak")["metrics"]["f1_macro"] == over_three


def test_weights_and_voided_ids_take_effect(gold: Path, predictions: Path, tmp_path: Path) -> None:
    weights = write_file(tmp_path / "weights.json", {"cat": 1, "dog": 0, "emu": 0})
    words = ("--metric", "weighted_accuracy", "--metric", "accuracy")
    assert score(gold, predictions, *words, "--class-weights", weights)["metrics"]["weighted_accuracy"] == 2 / 3
    void = write_file(tmp_path / "void.json", ["t1", "t4", "elsewhere"])
    found = score(gold, predictions, *words, "--void", void)
    assert (found["n"], found["metrics"]["accuracy"]) == (4, 1.0)


def test_gold_splits_are_scored_beside_the_whole(predictions: Path, tmp_path: Path) -> None:
    rows = [
        {"id": key, "label": label, "split": "public" if row < 3 else "private"}
        for row, (key, label) in enumerate(zip(IDS, GOLD, strict=True))
    ]
    found = score(write_file(tmp_path / "splits.json", rows), predictions, "--metric", "accuracy")
    assert found["metrics"]["accuracy"] == 4 / 6
    assert found["splits"] == {"public": {"accuracy": 2 / 3}, "private": {"accuracy": 2 / 3}}


def test_people_get_a_table_and_notes_beside_it(gold: Path, predictions: Path) -> None:
    words = ("--metric", "f1_macro", "--per-class", "--confusion")
    ran = run_assay("score", "--gold", gold, "--predictions", predictions, *words)
    assert ran.status == 0
    assert "multiclass, 6 instances, 3 classes" in ran.out
    assert f"{f1_score(GOLD, PREDICTED, average='macro'):.6g}" in ran.out
    assert "gold \\ predicted" in ran.out
    assert "Note: the task is assumed to be multiclass" in ran.err


def test_equal_notes_are_said_once_to_people_and_each_to_programs(gold: Path, predictions: Path) -> None:
    metrics = ("f1_micro", "recall_micro", "precision_micro")
    words = [word for metric in metrics for word in ("--metric", metric)]
    text = run_assay("score", "--gold", gold, "--predictions", predictions, *words).err
    assert text.count("equal accuracy") == 1
    assert "f1_micro, recall_micro, precision_micro: " in text
    notes = score(gold, predictions, *words)["notes"]
    assert sum("equal accuracy" in note for note in notes) == 3


def test_many_notes_are_counted_for_people() -> None:
    notes = ScoreNotes(["g"])
    for place in range(8):
        notes.add_for_metric(f"m{place}", f"note {place}")
        notes.add_undefined(f"m{place}", "no positives")
    assert notes.condensed() == [
        "g",
        "m0, m1, m2, m3, m4 and 3 more (--json) are undefined: no positives",
        "m0: note 0",
        "m1: note 1",
        "m2: note 2",
        "… 5 more notes: --json",
    ]
    assert len(notes.all()) == 17


@pytest.mark.parametrize("packed", [False, True])
def test_files_come_through_pipes_and_standard_input(
    gold: Path, predictions: Path, tmp_path: Path, packed: bool
) -> None:
    given = predictions.read_bytes()
    pipe = tmp_path / "predictions"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(given) if packed else given,))
    writer.start()
    assert score(gold, pipe, "--metric", "accuracy") == score(gold, predictions, "--metric", "accuracy")
    writer.join()
    words = ("score", "--gold", gold, "--predictions", "-", "--metric", "accuracy", "--json")
    assert run_assay(*words, stdin=given.decode()).value() == score(gold, predictions, "--metric", "accuracy")


def test_standard_input_is_one_file_only(gold: Path) -> None:
    ran = run_assay("score", "--gold", "-", "--predictions", "-", "--json", stdin=gold.read_text())
    assert (ran.status, ran.value()["code"]) == (2, "wrong_usage")


def test_a_positive_label_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    path = write_file(tmp_path / "two.json", {"a": "x", "b": "y"})
    ran = run_assay("score", "--gold", path, "--predictions", path, "--positive-label", "2", "--json")
    assert (ran.status, ran.value()["code"]) == (2, "wrong_usage")
    assert "'2' is not one of the labels: x, y" in ran.value()["detail"]


def test_offline_no_advice_speaks_of_a_phase(gold: Path, classes: Path, tmp_path: Path) -> None:
    stray = write_file(tmp_path / "stray.json", dict.fromkeys([*IDS, "zebra crossing"], "cat"))
    ran = run_assay("score", "--gold", gold, "--predictions", stray, "--json")
    (problem,) = ran.value()["problems"]
    assert "Use the ids of the template" in problem["message"]
    ids = write_file(tmp_path / "ids.json", IDS)
    ran = run_assay("validate", "-f", stray, "--ids", ids, "--classes", classes, "--json")
    offline = ran.value()["problems"][0]
    assert offline == {name: value for name, value in problem.items() if name != "file"}


def test_a_parameter_of_another_metric_is_hinted_at_by_the_nearest_key(gold: Path, predictions: Path) -> None:
    for metric, near in {"f1_macro:label=cat": "(f1 has one)", "recall_macro:label=cat": "(recall has one)"}.items():
        ran = run_assay("score", "--gold", gold, "--predictions", predictions, "--metric", metric)
        assert (ran.status, near in ran.err) == (1, True), ran.err


BAD = {"t0": "cat", "t1": "gnu", "nobody": "dog", "t2": "cat", "t3": "dog", "t4": "emu"}


def test_problems_are_shown_as_a_table_with_totals(gold: Path, classes: Path, tmp_path: Path) -> None:
    bad = write_file(tmp_path / "bad.json", BAD)
    ran = run_assay("score", "--gold", gold, "--predictions", bad, "--classes", classes)
    assert (ran.status, ran.out) == (1, "")
    for part in ("3 problems:", "unknown_id 1", "missing_instances 1", "unknown_label 1", "/nobody", "gnu"):
        assert part in ran.err
    as_json = run_assay("score", "--gold", gold, "--predictions", bad, "--classes", classes, "--json")
    assert as_json.status == 1
    report = as_json.value()
    assert report["valid"] is False
    assert report["total"] == {"unknown_id": 1, "missing_instances": 1, "unknown_label": 1}
    assert {one["file"] for one in report["problems"]} == {"predictions"}


def test_problems_of_both_files_come_in_one_answer_without_their_echoes(tmp_path: Path) -> None:
    gold = write_file(tmp_path / "gold.csv", "id,label\nt0,cat\nt0,dog\n")
    mine = write_file(tmp_path / "mine.jsonl", '{"id": "t0", "label": "cat"}\n{"id": "t9", "label": "dog"}\n{"id":\n')
    report = run_assay("score", "--gold", gold, "--predictions", mine, "--json").value()
    assert report["total"] == {"duplicate_id": 1, "syntax": 1}
    assert [(one["file"], one["code"]) for one in report["problems"]] == [
        ("gold", "duplicate_id"),
        ("predictions", "syntax"),
    ]


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (["--metric", "f1_makro"], 1, "f1_macro"),
        (["--metric", "subset_accuracy"], 1, "multiclass"),
        (["--option", "label_sett=gold"], 1, "label_set"),
        (["--option", "label_set"], 2, "name=value"),
        (["--option", "label_set=gold", "--option", "label_set=declared"], 2, "twice"),
        (["--task", "binary"], 2, "--positive-label"),
        (["--task", "ternary"], 2, "ternary"),
        (["--confusion", "--task", "multilabel", "--metric", "f1_macro"], 1, ""),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_json_value(
    gold: Path, predictions: Path, words: list[str], status: int, part: str
) -> None:
    ran = run_assay("score", "--gold", gold, "--predictions", predictions, "--json", *words)
    assert ran.status == status
    assert part in json.dumps(ran.value())


@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--classes", '{"cat": 1}'),
        ("--classes", '["cat", 1.5]'),
        ("--classes", '["cat", "cat"]'),
        ("--train-frequencies", '{"cat": 1.5}'),
        ("--train-frequencies", '{"cat": -1}'),
        ("--train-frequencies", "[1]"),
        ("--class-weights", '{"cat": NaN}'),
        ("--class-weights", '{"cat": "1"}'),
        ("--class-weights", '{"cat": 1, "cat": 2}'),
        ("--void", "t1"),
    ],
)
def test_a_bad_table_is_refused_by_name(
    gold: Path, predictions: Path, tmp_path: Path, option: str, content: str
) -> None:
    path = write_file(tmp_path / "table.json", content)
    ran = run_assay("score", "--gold", gold, "--predictions", predictions, option, path, "--json")
    assert ran.status == 1
    assert ran.value()["detail"]


@needs_shared
@pytest.mark.parametrize("system", ["RuG_coarse_1", "RuG_coarse_2", "RuG_coarse_3"])
def test_the_files_of_a_real_challenge_get_their_official_score(system: str) -> None:
    folder = shared() / "challenges" / "germeval2018-coarse"
    expected = json.loads((folder / "expected.json").read_text())["systems"][system]
    names = {"f1_of_averages_macro": "official_score", "f1_macro": "f1_macro", "accuracy": "accuracy"}
    words = [word for metric in names for word in ("--metric", metric)]
    classes = ("--classes", folder / "classes.json")
    found = score(folder / "gold.jsonl.gz", folder / "predictions" / f"{system}.json.gz", *words, *classes)
    assert found["n"] == expected["n"]
    for metric, name in names.items():
        assert found["metrics"][metric] == pytest.approx(expected[name], abs=1e-11)


# ---- validate, offline


TEMPLATES = {
    "list.json": json.dumps(IDS),
    "records.json": json.dumps({"predictions": [{"id": key, "label": ""} for key in IDS]}),
    "columns.json": json.dumps({"ids": IDS, "labels": [""] * len(IDS)}),
    "map.json": json.dumps(dict.fromkeys(IDS, "")),
    "template.jsonl": "".join(json.dumps({"id": key, "label": ""}) + "\n" for key in IDS),
    "template.csv": "id,label\n" + "".join(f"{key},\n" for key in IDS),
    "ids.txt": "\n".join(IDS),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_predictions_are_checked_against_ids_in_any_form(
    tmp_path: Path, predictions: Path, classes: Path, name: str
) -> None:
    ids = write_file(tmp_path / name, TEMPLATES[name])
    ran = run_assay("validate", "-f", predictions, "--ids", ids, "--classes", classes, "--json")
    assert (ran.status, ran.value()["valid"]) == (0, True)
    bad = write_file(tmp_path / "bad.json", BAD)
    refused = run_assay("validate", "-f", bad, "--ids", ids, "--classes", classes, "--json")
    assert refused.status == 1
    assert refused.value()["total"] == {"unknown_id": 1, "missing_instances": 1, "unknown_label": 1}
    named = run_assay("validate", "irony", "-f", bad, "--ids", ids, "--classes", classes, "--json")
    assert (named.status, named.value()) == (1, refused.value())  # offline a challenge's name makes no difference


def test_a_file_of_sets_is_checked_as_multilabel(tmp_path: Path, classes: Path) -> None:
    ids = write_file(tmp_path / "ids.json", ["a", "b"])
    mine = write_file(tmp_path / "mine.json", {"a": ["cat", "dog"], "b": []})
    ran = run_assay("validate", "-f", mine, "--ids", ids, "--classes", classes)
    assert (ran.status, ran.out) == (0, "mine.json is valid.\n")
    assert run_assay("validate", "-f", mine, "--ids", ids, "--classes", classes, "--task", "multiclass").status == 1


def test_a_positive_label_outside_the_classes_is_refused(tmp_path: Path, predictions: Path, classes: Path) -> None:
    ids = write_file(tmp_path / "ids.json", IDS)
    words = ("--ids", ids, "--classes", classes, "--positive-label", "yak")
    ran = run_assay("validate", "-f", predictions, *words, "--json")
    assert (ran.status, ran.value()["code"]) == (2, "wrong_usage")
    assert "labels: cat, dog, emu" in ran.value()["detail"]


# ---- metrics
