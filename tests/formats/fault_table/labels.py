"""Faults of labels."""

from typing import Any

from tests.formats.fault_table.ids import (
    FLAGS,
    FLOATS,
    NO_NULL,
    RECORDS,
    TEXT_ALONE,
    column_of,
    lists_for,
    typed_columns,
)
from tests.formats.fault_table.model import (
    CLASSES,
    IDS,
    Cell,
    Fault,
    Group,
    cells_of_columns,
    missing_instances,
    problem_at,
)
from tests.formats.fault_table.write import (
    ALL,
    ARROWS,
    JSON,
    LABELS,
    SETS,
    TABLES,
    RawJson,
    cell_with_label,
    make_cell,
    npz,
    records_text,
    to_json,
    value_location,
    with_second_row,
    write_file,
)


def _in_set(code: str, labels: list[str], item: int) -> Any:
    """A maker of multi-label cells with these labels for t2, of which one is faulty."""

    def make(column: str) -> Cell:
        found = {"code": code, **value_location(column, 1, "label", item, sets=True), "instance_id": "t2"}
        if column in {"csv", "tsv"}:
            found |= {"line": 3, "column": 2}
        if column == "long":
            found |= {"line": 3 + item, "column": 2}
        if column == "npz":
            found["pointer"] = "/labels/1"  # one text holds them all
        return make_cell(
            column, write_file(column, with_second_row(SETS, value=labels), "labels"), found, challenge="sets"
        )

    return make


def _one_for_sets(column: str) -> Cell:
    """One label where the task takes sets."""
    found = []
    for row, name in enumerate(IDS):
        here = value_location(column, row, "label", sets=False)
        found.append({"code": "wrong_shape", **here, "instance_id": name})
    return make_cell(column, write_file(column, LABELS), *found, challenge="sets")


def _sets_for_one(column: str) -> Cell:
    """Sets where the task takes one label."""
    found = [
        {"code": "wrong_shape", **value_location(column, row, "label", sets=True), "instance_id": name}
        for row, name in enumerate(IDS)
    ]
    if column in ARROWS:
        found = [problem_at("wrong_shape")]
    return make_cell(column, write_file(column, SETS, "labels"), *found)


def _joined(column: str) -> Cell:
    """Labels joined by a bar where the task takes one."""
    rows = with_second_row(LABELS, value="cat|dog")
    return make_cell(
        column,
        write_file(column, rows),
        {"code": "unknown_label", **value_location(column, 1, "label"), "instance_id": "t2"},
    )


def _label_null(column: str) -> Cell:
    return column_of(column, "label", ["cat", None, "eel"], problem_at("wrong_shape", "/label/1", "t2"))


def _unequal(column: str) -> Cell:
    if column == "columns":
        body: str | bytes = to_json({"ids": list(IDS), "labels": list(CLASSES[:2])})
    else:
        body = npz(ids=IDS, labels=CLASSES[:2])
    return make_cell(column, body, problem_at("wrong_shape", "/labels"), *missing_instances("t3"))


def _empty_label(column: str) -> Cell:
    if column == "long":
        body = write_file(column, [*SETS, ("t2", [""])], "labels")
        return make_cell(column, body, problem_at("empty_label", None, "t2", line=5, column=2))
    return cell_with_label("empty_label", "")(column)


def _no_label(column: str) -> Cell:
    rows = [{"id": "t1", "label": "cat"}, {"id": "t2"}, {"id": "t3", "label": "eel"}]
    body = records_text(column, rows)
    return make_cell(column, body, {"code": "wrong_shape", **value_location(column, 1, "row"), "instance_id": "t2"})


FIELD_ALONE = "all rows have the same fields"
ANSWERS = Group(
    "Labels",
    ALL,
    (
        Fault(
            "unknown label",
            "A label similar to none of the vocabulary.",
            cells_of_columns(ALL, cell_with_label("unknown_label", "zebra", expected='"cat", "dog", "eel"')),
        ),
        Fault(
            "misspelt label",
            "Dog instead of dog: the answer suggests dog.",
            cells_of_columns(ALL, cell_with_label("unknown_label", "Dog", expected='"dog"')),
        ),
        Fault(
            "class number",
            "1 instead of dog: the answer shows how classes are usually numbered.",
            cells_of_columns(ALL, cell_with_label("unknown_label", "1", expected='"cat", "dog", "eel"', got='"1"')),
        ),
        Fault(
            "empty label",
            "The label of t2 is the empty string (long CSV: in addition to another label).",
            cells_of_columns(ALL, _empty_label),
        ),
        Fault(
            "duplicate label",
            "A set holds dog twice.",
            cells_of_columns(ALL, _in_set("duplicate_label", ["dog", "dog"], 1)),
        ),
        Fault(
            "unknown in a set",
            "One label of a set is unknown.",
            cells_of_columns(ALL, _in_set("unknown_label", ["dog", "zebra"], 1)),
        ),
        Fault(
            "label instead of a set",
            "One label per instance in a multi-label task.",
            cells_of_columns(
                JSON,
                _one_for_sets,
                **dict.fromkeys((*TABLES, "npz", *ARROWS), "one label is a set of one; several are joined by a bar"),
            ),
        ),
        Fault(
            "set instead of a label",
            "Lists in a single-label task; in tables and arrays, labels joined by a bar.",
            {
                **cells_of_columns((*JSON, *ARROWS), _sets_for_one, long="this layout is for sets only"),
                **cells_of_columns(("csv", "tsv", "npz"), _joined),
            },
        ),
        Fault(
            "no label",
            "The record of t2 has no label.",
            cells_of_columns(
                RECORDS,
                _no_label,
                map="an id has a value",
                **dict.fromkeys(("columns", *TABLES, "npz", *ARROWS), FIELD_ALONE),
            ),
        ),
        Fault(
            "1.0 as label",
            "A number with a decimal point.",
            {
                **cells_of_columns(JSON, cell_with_label("wrong_shape", RawJson("1.0")), **TEXT_ALONE),
                **typed_columns("label", FLOATS),
            },
        ),
        Fault(
            "true as label",
            "A boolean.",
            {
                **cells_of_columns(JSON, cell_with_label("wrong_shape", RawJson("true")), **TEXT_ALONE),
                **typed_columns("label", FLAGS),
            },
        ),
        Fault(
            "null as label",
            "No value.",
            {
                **cells_of_columns(JSON, cell_with_label("wrong_shape", RawJson("null")), **TEXT_ALONE, **NO_NULL),
                **cells_of_columns(ARROWS, _label_null),
            },
        ),
        Fault(
            "list as label",
            "A list instead of a string.",
            {**cells_of_columns(JSON, cell_with_label("wrong_shape", ["dog"]), **TEXT_ALONE), **lists_for("label")},
        ),
        Fault(
            "unequal lengths",
            "There are fewer labels than ids.",
            cells_of_columns(
                ("columns", "npz"),
                _unequal,
                **dict.fromkeys((*RECORDS, "map"), "an id and its answer are in one record"),
                **dict.fromkeys(TABLES, "see ragged rows"),
                **dict.fromkeys(ARROWS, "columns of a table have one length"),
            ),
        ),
    ),
)
