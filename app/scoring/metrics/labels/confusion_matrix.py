"""Confusion matrices as data: of single labels, and of label sets with split counts."""

from functools import partial
from typing import Any

import numpy as np

from app.scoring.crosstab import (
    MAX_DENSE_CELLS,
    SplitTable,
    TooManyLabelPairsError,
    confusion,
    sparse_confusion,
    split_confusion,
)
from app.scoring.declaration.distinct_value_bounds import CONFUSION
from app.scoring.declaration.metric import MetricCall, Properties, Result
from app.scoring.metrics.example_data import MULTICLASS_EXAMPLE, MULTILABEL_EXAMPLE
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.shared_declarations import (
    MULTILABEL_TASKS,
    SINGLE_LABEL_OPTIONS,
    SINGLE_LABEL_TASKS,
    UNBOUNDED_RANGE,
    declare_single_label_metric,
)
from app.scoring.tally import EvaluationContext


def confusion_matrix(ws: EvaluationContext, call: MetricCall) -> Result:
    """The m × m counts with gold as rows; above a million cells only the nonzero ones, as `cells`.

    `one_vs_rest` holds the 2×2 table of each class; `outside` and `nothing` count the predictions outside the vocabulary
    and the missing ones, which have no column.
    """
    tally = ws.tally(call.options)
    matrix = (confusion if len(ws.spec.classes) ** 2 <= MAX_DENSE_CELLS else sparse_confusion)(ws.case)
    if call.options["unknown_label"] == "drop":
        matrix["nothing"] = [a + b for a, b in zip(matrix["nothing"], matrix["outside"], strict=True)]
        matrix["outside"] = [0] * len(matrix["outside"])
    columns = zip(("tp", "fp", "fn", "tn"), tally.classes.columns, strict=True)
    return Result(None, data={**matrix, "one_vs_rest": {name: column.tolist() for name, column in columns}})


def confusion_split(ws: EvaluationContext, call: MetricCall) -> Result:
    """The matrix of label sets with row and column counts; above a million cells only the nonzero ones."""
    try:
        table = split_confusion(ws.case, call.options)
    except TooManyLabelPairsError:
        raise UndefinedError("the sets are so large that the matrix would have more than ten million entries") from None
    return Result(None, data=_split_table_json(table, len(ws.spec.classes)))


def _split_table_json(table: SplitTable, m: int) -> dict[str, Any]:
    """The table as JSON; names beyond the declared classes follow them in `labels`, only where they occur."""
    shown = [at for at in range(m + 2) if at < m or table.row_totals[at] or table.column_totals[at]]
    position = np.zeros(m + 2, dtype=np.int64)
    position[shown] = np.arange(len(shown))
    cells = position[table.cells]
    data: dict[str, Any] = {
        "rows": "gold",
        "columns": "predicted",
        "labels": [table.names[at] for at in shown],
        "row_totals": [table.row_totals[at] for at in shown],
        "column_totals": [table.column_totals[at] for at in shown],
        "grand_total": {"by_rows": sum(table.row_totals), "by_columns": sum(table.column_totals)},
    }
    if len(shown) ** 2 > MAX_DENSE_CELLS:
        counts = zip(cells.tolist(), table.row_counts, table.column_counts, strict=True)
        return {**data, "cells": [[*cell, by_row, by_column] for cell, by_row, by_column in counts]}
    for name, values in (("row_counts", table.row_counts), ("column_counts", table.column_counts)):
        matrix = np.zeros((len(shown), len(shown)))
        matrix[cells[:, 0], cells[:, 1]] = values
        data[name] = matrix.tolist()
    return data


_declare = partial(
    declare_single_label_metric,
    direction="none",
    granularity=CONFUSION,
    range=UNBOUNDED_RANGE,
    properties=Properties(symmetric=False, prevalence_sensitive=True, ordinal=True),
    scalar=False,
)

_declare(
    key="confusion_matrix",
    name="confusion matrix",
    names=("contingency table", "error matrix", "cross table"),
    equation=r"M_{j,k}=\sum_{i=1}^{n} [y_{i}=j\wedge\hat{y}_{i}=k]",
    source="Wenzel Fig 2-3 (rows predicted there); Döring; rows are gold here",
    example=MULTICLASS_EXAMPLE,
    compute=confusion_matrix,
    hints={"multilabel": "for label sets use confusion_split"},
    symbols={
        "M_{j,k}": "instances of gold class j that were predicted as k",
        "ŷ_i": "predicted class of instance i",
    },
    peers={
        "scikit-learn": "confusion_matrix: rows are gold too",
        "PyCM": "rows are gold too",
        "caret": "confusionMatrix: rows are predicted",
    },
)
_declare(
    key="confusion_split",
    name="confusion matrix of label sets with split counts",
    names=("multi-label confusion matrix",),
    equation=r"R_{j,k}=\sum_{i=1}^{n} \frac{[j\in Y_{i}\setminus P_{i}\wedge k\in P_{i}]}{|P_{i}|},\quad "
    r"C_{j,k}=\sum_{i=1}^{n} \frac{[k\in P_{i}\setminus Y_{i}\wedge j\in Y_{i}]}{|Y_{i}|},\quad j\neq k",
    tasks=MULTILABEL_TASKS,
    options=(*SINGLE_LABEL_OPTIONS, "duplicates"),
    source="Van Asch 2013 sec 5.2, 5.5, Tables 6-7",
    example=MULTILABEL_EXAMPLE,
    compute=confusion_split,
    hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance, use confusion_matrix"),
    symbols={
        "R_{j,k}": "row count of gold label j and predicted label k; a row sums to how often j is gold. On the "
        "diagonal both counts are the instances that have the label on both sides; if only one gold and one "
        "predicted label of an instance remain, it adds 1 to both counts of their cell",
        "C_{j,k}": "column count; a column sums to how often k is predicted",
        "k": "runs over the predicted labels",
        "j": "runs over the gold labels",
    },
    peers={"confusionmatrix.py": "prints the column count before the row count"},
)
