"""The randomization test of two systems, compared with scikit-learn and numpy per instance and round (W5)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.exchange import Pair
from app.scoring.uncertainty.randomization import Randomization
from app.scoring.uncertainty.seeds import derive_seed, random_source
from benchmarks.figures import Measured
from benchmarks.measure import timed
from benchmarks.resampling import single_labels
from benchmarks.sizes import Sizes

ROUNDS = 10_000
ROUNDS_OF_PEERS = 5
"""Rounds that the peers are timed for; their other rounds cost the same."""
Outputs = tuple[NDArray[Any], NDArray[Any]]


def ours(a: EvaluationInput, b: EvaluationInput) -> Callable[[], object]:
    """The whole test from the labels of both systems, with cells and all."""
    call = parse_metric("f1_macro", options={}, task=a.spec.task)

    def run() -> object:
        test = Randomization(Pair.of(a, b, "labels"))
        return test.test(call, random_source(derive_seed("0", "pair", "all", call.text)), ROUNDS)

    return run


def swapped(a: EvaluationInput, b: EvaluationInput) -> Callable[[], Outputs]:
    """The outputs after one exchange, drawn instance by instance."""
    chance, one, other = np.random.default_rng(0), a.predicted.codes, b.predicted.codes

    def draw() -> Outputs:
        heads = chance.random(len(one)) < 0.5
        return np.where(heads, other, one), np.where(heads, one, other)

    return draw


def by_scikit_learn(a: EvaluationInput, b: EvaluationInput) -> Callable[[], object]:
    """Some rounds with scikit-learn's macro F1 of both parts."""
    draw, gold = swapped(a, b), a.gold.codes

    def run() -> object:
        return [[f1_score(gold, part, average="macro") for part in draw()] for _ in range(ROUNDS_OF_PEERS)]

    return run


def by_numpy(a: EvaluationInput, b: EvaluationInput) -> Callable[[], object]:
    """Some rounds with numpy: macro F1 of both parts from the confusion matrix of all instances."""
    draw, m = swapped(a, b), len(a.spec.classes)
    gold = a.gold.codes.astype(np.int64) * m

    def macro_f1(part: NDArray[Any]) -> float:
        matrix = np.bincount(gold + part, minlength=m * m).reshape(m, m)
        sizes = matrix.sum(axis=0) + matrix.sum(axis=1)
        return float(np.mean(2 * np.diag(matrix) / np.maximum(sizes, 1)))

    def run() -> object:
        return [[macro_f1(part) for part in draw()] for _ in range(ROUNDS_OF_PEERS)]

    return run


def measure(sizes: Sizes, _folder: Path) -> Measured:
    """Measure the test of macro F1 for two systems."""
    found, (instances, classes) = Measured(), sizes.resampled
    a, b = (single_labels(instances, classes, seed) for seed in (1, 2))
    ways = {
        "assay": ours(a, b),
        "numpy per instance": by_numpy(a, b),
        "scikit-learn per instance": by_scikit_learn(a, b),
    }
    spent = timed(ways, repetitions=sizes.repetitions)
    whole = {name: time * (1 if name == "assay" else ROUNDS / ROUNDS_OF_PEERS) for name, time in spent.items()}
    found.ways(
        f"randomization test of macro F1, {ROUNDS:,} rounds of {instances:,} instances, {classes} classes", whole, "ms"
    )
    mine, numpy, scikit = whole.values()
    found.at_least("scikit-learn on exchanged instances, over ours", 500, scikit / mine)
    found.at_least("numpy on exchanged instances, over ours", 20, numpy / mine)
    return found
