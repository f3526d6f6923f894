"""Scoring one file under two golds that differ in their labels and give the same counts: no time may tell them apart."""

import json
from functools import partial
from pathlib import Path

from app.formats import detect_file_kind
from app.gold import Gold, load_gold
from app.pipeline import SourceFile, score_predictions
from app.scoring.declaration.metric_parser import parse_metric
from benchmarks.figures import Measured
from benchmarks.measure import timed
from benchmarks.sizes import Sizes

CLASSES = "abcdefgh"
METRICS = ("accuracy", "f1_macro", "mcc")
MAX_DIFFERENCE = 1.1  # between two medians of a run; the same gold twice differs as much


def _source(path: Path, labels: list[str]) -> SourceFile:
    path.write_text(json.dumps({f"t{at:07}": label for at, label in enumerate(labels)}))
    return SourceFile(path, detect_file_kind(path.name, None, None))


def _gold(path: Path, labels: list[str]) -> Gold:
    gold, problems = load_gold(_source(path, labels), task="multiclass", classes=list(CLASSES))
    assert gold is not None, problems.to_dict()
    return gold


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure both golds in turn: predictions come in pairs of one label, and the gold of each pair is exchanged."""
    folder.mkdir(exist_ok=True)
    count = sizes.records // 2 * 2
    predicted = [CLASSES[at // 2 * 5 % 8] for at in range(count)]
    labels = [CLASSES[at * 3 % 8] for at in range(count)]
    exchanged = [labels[at ^ 1] for at in range(count)]
    predictions = _source(folder / "predictions.json", predicted)
    calls = [parse_metric(text, options={}, task="multiclass") for text in METRICS]
    golds = {"one gold": _gold(folder / "one.json", labels), "labels exchanged": _gold(folder / "two.json", exchanged)}
    assert not set(enumerate(labels)) & set(enumerate(exchanged)), "every label differs"
    ways = {name: partial(score_predictions, gold, predictions, calls) for name, gold in golds.items()}
    values = [{key: result.value for key, result in way().scores["all"].items()} for way in ways.values()]
    assert values[0] == values[1]
    spent = timed(ways, repetitions=4 * sizes.repetitions)
    found = Measured()
    found.ways(f"a file of {count:,} labels under two golds, processor", spent, "ms")
    ratio = max(spent.values()) / min(spent.values())
    found.at_most("scoring under one gold over scoring under another, processor", MAX_DIFFERENCE, ratio)
    return found
