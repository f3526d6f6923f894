"""Faults of bytes and text: empty, truncated or deeply nested files, and files that are not UTF-8."""

import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pyarrow as pa

from tests.formats.fault_table.model import (
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
    MEDIA_TYPES,
    SETS,
    TABLES,
    RawJson,
    cell_with_label,
    columnar,
    make_cell,
    npz,
    with_second_row,
    write_file,
)

TEXTS = (*JSON, *TABLES)
NO_TEXT = dict.fromkeys(BINARY, "it is not a text file; it defines the encoding of its texts")
DEEP = "[" * 100_000


def valid_file(column: str) -> bytes:
    """A sound file."""
    return write_file(column, SETS, "labels") if column == "long" else write_file(column, LABELS)


def _empty(column: str) -> Cell:
    here: ProblemFields = {} if column in BINARY else {"line": 1, "column": 1}
    return make_cell(column, b"", problem_at("syntax", **here))


def _truncated(column: str) -> Cell:
    body = valid_file(column)
    if column in BINARY:
        return make_cell(column, body[: len(body) // 2], problem_at("syntax"))
    if column in TABLES:
        return make_cell(
            column, body[: -len("\teel\n")], problem_at("wrong_shape", line=4, column=1), *missing_instances("t3")
        )
    cut = body[:-10]
    if column == "lines":
        last = cut.split(b"\n")[-1]
        return make_cell(column, cut, problem_at("syntax", line=3, column=_end(last)), *missing_instances("t3"))
    return make_cell(column, cut, problem_at("syntax", line=1, column=_end(cut)))


def _end(cut: bytes) -> int:
    """Where a line that is cut off stops being JSON: at its end, or where the string begins that is not closed."""
    return (cut.rindex(b'"') if cut.count(b'"') % 2 else len(cut)) + 1


def _deep(column: str) -> Cell:
    if column in TABLES:
        return cell_with_label("too_large", DEEP)(column)
    if column == "lines":
        return make_cell(column, valid_file(column) + DEEP.encode(), problem_at("too_deep", line=4, column=65))
    before = {"records": "", "columns": '{"ids": ', "map": '{"t1": '}[column]
    outer = 1 if before else 0
    return make_cell(column, before + DEEP, problem_at("too_deep", line=1, column=len(before) + 65 - outer))


def _surrogate(column: str) -> Cell:
    if column in JSON:
        return cell_with_label("encoding", RawJson('"\\ud800"'))(column)
    body = write_file(column, with_second_row(LABELS, value="\ud800"))
    faults = [problem_at("encoding", line=3, column=number) for number in (4, 5, 6)]  # each byte is one of its own
    return make_cell(column, body, *faults)


def _surrogate_in_npz(column: str) -> Cell:
    labels = np.array(["cat", "dog", "eel"])
    labels.view(np.uint32).reshape(3, 3)[1, 0] = 0xD800
    return make_cell(column, npz(ids=["t1", "t2", "t3"], labels=labels), problem_at("encoding", "/labels/1", "t2"))


def _raw_text(column: str, text: bytes) -> bytes:
    """A column of labels whose bytes are not looked at when written."""
    rows = pa.array([b"cat", text, b"eel"], pa.binary())
    forged = pa.Array.from_buffers(pa.string(), 3, rows.buffers())
    return columnar(column, pa.table({"id": ["t1", "t2", "t3"], "label": forged}))


def _wide(column: str) -> Cell:
    return make_cell(column, valid_file(column).decode().encode("utf-16"), problem_at("encoding", line=1, column=1))


def _without_line_breaks(column: str) -> Cell:
    lines = valid_file(column).splitlines()
    here: ProblemFields = {"column": len(lines[0]) + 1} if column == "lines" else {}
    return make_cell(column, b"".join(lines), problem_at("syntax", line=1, **here))


def _latin(column: str) -> Cell:
    if column in ARROWS:
        return make_cell(column, _raw_text(column, "dög".encode("latin-1")), problem_at("encoding", "/label"))
    if column == "npz":
        labels = np.array([b"cat", "dög".encode("latin-1"), b"eel"])
        return make_cell(column, npz(ids=["t1", "t2", "t3"], labels=labels), problem_at("encoding", "/labels"))
    body = valid_file(column).replace(b"dog", "dög".encode("latin-1"))
    line = 1 + body[: body.index(b"\xf6")].count(b"\n")
    start = body.rfind(b"\n", 0, body.index(b"\xf6")) + 1
    return make_cell(column, body, problem_at("encoding", line=line, column=body.index(b"\xf6") - start + 1))


def _other(column: str, body: bytes, *, media: str = "", code: str = "syntax", line: bool = True) -> Cell:
    here: ProblemFields = {"line": 1, "column": 1} if line else {}
    return make_cell(column, body, problem_at(code, **here), media=media or MEDIA_TYPES[column])


def _long_integer(column: str) -> Cell:
    return cell_with_label("too_large", RawJson("7" * 5000) if column in JSON else "7" * 5000)(column)


FAULTS = (
    Fault("empty body", "The file has no bytes.", cells_of_columns(ALL, _empty)),
    Fault("truncated", "The end of the file is missing.", cells_of_columns(ALL, _truncated)),
    Fault(
        "100,000 brackets",
        "Nested lists (in a table: as a label).",
        cells_of_columns(
            (*JSON, *TABLES),
            _deep,
            **dict.fromkeys(BINARY, "values cannot nest this deeply; see columns of lists and structs"),
        ),
    ),
    Fault(
        "5,000-digit integer",
        "As a label; in tables and arrays, its digits as text.",
        cells_of_columns(ALL, _long_integer),
    ),
    Fault(
        "lone surrogate",
        "A label holds half of a surrogate pair: in JSON as an escape, in tables as three bytes.",
        cells_of_columns(
            TEXTS,
            _surrogate,
            npz=_surrogate_in_npz("npz"),
            **{
                name: make_cell(name, _raw_text(name, b"\xed\xa0\x80"), problem_at("encoding", "/label"))
                for name in ARROWS
            },
        ),
    ),
    Fault("NUL", "A label holds U+0000.", cells_of_columns(ALL, cell_with_label("encoding", "d\0g"))),
    Fault("UTF-16", "The file is UTF-16.", cells_of_columns(TEXTS, _wide, **NO_TEXT)),
    Fault(
        "no line breaks",
        "All line breaks are lost, as when curl -d sends the file.",
        cells_of_columns(
            ("lines", *TABLES),
            _without_line_breaks,
            **dict.fromkeys(("records", "columns", "map"), "JSON needs no line breaks"),
            **dict.fromkeys(BINARY, "it has no lines"),
        ),
    ),
    Fault("Latin-1", "A label is 'dög' in Latin-1.", cells_of_columns(ALL, _latin)),
)
GROUP = Group("Bytes and text", ALL, FAULTS)


def _zip(names: dict[str, bytes], flags: int = 0) -> bytes:
    """A zip archive; `flags` go into the general purpose flags of each entry."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    raw = bytearray(body.getvalue())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = raw.find(mark)
        while flags and start >= 0:
            struct.pack_into("<H", raw, start + offset, struct.unpack_from("<H", raw, start + offset)[0] | flags)
            start = raw.find(mark, start + 4)
    return bytes(raw)


def encrypted() -> bytes:
    """A zip archive that says it is encrypted."""
    return _zip({"ids.npy": b"x", "labels.npy": b"x"}, flags=1)


def lines_as_json() -> bytes:
    """A file of JSON Lines."""
    return "".join(json.dumps({"id": name, "label": label}) + "\n" for name, label in LABELS).encode()


def workbook(kind: str) -> bytes:
    """The beginning of a workbook of Excel (xlsx) or LibreOffice (ods)."""
    if kind == "xlsx":
        return _zip({"[Content_Types].xml": b"<Types/>", "xl/workbook.xml": b"<workbook/>"})
    return _zip({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<office/>"})


_TEXT_FORMATS = ("records", "lines", "csv", "tsv")
_NOT_TEXT = dict.fromkeys(BINARY, "see the file of another binary format")
MISTAKEN = Group(
    "The wrong name or media type",
    ("records", "lines", "csv", "tsv", "npz", "parquet", "arrow"),
    (
        Fault(
            "a Parquet file",
            "A Parquet file sent as the format of the column.",
            {
                **cells_of_columns(
                    ("records", "lines", "csv", "tsv"), lambda name: _other(name, valid_file("parquet"))
                ),
                **cells_of_columns(("npz", "arrow"), lambda name: _other(name, valid_file("parquet"), line=False)),
                "parquet": "this is the right format",
            },
        ),
        Fault(
            "an .npz file",
            "An .npz file sent as the format of the column.",
            {
                **cells_of_columns(("records", "lines", "csv", "tsv"), lambda name: _other(name, valid_file("npz"))),
                **cells_of_columns(ARROWS, lambda name: _other(name, valid_file("npz"), line=False)),
                "npz": "this is the right format",
            },
        ),
        Fault(
            "an Excel workbook",
            "An .xlsx file sent as the format of the column.",
            cells_of_columns(_TEXT_FORMATS, lambda name: _other(name, workbook("xlsx")), **_NOT_TEXT),
        ),
        Fault(
            "a LibreOffice workbook",
            "An .ods file sent as the format of the column.",
            cells_of_columns(_TEXT_FORMATS, lambda name: _other(name, workbook("ods")), **_NOT_TEXT),
        ),
        Fault(
            "an .npy file",
            "A single NumPy array sent as the format of the column.",
            cells_of_columns(_TEXT_FORMATS, lambda name: _other(name, b"\x93NUMPY\x01\x00v\x00{}"), **_NOT_TEXT),
        ),
        Fault(
            "a pickle",
            "A Python pickle sent as the format of the column.",
            cells_of_columns(_TEXT_FORMATS, lambda name: _other(name, pickle.dumps({"t1": "cat"})), **_NOT_TEXT),
        ),
        Fault(
            "a CSV file",
            "A CSV file sent as the format of the column.",
            {
                "records": _other("records", valid_file("csv")),
                "lines": _other("lines", valid_file("csv")),
                "csv": "this is the right format",
                "tsv": make_cell("tsv", valid_file("csv"), problem_at("wrong_shape", line=1)),
                **cells_of_columns(BINARY, lambda name: _other(name, valid_file("csv"), line=False)),
            },
        ),
        Fault(
            "JSON Lines",
            "A JSON Lines file sent as the format of the column.",
            {
                "records": make_cell("records", lines_as_json(), problem_at("syntax", line=2, column=1)),
                "lines": "this is the right format",
                **cells_of_columns(("csv", "tsv"), lambda name: _other(name, lines_as_json())),
                **cells_of_columns(BINARY, lambda name: _other(name, lines_as_json(), line=False)),
            },
        ),
    ),
)
