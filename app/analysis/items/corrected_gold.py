"""A gold file with some changes applied, in a form that can be uploaded as the next version, and the list of changes."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from app.analysis.items.relabelling import Relabelling
from app.formats.normalize import SPLITS
from app.gold import Gold
from app.text.spreadsheet_cells import escape_formula


def gold_lines(gold: Gold, changed: Relabelling) -> Iterator[str]:
    """The whole gold as JSON Lines: id, label or labels, and split and weight where the gold has them.

    Instances that are void have no line.
    """
    sets, ids, classes = changed.labels.as_sets(), gold.ids, gold.spec.classes
    assert sets.offsets is not None
    weights = _written_weights(gold)
    single = gold.spec.task != "multilabel" and changed.labels.offsets is None
    for row in changed.kept.tolist():
        labels = [classes[code] for code in sets.codes[sets.offsets[row] : sets.offsets[row + 1]].tolist()]
        record: dict[str, Any] = {"id": ids[row]} | ({"label": labels[0]} if single else {"labels": labels})
        if gold.splits is not None:
            record["split"] = SPLITS[int(gold.splits[row])]
        if weights is not None:
            record["weight"] = weights[row]
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _written_weights(gold: Gold) -> list[int | float] | None:
    """The weights as they were written; in whole units, which give the same values, where a number would not be exact."""
    if gold.weights is None:
        return None
    units = gold.weights.tolist()
    exact = {unit: unit * gold.weight_unit for unit in set(units)}
    numbers = {unit: int(value) if value.denominator == 1 else float(value) for unit, value in exact.items()}
    if any(Fraction(repr(numbers[unit])) != value for unit, value in exact.items()):
        return list(units)
    return [numbers[unit] for unit in units]


def change_records(ids: Sequence[str], changed: Relabelling) -> list[dict[str, Any]]:
    """Each instance that changes: its id, the labels before (`old`), and those after (`new`, null where it is void)."""
    return [
        {"id": ids[row], "old": list(old), "new": None if new is None else list(new)}
        for row, old, new in changed.changes
    ]


def changes_csv(records: Sequence[dict[str, Any]]) -> str:
    """The changes as CSV; several labels of one instance are separated by line breaks within the cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["id", "old", "new", "void"])
    for record in records:
        old, new = ("\n".join(labels or ()) for labels in (record["old"], record["new"]))
        void = "true" if record["new"] is None else "false"
        writer.writerow([escape_formula(record["id"]), escape_formula(old), escape_formula(new), void])
    return out.getvalue()
