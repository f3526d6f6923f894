"""Rankings of the golden vectors and of a real challenge: values, values of each instance, exact fractions."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from app.formats.content.format_detection import FileKind
from app.pipeline import SourceFile, load_gold, score_predictions
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput
from tests.reference_material import needs_shared, shared
from tests.scoring.case_builder import case, results, value

pytestmark = needs_shared
TOLERANCE = 1e-11
RANKINGS = ("zhang_zhou_ranking", "zhang_zhou_ranking_ties")
KEYS = (
    "one_error",
    "one_error_ties_expected",
    "coverage",
    "coverage_skip_undefined",
    "coverage_normalized",
    "coverage_plus_one",
    "ranking_loss",
    "ranking_loss_skip_undefined",
    "ranking_loss_ties_half",
    "ranking_loss_ties_half_skip_undefined",
    "average_precision_samples",
    "average_precision_samples_skip_undefined",
    *(f"{key}_at_{k}" for key in ("precision", "recall", "ndcg") for k in (1, 2, 3)),
)
TOP = tuple(f"top_{k}_accuracy_ties_{rule}" for k in (1, 2) for rule in ("worst", "best"))
SKIPPED = "degenerate_instance=skip"


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared() / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def string(key: str) -> str:
    text: str = load("keys")["metrics"].get(key, key)
    return text


def as_case(data: dict[str, Any]) -> EvaluationInput:
    gold = [row["gold"] for row in data["instances"]]
    scores = [[row["scores"][label] for label in data["labels"]] for row in data["instances"]]
    several = data["task_type"] == "multilabel"
    return case(data["task_type"], data["labels"], gold, [[]] * len(gold) if several else gold, scores)


@pytest.mark.parametrize(("name", "keys"), [*((name, KEYS) for name in RANKINGS), ("hand_till_small", TOP)])
def test_every_expected_value_is_reproduced(name: str, keys: tuple[str, ...]) -> None:
    data = load(name)
    of = as_case(data)
    compared = 0
    for key in keys:
        if key in data["expected"]:
            found = value(of, string(key))
            assert found is not None, key
            assert abs(found - data["expected"][key]) <= TOLERANCE, key
            compared += 1
        if key in data["expected_fraction"]:
            exact = float(Fraction(data["expected_fraction"][key]))
            assert abs((value(of, string(key)) or 0) - exact) <= 2 * math.ulp(exact), key
    assert compared >= {"zhang_zhou_ranking": 17, "zhang_zhou_ranking_ties": 21, "hand_till_small": 4}[name]


@pytest.mark.parametrize("name", RANKINGS)
def test_the_values_of_each_instance_are_reproduced(name: str) -> None:
    data = load(name)
    for row in data["instances"]:
        of = as_case({**data, "instances": [row]})
        for key, expected in data["expected_per_instance"][row["id"]].items():
            text = string(key).replace("degenerate_instance=best_value", SKIPPED)
            if key.startswith("one_error"):
                text = string(key)  # which counts an instance without relevant labels as 1
            found = results(of, [text])[text]
            assert (found.value is None) == (expected is None), (row["id"], key)
            assert expected is None or abs((found.value or 0) - expected) <= TOLERANCE, (row["id"], key)
            assert found.value is not None or found.reason == "no instance is left to average over"


def test_the_rankings_of_a_real_system_are_those_of_the_oracle() -> None:
    folder = shared() / "challenges" / "litcovid"
    classes = json.loads((folder / "classes.json").read_text(encoding="utf-8"))
    gold, problems = load_gold(
        SourceFile(folder / "gold.jsonl.gz", FileKind("jsonl", "gzip")), task="multilabel", classes=classes
    )
    assert not problems
    assert gold is not None
    values = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["systems"]["sample-system"]["soft"]
    soft = json.loads((folder.parent / "keys.json").read_text(encoding="utf-8"))["soft"]
    keys = ("label_ranking_average_precision", "coverage_error", "label_ranking_loss")
    calls = {key: parse_metric(soft["renamed"][key], task="multilabel") for key in keys}
    file = SourceFile(folder / "predictions" / "sample-system.json.gz", FileKind("json", "gzip"))
    outcome = score_predictions(gold, file, list(calls.values()), primary=calls["label_ranking_loss"].text)
    assert not outcome.problems
    for key, call in calls.items():
        assert outcome.scores["all"][call.text].value == pytest.approx(values[key], abs=1e-12, rel=0), key
