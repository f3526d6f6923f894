"""Relabellings: which gold they give, what they refuse, and the ranks before and after."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.analysis.items.corrected_gold import change_records, changes_csv, gold_lines
from app.analysis.items.relabelling import LabelChange, describe_moves, relabel, score_twice
from app.errors import InvalidContent
from app.formats import FileKind
from app.pipeline import SourceFile, load_gold
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.scoring.case_builder import case

IDS = ["i1", "i2", "i3"]
CLASSES = ("a", "b", "c")


def changes(**labels: Any) -> list[LabelChange]:
    return [LabelChange.of({"id": name, "labels": value}) for name, value in labels.items()]


def faults(of: EvaluationInput, *wanted: LabelChange) -> list[str]:
    with pytest.raises(InvalidContent) as refused:
        relabel(of.spec, of.gold, IDS, wanted, of.unknown)
    return [fault["detail"] for fault in refused.value.extra.get("errors", [])]


def test_single_labels_stay_single_and_void_instances_go() -> None:
    before = case("multiclass", CLASSES, ["a", "b", "c"], ["a", "b", "c"])
    found = relabel(before.spec, before.gold, IDS, changes(i1=["b"], i2=None, i3=["c"]))
    assert (found.labels.codes.tolist(), found.labels.offsets) == ([1, 1, 2], None)
    assert found.kept.tolist() == [0, 2]
    assert found.summary() == {"relabelled": 1, "voided": 1, "unchanged": 1}
    assert before.gold.codes.tolist() == [0, 1, 2]


def test_several_answers_make_the_gold_one_of_sets() -> None:
    before = case("multiclass", CLASSES, ["a", "b", "c"], ["a", "b", "b"])
    found = relabel(before.spec, before.gold, IDS, changes(i3=["c", "b"]))
    assert found.labels.offsets is not None
    assert (found.labels.codes.tolist(), found.labels.offsets.tolist()) == ([0, 1, 1, 2], [0, 1, 2, 4])


def test_sets_are_replaced_as_a_whole() -> None:
    before = case("multilabel", CLASSES, ["ab", "", "c"], ["", "", ""])
    found = relabel(before.spec, before.gold, IDS, changes(i1=[], i2=["c", "a"], i3=["c"]))
    assert found.labels.offsets is not None
    assert (found.labels.codes.tolist(), found.labels.offsets.tolist()) == ([0, 2, 2], [0, 0, 2, 3])
    assert found.unchanged == 1


def test_all_faults_are_named() -> None:
    single = case("multiclass", CLASSES, ["a", "b", "c"], ["a", "b", "c"])
    assert faults(single, *changes(i1=["x"], i2=[], i9=["a"]), *changes(i3=["a"]), *changes(i3=["b"])) == [
        "'i1' would get the label 'x', which is none of the classes",
        "'i2' would have no label; null voids it",
        "'i9' is no scored id of the gold",
        "'i3' is listed twice",
    ]
    binary = case("binary", ("y", "n"), ["y", "n", "n"], ["y", "n", "n"])
    assert faults(binary, *changes(i1=["y", "n"])) == [
        "'i1' would have several labels, which a binary task does not allow"
    ]
    assert faults(single, *changes(i1=None, i2=None, i3=None)) == []
    sets = case("multilabel", CLASSES, ["a", "b", "c"], ["", "", ""])
    unknown = Labels(np.array([2], dtype=np.int32), np.array([0, 1, 1, 1]))
    with pytest.raises(InvalidContent, match="'i1' has unknown cells"):
        relabel(sets.spec, sets.gold, IDS, changes(i1=["a"]), unknown)


def test_ranks_and_values_before_and_after() -> None:
    systems = {"x": ["a", "b", "b"], "y": ["b", "b", "c"], "base": ["a", "b", "c"]}
    cases = {name: case("multiclass", CLASSES, ["a", "b", "b"], answers) for name, answers in systems.items()}
    first = cases["x"]
    found = relabel(first.spec, first.gold, IDS, changes(i1=["b"], i3=["c"]))
    calls = [parse_metric("accuracy")]
    twice = [score_twice(name, each, found, calls, baseline=name == "base") for name, each in cases.items()]
    moves = describe_moves(twice, calls, ["accuracy"])
    assert [(row["system"], row["rank"], row["move"], row["values"]["accuracy"]) for row in moves["rows"]] == [
        ("y", {"before": 2, "after": 1}, 1, {"before": 1 / 3, "after": 1.0}),
        ("base", {"before": None, "after": None}, None, {"before": 2 / 3, "after": 2 / 3}),
        ("x", {"before": 1, "after": 2}, -1, {"before": 1.0, "after": 1 / 3}),
    ]
    assert moves["moved"] == 2


def test_a_corrected_file_keeps_splits_weights_and_void_instances(tmp_path: Path) -> None:
    rows = [
        {"id": "i1", "labels": ["a"], "split": "public", "weight": 0.5},
        {"id": "i2", "labels": ["b", "c"], "split": "private", "weight": 1.5},
        {"id": "i3", "labels": [], "split": "private", "weight": 1},
        {"id": "=i4", "labels": ["c"], "split": "private", "weight": 1},
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    gold, _ = load_gold(SourceFile(path, FileKind("jsonl")), task="multiclass")
    assert gold is not None
    changed = relabel(gold.spec, gold.labels, gold.ids, [*changes(i1=["c"]), LabelChange("=i4", None)])
    assert [json.loads(line) for line in gold_lines(gold, changed)] == [
        {"id": "i1", "labels": ["c"], "split": "public", "weight": 0.5},
        {"id": "i2", "labels": ["b", "c"], "split": "private", "weight": 1.5},
    ]
    listed = change_records(gold.ids, changed)
    assert {row["id"]: row["new"] for row in listed} == {"i1": ["c"], "=i4": None}
    assert changes_csv(listed).splitlines()[1:] == ["'=i4,c,,true", "i1,a,c,false"]
