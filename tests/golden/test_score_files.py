"""Real files of scores, read in every format: the same arrays, and the values that their oracle computed."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import ReadingRules
from app.pipeline import SourceFile, load_gold, score_predictions
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule, decide_labels
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.formats.answer_table import AnswerTable
from tests.formats.reading import code_sets, compress, read_answers
from tests.formats.writers import WRITERS
from tests.reference_material import needs_shared, shared

pytestmark = needs_shared
SYSTEMS: list[tuple[str, str, TaskKind]] = [
    ("cifar10-label-errors", "cleanlab-cv", "multiclass"),
    ("cifar10-label-errors", "cifar10h-humans", "multiclass"),
    ("litcovid", "sample-system", "multilabel"),
]
# the oracle ranked renormalised scores, in which ties of the scores as sent come apart: vote shares have many
APART = {"average_precision_macro": 5e-6}


def folder(name: str) -> Path:
    return shared() / "challenges" / name


def load(path: Path) -> Any:
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


@cache
def data_of(name: str, system: str, task: TaskKind) -> AnswerTable:
    """The file as a table; its named columns are turned round."""
    rows = load(folder(name) / "predictions" / f"{system}.json.gz")
    classes = load(folder(name) / "classes.json")
    several = task == "multilabel"
    return AnswerTable(
        [row["id"] for row in rows],
        classes,
        [row["labels" if several else "label"] for row in rows],
        several,
        scores=[row["scores"] for row in rows],
        order=list(range(len(classes)))[::-1],
    )


@pytest.mark.parametrize(("name", "system", "task"), SYSTEMS)
def test_a_real_file_of_scores_is_the_same_in_every_format(name: str, system: str, task: TaskKind) -> None:
    data = data_of(name, system, task)
    expected = np.array(data.scores, dtype=np.float64)
    for number, (way, writer) in enumerate(WRITERS.items()):
        if way in {"map", "arrow in parts", "parquet in parts", "arrow in parts, lists", "parquet in parts, lists"}:
            continue  # batches of two rows take long
        if not writer.fits(data):
            continue
        encoding = ("", "gzip", "zstd")[number % 3]
        found, problems = read_answers(
            compress(writer.write(data), encoding),
            writer.kind,
            ids=[str(one) for one in data.ids],
            classes=data.classes,
            task=task,
            encoding=encoding,
            rules=ReadingRules(scores="due", probabilities=True),
        )
        assert problems.to_dict()["problems"] == [], way
        assert found is not None
        assert found.labels is not None
        assert found.scores is not None
        assert found.scores.tobytes() == expected.tobytes(), way


@pytest.mark.parametrize(("name", "system", "task"), [one for one in SYSTEMS if one[2] == "multiclass"])
@pytest.mark.parametrize("version", ["gold", "gold_corrected"])
def test_measures_of_probabilities_are_those_of_the_oracle(
    name: str, system: str, task: TaskKind, version: str
) -> None:
    soft = load(folder("keys.json"))["soft"]
    values = load(folder(name) / "expected.json")["systems"][system][version]["soft"]
    source = SourceFile(folder(name) / f"{version}.jsonl.gz", FileKind("jsonl", "gzip"))
    ids = data_of(name, system, task).ids
    gold, problems = load_gold(source, task=task, classes=load(folder(name) / "classes.json"))
    assert not problems
    assert gold is not None
    gold.void = frozenset(map(str, ids)) - frozenset(gold.ids)
    known = {key: text for key, text in soft["renamed"].items() if key in values and text.split(":")[0] in CATALOGUE}
    assert {
        "log_loss_renormalised",
        "brier_sum_over_classes",
        "ece_10_equal_width_bins",
    } & values.keys() <= known.keys()
    calls = {key: parse_metric(text, task=task) for key, text in known.items()}
    file = SourceFile(folder(name) / "predictions" / f"{system}.json.gz", FileKind("json", "gzip"))
    outcome = score_predictions(gold, file, list(calls.values()), primary="log_loss")
    assert not outcome.problems
    for key, call in calls.items():
        value = outcome.scores["all"][call.text].value
        assert value == pytest.approx(values[key], abs=APART.get(key, soft["tolerance"]), rel=0), key


def test_the_official_labels_of_litcovid_follow_from_its_scores() -> None:
    data = data_of("litcovid", "sample-system", "multilabel")
    assert data.scores is not None
    assert data.labels is not None
    rule = ConfiguredDecisionRule("threshold", threshold=0.5, strict=True)
    found = code_sets(decide_labels(rule, TaskSpec("multilabel", tuple(data.classes)), np.array(data.scores), 0))
    assert [{data.classes[code] for code in codes} for codes in found] == [set(labels) for labels in data.labels]
