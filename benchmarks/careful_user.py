"""A careful scikit-learn user: two files in, metrics out: `python -m benchmarks.careful_user gold.json predictions.json`.

He imports nothing of Assay: a fast parser, a dictionary, and integer codes before any metric.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    confusion_matrix,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

AVERAGES = ("macro", "micro", "weighted")
AGREEMENT = {"accuracy": accuracy_score, "cohen_kappa": cohen_kappa_score, "mcc": matthews_corrcoef}


def scikit_learn(truth: Any, predicted: Any, labels: Any) -> dict[str, float]:
    """Precision, recall and F of each class and averaged, measures of agreement, and the confusion matrix."""
    values: dict[str, float] = {}
    for average in AVERAGES:
        found = precision_recall_fscore_support(truth, predicted, labels=labels, average=average, zero_division=0)
        values |= dict(zip((f"{measure}_{average}" for measure in ("precision", "recall", "f1")), found, strict=False))
    precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=0)
    confusion_matrix(truth, predicted, labels=labels)
    return values | {name: function(truth, predicted) for name, function in AGREEMENT.items()}


def main(gold: str, predictions: str) -> None:
    """Print the values as JSON."""
    records = orjson.loads(Path(gold).read_bytes())["predictions"]
    found = {record["id"]: record["label"] for record in orjson.loads(Path(predictions).read_bytes())["predictions"]}
    names = sorted({record["label"] for record in records}.union(found.values()))
    code = {name: number for number, name in enumerate(names)}
    truth = np.fromiter((code[record["label"]] for record in records), np.int32, len(records))
    predicted = np.fromiter((code[found[record["id"]]] for record in records), np.int32, len(records))
    values = scikit_learn(truth, predicted, np.arange(len(names)))
    print(orjson.dumps({name: float(value) for name, value in values.items()}).decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
