"""The golden vectors of probabilities: values of the families of log loss, Brier scores and calibration."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from app.scoring.evaluation_input import EvaluationInput
from tests.reference_material import needs_shared, shared
from tests.scoring.case_builder import case, results

pytestmark = needs_shared
TOLERANCE = 1e-11
COVERED = {
    "binary_scores_small": ("brier", "log_loss", "ece_5_right_closed_bins", "mce_5_right_closed_bins"),
    "hand_till_small": ("log_loss", "brier_multiclass_sum"),
}


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared() / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def as_case(data: dict[str, Any]) -> EvaluationInput:
    rows = data["instances"]
    gold = [row["gold"] for row in rows]
    if data["task_type"] == "binary":
        return case("binary", ["1", "0"], gold, gold, [[row["score"]] for row in rows], positive_label="1")
    return case("multiclass", data["labels"], gold, gold, [list(row["scores"].values()) for row in rows])


@pytest.mark.parametrize("name", COVERED)
def test_values_are_those_of_the_vector(name: str) -> None:
    data = load(name)
    strings = load("keys")["metrics"]
    texts = {key: strings.get(key, key) for key in COVERED[name]}
    found = results(as_case(data), list(texts.values()))
    for key, text in texts.items():
        value = found[text].value
        assert value is not None, text
        assert abs(value - data["expected"][key]) <= TOLERANCE, text
        if key in data["expected_fraction"]:
            exact = Fraction(data["expected_fraction"][key])
            # the scores are binary64 neighbours of the decimals that the fraction is made of
            assert abs(value - float(exact)) <= 4 * math.ulp(float(exact)), text
