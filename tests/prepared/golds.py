"""Golds of every kind, as a challenge may have them."""

import json
from pathlib import Path
from typing import Any

from app.formats import FileKind
from app.pipeline import Gold, Source, load_gold

SPLITS = ("public", "private", "private")
PARENTS = {"cat": ["pet"], "dog": ["pet"], "eel": ["fish"]}
WEIGHTS = {"cat": 0.25, "dog": 3, "eel": 1.5}
COSTS = {"cat": {"dog": 1, "eel": 0.1}, "dog": {"cat": 2, "eel": 3}, "eel": {"cat": 4, "dog": 5}}
LABELS = ("cat", "dog", "eel")


def rows(n: int = 60, **fields: Any) -> list[dict[str, Any]]:
    """One record for each of n ids, with fields that are constant, or functions of the row number."""
    made = fields if "labels" in fields else {"label": lambda row: LABELS[row % 3], **fields}
    return [
        {"id": f"doc-{row:03}"} | {name: of(row) if callable(of) else of for name, of in made.items()}
        for row in range(n)
    ]


def sets(row: int) -> list[str]:
    """Labels of a row of a multi-label task: none for some."""
    return [label for at, label in enumerate(LABELS) if (row >> at) & 1]


IDS = [row["id"] for row in rows()]
MULTICLASS = {"task": "multiclass", "classes": [*LABELS, "fox"]}
KINDS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "plain": (rows(), MULTICLASS),
    "undeclared classes": (rows(), {"task": "multiclass"}),
    "binary": (rows(label=lambda row: LABELS[row % 2]), {"task": "binary", "positive_label": "dog"}),
    "sets": (rows(labels=sets), {"task": "multilabel", "classes": list(LABELS)}),
    "acceptable answers": (rows(labels=lambda row: sets(row) or ["cat"]), MULTICLASS),
    "splits and weights": (rows(split=lambda row: SPLITS[row % 3], weight=lambda row: 0.5 + row), MULTICLASS),
    "void": (rows(), MULTICLASS | {"void": ["doc-003", "doc-040", "elsewhere"]}),
    "beside": (
        rows(),
        {
            "task": "multiclass",
            "classes": list(LABELS),
            "beside": {
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


def loaded(folder: Path, kind: str) -> Gold:
    """Gold of this kind, read from its file."""
    records, fields = KINDS[kind]
    path = folder / "gold.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    gold, problems = load_gold(Source(path, FileKind("json", "", "")), **fields)
    assert gold is not None, problems.to_dict()
    return gold
