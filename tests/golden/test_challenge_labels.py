"""The hard-label values of real systems on real challenges, as their oracle and their organizers computed them."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.reports.per_class_report import confusion, per_class_report
from tests.each_case import for_each
from tests.golden.reference_data import ORACLE, challenge_input, challenge_keys, systems
from tests.reference_material import SHARED, needs_shared
from tests.scoring.case_builder import results

pytestmark = needs_shared
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


def expected_values(name: str, expected: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Metric strings with the values expected for them."""
    hard = challenge_keys()["hard"]
    for key in hard["same_name"]:
        if key in expected:
            yield key, expected[key]
    for key, text in hard["renamed"].items():
        if key in expected:
            yield text, expected[key]
    official = challenge_keys()["official"].get(name)
    if isinstance(official, str) and isinstance(expected.get("official_score"), float):
        yield official, expected["official_score"]


@for_each("name", NAMES)
def test_hard_label_values_are_those_of_the_oracle(name: str) -> None:
    compared = 0
    for system, version, expected in systems(name):
        of = challenge_input(name, system, version)
        assert of.gold.n == expected["n"]
        wanted = list(expected_values(name, expected))
        found = results(of, [text for text, _ in wanted], ORACLE)
        for text, number in wanted:
            assert found[text].value == pytest.approx(number, abs=challenge_keys()["hard"]["tolerance"], rel=0), (
                system,
                text,
            )
        compared += len(wanted)
    assert compared >= COMPARED[name]


@for_each("name", NAMES)
def test_per_class_values_and_confusion_cells_are_those_of_the_oracle(name: str) -> None:
    for system, version, expected in systems(name):
        report = per_class_report(challenge_input(name, system, version), ORACLE)
        for label, values in expected.get("per_class", {}).items():
            for key, number in values.items():
                assert report[label][key] == pytest.approx(number, abs=1e-11, rel=0), (system, label, key)
        if "confusion_matrix" in expected:
            found = confusion(challenge_input(name, system, version))
            assert found["matrix"] == expected["confusion_matrix"]["matrix"]
            assert found["labels"] == expected["confusion_matrix"]["rows_gold_cols_predicted"]


@for_each("name", NAMES)
def test_official_metrics_exist(name: str) -> None:
    official = challenge_keys()["official"].get(name, [])
    for text in [official] if isinstance(official, str) else official:
        assert text.partition(":")[0] in CATALOGUE
