"""Metrics of a score matrix on one thread, compared with scikit-learn on the same arrays and sorting alone (W3)."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
    log_loss,
    roc_auc_score,
)

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from benchmarks.figures import Measured
from benchmarks.measure import timed
from benchmarks.sizes import Sizes

Ways = dict[str, Callable[[], list[float]]]


def made(instances: int, classes: int) -> EvaluationInput:
    """One true class per row, with uneven frequencies, and probabilities as scores that favour it."""
    chance = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, classes + 1) ** 0.7
    truth = chance.choice(classes, instances, p=frequencies / frequencies.sum())
    scores = chance.normal(size=(instances, classes))
    scores[np.arange(instances), truth] += 2
    scores = np.exp(scores)
    scores /= scores.sum(axis=1, keepdims=True)
    labels = Labels(truth.astype(np.int32))
    return EvaluationInput(TaskSpec("multiclass", tuple(f"class-{k}" for k in range(classes))), labels, labels, scores)


def as_sets(of: EvaluationInput) -> EvaluationInput:
    """The same as a multi-label task: each instance has a set with one label."""
    labels = of.gold.as_sets()
    return EvaluationInput(TaskSpec("multilabel", of.spec.classes), labels, labels, of.scores)


def ours(of: EvaluationInput, *asked: str) -> Callable[[], list[float]]:
    """Computes these metrics of an evaluation input from its arrays."""
    calls = [parse_metric(text, task=of.spec.task) for text in asked]

    def run() -> list[float]:
        values = [result.value for result in evaluate(of, calls).values()]
        return [float(value) for value in values if value is not None]

    return run


def areas(of: EvaluationInput) -> Ways:
    """AUC and average precision of every class, averaged; scikit-learn's one-hot gold is built beforehand."""
    one_hot = np.eye(len(of.spec.classes), dtype=np.int8)[of.gold.codes]
    assert of.scores is not None
    single = of.scores.astype(np.float32)

    def theirs() -> list[float]:
        auc = roc_auc_score(of.gold.codes, of.scores, multi_class="ovr", average="macro")
        return [float(auc), float(average_precision_score(one_hot, of.scores, average="macro"))]

    def sorts(rows: NDArray[Any]) -> Callable[[], list[float]]:
        return lambda: [float(np.sort(np.ascontiguousarray(rows.T), axis=1)[0, 0])]

    return {
        "assay, AUC and average precision": ours(of, "auc_ovr_macro", "average_precision_macro"),
        "scikit-learn": theirs,
        SORT: sorts(single),
        "np.sort of every column alone, float64": sorts(of.scores),
    }


SORT = "np.sort of every column alone, float32"


def pairs(of: EvaluationInput) -> Ways:
    """Hand & Till's M over every pair of classes."""

    def theirs() -> list[float]:
        return [float(roc_auc_score(of.gold.codes, of.scores, multi_class="ovo", average="macro"))]

    return {"assay, Hand & Till M": ours(of, "auc_ovo_macro"), "scikit-learn": theirs}


def losses(of: EvaluationInput) -> Ways:
    """Log loss."""
    classes = np.arange(len(of.spec.classes))
    return {
        "assay, log loss": ours(of, "log_loss"),
        "scikit-learn": lambda: [float(log_loss(of.gold.codes, of.scores, labels=classes))],
    }


def rankings(of: EvaluationInput) -> Ways:
    """Label ranking average precision, coverage and ranking loss, with one true label per row."""
    sets = as_sets(of)
    one_hot = np.eye(len(of.spec.classes), dtype=np.int8)[of.gold.codes]
    functions = (label_ranking_average_precision_score, coverage_error, label_ranking_loss)
    return {
        "assay, LRAP, coverage, ranking loss": ours(
            sets, "average_precision_samples", "coverage_plus_one", "ranking_loss"
        ),
        "scikit-learn": lambda: [float(function(one_hot, of.scores)) for function in functions],
    }


def measure(sizes: Sizes, _folder: Path) -> Measured:
    """Measure all four; scikit-learn's slowest functions run once."""
    of, found = made(*sizes.matrix), Measured()
    instances, classes = sizes.matrix
    of_size = f"of {instances:,} by {classes} scores"
    few = min(3, sizes.repetitions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns about rows that sum to 1 only up to rounding
        areas_spent = _beside(found, f"AUC and average precision {of_size}", areas(of), sizes.repetitions)
        pairs_spent = _beside(found, f"Hand & Till {of_size}", pairs(of), few, once="scikit-learn")
        _beside(found, f"log loss {of_size}", losses(of), few)
        _beside(found, f"ranked labels {of_size}", rankings(of), few, once="scikit-learn")
    ours_first = next(iter(areas_spent.values()))
    found.at_least("scikit-learn's AUC and average precision, over ours", 20, areas_spent["scikit-learn"] / ours_first)
    found.at_least(
        "scikit-learn's Hand & Till, over ours", 10, pairs_spent["scikit-learn"] / pairs_spent["assay, Hand & Till M"]
    )
    return found


def _beside(found: Measured, what: str, ways: Ways, repetitions: int, once: str = "") -> dict[str, float]:
    """Measure Assay and scikit-learn, and the difference of their values."""
    values: dict[str, list[float]] = {}

    def keeping(name: str, run: Callable[[], list[float]]) -> Callable[[], None]:
        return lambda: values.update({name: run()})

    spent = timed({name: keeping(name, run) for name, run in ways.items()}, repetitions=repetitions, once=[once])
    found.ways(what, spent, "ms")
    mine, theirs, *_ = values.values()
    difference = max(abs(one - other) for one, other in zip(mine, theirs, strict=True))
    # Values with logarithms are rounded to 12 significant digits.
    found.at_most(
        f"difference to scikit-learn, {what}", 1e-11 if what.startswith("log loss") else 1e-12, difference, ""
    )
    return spent
