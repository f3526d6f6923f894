"""The hard-label values of real systems on real challenges, as their oracle and their organizers computed them."""

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.per_class_report import confusion, per_class_report
from tests.reference_material import SHARED, needs_shared, shared
from tests.scoring.case_builder import case, results

pytestmark = needs_shared
ORACLE = {"zero_division": "0", "both_empty": "0"}
GOLD_VERSIONS = ("gold", "gold_corrected")
NAMES = sorted(folder.parent.name for folder in SHARED.glob("challenges/*/expected.json")) if SHARED else ["absent"]
COMPARED = {
    "cifar10-label-errors": 56,
    "germeval2018-coarse": 45,
    "germeval2018-fine": 15,
    "germeval2019-blurbs-a": 60,
    "germeval2019-blurbs-b": 30,
    "imagenet-real": 28,
    "litcovid": 15,
    "tweeteval-emoji": 15,
    "tweeteval-emotion": 15,
    "tweeteval-hate": 15,
    "tweeteval-irony": 15,
    "tweeteval-offensive": 15,
    "tweeteval-sentiment": 15,
    "tweeteval-stance": 15,
}


def read(path: Path) -> Any:
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def folder(name: str) -> Path:
    return shared() / "challenges" / name


def labels_of(row: Mapping[str, Any]) -> Any:
    return row["labels"] if "labels" in row else row["label"]


@cache
def rules() -> dict[str, Any]:
    found: dict[str, Any] = read(shared() / "challenges" / "keys.json")
    return found


@cache
def loaded(name: str, system: str, version: str) -> EvaluationInput:
    """Predictions joined to one gold version by id; ids that this version lacks are void."""
    gold = {row["id"]: labels_of(row) for row in lines(folder(name) / f"{version}.jsonl.gz")}
    rows = read(folder(name) / "predictions" / f"{system}.json.gz")
    predicted = {row["id"]: labels_of(row) for row in rows}
    assert gold.keys() <= predicted.keys()
    task: TaskKind = "multilabel" if isinstance(next(iter(gold.values())), list) else "multiclass"
    return case(task, read(folder(name) / "classes.json"), list(gold.values()), [predicted[key] for key in gold])


def systems(name: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each system with each gold version that has one right label per instance (or one set)."""
    for system, values in read(folder(name) / "expected.json")["systems"].items():
        versions = {key: values[key] for key in GOLD_VERSIONS if isinstance(values.get(key), dict)}
        for version, expected in (versions or {"gold": values}).items():
            yield system, version, expected


def asked(name: str, expected: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Metric strings with the values expected for them."""
    hard = rules()["hard"]
    for key in hard["same_name"]:
        if key in expected:
            yield key, expected[key]
    for key, text in hard["renamed"].items():
        if key in expected:
            yield text, expected[key]
    official = rules()["official"].get(name)
    if isinstance(official, str) and isinstance(expected.get("official_score"), float):
        yield official, expected["official_score"]


@pytest.mark.parametrize("name", NAMES)
def test_hard_label_values_are_those_of_the_oracle(name: str) -> None:
    compared = 0
    for system, version, expected in systems(name):
        of = loaded(name, system, version)
        assert of.gold.n == expected["n"]
        wanted = list(asked(name, expected))
        found = results(of, [text for text, _ in wanted], ORACLE)
        for text, number in wanted:
            assert found[text].value == pytest.approx(number, abs=rules()["hard"]["tolerance"], rel=0), (system, text)
        compared += len(wanted)
    assert compared >= COMPARED[name]


@pytest.mark.parametrize("name", NAMES)
def test_per_class_values_and_confusion_cells_are_those_of_the_oracle(name: str) -> None:
    for system, version, expected in systems(name):
        report = per_class_report(loaded(name, system, version), ORACLE)
        for label, values in expected.get("per_class", {}).items():
            for key, number in values.items():
                assert report[label][key] == pytest.approx(number, abs=1e-11, rel=0), (system, label, key)
        if "confusion_matrix" in expected:
            found = confusion(loaded(name, system, version))
            assert found["matrix"] == expected["confusion_matrix"]["matrix"]
            assert found["labels"] == expected["confusion_matrix"]["rows_gold_cols_predicted"]


@pytest.mark.parametrize("name", NAMES)
def test_official_metrics_exist(name: str) -> None:
    official = rules()["official"].get(name, [])
    for text in [official] if isinstance(official, str) else official:
        assert text.partition(":")[0] in CATALOGUE
