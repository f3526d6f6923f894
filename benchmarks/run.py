"""Prints the benchmark tables: our path beside its peers, interleaved in one run, as medians and ratios.

Trust the ratios, not the milliseconds: machines differ, and other work may share this one. `--json FILE` keeps the
figures.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import sklearn
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    hamming_loss,
    jaccard_score,
    matthews_corrcoef,
    precision_recall_fscore_support,
)
from sklearn.preprocessing import MultiLabelBinarizer

from app.formats import FileKind
from app.pipeline import Gold, Source, load_gold, score
from app.scoring.asked import all_fitting
from app.scoring.needs import met
from app.scoring.task import Task
from benchmarks import scores

ROOT = Path(__file__).resolve().parents[1]
JSON = FileKind("json")


@dataclass
class Row:
    """One measured way of doing a piece of work."""

    work: str
    way: str
    milliseconds: float
    ratio: float | None


def timed(work: str, ways: dict[str, Callable[[], object]], *, repetitions: int = 5) -> list[Row]:
    """CPU time of each way, interleaved; the ratio is to the first way."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, run in ways.items():
            began = time.process_time()
            run()
            spent[name].append(time.process_time() - began)
    medians = {name: statistics.median(times) * 1000 for name, times in spent.items()}
    first = next(iter(medians.values()))
    return [Row(work, name, round(value, 2), round(value / first, 2)) for name, value in medians.items()]


@dataclass
class Data:
    """Generated gold and predictions as files, loaded gold, and what the peers need."""

    gold: Gold
    predictions: Source
    body: bytes
    truth: dict[str, Any]
    classes: list[str]


def make(folder: Path, *, task: Task, instances: int, classes: int) -> Data:
    """Shuffled records of which about seven in ten are right."""
    chance = random.Random(7)
    names = [f"class-{number:04d}" for number in range(classes)]
    several = task == "multilabel"
    field = "labels" if several else "label"

    def label() -> Any:
        return chance.sample(names, 3) if several else chance.choice(names)

    truth = {f"item-{number:07d}": label() for number in range(instances)}
    answers = [{"id": name, field: right if chance.random() < 0.7 else label()} for name, right in truth.items()]
    chance.shuffle(answers)
    gold_path, path = folder / f"gold-{task}-{instances}.json", folder / f"predictions-{task}-{instances}.json"
    gold_path.write_bytes(orjson.dumps([{"id": name, field: right} for name, right in truth.items()]))
    path.write_bytes(orjson.dumps({"predictions": answers}))
    gold, problems = load_gold(Source(gold_path, JSON), task=task, classes=names)
    assert gold is not None, problems.to_dict()
    return Data(gold, Source(path, JSON), path.read_bytes(), truth, names)


def ours(data: Data) -> Callable[[], object]:
    """Bytes to every metric that fits, with all checks: what a submission costs beside its transaction."""
    calls = all_fitting(data.gold.spec.task, None, met(data.gold.spec))

    def run() -> object:
        outcome = score(data.gold, data.predictions, calls)
        assert outcome.scores, outcome.problems.to_dict()
        return outcome

    return run


def careful_user(data: Data) -> Callable[[], object]:
    """A careful scikit-learn user: fast parser, dictionary join, integer codes before any metric; fewer metrics."""
    code = {name: number for number, name in enumerate(data.classes)}
    gold = {name: code[right] for name, right in data.truth.items()}
    order = list(gold)
    truth = np.fromiter(gold.values(), np.int32, len(gold))

    def run() -> object:
        found = {record["id"]: code[record["label"]] for record in orjson.loads(data.body)["predictions"]}
        predicted = np.fromiter((found[name] for name in order), np.int32, len(order))
        values = [
            precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)
            for average in ("macro", "micro", "weighted")
        ]
        agreement = [accuracy_score, cohen_kappa_score, matthews_corrcoef]
        return values, [each(truth, predicted) for each in agreement]

    return run


def binarizer_user(data: Data) -> Callable[[], object]:
    """The usual multi-label path: binary indicator matrices, then scikit-learn."""
    binarizer = MultiLabelBinarizer(classes=data.classes, sparse_output=True)
    truth = binarizer.fit_transform(data.truth.values())
    order = list(data.truth)

    def run() -> object:
        found = {record["id"]: record["labels"] for record in orjson.loads(data.body)["predictions"]}
        predicted = binarizer.transform([found[name] for name in order])
        values = [
            precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)
            for average in ("macro", "micro", "weighted", "samples")
        ]
        return values, hamming_loss(truth, predicted), jaccard_score(truth, predicted, average="samples")

    return run


def single_label(folder: Path) -> list[Row]:
    """100,000 records of 100 classes, and the size of an ImageNet validation set."""
    rows = []
    for instances, classes in ((100_000, 100), (50_000, 1000)):
        data = make(folder, task="multiclass", instances=instances, classes=classes)
        ways: dict[str, Callable[[], object]] = {
            "assay, bytes to all metrics": ours(data),
            "scikit-learn on integer codes": careful_user(data),
            "json.loads alone": lambda data=data: json.loads(data.body),  # type: ignore[misc]
            "orjson.loads alone": lambda data=data: orjson.loads(data.body),  # type: ignore[misc]
        }
        rows += timed(f"{instances:,} single-label records, {classes} classes", ways)
    return rows


def multi_label(folder: Path) -> list[Row]:
    """20,000 records of 1000 classes with three labels each."""
    data = make(folder, task="multilabel", instances=20_000, classes=1000)
    ways = {"assay, bytes to all metrics": ours(data), "binarizer + scikit-learn": binarizer_user(data)}
    return timed("20,000 multi-label records, 1000 classes", ways)


def matrices() -> list[Row]:
    """100,000 instances with a score for each of 100 classes, on one thread: areas of every class, pairs of classes."""
    work = "scores, 100,000 by 100"
    return [
        *timed(f"{work}: AUC and average precision", scores.areas(), repetitions=5),
        *timed(f"{work}: Hand & Till", scores.pairs(), repetitions=3),
    ]


def whole_command(arguments: list[str], *, repetitions: int = 5) -> float:
    """Median wall milliseconds of a command from start to end."""
    spent = []
    for _ in range(repetitions):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "app.cli", *arguments], cwd=ROOT, check=True, capture_output=True)
        spent.append(time.perf_counter() - began)
    return round(statistics.median(spent) * 1000, 1)


def commands() -> list[Row]:
    """What a person waits for at the command line."""
    digits = ROOT / "examples" / "digits"
    files = ["--gold", str(digits / "gold.jsonl.gz"), "--predictions", str(digits / "naive_bayes.map.json.gz")]
    return [
        Row("command line", "assay --help", whole_command(["--help"]), None),
        Row("command line", "assay score, 899 records", whole_command(["score", *files]), None),
    ]


def over_http(folder: Path) -> list[Row]:
    """POST with Prefer: wait until the scores are in the answer, 3,500 records, one after the other."""
    from tests.live import Live, open_challenge  # noqa: PLC0415 - needs the development dependencies

    data = make(folder, task="multiclass", instances=3500, classes=20)
    gold = json.loads((folder / "gold-multiclass-3500.json").read_bytes())
    bare = timed("", {"": ours(data)}, repetitions=20)[0].milliseconds
    service = Live(folder / "data").start()
    try:
        open_challenge(service.admin(), "bench", gold)
        team = service.person("Bench").join("bench", "Bench")
        spent = []
        for _ in range(60):
            began = time.perf_counter()
            answer = team.submit("bench", json.loads(data.body))
            spent.append((time.perf_counter() - began) * 1000)
            assert answer.json()["status"] == "finished", answer.text
    finally:
        service.stop()
    work = "3,500 records, POST to scores in the answer"
    cuts = statistics.quantiles(spent, n=20)
    return [
        Row(work, "scoring alone, in process", round(bare, 1), 1.0),
        Row(work, "over HTTP, median", round(cuts[9], 1), round(cuts[9] / bare, 1)),
        Row(work, "over HTTP, 95th percentile", round(cuts[18], 1), round(cuts[18] / bare, 1)),
    ]


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    return {
        "processors": str(os.cpu_count()),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "orjson": orjson.__version__,
    }


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| work | way | ms | ratio |", "|---|---|---:|---:|"]
    lines += [
        f"| {row.work} | {row.way} | {row.milliseconds:g} | {'' if row.ratio is None else f'{row.ratio:g}'} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*single_label(folder), *multi_label(folder), *matrices(), *over_http(folder), *commands()]
    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    print()
    print(table(rows))
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
