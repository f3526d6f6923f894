"""Bootstrap intervals, the order of a board and of a table, compared with scikit-learn and numpy per resample (W4)."""

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from app.analysis.order.matrix import read_matrix
from app.analysis.order.order_report import order_systems
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.numeric.exact_intervals import clopper_pearson
from app.scoring.uncertainty.board import BoardCase, board_uncertainty
from app.scoring.uncertainty.draw_values import draw_values
from app.scoring.uncertainty.resampling import Resampling
from app.scoring.uncertainty.seeds import derive_seed, random_source
from benchmarks.figures import Measured
from benchmarks.measure import timed
from benchmarks.sizes import Sizes

RESAMPLES = 1_000
COUNT_METRICS = ("f1_macro", "f1_micro", "mcc", "accuracy")
SET_AVERAGES = ("f1_macro", "f1_micro")
_ORDER = 134, 500


def single_labels(instances: int, classes: int, seed: int = 0) -> EvaluationInput:
    """Gold and predictions of which about four fifths are right."""
    chance = np.random.default_rng(seed)
    gold = np.random.default_rng(0).integers(0, classes, instances).astype(np.int32)
    other = chance.integers(0, classes, instances).astype(np.int32)
    predicted = np.where(chance.random(instances) < 0.8, gold, other).astype(np.int32)
    spec = TaskSpec("multiclass", tuple(f"class-{k:03}" for k in range(classes)))
    return EvaluationInput(spec, Labels(gold), Labels(predicted))


def label_sets(instances: int, classes: int) -> tuple[EvaluationInput, NDArray[Any], NDArray[Any]]:
    """Sets of three labels, of which two are right, also as matrices of 0 and 1."""
    chance = np.random.default_rng(0)
    sets = np.sort(np.stack([chance.permutation(classes)[:4] for _ in range(instances)]), axis=1).astype(np.int32)
    offsets = np.arange(0, 3 * instances + 1, 3)
    gold, predicted = sets[:, :3], sets[:, 1:]
    spec = TaskSpec("multilabel", tuple(f"label-{k:04}" for k in range(classes)))
    case = EvaluationInput(spec, Labels(gold.ravel(), offsets), Labels(predicted.ravel(), offsets))
    matrices = []
    for side in (gold, predicted):
        matrix = np.zeros((instances, classes), dtype=np.int8)
        np.put_along_axis(matrix, side.astype(np.int64), 1, axis=1)
        matrices.append(matrix)
    return case, matrices[0], matrices[1]


def resampled(of: EvaluationInput, texts: tuple[str, ...], draws: int) -> Callable[[], object]:
    """The values of these metrics in so many resamples, each metric with its own, as `assay score --ci` draws them.

    Shares of instances have an exact interval instead.
    """
    calls = [parse_metric(text, options={}, task=of.spec.task) for text in texts]

    def run() -> object:
        found: dict[str, object] = {}
        for call in calls:
            if call.metric.interval.kind == "proportion":
                found[call.text] = clopper_pearson(of.gold.n // 2, of.gold.n)
                continue
            drawn = Resampling.of(of, [call])
            blocks = drawn.blocks(random_source(derive_seed("0", "interval", "all", call.text, "")), draws)
            found |= draw_values(drawn.case, [call], blocks)
        return found

    return run


def by_scikit_learn(
    gold: NDArray[Any], predicted: NDArray[Any], *functions: Callable[..., float]
) -> Callable[[], object]:
    """One resample."""
    chance = np.random.default_rng(0)

    def run() -> object:
        rows = chance.integers(0, len(gold), len(gold))
        return [function(gold[rows], predicted[rows]) for function in functions]

    return run


def by_bincount(of: EvaluationInput) -> Callable[[], object]:
    """One resample with numpy: the confusion matrix of the drawn instances, and the same metrics from it."""
    chance, m, n = np.random.default_rng(0), len(of.spec.classes), of.gold.n
    cells = of.gold.codes.astype(np.int64) * m + of.predicted.codes

    def run() -> object:
        matrix = np.bincount(cells[chance.integers(0, n, n)], minlength=m * m).reshape(m, m)
        hits, gold, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
        f1 = (2 * hits / np.maximum(gold + predicted, 1)).mean()
        right, chance_right = hits.sum(), (gold * predicted).sum()
        spread = np.sqrt(float(n * n - (gold * gold).sum()) * float(n * n - (predicted * predicted).sum()))
        return [f1, right / n, (n * right - chance_right) / spread]

    return run


def _single_label(found: Measured, instances: int, classes: int, repetitions: int) -> None:
    of = single_labels(instances, classes)
    functions = (
        lambda gold, predicted: f1_score(gold, predicted, average="macro"),
        lambda gold, predicted: f1_score(gold, predicted, average="micro"),
        matthews_corrcoef,
        accuracy_score,
    )
    ways = {
        "assay": resampled(of, COUNT_METRICS, RESAMPLES),
        "numpy bincount, one resample": by_bincount(of),
        "scikit-learn, one resample": by_scikit_learn(of.gold.codes, of.predicted.codes, *functions),
    }
    spent = timed(ways, repetitions=repetitions)
    whole = {name: time * (1 if name == "assay" else RESAMPLES) for name, time in spent.items()}
    what = f"{RESAMPLES:,} resamples of {instances:,} single labels, {classes} classes, 4 metrics"
    found.ways(what, {name.partition(",")[0]: value for name, value in whole.items()}, "ms")
    ours, numpy, scikit = whole.values()
    found.at_least("scikit-learn on resamples of single labels, over ours", 1_000, scikit / ours)
    found.at_least("numpy bincount per instance, over ours", 8, numpy / ours)


def _multi_label(found: Measured, instances: int, classes: int, repetitions: int) -> None:
    of, gold, predicted = label_sets(instances, classes)
    functions = (
        lambda one, other: f1_score(one, other, average="macro", zero_division=0),
        lambda one, other: f1_score(one, other, average="micro", zero_division=0),
    )
    ways = {
        "assay": resampled(of, SET_AVERAGES, RESAMPLES),
        "scikit-learn, one resample": by_scikit_learn(gold, predicted, *functions),
    }
    spent = timed(ways, repetitions=repetitions)
    whole = {"assay": spent["assay"], "scikit-learn": spent["scikit-learn, one resample"] * RESAMPLES}
    found.ways(f"{RESAMPLES:,} resamples of {instances:,} label sets, {classes:,} labels, 2 metrics", whole, "ms")
    found.at_least("scikit-learn on resamples of label sets, over ours", 80, whole["scikit-learn"] / whole["assay"])


def _board(found: Measured, teams: int, instances: int, classes: int) -> None:
    entries = [BoardCase(f"{team}", single_labels(instances, classes, team)) for team in range(1, teams + 1)]
    ids = [f"{row:07}" for row in range(instances)]
    call = parse_metric("f1_macro", options={}, task="multiclass")
    values = [evaluate(entry.case, [call]) for entry in entries]
    assert len(values) == teams
    began = time.process_time()
    board = board_uncertainty(entries, ids, call, draw_seed="0", split="all").to_dict()
    spent = time.process_time() - began
    what = f"order of {teams} teams, {instances:,} instances, {classes} classes, {board['draws']:,} draws, all pairs"
    found.ways(what, {"assay": spent}, "s of CPU")
    found.at_most(f"a board of {teams} teams, CPU", 60, spent, "s")


def _order(found: Measured, folder: Path, systems: int, instances: int) -> None:
    chance = np.random.default_rng(0)
    right = chance.random((systems, instances)) < np.linspace(0.4, 0.8, systems)[:, None]
    path = folder / "matrix.csv"
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(["system", *(f"i{at}" for at in range(instances))])
        writer.writerows([f"s{at}", *map(int, row)] for at, row in enumerate(right))
    began = time.process_time()
    order_systems(read_matrix(path.read_text(encoding="utf-8")))
    spent = time.process_time() - began
    found.ways(f"assay order, {systems} systems by {instances} instances", {"assay": spent}, "s of CPU")
    found.at_most(f"assay order on {systems} by {instances}, CPU", 10, spent, "s")


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure all four."""
    found, (instances, classes) = Measured(), sizes.resampled
    _single_label(found, instances, classes, sizes.repetitions)
    _multi_label(found, instances // 10, 50 * classes, min(3, sizes.repetitions))
    _board(found, sizes.compared_teams, instances // 10, classes)
    _order(found, folder, *_ORDER)
    return found
