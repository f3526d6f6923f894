"""Files that are too large, under small limits."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from tests.formats.fault_table.model import (
    IDS,
    SMALL_LIMITS,
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
    BINARY,
    JSON,
    LABELS,
    SETS,
    TABLES,
    cell_with_label,
    columnar,
    make_cell,
    table_text,
    write_file,
)

MAX_TEXT_LENGTH = SMALL_LIMITS["text_length"]


def _records(column: str) -> Cell:
    rows = [*LABELS, *((f"x{number}", "cat") for number in range(SMALL_LIMITS["records"]))]
    return make_cell(
        column, write_file(column, rows), problem_at("too_many_rows", expected="at most 5 rows"), small=True
    )


def _columns(column: str) -> Cell:
    names = ["id", "label", *(f"x{number}" for number in range(5))]
    if column in ARROWS:
        body = columnar(column, pa.table({name: ["1"] for name in names}))
        return make_cell(column, body, problem_at("too_large"), small=True)
    return make_cell(column, table_text(column, [names]), problem_at("too_large", line=1), small=True)


def _long_id(column: str) -> Cell:
    name = "x" * (MAX_TEXT_LENGTH + 1)
    rows = [*LABELS, (name, "cat")]
    here: dict[str, ProblemFields] = {
        "records": {"pointer": "/predictions/3/id"},
        "columns": {"pointer": "/ids/3"},
        "map": {"pointer": f"/{name}"},
    }
    here |= {"lines": {"line": 4, "pointer": "/id"}, "npz": {"pointer": "/ids/3"}}
    here |= {"parquet": {"pointer": "/id/3"}, "arrow": {"pointer": "/id/3"}}
    found = {"code": "too_large", **here.get(column, {"line": 5, "column": 1})}
    return make_cell(column, write_file(column, rows), found, small=True)


def _long_label(column: str) -> Cell:
    made = cell_with_label("too_large", "x" * (MAX_TEXT_LENGTH + 1), expected="at most 20 characters")(column)
    return make_cell(column, made.body, *made.problems, small=True)


def _deep(column: str) -> Cell:
    """Nine levels in all where eight are allowed."""
    outer = {"records": 3, "columns": 2, "map": 1, "lines": 1}[column]
    value = "[" * (9 - outer) + "]" * (9 - outer)
    body = {
        "records": f'{{"predictions": [{{"id": "t1", "label": {value}}}]}}',
        "columns": f'{{"ids": [{value}], "labels": ["cat"]}}',
        "map": f'{{"t1": {value}}}',
        "lines": f'{{"id": "t1", "label": {value}}}',
    }[column]
    lost = missing_instances("t1", "t2", "t3") if column == "lines" else []
    return make_cell(column, body, problem_at("too_deep", line=1, column=body.index("]")), *lost, small=True)


def _expanded(column: str) -> Cell:
    body = write_file(column, SETS, "labels") if column == "long" else write_file(column, LABELS)
    return make_cell(column, body + b" " * 2048, problem_at("too_large"), small=True)


def _inside(column: str) -> Cell:
    body = io.BytesIO()
    labels = ["cat", "x" * 3000, "eel"]
    if column == "npz":
        np.savez_compressed(body, ids=np.array(LABELS)[:, 0], labels=np.array(labels))
    elif column == "parquet":
        pq.write_table(pa.table({"id": IDS, "label": labels}), body, write_statistics=False)
    else:
        feather.write_feather(pa.table({"id": IDS, "label": labels}), body, compression="zstd")
    assert len(body.getvalue()) < SMALL_LIMITS["expanded_bytes"]
    return make_cell(column, body.getvalue(), problem_at("too_large"), small=True)


FLAT = "it is flat, or the types of its columns define its depth"
GROUP = Group(
    "Size",
    ALL,
    (
        Fault("too many records", "Eight, although five are allowed.", cells_of_columns(ALL, _records)),
        Fault(
            "too many columns",
            "Seven, although six are allowed.",
            cells_of_columns(
                (*TABLES, *ARROWS),
                _columns,
                **dict.fromkeys(JSON, "fields that are not used are ignored"),
                npz="an archive holds at most 1,000 arrays",
            ),
        ),
        Fault("id too long", "21 characters, although 20 are allowed.", cells_of_columns(ALL, _long_id)),
        Fault("label too long", "21 characters, although 20 are allowed.", cells_of_columns(ALL, _long_label)),
        Fault(
            "too deep",
            "Nine levels, although eight are allowed.",
            cells_of_columns(JSON, _deep, **dict.fromkeys((*TABLES, "npz", *ARROWS), FLAT)),
        ),
        Fault("too many bytes", "More than 2,048 after decompression.", cells_of_columns(ALL, _expanded)),
        Fault(
            "too many bytes inside",
            "The file is small, but its arrays or columns are large after decompression.",
            cells_of_columns(BINARY, _inside, **dict.fromkeys((*JSON, *TABLES), "it has no compressed parts")),
        ),
    ),
)
