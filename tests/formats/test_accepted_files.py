"""A file that was accepted under earlier gold is never refused: what it lacks now is an empty prediction."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.formats import FileKind, ReadingRules
from app.gold import Gold, load_gold
from app.pipeline import ScoringOutcome, SourceFile, score_predictions
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind
from tests.each_case import for_each

CLASSES = ("cat", "dog", "eel")
METRICS = ("accuracy", "recall_macro", "log_loss", "auc_ovr_macro", "cohen_kappa")


def write(folder: Path, name: str, data: bytes | str) -> SourceFile:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return SourceFile(path, FileKind(path.suffix[1:]))


def gold_of(
    folder: Path, labels: Mapping[str, Any], earlier: Sequence[str] = (), task: TaskKind = "multiclass"
) -> Gold:
    """Gold with these labels; the earlier ids that it lacks are void."""
    source = write(folder, "gold.json", json.dumps(labels))
    gold, problems = load_gold(source, task=task, classes=CLASSES, earlier_ids=earlier)
    assert gold is not None, problems.to_dict()
    return gold


def score(gold: Gold, source: SourceFile, metrics: Sequence[str] = METRICS, *, accepted: bool = True) -> ScoringOutcome:
    calls = [parse_metric(text, task=gold.spec.task) for text in metrics]
    rules = ReadingRules.strictest(calls)
    return score_predictions(gold, source, calls, rules=rules.of_accepted_file() if accepted else rules)


def labels_in(form: str, labels: Mapping[str, str]) -> str:
    """The same answers in several formats, two of them read by vectorized readers."""
    records = [{"id": name, "label": label} for name, label in labels.items()]
    return {
        "json": json.dumps(labels),
        "jsonl": "".join(json.dumps(row) + "\n" for row in records),
        "csv": "id,label\n" + "".join(f"{name},{label}\n" for name, label in labels.items()),
    }[form]


@for_each("form", ["json", "jsonl", "csv"])
def test_missing_ids_are_empty_and_unknown_ones_ignored(tmp_path: Path, form: str) -> None:
    gold = gold_of(tmp_path, {"a": "cat", "b": "dog", "c": "eel", "d": "cat"})
    file = write(tmp_path, f"answers.{form}", labels_in(form, {"a": "cat", "b": "dog", "c": "cat", "other": "zebra"}))
    refused = score(gold, file, ["accuracy"], accepted=False)
    assert refused.problems.total == {"unknown_id": 1, "unknown_label": 1, "missing_instances": 1}
    found = score(gold, file, ["accuracy", "recall:label=cat", "precision:label=cat"])
    assert not found.problems
    assert found.empty_predictions == {"all": 1}
    values = {text: result.value for text, result in found.scores["all"].items()}
    assert values == {"accuracy": 0.5, "recall:label=cat": 0.5, "precision:label=cat": 0.5}
    assert "1 instance without a prediction counts as empty" in found.scores["all"]["accuracy"].notes


def test_a_file_that_lacks_nothing_is_scored_like_a_new_one(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, {"a": "cat", "b": "dog"})
    file = write(tmp_path, "answers.json", labels_in("json", {"a": "cat", "b": "cat"}))
    assert score(gold, file, ["accuracy"]).scores == score(gold, file, ["accuracy"], accepted=False).scores
    assert score(gold, file, ["accuracy"]).empty_predictions == {}


def test_what_was_not_checked_while_the_instance_was_void_is_no_prediction(tmp_path: Path) -> None:
    """Rows of void ids may hold unknown labels and may be repeated; then the instance is scored again."""
    rows = [("a", "cat"), ("b", "no class"), ("c", "dog"), ("c", "cat"), ("d", "eel")]
    text = "".join(json.dumps({"id": name, "label": label}) + "\n" for name, label in rows)
    file = write(tmp_path, "answers.jsonl", text)
    before = gold_of(tmp_path, {"a": "cat", "d": "eel"}, earlier=("a", "b", "c", "d"))
    assert not score(before, file, ["accuracy"], accepted=False).problems
    after = gold_of(tmp_path, {"a": "cat", "b": "dog", "c": "dog", "d": "eel"})
    found = score(after, file, ["accuracy"])
    assert (found.problems.total, found.empty_predictions) == ({}, {"all": 2})
    assert found.scores["all"]["accuracy"].value == 0.5


def score_rows(names: Sequence[str], faulty: Sequence[str] = ()) -> list[dict[str, Any]]:
    values = {"cat": 0.5, "dog": 0.25, "eel": 0.25}
    return [{"id": name, "scores": {"cat": "no number"} if name in faulty else values} for name in names]


def npz_of(names: Sequence[str], faulty: Sequence[str] = ()) -> bytes:
    scores = np.tile([0.5, 0.25, 0.25], (len(names), 1))
    for name in faulty:
        scores[names.index(name)] = np.nan
    out = io.BytesIO()
    np.savez(out, ids=np.array(names), scores=scores)
    return out.getvalue()


@for_each("form", ["jsonl", "npz"])
def test_scores_that_are_missing_make_metrics_of_scores_null(tmp_path: Path, form: str) -> None:
    names = ["a", "b", "c", "other"]
    lines = "".join(json.dumps(row) + "\n" for row in score_rows(names, faulty=["b"]))
    file = write(tmp_path, f"answers.{form}", lines if form == "jsonl" else npz_of(names, faulty=["b"]))
    gold = gold_of(tmp_path, {"a": "cat", "b": "dog", "c": "cat", "d": "eel"})
    found = score(gold, file)
    assert (found.problems.total, found.empty_predictions) == ({}, {"all": 2})
    results = found.scores["all"]
    assert results["accuracy"].value == 0.5
    for name in ("log_loss", "auc_ovr_macro"):
        assert (results[name].value, results[name].reason) == (None, "2 instances have no scores")


def test_a_file_without_probabilities_keeps_the_metrics_that_need_none(tmp_path: Path) -> None:
    rows = [{"id": name, "scores": [3.0, 2.0, 1.0]} for name in ("a", "b")]
    file = write(tmp_path, "answers.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    gold = gold_of(tmp_path, {"a": "cat", "b": "dog"})
    assert score(gold, file, accepted=False).problems
    results = score(gold, file).scores["all"]
    assert results["accuracy"].value == 0.5
    assert (results["log_loss"].value, results["log_loss"].reason) == (
        None,
        "the scores of the predictions are not probabilities",
    )


def test_a_file_of_labels_keeps_its_values_under_metrics_of_scores(tmp_path: Path) -> None:
    file = write(tmp_path, "answers.json", labels_in("json", {"a": "cat", "b": "cat"}))
    calls = [parse_metric(text, task="multiclass") for text in METRICS]
    rules = ReadingRules.strictest(calls, primary="log_loss").of_accepted_file()
    found = score_predictions(gold_of(tmp_path, {"a": "cat", "b": "dog"}), file, calls, rules=rules)
    assert not found.problems
    assert found.scores["all"]["accuracy"].value == 0.5
    assert found.scores["all"]["log_loss"].reason == "the predictions have no scores"


def test_label_sets_that_are_missing_are_empty_sets(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, {"a": ["cat"], "b": ["dog", "eel"], "c": ["eel"]}, task="multilabel")
    file = write(tmp_path, "answers.json", json.dumps({"a": ["cat"], "c": ["eel", "eel"], "other": ["x"]}))
    found = score(gold, file, ["recall_micro", "precision_micro", "empty_predictions"])
    assert (found.problems.total, found.empty_predictions) == ({}, {"all": 2})
    values = {text: result.value for text, result in found.scores["all"].items()}
    assert values == {"recall_micro": 0.25, "precision_micro": 1.0, "empty_predictions": 2.0}


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "npz"])
def test_a_file_with_all_ids_is_read_by_the_vectorized_reader_where_some_are_void(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["a", "b", "c", "d"]
    answers = dict(zip(names, ["cat", "dog", "eel", "cat"], strict=True))
    file = write(tmp_path, f"answers.{form}", npz_of(names) if form == "npz" else labels_in(form, answers))
    gold = gold_of(tmp_path, {"a": "cat", "d": "dog"}, earlier=names)
    assert list(gold.template_ids) == names
    slow = score(gold, file, ["accuracy"], accepted=False)
    monkeypatch.setattr("app.pipeline.read_source", None)  # the strict reader, which would fail
    quick = score(gold, file, ["accuracy"])
    assert quick.scores == slow.scores
    assert quick.scores["all"]["accuracy"].value == 0.5
