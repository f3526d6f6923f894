"""Trains five classifiers on scikit-learn's handwritten digits and writes the challenge's gold and prediction files.

Run it from anywhere with the development dependencies installed: `python examples/digits/train.py [folder]`.
The same scikit-learn and numpy write the same bytes; other versions may change single predictions.
"""

import csv
import gzip
import io
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SEED = 20260101
DECIMALS = 6
CLASSES = tuple("0123456789")


@dataclass(frozen=True, slots=True)
class Predictions:
    """The output of one system: n ids, n labels, and ten probabilities per row in the order of CLASSES."""

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class System:
    """A classifier and the file for its predictions."""

    filename: str
    classifier: Any
    write: Callable[[Predictions], str]


# ---- one writer per format that the service reads ----------------------------------------------


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def as_records(predictions: Predictions) -> str:
    """JSON records, probabilities by class name."""
    rows = zip(predictions.ids, predictions.labels, predictions.scores, strict=True)
    return compact(
        {"predictions": [{"id": i, "label": y, "scores": dict(zip(CLASSES, p, strict=True))} for i, y, p in rows]}
    )


def as_lines(predictions: Predictions) -> str:
    """JSON Lines, probabilities in the order of the challenge's classes."""
    rows = zip(predictions.ids, predictions.labels, predictions.scores, strict=True)
    return "".join(compact({"id": i, "label": y, "scores": p}) + "\n" for i, y, p in rows)


def as_columns(predictions: Predictions) -> str:
    """JSON columns: parallel lists, the classes named once."""
    return compact(
        {"ids": predictions.ids, "labels": predictions.labels, "classes": CLASSES, "scores": predictions.scores}
    )


def as_map(predictions: Predictions) -> str:
    """A JSON map from id to label; it cannot hold probabilities."""
    return compact(dict(zip(predictions.ids, predictions.labels, strict=True)))


def as_csv(predictions: Predictions) -> str:
    """CSV with one hard label per row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "label"))
    writer.writerows(zip(predictions.ids, predictions.labels, strict=True))
    return text.getvalue()


# ---- five systems of different kinds, all with the default settings of the library -------------


def systems() -> list[System]:
    """The five systems, untrained; every random choice uses the fixed seed."""
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=SEED)
    return [
        System(
            "logistic_regression.json.gz",
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
            as_records,
        ),
        System("nearest_neighbours.csv.gz", KNeighborsClassifier(n_neighbors=5), as_csv),
        System(
            "support_vectors.columns.json.gz",
            CalibratedClassifierCV(SVC(kernel="rbf", gamma="scale"), method="sigmoid", cv=folds, ensemble=False),
            as_columns,
        ),
        System("random_forest.jsonl.gz", RandomForestClassifier(n_estimators=200, random_state=SEED), as_lines),
        System("naive_bayes.map.json.gz", GaussianNB(), as_map),
    ]


def predict(classifier: Any, ids: tuple[str, ...], images: NDArray[np.float64]) -> Predictions:
    """Rounded probabilities, and the label of their first maximum.

    Taking the label from the rounded row keeps both columns of a file in agreement.
    """
    scores = np.round(classifier.predict_proba(images), DECIMALS)
    order = [CLASSES.index(str(label)) for label in classifier.classes_]
    assert order == list(range(len(CLASSES))), "the columns stand in the order of CLASSES"
    labels = tuple(CLASSES[column] for column in scores.argmax(axis=1))
    return Predictions(ids, labels, tuple(tuple(float(p) for p in row) for row in scores))


# ---- files ------------------------------------------------------------------------------------


def write_gzip(path: Path, text: str) -> None:
    """Write gzipped text without name and time in the header, so that equal text gives equal bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", compresslevel=9, fileobj=raw, mtime=0) as packed:
        packed.write(text.encode())


def main(folder: Path) -> None:
    """Split, train, predict, and write every generated file of this example into the folder."""
    images, digits = load_digits(return_X_y=True)
    labels = np.array([str(digit) for digit in digits])
    train, test = train_test_split(np.arange(len(labels)), test_size=0.5, random_state=SEED, stratify=labels)
    test.sort()
    ids = tuple(f"digit-{index:04d}" for index in test)

    frequencies = Counter(str(label) for label in labels[train])
    (folder / "classes.json").write_text(json.dumps(CLASSES) + "\n", encoding="utf-8")
    (folder / "train_frequencies.json").write_text(
        json.dumps({label: frequencies[label] for label in CLASSES}, indent=2) + "\n", encoding="utf-8"
    )
    gold = (compact({"id": i, "label": str(y)}) + "\n" for i, y in zip(ids, labels[test], strict=True))
    write_gzip(folder / "gold.jsonl.gz", "".join(gold))

    for system in systems():
        system.classifier.fit(images[train], labels[train])
        predictions = predict(system.classifier, ids, images[test])
        write_gzip(folder / system.filename, system.write(predictions))
        right = np.mean(np.array(predictions.labels) == labels[test])
        print(f"{system.filename:<34} accuracy {right:.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
