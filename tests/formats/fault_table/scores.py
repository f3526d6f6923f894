"""Faults of scores."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tests.formats.fault_table.model import (
    CLASSES,
    IDS,
    Cell,
    Fault,
    Group,
    ProblemFields,
    cells_of_columns,
    missing_instances,
    problem_at,
)
from tests.formats.fault_table.write import (
    ARROWS,
    JSON,
    LABELS,
    SCORES,
    WIDE,
    JsonPairs,
    RawJson,
    cell_with_scores,
    columnar,
    make_cell,
    npz,
    records_text,
    table_text,
    to_json,
    value_location,
    write_file,
)

TWO = ("csv", "tsv")
NAMED = ("records", "map", "lines")
HAS_ALL = "a table has a cell for each class"
MATRIX = "the array has one width for all rows"
TYPED = "an array or column of scores holds floats; see scores as integers"


def _scores(column: str, values: list[Any], names: tuple[Any, ...] = CLASSES) -> bytes:
    """Scores by class; in JSON Lines as objects too."""
    if column == "lines":
        values = [JsonPairs(zip(names, value, strict=True)) for value in values]
    rows = list(zip(IDS, values, strict=True))
    return write_file(column, rows, "scores", names)


def _number(text: str, value: float) -> Callable[[str], Cell]:
    def make(column: str) -> Cell:
        written_so: Any = RawJson(text) if column in JSON else text if column in TWO else value
        return cell_with_scores("not_a_number", written_so, 1)(column)

    return make


def _wrong_width(column: str) -> Cell:
    """Two scores where three are due, row by row."""
    short = [row[:2] for _, row in SCORES]
    found = {"code": "wrong_class_count", **value_location(column, 1, "scores"), "instance_id": "t2"}
    if column in {"records", "lines"}:
        rows = [{"id": name, "scores": row if name != "t2" else row[:2]} for name, row in SCORES]
        body = records_text(column, rows)
        return make_cell(column, body, found)
    if column == "columns":
        body = to_json({"ids": list(IDS), "scores": [SCORES[0][1], short[1], SCORES[2][1]]})
        return make_cell(column, body, found)
    if column == "npz":
        return make_cell(column, npz(ids=IDS, scores=short), problem_at("wrong_class_count", "/scores"))
    if column in TWO:
        lines = [["id", *CLASSES], *([name, *(row[:2] if name == "t2" else row)] for name, row in SCORES)]
        body = table_text(column, lines)
        return make_cell(column, body, problem_at("wrong_shape", line=3, column=3), *missing_instances("t2"))
    lists = pa.table({"id": IDS, "scores": [SCORES[0][1], short[1], SCORES[2][1]]})
    return make_cell(column, columnar(column, lists), problem_at("wrong_class_count", "/scores/1", "t2"))


def _no_number(column: str) -> Cell:
    return cell_with_scores("not_a_number", "high", 1, got='"high"')(column)


def _null(column: str) -> Cell:
    value: Any = RawJson("null") if column in JSON else "" if column in TWO else None
    return cell_with_scores("not_a_number", value, 1)(column)


def _unknown_class(column: str) -> Cell:
    """Scores for cat, dog and Eel."""
    names = ("cat", "dog", "Eel")
    rows = [row for _, row in SCORES]
    known = {"expected": '"eel"', "got": '"Eel"'}
    if column in NAMED:
        found = []
        for row, name in enumerate(IDS):
            here = value_location(column, row, "scores")
            here["pointer"] += "/Eel"
            found.append({"code": "unknown_label", **here, "instance_id": name, **known})
        return make_cell(column, _scores(column, rows, names), *found)
    here = {"columns": {"pointer": "/classes/2"}, "npz": {"pointer": "/classes/2"}}.get(
        column, {"line": 1, "column": 4} if column in TWO else {"pointer": "/Eel"}
    )
    return make_cell(column, _scores(column, rows, names), {"code": "unknown_label", **here, **known})


def _order(column: str) -> Cell:
    """The order of the scores, named beside the records, with a misspelt class."""
    rows = [{"id": name, "scores": row} for name, row in SCORES]
    body = to_json({"classes": ["cat", "dog", "Eel"], "predictions": rows})
    return make_cell(column, body, problem_at("unknown_label", "/classes/2", expected='"eel"'))


def _class_missing(column: str) -> Cell:
    """No scores for eel."""
    rows = [[0.7, 0.3], [0.5, 0.5], [0.1, 0.9]]
    body = _scores(column, rows, CLASSES[:2])
    if column in NAMED:
        found = [
            {"code": "wrong_class_count", **value_location(column, row, "scores"), "instance_id": name}
            for row, name in enumerate(IDS)
        ]
        return make_cell(column, body, *found)
    here: ProblemFields = {"line": 1} if column in TWO else {} if column in ARROWS else {"pointer": "/classes"}
    return make_cell(column, body, {"code": "wrong_class_count", **here})


def _class_twice(column: str) -> Cell:
    """Scores for cat, dog, dog and eel."""
    names = ("cat", "dog", "dog", "eel")
    rows = [[0.4, 0.3, 0.2, 0.1]] * 3
    if column in ARROWS:
        table = pa.table([pa.array(IDS), *([pa.array([0.25] * 3)] * 4)], names=["id", *names])
        return make_cell(column, columnar(column, table), problem_at("duplicate_key", "/dog"))
    body = _scores(column, rows, names)
    if column in NAMED:
        found = []
        for row, name in enumerate(IDS):
            here = value_location(column, row, "scores")
            here["pointer"] += "/dog"
            found.append({"code": "duplicate_key", **here, "instance_id": name})
        return make_cell(column, body, *found)
    if column in TWO:
        return make_cell(column, body, problem_at("duplicate_key", line=1, column=4))
    return make_cell(column, body, problem_at("duplicate_label", "/classes/2"))


def _beside(column: str) -> Cell:
    """The record of t2 has no scores."""
    rows = [{"id": name, "scores": row} for name, row in SCORES]
    del rows[1]["scores"]
    body = records_text(column, rows)
    return make_cell(column, body, {"code": "wrong_shape", **value_location(column, 1, "row"), "instance_id": "t2"})


def _absent(column: str) -> Cell:
    return make_cell(column, write_file(column, LABELS), problem_at("wrong_shape"), challenge="probabilities")


def _column_gone(column: str) -> Cell:
    rows = JsonPairs([("ids", list(IDS)), ("classes", list(CLASSES)), ("scores", [row for _, row in SCORES[:2]])])
    body: str | bytes = (
        to_json(rows) if column == "columns" else npz(ids=IDS, classes=CLASSES, scores=[r for _, r in SCORES[:2]])
    )
    return make_cell(column, body, problem_at("wrong_shape", "/scores"), *missing_instances("t3"))


def _integers(column: str) -> Cell:
    ones = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    if column == "npz":
        return make_cell(column, npz(ids=IDS, classes=CLASSES, scores=ones), problem_at("wrong_shape", "/scores"))
    return make_cell(column, _scores(column, ones), *[problem_at("wrong_shape", f"/{name}") for name in CLASSES])


def _sum(column: str) -> Cell:
    return cell_with_scores("not_a_probability", [0.2, 0.2, 0.2], None, "brier", got="a sum of 0.6")(column)


def _percentages(column: str) -> Cell:
    row = [20.0, 50.0, 30.0]
    whole = cell_with_scores("not_a_probability", row, None, "brier")(column)
    each = [cell_with_scores("not_a_probability", row, item, "brier", got=repr(row[item]))(column) for item in range(3)]
    return replace(whole, problems=tuple(problem for cell in each for problem in cell.problems))


def _alone(code: str, value: Any, **more: Any) -> Callable[[str], Cell]:
    """A maker of binary cells with the score of the positive label (dog) alone, of which that of t2 is faulty."""

    def make(column: str) -> Cell:
        spoiled = str(value) if column in TWO else value
        values = [0.2, RawJson(value) if column in JSON and isinstance(value, str) else spoiled, 0.9]
        here: ProblemFields = {"pointer": "/scores/1"}
        if column in {"records", "lines"}:
            rows = [{"id": name, "score": one} for name, one in zip(IDS, values, strict=True)]
            body: str | bytes = records_text(column, rows)
            here = {"line": 2, "pointer": "/score"} if column == "lines" else {"pointer": "/predictions/1/score"}
        elif column == "columns":
            body = to_json({"ids": list(IDS), "scores": values})
        elif column == "map":
            body, here = (
                to_json({name: {"dog": one} for name, one in zip(IDS, values, strict=True)}),
                {"pointer": "/t2/dog"},
            )
        elif column in TWO:
            lines = [("id", "score"), *zip(IDS, values, strict=True)]
            body, here = table_text(column, lines), {"line": 3, "column": 2}
        elif column == "npz":
            body = npz(ids=IDS, scores=np.array(values, dtype=float))
        else:
            table = pa.table({"id": IDS, "score": pa.array([float(one) for one in values])})
            body, here = columnar(column, table), {"pointer": "/score/1"}
        return make_cell(column, body, {"code": code, **here, "instance_id": "t2", **more}, challenge="binary")

    return make


def _mixed(column: str) -> Cell:
    """The score of the positive label alone for t1, both for t2."""
    values = [0.2, [0.4, 0.6], 0.9]
    if column == "columns":
        body = to_json({"ids": list(IDS), "scores": values})
        return make_cell(column, body, problem_at("wrong_class_count", "/scores/1", "t2"), challenge="binary")
    rows = [{"id": name, "scores": one} for name, one in zip(IDS, values, strict=True)]
    body = records_text(column, rows)
    found = {"code": "wrong_class_count", **value_location(column, 1, "scores"), "instance_id": "t2"}
    return make_cell(column, body, found, challenge="binary")


def _one_named(column: str) -> Cell:
    """The positive label named beside the records, the first of which gives scores for both."""
    rows = [
        {"id": name, "scores": one} for name, one in zip(IDS, [{"cat": 0.8, "dog": 0.2}, [0.6], [0.9]], strict=True)
    ]
    body = to_json({"classes": ["dog"], "predictions": rows})
    return make_cell(column, body, problem_at("wrong_class_count", "/predictions/0/scores", "t1"), challenge="binary")


INFINITY = _number("Infinity", math.inf)
INTEGERS_ARE_NUMBERS = "an integer is a number like any other"

GROUP = Group(
    "Scores",
    WIDE,
    (
        Fault("NaN", "The score of dog for t2 is NaN.", cells_of_columns(WIDE, _number("NaN", math.nan))),
        Fault("Infinity", "The score of dog for t2 is infinite.", cells_of_columns(WIDE, INFINITY)),
        Fault(
            "1e999",
            "A number beyond binary64.",
            cells_of_columns(
                (*JSON, *TWO),
                _number("1e999", math.inf),
                **dict.fromkeys(("npz", *ARROWS), "it exceeds the range of floats"),
            ),
        ),
        Fault(
            "no number",
            "The text `high` as a score.",
            cells_of_columns((*JSON, *TWO), _no_number, **dict.fromkeys(("npz", *ARROWS), TYPED)),
        ),
        Fault(
            "no value",
            "null, or an empty field.",
            cells_of_columns((*JSON, *TWO, *ARROWS), _null, npz="arrays have no nulls"),
        ),
        Fault(
            "wrong width",
            "Two instead of three scores for t2 (.npz: for all).",
            cells_of_columns(
                tuple(name for name in WIDE if name != "map"), _wrong_width, map="scores have class names"
            ),
        ),
        Fault(
            "unknown class",
            "Scores for cat, dog and Eel: the answer suggests eel.",
            cells_of_columns(WIDE, _unknown_class),
        ),
        Fault(
            "unknown class in the order",
            "Lists of scores, and next to the records a list of classes with Eel.",
            cells_of_columns(
                ("records",),
                _order,
                lines="the order is that of the challenge",
                **dict.fromkeys(("columns", "map", *TWO, "npz", *ARROWS), "see unknown class"),
            ),
        ),
        Fault(
            "one class in the order",
            "In a binary task only dog is listed next to the records, but t1 has scores for both classes.",
            cells_of_columns(
                ("records",),
                _one_named,
                lines="the order is that of the challenge",
                **dict.fromkeys(("columns", "map", *TWO, "npz", *ARROWS), "a file names its classes in one way"),
            ),
        ),
        Fault("missing class", "No scores for eel.", cells_of_columns(WIDE, _class_missing)),
        Fault("duplicate class", "Two scores for dog.", cells_of_columns(WIDE, _class_twice)),
        Fault(
            "record without scores",
            "Other records have scores.",
            cells_of_columns(
                ("records", "lines"),
                _beside,
                columns="see unequal lengths",
                map="an id has a value",
                **dict.fromkeys((*TWO, *ARROWS), HAS_ALL),
                npz=MATRIX,
            ),
        ),
        Fault(
            "unequal lengths",
            "There are fewer rows of scores than ids.",
            cells_of_columns(
                ("columns", "npz"),
                _column_gone,
                **dict.fromkeys(("records", "map", "lines"), "an id and its scores are in one record"),
                **dict.fromkeys((*TWO, *ARROWS), HAS_ALL),
            ),
        ),
        Fault(
            "scores as integers",
            "Columns or an array of an integer type.",
            cells_of_columns(("npz", *ARROWS), _integers, **dict.fromkeys((*JSON, *TWO), INTEGERS_ARE_NUMBERS)),
        ),
        Fault(
            "no scores at all",
            "Only labels, although the primary metric (log_loss) needs scores.",
            cells_of_columns(WIDE, _absent),
        ),
        Fault(
            "negative score",
            "-0.1, although the metric (log_loss) needs probabilities.",
            cells_of_columns(WIDE, cell_with_scores("not_a_probability", -0.1, 1, "probabilities", got="-0.1")),
        ),
        Fault(
            "score above one",
            "1.5, although the metric (brier_multiclass_sum) needs probabilities.",
            cells_of_columns(WIDE, cell_with_scores("not_a_probability", 1.5, 1, "brier", got="1.5")),
        ),
        Fault(
            "percentages",
            "20, 50 and 30, although probabilities are required.",
            cells_of_columns(WIDE, _percentages),
        ),
        Fault("sum is not one", "Three times 0.2, although probabilities are required.", cells_of_columns(WIDE, _sum)),
        Fault(
            "single score, NaN",
            "In a binary task, only the score of the positive label is given, as NaN.",
            cells_of_columns(WIDE, _alone("not_a_number", "NaN")),
        ),
        Fault(
            "single score above one",
            "1.5, although probabilities are required.",
            cells_of_columns(WIDE, _alone("not_a_probability", 1.5, got="1.5")),
        ),
        Fault(
            "one score and two",
            "In a binary task, one score for t1 and two for t2.",
            cells_of_columns(
                ("records", "columns", "lines"),
                _mixed,
                map="scores have class names",
                **dict.fromkeys((*TWO, *ARROWS), HAS_ALL),
                npz=MATRIX,
            ),
        ),
    ),
)
