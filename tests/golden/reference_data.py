"""The golden vectors and the real challenges of the reference material, as files and as evaluation inputs."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.hierarchy.hierarchy import Hierarchy
from tests.reference_material import shared
from tests.scoring.case_builder import case, case_of_counts

TOLERANCE = 1e-11
ORACLE = {"zero_division": "0", "both_empty": "0"}
"""The conventions under which the expected values were computed."""
GOLD_VERSIONS = ("gold", "gold_corrected")


def read_json(path: Path) -> Any:
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


# ---- golden vectors ------------------------------------------------------------------------------


def load_vector(name: str) -> dict[str, Any]:
    vector: dict[str, Any] = read_json(shared() / "golden" / f"{name}.json")
    return vector


def metric_strings() -> dict[str, str]:
    """Metric strings by the keys of the vectors, where the two differ."""
    strings: dict[str, str] = load_vector("keys")["metrics"]
    return strings


def metric_string(key: str) -> str | None:
    """The metric string of a key of the vectors, if this scorer has the metric."""
    text = metric_strings().get(key, key)
    if key in load_vector("keys")["report"]:
        return None  # of gold and prediction: not the metric of that name, which is about groups
    return text if text.partition(":")[0] in CATALOGUE else None


def vector_input(data: Mapping[str, Any]) -> EvaluationInput:
    """The evaluation input of a vector with predicted labels, or with the counts of one class alone."""
    if "instances" not in data:
        return _input_of_counts(data)
    return case(
        data["task_type"],
        data["labels"],
        [row["gold"] for row in data["instances"]],
        [row["predicted"] for row in data["instances"]],
        positive_label=data.get("positive_label"),
        train_frequencies=data.get("training_frequencies"),
    )


def _input_of_counts(data: Mapping[str, Any]) -> EvaluationInput:
    yes = data["positive_label"]
    return case_of_counts(*(data["counts"][yes][cell] for cell in ("tp", "fp", "fn", "tn")), classes=[yes, "rest"])


def scored_vector_input(data: Mapping[str, Any]) -> EvaluationInput:
    """The evaluation input of a vector with scores; metrics of scores ignore the predicted labels."""
    rows = data["instances"]
    gold = [row["gold"] for row in rows]
    if data["task_type"] == "binary":
        scores, classes = [[row["score"]] for row in rows], ["1", "0"]
        return case("binary", classes, gold, gold, scores, positive_label=data["positive_label"])
    scores = [[row["scores"][name] for name in data["labels"]] for row in rows]
    return case(data["task_type"], data["labels"], gold, gold, scores)


# ---- real challenges -----------------------------------------------------------------------------


def challenge_folder(name: str) -> Path:
    return shared() / "challenges" / name


@cache
def challenge_keys() -> dict[str, Any]:
    """How the expected values of the challenges map to metric strings."""
    keys: dict[str, Any] = read_json(shared() / "challenges" / "keys.json")
    return keys


def expected_by_system(name: str) -> dict[str, Any]:
    expected: dict[str, Any] = read_json(challenge_folder(name) / "expected.json")["systems"]
    return expected


def systems(name: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each system with each gold version that has one right label per instance (or one set)."""
    for system, values in expected_by_system(name).items():
        versions = {key: values[key] for key in GOLD_VERSIONS if isinstance(values.get(key), dict)}
        for version, expected in (versions or {"gold": values}).items():
            yield system, version, expected


def _labels_by_id(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {row["id"]: row["labels"] if "labels" in row else row["label"] for row in rows}


@cache
def challenge_input(name: str, system: str, version: str = "gold", *, scores: bool = False) -> EvaluationInput:
    """Predictions joined to one gold version by id; ids that this version lacks are void."""
    folder = challenge_folder(name)
    lines = gzip.decompress((folder / f"{version}.jsonl.gz").read_bytes()).splitlines()
    gold = _labels_by_id(list(map(json.loads, lines)))
    rows = read_json(folder / "predictions" / f"{system}.json.gz")
    predicted = _labels_by_id(rows)
    assert gold.keys() <= predicted.keys()
    by_id = {row["id"]: row for row in rows}
    task: TaskKind = "multilabel" if isinstance(next(iter(gold.values())), list) else "multiclass"
    return case(
        task,
        read_json(folder / "classes.json"),
        list(gold.values()),
        [predicted[key] for key in gold],
        [by_id[key]["scores"] for key in gold] if scores else None,
    )


@cache
def hierarchical_input(name: str, system: str) -> EvaluationInput:
    """The evaluation input of a challenge with its hierarchy."""
    parents = GOLD_METADATA_KINDS["hierarchy"].parse(read_json(challenge_folder(name) / "hierarchy.json"))
    of = challenge_input(name, system)
    return replace(of, spec=replace(of.spec, hierarchy=Hierarchy.from_parents(parents)))
