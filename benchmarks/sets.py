"""Multi-label predictions with a vocabulary as large as that of EUR-Lex or MeSH, compared with peers (W2)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, jaccard_score
from sklearn.preprocessing import MultiLabelBinarizer

from app.formats import FileKind
from app.pipeline import SourceFile
from benchmarks.figures import Measured
from benchmarks.labels import ours
from benchmarks.measure import Way, collector_off, timed
from benchmarks.records import loaded
from benchmarks.sizes import Sizes

Int = NDArray[np.int64]
EACH = 9.9  # labels of a document, on average
F1 = ("micro", "macro", "weighted", "samples")
SEVEN = [*(f"f1_{average}" for average in F1), "jaccard_samples", "hamming_loss", "subset_accuracy"]
PARSER = "msgspec typed alone, collector off"


class Document(msgspec.Struct, gc=False):
    """A record in the form that msgspec reads fastest."""

    id: str
    labels: list[str]


class Documents(msgspec.Struct):
    """A file of records."""

    predictions: list[Document]


def drawn(documents: int, labels: int) -> tuple[list[list[str]], list[list[str]]]:
    """True and predicted label lists of each document without duplicates; seven in ten true labels are predicted."""
    chance = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, labels + 1) ** 0.7
    frequencies /= frequencies.sum()

    def anything(count: int) -> Int:
        """Labels drawn by their frequencies."""
        return chance.choice(labels, count, p=frequencies)

    sizes = np.clip(chance.poisson(EACH, documents), 1, labels // 2)
    pairs = np.unique(np.repeat(np.arange(documents), sizes) * labels + anything(int(sizes.sum())))
    kept = chance.random(len(pairs)) < 0.7
    other = pairs[~kept] // labels * labels + anything(int((~kept).sum()))
    return _lists(pairs, documents, labels), _lists(np.unique(np.append(pairs[kept], other)), documents, labels)


def _lists(pairs: Int, documents: int, labels: int) -> list[list[str]]:
    names = [f"label-{code:05d}" for code in (pairs % labels).tolist()]
    ends = np.searchsorted(pairs, np.arange(1, documents + 1) * labels).tolist()
    return [names[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def as_records(path: Path, lists: list[list[str]], order: list[int]) -> SourceFile:
    """Records of these documents in this order."""
    rows = [{"id": f"doc-{number:07d}", "labels": lists[number]} for number in order]
    path.write_bytes(orjson.dumps({"predictions": rows}))
    return SourceFile(path, FileKind("json"))


class Binarized:
    """The usual path: sparse binary indicator matrices, then scikit-learn; gold is binarized before."""

    def __init__(self, truth: list[list[str]], names: list[str], body: bytes) -> None:
        self._binarizer = MultiLabelBinarizer(classes=names, sparse_output=True)
        self._truth = self._binarizer.fit_transform(truth)
        self._ids = [f"doc-{number:07d}" for number in range(len(truth))]
        self._body = body

    def values(self, parse: Callable[[bytes], Any]) -> dict[str, float]:
        """The seven metrics of the body."""
        found = {record["id"]: record["labels"] for record in parse(self._body)["predictions"]}
        truth, predicted = self._truth, self._binarizer.transform([found[name] for name in self._ids])
        values = {f"f1_{average}": f1_score(truth, predicted, average=average, zero_division=0) for average in F1}
        return values | {
            "jaccard_samples": jaccard_score(truth, predicted, average="samples", zero_division=0),
            "hamming_loss": hamming_loss(truth, predicted),
            "subset_accuracy": accuracy_score(truth, predicted),
        }


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure bytes to seven metrics and to all metrics, and parsers alone."""
    truth, predicted = drawn(sizes.documents, sizes.labels)
    names = sorted({name for lists in (truth, predicted) for each in lists for name in each})
    order = list(range(sizes.documents))
    gold = loaded(as_records(folder / "gold.json", truth, order), names, task="multilabel")
    shuffled = np.random.default_rng(1).permutation(sizes.documents).tolist()
    source = as_records(folder / "sets.json", predicted, shuffled)
    body = source.path.read_bytes()
    peer, typed = Binarized(truth, names, body), msgspec.json.Decoder(Documents)
    seven = ours(gold, source, *SEVEN)
    ways: dict[str, Way] = {
        "assay, the 7 metrics of the peers": seven,
        "assay, all metrics that fit": ours(gold, source),
        "json.loads, binarizer, scikit-learn": lambda: peer.values(json.loads),
        "orjson, binarizer, scikit-learn": lambda: peer.values(orjson.loads),
        "json.loads alone, collector off": collector_off(lambda: json.loads(body)),
        "orjson.loads alone, collector off": collector_off(lambda: orjson.loads(body)),
        "msgspec typed alone": lambda: typed.decode(body),
        PARSER: collector_off(lambda: typed.decode(body)),
    }
    spent = timed(ways, repetitions=sizes.repetitions)
    found = Measured()
    pairs = sum(map(len, predicted))
    work = f"{sizes.documents:,} documents, {len(names):,} labels, {pairs:,} pairs, {len(body) / 1e6:.0f} MB"
    found.ways(work, spent, "ms")
    found.at_least(
        "binarizer and scikit-learn, over ours",
        6,
        spent["orjson, binarizer, scikit-learn"] / next(iter(spent.values())),
    )
    found.at_most("ours, over msgspec alone, collector off", 5, next(iter(spent.values())) / spent[PARSER])
    values, theirs = seven(), peer.values(orjson.loads)
    found.at_most(
        "difference to scikit-learn, 7 metrics", 1e-12, max(abs(values[name] - theirs[name]) for name in theirs), ""
    )
    return found
