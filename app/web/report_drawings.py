"""What pages draw of the detailed report of a submission: tables, curves, calibration and the confusion matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from app.drawing import charts
from app.text.visible_labels import visible_label
from app.web.formatting import number

CLASS_ROWS = 100
"""How many classes a page lists at once."""
CONFUSED_PAIRS = 20
ORDERS = {
    "declared": "in declared order",
    "name": "by name",
    "frequency": "by frequency",
    "errors": "by errors",
}
"""The orders of classes, by the value of the query `order`."""
_CURVES = {
    "roc_curve": ("ROC curve", "fpr", "tpr", "False positive rate", "True positive rate"),
    "pr_curve": ("Precision-recall curve", "recall", "precision", "Recall", "Precision"),
}


class ConfusedPair(NamedTuple):
    """Two classes of which the first is taken for the second."""

    gold: str
    predicted: str
    instances: float
    share: float
    """The part of the row of the gold class."""


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """A confusion matrix as its cells that are not 0. Columns beyond the classes are predictions that are no class."""

    labels: Sequence[str]
    columns: Sequence[str]
    cells: charts.Cells

    @property
    def is_readable(self) -> bool:
        """Whether a drawing has numbers in its cells."""
        return len(self.columns) <= charts.MAX_READABLE_CLASSES

    def most_confused(self, most: int = CONFUSED_PAIRS) -> list[ConfusedPair]:
        """The largest cells off the diagonal, the largest first."""
        cells = self.cells
        wrong = np.flatnonzero(cells.rows != cells.columns)
        largest = wrong[np.argsort(-cells.counts[wrong], kind="stable")[:most]]
        return [
            ConfusedPair(
                self.labels[cells.rows[at]],
                self.columns[cells.columns[at]],
                float(cells.counts[at]),
                float(cells.counts[at] / cells.totals[cells.rows[at]]),
            )
            for at in largest.tolist()
        ]

    def ordered(self, order: str) -> "ConfusionTable":
        """The table with its classes in one of ORDERS."""
        positions = self._positions(order)
        if positions is None:
            return self
        rank = np.arange(len(self.columns))
        rank[positions] = np.arange(len(positions))
        cells = charts.Cells(
            rank[self.cells.rows], rank[self.cells.columns], self.cells.counts, self.cells.totals[positions]
        )
        names = [self.labels[at] for at in positions.tolist()]
        return ConfusionTable(names, [*names, *self.columns[len(names) :]], cells)

    def _positions(self, order: str) -> NDArray[np.int64] | None:
        cells, size = self.cells, len(self.labels)
        if order == "name":
            return np.asarray(sorted(range(size), key=self.labels.__getitem__), dtype=np.int64)
        if order == "frequency":
            return np.argsort(-cells.totals, kind="stable")
        if order == "errors":
            wrong = cells.rows != cells.columns
            errors = np.bincount(cells.rows[wrong], weights=cells.counts[wrong], minlength=size)
            inside = wrong & (cells.columns < size)
            errors += np.bincount(cells.columns[inside], weights=cells.counts[inside], minlength=size)
            return np.argsort(-errors, kind="stable")
        return None

    def draw(self) -> Markup:
        """The heat map."""
        drawn = min(len(self.cells.counts), charts.MAX_DRAWN_CELLS)
        description = f"Rows are gold classes, columns are predicted classes. {drawn} cells are not 0."
        if drawn < len(self.cells.counts):
            description = (
                f"Rows are gold classes, columns are predicted classes. Of {len(self.cells.counts)} cells that are not "
                f"0, the {drawn} with the largest shares of their rows are drawn."
            )
        return charts.heat_map(
            self.cells,
            self.labels,
            self.columns,
            title="Confusion matrix",
            description=description,
            row_axis="gold",
            column_axis="predicted",
        )


def confusion_table(part: Mapping[str, Any]) -> ConfusionTable:
    """The confusion matrix of a report; of label sets, the one with row counts."""
    labels, size = [visible_label(label) for label in part["labels"]], len(part["labels"])
    if "cells" in part:
        listed = np.asarray([cell[:3] for cell in part["cells"]], dtype=np.float64).reshape(-1, 3)
        rows, columns, counts = listed[:, 0].astype(np.int64), listed[:, 1].astype(np.int64), listed[:, 2]
    else:
        matrix = np.asarray(part["matrix"] if "matrix" in part else part["row_counts"], dtype=np.float64)
        matrix = matrix.reshape(size, size)
        rows, columns = np.nonzero(matrix)
        counts = matrix[rows, columns]
    names = list(labels)
    for key, name in (("outside", "(outside the classes)"), ("nothing", "(no prediction)")):
        beyond = np.asarray(part.get(key, ()), dtype=np.float64)
        if beyond.any():
            at = np.flatnonzero(beyond)
            rows = np.concatenate([rows, at])
            columns = np.concatenate([columns, np.full(len(at), len(names))])
            counts = np.concatenate([counts, beyond[at]])
            names.append(name)
    totals = np.bincount(rows, weights=counts, minlength=size).astype(np.float64)
    return ConfusionTable(labels, names, charts.Cells(rows, columns, counts, totals))


def draw_curves(report: Mapping[str, Any], part: str) -> list[Markup]:
    """The drawings of the curves of a part; one for every six classes, in declared order."""
    title, across, up, x_label, y_label = _CURVES[part]
    curves = report.get(part, {}).get("curves", [])
    drawings = []
    for start in range(0, min(len(curves), 4 * charts.MAX_SERIES), charts.MAX_SERIES):
        shown = curves[start : start + charts.MAX_SERIES]
        series = [charts.Series(one["label"], list(zip(one[across], one[up], strict=True))) for one in shown]
        names = ", ".join(one["label"] for one in shown)
        drawings.append(
            charts.lines(
                series,
                title=title,
                description=f"{title} of: {names}",
                x_label=x_label,
                y_label=y_label,
                has_diagonal=part == "roc_curve",
            )
        )
    return drawings


def draw_calibration(report: Mapping[str, Any]) -> Markup | None:
    """The reliability diagram: mean probability and observed share of each bin that is not empty."""
    bins = [each for each in report.get("calibration", {}).get("bins", []) if each["confidence"] is not None]
    if not bins:
        return None
    largest = max(each["weight"] for each in bins)
    points = [
        charts.Point(
            each["confidence"],
            each["accuracy"],
            f"mean probability {number(each['confidence'])}, observed share {number(each['accuracy'])}, "
            f"{number(each['weight'])} instances",
            each["weight"] / largest,
        )
        for each in bins
    ]
    return charts.scatter(
        points,
        title="Calibration",
        description="One point for each bin of predicted probabilities. On the diagonal, forecasts are calibrated.",
        x_label="Mean predicted probability",
        y_label="Observed share",
        has_diagonal=True,
    )


def class_rows(report: Mapping[str, Any], order: str) -> list[dict[str, Any]]:
    """The counts and measures of each class, in one of ORDERS; most errors first means false positives and negatives."""
    rows = [{"label": label, **row} for label, row in report.get("per_class", {}).items()]
    if order == "name":
        rows.sort(key=lambda row: row["label"])
    elif order == "frequency":
        rows.sort(key=lambda row: -row["support"])
    elif order == "errors":
        rows.sort(key=lambda row: -(row["fp"] + row["fn"]))
    return rows
