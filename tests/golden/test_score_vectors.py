"""The golden vectors with scores: areas, curves, probabilities and rankings; and the ranks of real scores."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from app.scoring.class_pair_wins import pairwise_wins
from tests.each_case import for_each
from tests.golden.reference_data import TOLERANCE, challenge_input, load_vector, metric_string, scored_vector_input
from tests.reference_material import needs_shared
from tests.scoring.case_builder import evaluate_metric, results, value

pytestmark = needs_shared
COMPARED = {"binary_scores_small": 8, "hand_till_small": 13, "zhang_zhou_ranking": 23, "zhang_zhou_ranking_ties": 27}


@for_each("name", COMPARED)
def test_every_expected_value_is_reproduced(name: str) -> None:
    data = load_vector(name)
    strings = {key: text for key in data["expected"] if (text := metric_string(key)) and key != "accuracy_argmax"}
    assert len(strings) == COMPARED[name]
    found = results(scored_vector_input(data), list(strings.values()))
    for key, text in strings.items():
        assert found[text].value == pytest.approx(data["expected"][key], abs=TOLERANCE, rel=0), key
        if key in data["expected_fraction"]:
            exact = float(Fraction(data["expected_fraction"][key]))
            assert found[text].value == pytest.approx(exact, abs=2 * math.ulp(exact), rel=0), key


@for_each("name", ["zhang_zhou_ranking", "zhang_zhou_ranking_ties"])
def test_the_values_of_each_instance_are_reproduced(name: str) -> None:
    data = load_vector(name)
    for row in data["instances"]:
        of = scored_vector_input({**data, "instances": [row]})
        for key, expected in data["expected_per_instance"][row["id"]].items():
            text = metric_string(key) or ""
            if not key.startswith("one_error"):  # which counts an instance without relevant labels as 1
                text = text.replace("degenerate_instance=best_value", "degenerate_instance=skip")
            found = evaluate_metric(of, text)
            assert (found.value is None) == (expected is None), (row["id"], key)
            assert expected is None or abs((found.value or 0) - expected) <= TOLERANCE, (row["id"], key)
            assert found.value is not None or found.reason == "no instance is left to average over"


def test_the_points_of_the_curves() -> None:
    data = load_vector("binary_scores_small")
    curves = results(scored_vector_input(data), ["roc_curve", "pr_curve"])
    roc, pr = (curves[text].data["curves"][0] for text in ("roc_curve", "pr_curve"))
    found = zip(roc["threshold"], roc["tpr"], roc["fpr"], pr["precision"], strict=True)
    for point, row in zip(list(found)[1:], data["roc_points"], strict=True):
        wanted = [row[name] for name in ("threshold", "tpr", "fpr", "precision")]
        assert point == pytest.approx(wanted, abs=TOLERANCE)
    assert (roc["tpr"][0], roc["fpr"][0], pr["recall"][0], pr["precision"][0]) == (0.0, 0.0, 0.0, 1.0)


def test_each_pair_of_classes() -> None:
    data = load_vector("hand_till_small")
    of = scored_vector_input(data)
    assert of.scores is not None
    scores = of.scores
    wins = pairwise_wins(lambda code: scores[:, code], of.gold.codes, 3)
    code = {name: at for at, name in enumerate(data["labels"])}
    for pair, wanted in data["pairwise_A"].items():
        i, j = (code[name] for name in pair[2:-1].split("|"))
        pairs = 2 * int(wins.sizes[i]) * int(wins.sizes[j])
        assert Fraction(int(wins.doubled("half", (i, j))[0, 1]), pairs) == Fraction(wanted["fraction"])
    for label, number in data["auc_ovr_per_label"].items():
        assert value(of, f"auc_ovr:label={label}") == pytest.approx(number, abs=TOLERANCE)


@for_each("system", ["cleanlab-cv", "cifar10h-humans"])
@for_each("version", ["gold", "gold_corrected"])
def test_scores_of_cifar_are_ranked_as_sent(system: str, version: str) -> None:
    of = challenge_input("cifar10-label-errors", system, version, scores=True)
    assert of.scores is not None
    one_hot = np.eye(10)[of.gold.codes]
    for key, peer in (("auc_ovr", roc_auc_score), ("average_precision", average_precision_score)):
        for average in ("macro", "micro"):
            wanted = peer(one_hot, of.scores, average=average)
            assert value(of, f"{key}_{average}") == pytest.approx(wanted, abs=1e-12, rel=0), (key, average)
