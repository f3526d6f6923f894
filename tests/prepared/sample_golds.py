"""Golds of every kind, as a challenge may have them."""

import json
from pathlib import Path
from typing import Any

from app.formats import FileKind
from app.pipeline import Gold, SourceFile
from tests.formats.reading import load_gold_both_ways

SPLITS = ("public", "private", "private")
PARENTS = {"cat": ["pet"], "dog": ["pet"], "eel": ["fish"]}
WEIGHTS = {"cat": 0.25, "dog": 3, "eel": 1.5}
COSTS = {"cat": {"dog": 1, "eel": 0.1}, "dog": {"cat": 2, "eel": 3}, "eel": {"cat": 4, "dog": 5}}
LABELS = ("cat", "dog", "eel")


def gold_rows(n: int = 60, **fields: Any) -> list[dict[str, Any]]:
    """One record for each of n ids, with fields that are constant, or functions of the row number."""
    made = fields if "labels" in fields else {"label": lambda row: LABELS[row % 3], **fields}
    return [
        {"id": f"doc-{row:03}"} | {name: of(row) if callable(of) else of for name, of in made.items()}
        for row in range(n)
    ]


def label_set_of_row(row: int) -> list[str]:
    """The label set of a row of a multi-label task; some are empty."""
    return [label for at, label in enumerate(LABELS) if (row >> at) & 1]


IDS = [row["id"] for row in gold_rows()]
MULTICLASS = {"task": "multiclass", "classes": [*LABELS, "fox"]}
KINDS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "plain": (gold_rows(), MULTICLASS),
    "undeclared classes": (gold_rows(), {"task": "multiclass"}),
    "binary": (gold_rows(label=lambda row: LABELS[row % 2]), {"task": "binary", "positive_label": "dog"}),
    "sets": (gold_rows(labels=label_set_of_row), {"task": "multilabel", "classes": list(LABELS)}),
    "unknown cells": (
        gold_rows(labels=label_set_of_row),
        {
            "task": "multilabel",
            "classes": list(LABELS),
            "metadata": {"unknown_cells": {"doc-000": ["eel", "cat"], "doc-009": ["dog"], "doc-016": [*LABELS]}},
        },
    ),
    "acceptable answers": (gold_rows(labels=lambda row: label_set_of_row(row) or ["cat"]), MULTICLASS),
    "splits and weights": (gold_rows(split=lambda row: SPLITS[row % 3], weight=lambda row: 0.5 + row), MULTICLASS),
    "void": (gold_rows(), MULTICLASS | {"void": ["doc-003", "doc-040", "elsewhere"]}),
    "gold metadata": (
        gold_rows(),
        {
            "task": "multiclass",
            "classes": list(LABELS),
            "metadata": {
                "train_frequencies": {"cat": 5, "dog": 2**53, "eel": 0},
                "class_weights": WEIGHTS,
                "hierarchy": PARENTS | {"pet": [], "fish": []},
                "cost_matrix": COSTS,
                "folds": {name: f"f{row % 5}" for row, name in enumerate(IDS)},
                "groups": {name: f"patient {row // 2}" for row, name in enumerate(IDS)},
            },
        },
    ),
    "strange ids": ([{"id": text, "label": "cat"} for text in ("é", "\U0001f980", "a\nb", '"', "x")], MULTICLASS),
    "uneven ids": ([{"id": text, "label": "dog"} for text in ("a", "b" * 900, "c")], MULTICLASS),
}


def load_kind(folder: Path, kind: str) -> Gold:
    """Gold of this kind, read from its file."""
    records, fields = KINDS[kind]
    path = folder / "gold.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    gold, problems = load_gold_both_ways(SourceFile(path, FileKind("json", "", "")), **fields)
    assert gold is not None, problems.to_dict()
    return gold
