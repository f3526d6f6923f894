"""Writers of small files in every format, and the locations of their values; independent of the readers."""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from tests.formats.fault_table.model import CLASSES, IDS, Cell, ProblemFields

JSON = ("records", "columns", "map", "lines")
TABLES = ("csv", "tsv", "long")
ARROWS = ("parquet", "arrow")
BINARY = ("npz", *ARROWS)
ALL = (*JSON, *TABLES, *BINARY)
WIDE = tuple(name for name in ALL if name != "long")
"""The formats that carry scores."""

COLUMN_TITLES = {
    "records": "JSON records",
    "columns": "JSON columns",
    "map": "JSON map",
    "lines": "JSON Lines",
    "csv": "CSV",
    "tsv": "TSV",
    "long": "long CSV",
    "npz": ".npz",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "gzip": "gzip",
    "zstd": "zstd",
}
MEDIA_TYPES = {
    "records": "application/json",
    "columns": "application/json",
    "map": "application/json",
    "lines": "application/x-ndjson",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "long": "text/csv",
    "npz": "application/x-npz",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}
LABELS: tuple[tuple[Any, Any], ...] = tuple(zip(IDS, CLASSES, strict=True))
SETS: tuple[tuple[Any, Any], ...] = tuple((name, [label]) for name, label in LABELS)
SCORES: tuple[tuple[Any, Any], ...] = (("t1", [0.7, 0.2, 0.1]), ("t2", [0.2, 0.5, 0.3]), ("t3", [0.1, 0.1, 0.8]))


class RawJson(str):
    """Text that stands in a JSON file as it is."""

    __slots__ = ()


class JsonPairs(list[tuple[str, Any]]):
    """A JSON object that may give a key twice."""


def to_json(value: Any) -> str:
    """A value as JSON."""
    if isinstance(value, RawJson):
        return str(value)
    if isinstance(value, Mapping):
        value = JsonPairs(value.items())
    if isinstance(value, JsonPairs):
        return "{" + ", ".join(f"{to_json(key)}: {to_json(item)}" for key, item in value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_json, value)) + "]"
    return json.dumps(value)


def with_second_row(rows: Sequence[tuple[Any, Any]], *, id: Any = None, value: Any = None) -> list[tuple[Any, Any]]:  # noqa: A002
    """The rows with another id or value in the second one."""
    name, old = rows[1]
    return [rows[0], (name if id is None else id, old if value is None else value), *rows[2:]]


def make_cell(column: str, body: str | bytes, *problems: ProblemFields, **how: Any) -> Cell:
    """A cell of this column, sent with its media type."""
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    own: dict[str, Any] = {"media": MEDIA_TYPES.get(column, "application/json")}
    if column == "long":
        own |= {"layout": "long", "challenge": "sets"}
    return Cell(data, problems, **(own | how))


# ---- writers ---------------------------------------------------------------------------------------


def write_file(
    column: str, rows: Sequence[tuple[Any, Any]], field: str = "label", names: Sequence[Any] = CLASSES
) -> bytes:
    """Rows of an id and a value; `field` is label, labels or scores (lists in the order of `names`)."""
    if column in JSON:
        return _json(column, rows, field, names).encode("utf-8", "surrogatepass")
    if column in TABLES:
        return _table(column, rows, field, names).encode("utf-8", "surrogatepass")
    if column == "npz":
        arrays = {"ids": [name for name, _ in rows], "labels" if field != "scores" else field: [v for _, v in rows]}
        if field == "labels":
            arrays["labels"] = ["|".join(value) for value in arrays["labels"]]
        return npz(**arrays, **({"classes": names} if field == "scores" else {}))
    values: dict[str, Any] = {"id": [name for name, _ in rows]}
    if field == "scores":
        values |= {str(name): [value[number] for _, value in rows] for number, name in enumerate(names)}
    else:
        values[field] = [value for _, value in rows]
    return columnar(column, pa.table(values))


def _json(column: str, rows: Sequence[tuple[Any, Any]], field: str, names: Sequence[Any]) -> str:
    if column == "columns":
        more = {"classes": list(names)} if field == "scores" else {}
        ids, values = [name for name, _ in rows], [value for _, value in rows]
        return to_json({"ids": ids, **more, "scores" if field == "scores" else "labels": values})
    if column == "lines":
        return "".join(to_json({"id": name, field: value}) + "\n" for name, value in rows)
    if field == "scores":
        rows = [
            (name, JsonPairs(zip(names, value, strict=True)) if isinstance(value, list) else value)
            for name, value in rows
        ]
    if column == "map":
        return to_json(JsonPairs(rows))
    return to_json({"predictions": [{"id": name, field: value} for name, value in rows]})


def table_text(column: str, lines: Iterable[Sequence[Any]], end: str = "\n") -> str:
    """Lines of a CSV or TSV file, as they are."""
    sign = "\t" if column == "tsv" else ","
    return "".join(sign.join(map(str, line)) + end for line in lines)


def records_text(column: str, rows: Sequence[Any]) -> str:
    """Records as JSON Lines, or in the list of predictions."""
    return "\n".join(map(to_json, rows)) if column == "lines" else to_json({"predictions": rows})


def _table(column: str, rows: Sequence[tuple[Any, Any]], field: str, names: Sequence[Any]) -> str:
    lines = [["id", *names] if field == "scores" else ["id", "label"]]
    for name, value in rows:
        many = value if isinstance(value, list) else [value]
        if field == "scores":
            lines.append([name, *many])
        elif column == "long":
            lines += [[name, label] for label in many or [""]]
        else:
            lines.append([name, "|".join(map(str, many))])
    return table_text(column, lines)


def npz(**arrays: Any) -> bytes:
    """An .npz file of these arrays."""
    body = io.BytesIO()
    found: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez(body, **found)
    return body.getvalue()


def columnar(column: str, table: pa.Table) -> bytes:
    """A Parquet or Arrow file of this table."""
    body = io.BytesIO()
    if column == "parquet":
        pq.write_table(table, body)
    else:
        feather.write_feather(table, body, compression="uncompressed")
    return body.getvalue()


# ---- places ----------------------------------------------------------------------------------------


def _json_place(column: str, row: int, field: str, item: int | None, sets: bool) -> ProblemFields:
    inner = "" if item is None else f"/{item}"
    if column == "columns":
        return {"pointer": f"/{'ids' if field in {'id', 'row'} else field.rstrip('s') + 's'}/{row}{inner}"}
    if field == "scores" and item is not None and column != "lines":
        inner = f"/{CLASSES[item]}"
    if column == "map":
        return {"pointer": f"/t{row + 1}{inner}"}
    name = "labels" if field == "label" and sets else field
    own = "" if field == "row" else f"/{name}{inner}"
    if column == "lines":
        return {"line": row + 1} | ({"pointer": own} if own else {})
    return {"pointer": f"/predictions/{row}{own}"}


def value_location(column: str, row: int, field: str, item: int | None = None, *, sets: bool = False) -> ProblemFields:
    """Where a value stands in a file of `write_file`: its `field` is id, label, scores, or row for the whole row.

    `row` and `item` (a label of a set, a class) count from 0.
    """
    if column in JSON:
        return _json_place(column, row, field, item, sets)
    if column in TABLES:
        fields = {"id": 1, "label": 2, "scores": (item or 0) + 2}  # the first score stands for all of a row
        return {"line": row + 2} | ({"column": fields[field]} if field in fields else {})
    if column == "npz":
        name = {"id": "ids", "row": "ids", "label": "labels"}.get(field, field)
        return {"pointer": f"/{name}/{row}" + ("" if item is None else f"/{item}")}
    if field == "scores":
        return {"pointer": f"/{CLASSES[item or 0]}/{row}"}
    name = {"row": "id", "label": "labels" if sets else "label"}.get(field, field)
    return {"pointer": f"/{name}/{row}" + ("" if item is None else f"/{item}")}


# ---- cells made alike in many columns --------------------------------------------------------------


def cell_with_label(code: str, value: Any, **more: Any) -> Callable[[str], Cell]:
    """A maker of cells with this value for the label of t2, and one problem there."""

    def make(column: str) -> Cell:
        found = {"code": code, **value_location(column, 1, "label"), "instance_id": "t2", **more}
        return make_cell(column, write_file(column, with_second_row(LABELS, value=value)), found)

    return make


def cell_with_scores(
    code: str, value: Any, item: int | None, challenge: str = "label", **more: Any
) -> Callable[[str], Cell]:
    """A maker of cells with this row of scores for t2 (or this score of its class `item`), and one problem there."""

    def make(column: str) -> Cell:
        row = list(SCORES[1][1])
        if item is not None and not isinstance(value, list):
            row[item] = value
        elif isinstance(value, list):
            row = value
        found = {"code": code, **value_location(column, 1, "scores", item), "instance_id": "t2", **more}
        return make_cell(
            column, write_file(column, with_second_row(SCORES, value=row), "scores"), found, challenge=challenge
        )

    return make
