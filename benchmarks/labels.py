"""Single-label predictions, from the bytes of the file to all count metrics, compared with peers (W1)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray
from pycm import ConfusionMatrix

from app.pipeline import Gold, SourceFile, score_predictions
from app.scoring.declaration.metric_parser import applicable_metrics, parse_metric
from app.scoring.declaration.requirements import needs_met
from benchmarks import records
from benchmarks.careful_user import AGREEMENT, AVERAGES, scikit_learn
from benchmarks.figures import Measured
from benchmarks.measure import Way, timed
from benchmarks.records import Drawn
from benchmarks.sizes import Sizes
from benchmarks.typed import Columns, Records

SHARED = [f"{measure}_{average}" for average in AVERAGES for measure in ("precision", "recall", "f1")]


def ours(gold: Gold, predictions: SourceFile, *asked: str) -> Callable[[], dict[str, Any]]:
    """Computes these metrics of a file, or all that fit, with all checks; returns the values by metric."""
    calls = [parse_metric(text, task=gold.spec.task) for text in asked]
    calls = calls or applicable_metrics(gold.spec.task, None, needs_met(gold.spec))

    def run() -> dict[str, Any]:
        outcome = score_predictions(gold, predictions, calls)
        assert outcome.scores, outcome.problems.to_dict()
        return {name: result.value for name, result in outcome.scores["all"].items()}

    return run


class Peers:
    """Typical user code for the same bytes, with gold that is loaded beforehand."""

    def __init__(self, of: Drawn, body: bytes) -> None:
        self.body = body
        self.names = of.names
        self.code = {name: number for number, name in enumerate(self.names)}
        self.ids = [f"doc-{number:08d}" for number in range(len(of.truth))]
        self.row = {name: number for number, name in enumerate(self.ids)}
        self.truth = of.truth.astype(np.int32)
        self.texts = [self.names[code] for code in of.truth.tolist()]
        self._typed = msgspec.json.Decoder(Records)

    def codes(self) -> dict[str, float]:
        """A careful scikit-learn user: a fast parser, a dictionary, integer codes before any metric."""
        return scikit_learn(self.truth, self._codes(), np.arange(len(self.names)))

    def _codes(self) -> NDArray[np.int32]:
        found = {record["id"]: self.code[record["label"]] for record in orjson.loads(self.body)["predictions"]}
        return np.fromiter((found[name] for name in self.ids), np.int32, len(self.ids))

    def strings(self) -> dict[str, float]:
        """A scikit-learn user who passes lists of strings."""
        return scikit_learn(self.texts, self._texts(), self.names)

    def _texts(self) -> list[str]:
        found = {record["id"]: record["label"] for record in json.loads(self.body)["predictions"]}
        return [found[name] for name in self.ids]

    def counts(self) -> Any:
        """A typed parser, a dictionary and counts alone."""
        given = self._typed.decode(self.body).predictions
        rows = np.fromiter((self.row[record.id] for record in given), np.int32, len(given))
        codes = np.fromiter((self.code[record.label] for record in given), np.int32, len(given))
        truth = self.truth[rows]
        hits = np.bincount(truth[truth == codes], minlength=len(self.names))
        return hits, np.bincount(truth), np.bincount(codes), np.bincount(truth * len(self.names) + codes)

    def confusion(self) -> Any:
        """PyCM with everything that it computes by default."""
        return ConfusionMatrix(self.texts, self._texts()).Overall_ACC


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure all pieces of this work."""
    found = Measured()
    _records(found, sizes, folder)
    _beside_pycm(found, sizes, folder)
    return found


def _records(found: Measured, sizes: Sizes, folder: Path) -> None:
    of = records.drawn(sizes.records, sizes.classes)
    gold = records.loaded(records.as_columns(folder / "gold.json", of, gold=True), of.names)
    source, columns = records.as_records(folder / "records.json", of), records.as_columns(folder / "columns.json", of)
    body, listed = source.path.read_bytes(), columns.path.read_bytes()
    peers = Peers(of, body)
    mine: dict[str, Callable[[], dict[str, Any]]] = {
        "assay, records, all metrics that fit": ours(gold, source),
        "assay, records, the 12 metrics of the peers": ours(gold, source, *SHARED, *AGREEMENT),
        "assay, records as json.dumps writes them": ours(
            gold, records.as_records(folder / "spaced.json", of, spaced=True)
        ),
        "assay, columns": ours(gold, columns),
        "assay, JSON Lines": ours(gold, records.as_lines(folder / "lines.jsonl", of)),
        "assay, records of uneven ids and labels": _uneven(folder, of),
    }
    typed, of_columns = msgspec.json.Decoder(Records), msgspec.json.Decoder(Columns)
    beside: dict[str, Way] = {
        "orjson, dictionary, integer codes, scikit-learn": peers.codes,
        STRINGS: peers.strings,
        "msgspec, dictionary, bincount: counts alone": peers.counts,
        "json.loads alone": lambda: json.loads(body),
        "orjson.loads alone": lambda: orjson.loads(body),
        "msgspec typed alone, records": lambda: typed.decode(body),
        "msgspec typed alone, columns": lambda: of_columns.decode(listed),
        "memcpy of the body": lambda: bytearray(body),
    }
    spent = timed({**mine, **beside}, repetitions=sizes.repetitions, once=[STRINGS])
    found.ways(f"{sizes.records:,} records, {sizes.classes:,} classes, {len(body) / 1e6:.0f} MB", spent, "ms")
    _targets(found, spent)
    values, theirs = mine["assay, records, the 12 metrics of the peers"](), peers.codes()
    found.at_most(
        "difference to scikit-learn, 12 metrics", 1e-12, max(abs(values[name] - theirs[name]) for name in theirs), ""
    )


STRINGS = "json.loads, dictionary, scikit-learn on lists of strings (one run)"


def _targets(found: Measured, spent: dict[str, float]) -> None:
    whole, columns = spent["assay, records, all metrics that fit"], spent["assay, columns"]
    found.at_least(
        "scikit-learn on integer codes, over ours on records",
        7,
        spent["orjson, dictionary, integer codes, scikit-learn"] / whole,
    )
    found.at_most("ours on records, over orjson alone", 1.3, whole / spent["orjson.loads alone"])
    found.at_most("ours on records, over msgspec alone", 3, whole / spent["msgspec typed alone, records"])
    found.at_most("ours on columns, over msgspec alone", 3, columns / spent["msgspec typed alone, columns"])


def _uneven(folder: Path, of: Drawn) -> Callable[[], dict[str, Any]]:
    names = records.uneven_names(of.classes)
    gold = records.loaded(records.as_uneven(folder / "uneven-gold.json", of, gold=True), names)
    return ours(gold, records.as_uneven(folder / "uneven.json", of))


def _beside_pycm(found: Measured, sizes: Sizes, folder: Path) -> None:
    of = records.drawn(*sizes.of_pycm)
    gold = records.loaded(records.as_columns(folder / "few-gold.json", of, gold=True), of.names)
    source = records.as_records(folder / "few.json", of)
    peers = Peers(of, source.path.read_bytes())
    texts = peers._texts()  # noqa: SLF001 - PyCM without reading the file
    ways: dict[str, Way] = {
        "assay, records, all metrics that fit": ours(gold, source),
        "json.loads, dictionary, PyCM": peers.confusion,
        "PyCM alone, on lists of strings": lambda: ConfusionMatrix(peers.texts, texts).Overall_ACC,
        "orjson, dictionary, integer codes, scikit-learn": peers.codes,
    }
    spent = timed(ways, repetitions=sizes.repetitions)
    found.ways(f"{sizes.of_pycm[0]:,} records, {sizes.of_pycm[1]} classes", spent, "ms")
