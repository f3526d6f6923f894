"""Areas and curves of the golden vectors and of real score files."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from app.scoring.evaluation_input import EvaluationInput
from app.scoring.pairwise_wins import pairwise_wins
from tests.golden.test_challenge_labels import folder, labels_of, lines, read
from tests.golden.test_golden_vectors import TOLERANCE, load, strings
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, results

pytestmark = needs_shared
FAMILY = ("auc", "auprc", "average_precision")
COMPARED = {"binary_scores_small": 4, "hand_till_small": 7, "zhang_zhou_ranking": 6, "zhang_zhou_ranking_ties": 6}


def as_case(data: dict[str, Any]) -> EvaluationInput:
    """A vector with scores; predicted labels are not looked at."""
    rows = data["instances"]
    gold = [row["gold"] for row in rows]
    if data["task_type"] == "binary":
        scores, classes = [[row["score"]] for row in rows], ["1", "0"]
        return case("binary", classes, gold, gold, scores, positive_label=data["positive_label"])
    scores = [[row["scores"][name] for name in data["labels"]] for row in rows]
    return case(data["task_type"], data["labels"], gold, gold, scores)


def expected(data: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Metric strings of this family with their values; the mean over instances is another measure."""
    for key, number in data["expected"].items():
        text = strings().get(key, key)
        if text.startswith(FAMILY) and not text.startswith("average_precision_samples"):
            yield text, number


@pytest.mark.parametrize("name", COMPARED)
def test_areas_of_golden_vectors(name: str) -> None:
    data = load(name)
    wanted = list(expected(data))
    assert len(wanted) >= COMPARED[name]
    found = results(as_case(data), [text for text, _ in wanted])
    for text, number in wanted:
        assert found[text].value == pytest.approx(number, abs=TOLERANCE, rel=0), text
    for key, exact in data["expected_fraction"].items():
        if strings().get(key, key) in found:
            assert found[strings().get(key, key)].value == pytest.approx(float(Fraction(exact)), rel=4e-16), key


def test_the_points_of_the_curves() -> None:
    data = load("binary_scores_small")
    curves = results(as_case(data), ["roc_curve", "pr_curve"])
    roc, pr = (curves[text].data["curves"][0] for text in ("roc_curve", "pr_curve"))
    found = zip(roc["threshold"], roc["tpr"], roc["fpr"], pr["precision"], strict=True)
    for point, wanted in zip(list(found)[1:], data["roc_points"], strict=True):
        assert point == pytest.approx(
            [wanted[name] for name in ("threshold", "tpr", "fpr", "precision")], abs=TOLERANCE
        )
    assert (roc["tpr"][0], roc["fpr"][0], pr["recall"][0], pr["precision"][0]) == (0.0, 0.0, 0.0, 1.0)


def test_each_pair_of_classes() -> None:
    data = load("hand_till_small")
    of = as_case(data)
    assert of.scores is not None
    scores = of.scores
    wins = pairwise_wins(lambda code: scores[:, code], of.gold.codes, 3)
    code = {name: at for at, name in enumerate(data["labels"])}
    for pair, wanted in data["pairwise_A"].items():
        i, j = (code[name] for name in pair[2:-1].split("|"))
        pairs = 2 * int(wins.sizes[i]) * int(wins.sizes[j])
        assert Fraction(int(wins.doubled("half", (i, j))[0, 1]), pairs) == Fraction(wanted["fraction"])
    for label, number in data["auc_ovr_per_label"].items():
        found = results(of, [f"auc_ovr:label={label}"])[f"auc_ovr:label={label}"].value
        assert found == pytest.approx(number, abs=TOLERANCE)


def real(name: str, system: str, version: str, task: Any) -> EvaluationInput:
    gold = {row["id"]: labels_of(row) for row in lines(folder(name) / f"{version}.jsonl.gz")}
    rows = {row["id"]: row for row in read(folder(name) / "predictions" / f"{system}.json.gz")}
    truth = list(gold.values())
    return case(task, read(folder(name) / "classes.json"), truth, truth, [rows[key]["scores"] for key in gold])


def test_litcovid() -> None:
    wanted = read(folder("litcovid") / "expected.json")["systems"]["sample-system"]["soft"]
    of = real("litcovid", "sample-system", "gold", "multilabel")
    renamed = read(folder("keys.json"))["soft"]["renamed"]
    areas = {renamed[key]: number for key, number in wanted.items() if renamed.get(key, "").startswith(FAMILY)}
    areas = {text: number for text, number in areas.items() if "samples" not in text}
    areas |= {f"auc:label={label}": number for label, number in wanted["roc_auc_per_class"].items()}
    assert len(areas) == 11
    found = results(of, list(areas))
    for text, number in areas.items():
        assert found[text].value == pytest.approx(number, abs=TOLERANCE, rel=0), text


@pytest.mark.parametrize("system", ["cleanlab-cv", "cifar10h-humans"])
@pytest.mark.parametrize("version", ["gold", "gold_corrected"])
def test_scores_of_cifar_are_ranked_as_sent(system: str, version: str) -> None:
    of = real("cifar10-label-errors", system, version, "multiclass")
    truth, scores = of.gold.codes, of.scores
    assert scores is not None
    one_hot = np.eye(10)[truth]
    found = results(of, ["auc_ovr_macro", "auc_ovr_micro", "average_precision_macro", "average_precision_micro"])
    wanted = [
        roc_auc_score(one_hot, scores, average="macro"),
        roc_auc_score(one_hot, scores, average="micro"),
        average_precision_score(one_hot, scores, average="macro"),
        average_precision_score(one_hot, scores, average="micro"),
    ]
    assert [result.value for result in found.values()] == pytest.approx(wanted, abs=1e-12, rel=0)
