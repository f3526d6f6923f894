"""Faults of keys and ids."""

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
    ALL,
    ARROWS,
    JSON,
    LABELS,
    TABLES,
    JsonPairs,
    RawJson,
    columnar,
    make_cell,
    npz,
    records_text,
    table_text,
    to_json,
    value_location,
    with_second_row,
    write_file,
)

RECORDS = ("records", "lines")
LISTED = ("records", "columns", "lines")
TEXT_ALONE = dict.fromkeys(TABLES, "every field is text")
NOT_LONG = tuple(name for name in ALL if name != "long")
ROWS_ARE_PAIRS = "rows of the same id are one instance"
KEYS_ARE_TEXT = "the keys of an object are strings"


def cells_with_ids_or_labels(
    code: str, spoiled: Any, *, of: str = "id", follow: tuple[str, ...] = ("t2",), **more: Any
) -> Any:
    """A maker of cells whose second id (or label) is `spoiled`: one problem there, and the ids missed by it."""

    def make(column: str) -> Cell:
        rows = with_second_row(LABELS, id=spoiled) if of == "id" else with_second_row(LABELS, value=spoiled)
        found = {"code": code, **value_location(column, 1, of), **more}
        return make_cell(column, write_file(column, rows), found, *missing_instances(*follow))

    return make


def column_of(column: str, name: str, array: Any, *problems: ProblemFields) -> Cell:
    """A cell of Parquet or Arrow with this array as one of the columns."""
    table = {"id": list(IDS), "label": list(CLASSES)} | {name: array}
    return make_cell(column, columnar(column, pa.table(table)), *problems)


# ---- keys ------------------------------------------------------------------------------------------


def _key_twice(column: str) -> Cell:
    if column in RECORDS:
        twice = JsonPairs([("id", "t2"), ("label", "dog"), ("label", "eel")])
        one, three = ({"id": name, "label": label} for name, label in (LABELS[0], LABELS[2]))
        lines = [to_json(one), to_json(twice), to_json(three)]
        body = "\n".join(lines) if column == "lines" else f'{{"predictions": [{", ".join(lines)}]}}'
        return make_cell(
            column, body, {"code": "duplicate_key", **value_location(column, 1, "label"), "instance_id": "t2"}
        )
    if column == "columns":
        body = to_json(JsonPairs([("ids", list(IDS)), ("labels", list(CLASSES)), ("labels", list(CLASSES))]))
        return make_cell(column, body, problem_at("duplicate_key", "/labels"))
    if column == "map":
        body = to_json(JsonPairs([*LABELS, ("t2", "eel")]))
        return make_cell(column, body, problem_at("duplicate_key", "/t2", "t2"))
    if column in TABLES:
        rows = [("id", "label", "label"), *((name, label, label) for name, label in LABELS)]
        return make_cell(column, table_text(column, rows), problem_at("duplicate_key", line=1, column=3))
    arrays = [pa.array(IDS), pa.array(CLASSES), pa.array(CLASSES)]
    table = pa.table(arrays, names=["id", "label", "label"])
    return make_cell(column, columnar(column, table), problem_at("duplicate_key", "/label"))


def _id_twice(column: str) -> Cell:
    if column == "long":
        body = write_file(column, [("t1", "cat"), ("t2", ""), ("t2", ""), ("t3", "eel")])
        return make_cell(column, body, problem_at("duplicate_id", None, "t2", line=4, column=1))
    found = {"code": "duplicate_id", **value_location(column, 3, "id"), "instance_id": "t2"}
    return make_cell(column, write_file(column, [*LABELS, LABELS[1]]), found)


def _no_id(column: str) -> Cell:
    if column in RECORDS:
        rows = [{"id": "t1", "label": "cat"}, {"label": "dog"}, {"id": "t3", "label": "eel"}]
        body = records_text(column, rows)
        return make_cell(
            column, body, {"code": "missing_id", **value_location(column, 1, "row")}, *missing_instances("t2")
        )
    if column == "columns":
        return make_cell(
            column,
            to_json({"labels": list(CLASSES)}),
            problem_at("wrong_shape", "/labels", expected="a list of ids"),
        )
    if column in TABLES:
        body = table_text(column, [("name", "label"), *LABELS])
        return make_cell(column, body, problem_at("wrong_shape", line=1))
    if column == "npz":
        return make_cell(column, npz(labels=CLASSES), problem_at("wrong_shape"))
    return make_cell(column, columnar(column, pa.table({"label": CLASSES})), problem_at("wrong_shape"))


def _missing(column: str) -> Cell:
    return make_cell(column, write_file(column, LABELS[:2]), *missing_instances("t3"))


def _near_id(column: str) -> Cell:
    found = {
        "code": "unknown_id",
        **value_location(column, 1, "id"),
        "instance_id": "T-2",
        "expected": '"t2"',
        "got": '"T-2"',
    }
    if column == "map":
        found["pointer"] = "/T-2"
    return make_cell(column, write_file(column, with_second_row(LABELS, id="T-2")), found, *missing_instances("t2"))


def _far_id(column: str) -> Cell:
    found = {"code": "unknown_id", **value_location(column, 3, "id"), "instance_id": "zebra"}
    if column == "map":
        found["pointer"] = "/zebra"
    return make_cell(column, write_file(column, [*LABELS, ("zebra", "cat")]), found)


def _empty_id(column: str) -> Cell:
    found = {"code": "missing_id", **value_location(column, 1, "id")}
    if column == "map":
        found["pointer"] = "/"
    return make_cell(column, write_file(column, with_second_row(LABELS, id="")), found, *missing_instances("t2"))


def _id_null(column: str) -> Cell:
    return column_of(column, "id", ["t1", None, "t3"], problem_at("missing_id", "/id/1"), *missing_instances("t2"))


def typed_columns(name: str, array: Any) -> dict[str, Cell]:
    """Cells of a whole column (.npz: array) of a wrong type."""
    problem = problem_at("wrong_shape", f"/{name}")
    arrays = {"ids": IDS, "labels": CLASSES} | {f"{name}s": np.asarray(array)}
    packed = make_cell("npz", npz(**arrays), problem_at("wrong_shape", f"/{name}s"))
    return {"npz": packed, **{column: column_of(column, name, array, problem) for column in ARROWS}}


def lists_for(name: str) -> dict[str, Cell | str]:
    lists = [[one] for one in (IDS if name == "id" else CLASSES)]
    packed = make_cell(
        "npz", npz(**({"ids": IDS, "labels": CLASSES} | {f"{name}s": lists})), problem_at("wrong_shape", f"/{name}s")
    )
    return {
        "npz": packed,
        **{column: column_of(column, name, lists, problem_at("wrong_shape", f"/{name}")) for column in ARROWS},
    }


FLOATS, FLAGS = [1.0, 2.0, 3.0], [True, False, True]
NO_NULL = {"npz": "arrays have no nulls"}

IDENTITY = Group(
    "Keys and ids",
    ALL,
    (
        Fault(
            "duplicate key",
            "In a record, an object, a header or a schema, the key or column of the answer occurs twice.",
            cells_of_columns((*JSON, *TABLES, *ARROWS), _key_twice, npz="see duplicate member"),
        ),
        Fault(
            "duplicate id",
            "t2 occurs twice (long CSV: twice without labels).",
            cells_of_columns(
                tuple(name for name in ALL if name != "map"), _id_twice, map="a repeated id is a repeated key"
            ),
        ),
        Fault(
            "missing id field",
            "A record or the file has no id field.",
            cells_of_columns(tuple(name for name in ALL if name != "map"), _no_id, map="the key is the id"),
        ),
        Fault("empty id", "The id of t2 is the empty string.", cells_of_columns(ALL, _empty_id)),
        Fault("missing instance", "t3 is not in the file.", cells_of_columns(ALL, _missing)),
        Fault("misspelt id", "T-2 instead of t2: the answer suggests t2.", cells_of_columns(ALL, _near_id)),
        Fault(
            "unknown id", "There is an additional id, similar to none of the known ids.", cells_of_columns(ALL, _far_id)
        ),
        Fault(
            "1.0 as id",
            "A number with a decimal point.",
            {
                **cells_of_columns(
                    LISTED, cells_with_ids_or_labels("wrong_shape", RawJson("1.0")), map=KEYS_ARE_TEXT, **TEXT_ALONE
                ),
                **typed_columns("id", FLOATS),
            },
        ),
        Fault(
            "true as id",
            "A boolean.",
            {
                **cells_of_columns(
                    LISTED, cells_with_ids_or_labels("wrong_shape", RawJson("true")), map=KEYS_ARE_TEXT, **TEXT_ALONE
                ),
                **typed_columns("id", FLAGS),
            },
        ),
        Fault(
            "null as id",
            "No value.",
            {
                **cells_of_columns(
                    LISTED,
                    cells_with_ids_or_labels("missing_id", RawJson("null")),
                    map=KEYS_ARE_TEXT,
                    **TEXT_ALONE,
                    **NO_NULL,
                ),
                **cells_of_columns(ARROWS, _id_null),
            },
        ),
        Fault(
            "list as id",
            "A list instead of a string.",
            {
                **cells_of_columns(
                    LISTED, cells_with_ids_or_labels("wrong_shape", ["t2"]), map=KEYS_ARE_TEXT, **TEXT_ALONE
                ),
                **lists_for("id"),
            },
        ),
    ),
)
