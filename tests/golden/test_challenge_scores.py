"""The scores of real challenges, read from their files: every value that keys.json maps, and the official figures."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from app.formats.content.format_detection import FileKind
from app.pipeline import Gold, SourceFile, load_gold, score_predictions
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind
from tests.each_case import for_each
from tests.golden.reference_data import (
    GOLD_VERSIONS,
    ORACLE,
    challenge_folder,
    challenge_input,
    challenge_keys,
    expected_by_system,
    read_json,
)
from tests.reference_material import needs_shared
from tests.scoring.case_builder import value

pytestmark = needs_shared
COMPARED = {"cifar10-label-errors": 40, "litcovid": 14}


@cache
def gold_from_file(name: str, version: str, task: TaskKind) -> Gold:
    """The gold of a challenge."""
    folder = challenge_folder(name)
    gold_file = SourceFile(folder / f"{version}.jsonl.gz", FileKind("jsonl", "gzip"))
    gold, problems = load_gold(gold_file, task=task, classes=read_json(folder / "classes.json"))
    assert gold is not None, problems.to_dict()
    return gold


def values_from_files(name: str, system: str, version: str, metrics: list[str]) -> dict[str, float | None]:
    """What the pipeline computes of two files; ids that this gold version lacks are void."""
    task: TaskKind = "multilabel" if name == "litcovid" else "multiclass"
    path = challenge_folder(name) / "predictions" / f"{system}.json.gz"
    gold = gold_from_file(name, version, task)
    gold.void = frozenset(row["id"] for row in read_json(path)) - frozenset(gold.ids)
    calls = {text: parse_metric(text, options=ORACLE, task=task) for text in metrics}
    primary = next(iter(calls.values())).text
    outcome = score_predictions(gold, SourceFile(path, FileKind("json", "gzip")), list(calls.values()), primary=primary)
    assert not outcome.problems
    return {text: outcome.scores["all"][call.text].value for text, call in calls.items()}


def expected_scores(name: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for system, values in expected_by_system(name).items():
        if "soft" in values:
            yield system, "gold", values["soft"]
        for version in GOLD_VERSIONS:
            if "soft" in values.get(version, {}):
                yield system, version, values[version]["soft"]


# Of thousands of images one system after the other is read; one real challenge is enough before each commit.
@pytest.mark.parametrize("name", ["litcovid", pytest.param("cifar10-label-errors", marks=pytest.mark.ci)])
def test_values_of_scores_are_those_of_the_oracle(name: str) -> None:
    soft, compared = challenge_keys()["soft"], 0
    for system, version, expected in expected_scores(name):
        wanted = {text: expected[key] for key, text in soft["renamed"].items() if key in expected}
        wanted |= {f"auc:label={label}": number for label, number in expected.get("roc_auc_per_class", {}).items()}
        values = values_from_files(name, system, version, list(wanted))
        for text, number in wanted.items():
            # the oracle ranked renormalised scores of CIFAR-10, in which ties of the scores as sent come apart
            ranks = name.startswith("cifar10") and text.startswith(("auc", "average_precision"))
            tolerance = soft["tolerance"] if ranks else 1e-12
            assert values[text] == pytest.approx(number, abs=tolerance, rel=0), (system, version, text)
        compared += len(wanted)
    assert compared >= COMPARED[name]


@for_each("name", ["germeval2019-blurbs-a", "germeval2019-blurbs-b"])
def test_published_scores_of_the_blurbs(name: str) -> None:
    for system, expected in expected_by_system(name).items():
        if "published_micro_f1" in expected:
            found = value(challenge_input(name, system), challenge_keys()["official"][name], **ORACLE)
            assert found == pytest.approx(expected["published_micro_f1"], abs=1e-11, rel=0)
