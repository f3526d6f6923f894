"""Areas under curves and pairs of classes on a matrix of scores, beside scikit-learn on the same arrays."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from app.scoring.align import Case, Labels
from app.scoring.asked import parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.task import TaskSpec


def made(instances: int, classes: int) -> Case:
    """One true class per row, unevenly frequent, and scores that are probabilities and lean towards it."""
    chance = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, classes + 1) ** 0.7
    truth = chance.choice(classes, instances, p=frequencies / frequencies.sum())
    scores = chance.normal(size=(instances, classes))
    scores[np.arange(instances), truth] += 2
    scores = np.exp(scores)
    scores /= scores.sum(axis=1, keepdims=True)
    labels = Labels(truth.astype(np.int32))
    return Case(TaskSpec("multiclass", tuple(f"class-{k}" for k in range(classes))), labels, labels, scores)


def ours(of: Case, *asked: str) -> Callable[[], object]:
    """These metrics of a case, from its arrays."""
    calls = [parse_metric(text, task=of.spec.task) for text in asked]

    def run() -> object:
        found = evaluate(of, calls)
        assert all(result.value is not None for result in found.values())
        return [result.value for result in found.values()]

    return run


def one_against_rest(of: Case) -> Callable[[], object]:
    """scikit-learn's mean AUC and mean average precision; the one-hot gold is made beforehand."""
    one_hot = np.eye(len(of.spec.classes), dtype=np.int8)[of.gold.codes]

    def run() -> object:
        auc = roc_auc_score(of.gold.codes, of.scores, multi_class="ovr", average="macro")
        return [auc, average_precision_score(one_hot, of.scores, average="macro")]

    return run


def one_against_one(of: Case) -> Callable[[], object]:
    """scikit-learn's Hand & Till M."""
    return lambda: [roc_auc_score(of.gold.codes, of.scores, multi_class="ovo", average="macro")]


def areas(instances: int = 100_000, classes: int = 100) -> dict[str, Callable[[], object]]:
    """AUC and average precision of every class."""
    of = made(instances, classes)
    return {
        "assay, AUC and average precision": ours(of, "auc_ovr_macro", "average_precision_macro"),
        "scikit-learn": one_against_rest(of),
    }


def pairs(instances: int = 100_000, classes: int = 100) -> dict[str, Callable[[], object]]:
    """Hand & Till's M over every pair of classes."""
    of = made(instances, classes)
    return {"assay, Hand & Till M": ours(of, "auc_ovo_macro"), "scikit-learn": one_against_one(of)}
