"""Data written as CSV and TSV, .npz, Parquet and Arrow files."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.formats.answer_table import NO_SCORE, AnswerTable, FormatWriter, Location, field_name, pointer_token

HEADER_WORDS = frozenset({"id", "label", "labels", "score", "scores"})


@dataclass(frozen=True)
class CellGrid:
    """A table of cells: its header, its rows, and the row of each answer."""

    header: list[str]
    rows: list[list[Any]]
    of_row: list[int]
    own: dict[tuple[int, int], int]
    """The row of an item of a label set, in long tables."""


def grid(data: AnswerTable, *, long: bool = False) -> CellGrid:
    """Cells before they are written; sets of labels are still lists unless each has a row of its own."""
    header = [*data.more, "id", *(["label"] if data.labels is not None else [])]
    header += data.names if data.scores is not None else ["score"] if data.single is not None else []
    rows: list[list[Any]] = []
    of_row: list[int] = []
    own: dict[tuple[int, int], int] = {}
    for at in range(data.n):
        of_row.append(len(rows))
        first = [*(column[at] for column in data.more.values()), data.ids[at]]
        labels = [] if data.labels is None else [data.labels[at]]
        if long and data.labels is not None:
            own |= {(at, item): len(rows) + item for item in range(len(data.labels[at]))}
            rows += [[*first, label] for label in data.labels[at] or [""]]
            continue
        scores = [] if data.single is None else [data.single[at]]
        if data.scores is not None:
            scores = [data.scores[at][k] for k in data.order or range(len(data.classes))]
            scores += [0.0] * (data.extra == at)
        rows.append([*first, *labels, *scores])
    return CellGrid(header, rows, of_row, own)


def _cell(value: Any, *, quoted: bool) -> str:
    text = "|".join(map(str, value)) if isinstance(value, list) else "" if value is NO_SCORE else str(value)
    special = quoted or any(sign in text for sign in ',\t"\r\n')
    return '"' + text.replace('"', '""') + '"' if special else text


def _texts(data: AnswerTable, *, sign: str, long: bool, end: str) -> list[str]:
    """The header and the rows as they are written."""
    found = grid(data, long=long)
    quoted = end == "\r\n"
    return [sign.join(_cell(value, quoted=quoted) for value in row) + end for row in (found.header, *found.rows)]


def _table(data: AnswerTable, *, sign: str, long: bool = False, end: str = "\n") -> bytes:
    return "".join(_texts(data, sign=sign, long=long, end=end)).encode()


def _in_table(
    data: AnswerTable, at: int, part: str, item: int | None, *, sign: str, long: bool = False, end: str = "\n"
) -> Location:
    found = grid(data, long=long)
    row = found.own.get((at, item), found.of_row[at]) if part == "label" and item is not None else found.of_row[at]
    line = 1 + "".join(_texts(data, sign=sign, long=long, end=end)[: row + 1]).count("\n")
    return {"line": line, "column": found.header.index(_heading(data, part, item)) + 1}


def _heading(data: AnswerTable, part: str, item: int | None) -> str:
    """The column of a field; the scores of a row as a whole are named by their first column."""
    if part != "score":
        return part
    return "score" if data.single is not None else data.names[0] if item is None else data.classes[item]


def _fits_table(data: AnswerTable) -> bool:
    return data.scores is None or HEADER_WORDS.isdisjoint(data.classes)


def _fits_long(data: AnswerTable) -> bool:
    return data.several and data.labels is not None and not data.scored


# ---- arrays and columns -------------------------------------------------------------------------


def _array(values: Sequence[Any]) -> Any:
    return np.array(values) if {type(value) for value in values} == {int} else np.array(values, dtype=str)


def write_npz(data: AnswerTable, *, save: Any = np.savez, dtype: Any = np.float64, order: Any = "C") -> bytes:
    found: dict[str, Any] = {"ids": _array(data.ids)}
    if data.labels is not None:
        found["labels"] = _array(["|".join(one) if isinstance(one, list) else one for one in data.labels])
    if data.scores is not None:
        rows = [[value for _, value in data.row(at, named=True)] for at in range(data.n)]
        found |= {"scores": np.array(rows, dtype=dtype, order=order), "classes": _array(data.names)}
    if data.single is not None:
        found["scores"] = np.array(data.single, dtype=dtype)
    for name, column in data.more.items():
        found[name] = np.array(column)
    body = io.BytesIO()
    save(body, **found)
    return body.getvalue()


def holds_floats(data: AnswerTable) -> bool:
    """Whether all scores are there and numbers, as arrays need it."""
    cells = [*(data.single or ()), *(value for row in data.scores or () for value in row)]
    return {float} >= {type(cell) for cell in cells} and data.extra is None


def _sound(data: AnswerTable) -> bool:
    return None not in data.ids and (data.labels is None or None not in data.labels)


def arrow_table(data: AnswerTable, *, lists: bool, long: bool, dictionary: bool, floats: Any = None) -> Any:
    """An Arrow table with the columns of a CSV, or with lists."""
    floats = floats or pa.float64()
    if not lists:
        found = grid(data, long=long)
        columns = {name: [row[at] for row in found.rows] for at, name in enumerate(found.header)}
    else:
        columns = {"id": list(data.ids)}
        if data.scores is not None:
            columns["scores"] = [[value for _, value in data.row(at, named=False)] for at in range(data.n)]
        columns |= {} if data.labels is None else {data.label_field: list(data.labels)}
        columns |= {} if data.single is None else {"score": list(data.single)}
        columns |= {name: list(column) for name, column in data.more.items()}
    made = {}
    for name, values in columns.items():
        if name == "id" or (name in {"label", "labels"} and data.labels is not None):
            made[name] = _texts_column(values, joined=not lists, dictionary=dictionary)
        elif name in data.more:
            made[name] = pa.array(values)
        else:
            kind = pa.list_(floats) if lists and name == "scores" else floats
            made[name] = pa.array([None if value is NO_SCORE else value for value in values], kind)
    return pa.table(made)


def _texts_column(values: list[Any], *, joined: bool, dictionary: bool) -> Any:
    if any(isinstance(value, list) for value in values):
        if not joined:
            return pa.array(values, pa.list_(pa.string()))
        values = ["|".join(value) for value in values]
    if {type(value) for value in values} == {int}:
        return pa.array(values, pa.int64())
    array = pa.array([None if value is None else str(value) for value in values], pa.string())
    return array.dictionary_encode() if dictionary else array


def write_columns(
    data: AnswerTable, *, parquet: bool, lists: bool = False, long: bool = False, few: bool = False, floats: Any = None
) -> bytes:
    """A Parquet or Arrow file; with `few`, text columns are dictionary-encoded and rows come two by two."""
    table = arrow_table(data, lists=lists, long=long, dictionary=few, floats=floats)
    body = io.BytesIO()
    size = 2 if few else 1 << 20
    if parquet:
        pq.write_table(table, body, row_group_size=size, use_dictionary=few)
    else:
        table = table.unify_dictionaries()
        with pa.ipc.new_file(body, table.schema) as writer:
            writer.write_table(table, max_chunksize=size)
    return body.getvalue()


def _in_columnar(
    data: AnswerTable, at: int, part: str, item: int | None, *, lists: bool = False, long: bool = False
) -> Location:
    if lists:
        name = field_name(data, part)
        within = "" if item is None or data.single is not None else f"/{item}"
        return {"pointer": f"/{name}/{at}{within}"}
    found = grid(data, long=long)
    row = found.own.get((at, item), found.of_row[at]) if part == "label" and item is not None else found.of_row[at]
    return {"pointer": f"{pointer_token(_heading(data, part, item))}/{row}"}


def _fits_columnar(data: AnswerTable, *, lists: bool = False) -> bool:
    cells = [*(data.single or ()), *(value for row in data.scores or () for value in row)]
    odd = any(value is not NO_SCORE and type(value) is not float for value in cells)
    return not odd and (lists or (data.extra is None and _fits_table(data)))


def fits_npz(data: AnswerTable) -> bool:
    return holds_floats(data) and _sound(data)


def table_writers() -> dict[str, FormatWriter]:
    found = {}
    for kind, sign in (("csv", ","), ("tsv", "\t")):
        for end, long in product(("\n", "\r\n"), (False, True)):
            name = f"{'long ' if long else ''}{kind}{'' if end == chr(10) else ' quoted, crlf'}"
            write, place = (
                partial(_table, sign=sign, long=long, end=end),
                partial(_in_table, sign=sign, long=long, end=end),
            )
            found[name] = FormatWriter(kind, write, place, _fits_long if long else _fits_table, "long" if long else "")
    for kind, few in product(("parquet", "arrow"), (False, True)):
        whole = partial(write_columns, parquet=kind == "parquet", few=few)
        name = f"{kind}{' in parts' if few else ''}"
        found[name] = FormatWriter(kind, whole, _in_columnar, _fits_columnar)
        lists = partial(whole, lists=True)
        found[f"{name}, lists"] = FormatWriter(
            kind, lists, partial(_in_columnar, lists=True), partial(_fits_columnar, lists=True)
        )
        rows = partial(whole, long=True)
        found[f"long {name}"] = FormatWriter(kind, rows, partial(_in_columnar, long=True), _fits_long, "long")
    return found
