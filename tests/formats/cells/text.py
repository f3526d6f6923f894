"""Faults of bytes and text: what is empty, cut off, nested without end, or no clean UTF-8."""

import io
import json
import struct
import zipfile

import numpy as np
import pyarrow as pa

from tests.formats.cells.model import Cell, Fault, Found, Group, at, each, missing
from tests.formats.cells.write import (
    ALL,
    ARROWS,
    BINARY,
    JSON,
    LABELS,
    MEDIA,
    SETS,
    TABLES,
    Raw,
    cell,
    columnar,
    labelled,
    npz,
    second,
    written,
)

TEXTS = (*JSON, *TABLES)
NO_TEXT = dict.fromkeys(BINARY, "it is no text file; its texts say themselves how they are encoded")
DEEP = "[" * 100_000


def good(column: str) -> bytes:
    """A sound file."""
    return written(column, SETS, "labels") if column == "long" else written(column, LABELS)


def _empty(column: str) -> Cell:
    here: Found = {} if column in BINARY else {"line": 1, "column": 1}
    return cell(column, b"", at("syntax", **here))


def _truncated(column: str) -> Cell:
    body = good(column)
    if column in BINARY:
        return cell(column, body[: len(body) // 2], at("syntax"))
    if column in TABLES:
        return cell(column, body[: -len("\teel\n")], at("wrong_shape", line=4, column=1), *missing("t3"))
    cut = body[:-10]
    if column == "lines":
        last = cut.split(b"\n")[-1]
        return cell(column, cut, at("syntax", line=3, column=_end(last)), *missing("t3"))
    return cell(column, cut, at("syntax", line=1, column=_end(cut)))


def _end(cut: bytes) -> int:
    """Where a line that is cut off stops being JSON: at its end, or where the string begins that is not closed."""
    return (cut.rindex(b'"') if cut.count(b'"') % 2 else len(cut)) + 1


def _deep(column: str) -> Cell:
    if column in TABLES:
        return labelled("too_large", DEEP)(column)
    if column == "lines":
        return cell(column, good(column) + DEEP.encode(), at("too_deep", line=4, column=65))
    before = {"records": "", "columns": '{"ids": ', "map": '{"t1": '}[column]
    outer = 1 if before else 0
    return cell(column, before + DEEP, at("too_deep", line=1, column=len(before) + 65 - outer))


def _surrogate(column: str) -> Cell:
    if column in JSON:
        return labelled("encoding", Raw('"\\ud800"'))(column)
    body = written(column, second(LABELS, value="\ud800"))
    faults = [at("encoding", line=3, column=number) for number in (4, 5, 6)]  # each byte is one of its own
    return cell(column, body, *faults)


def _surrogate_in_npz(column: str) -> Cell:
    labels = np.array(["cat", "dog", "eel"])
    labels.view(np.uint32).reshape(3, 3)[1, 0] = 0xD800
    return cell(column, npz(ids=["t1", "t2", "t3"], labels=labels), at("encoding", "/labels/1", "t2"))


def _raw_text(column: str, text: bytes) -> bytes:
    """A column of labels whose bytes are not looked at when written."""
    rows = pa.array([b"cat", text, b"eel"], pa.binary())
    forged = pa.Array.from_buffers(pa.string(), 3, rows.buffers())
    return columnar(column, pa.table({"id": ["t1", "t2", "t3"], "label": forged}))


def _bom(column: str) -> Cell:
    return cell(column, b"\xef\xbb\xbf" + good(column), at("encoding", line=1, column=1))


def _wide(column: str) -> Cell:
    return cell(column, good(column).decode().encode("utf-16"), at("encoding", line=1, column=1))


def _latin(column: str) -> Cell:
    if column in ARROWS:
        return cell(column, _raw_text(column, "dög".encode("latin-1")), at("encoding", "/label"))
    if column == "npz":
        labels = np.array([b"cat", "dög".encode("latin-1"), b"eel"])
        return cell(column, npz(ids=["t1", "t2", "t3"], labels=labels), at("encoding", "/labels"))
    body = good(column).replace(b"dog", "dög".encode("latin-1"))
    line = 1 + body[: body.index(b"\xf6")].count(b"\n")
    start = body.rfind(b"\n", 0, body.index(b"\xf6")) + 1
    return cell(column, body, at("encoding", line=line, column=body.index(b"\xf6") - start + 1))


def _other(column: str, body: bytes, *, media: str = "", code: str = "syntax", line: bool = True) -> Cell:
    here: Found = {"line": 1, "column": 1} if line else {}
    return cell(column, body, at(code, **here), media=media or MEDIA[column])


def _long_integer(column: str) -> Cell:
    return labelled("too_large", Raw("7" * 5000) if column in JSON else "7" * 5000)(column)


FAULTS = (
    Fault("empty body", "The file has no bytes.", each(ALL, _empty)),
    Fault("truncated", "The end of the file is missing.", each(ALL, _truncated)),
    Fault(
        "100,000 brackets",
        "Lists within lists (in a table: as a label).",
        each(
            (*JSON, *TABLES), _deep, **dict.fromkeys(BINARY, "values do not nest so; see columns of lists and structs")
        ),
    ),
    Fault("5,000-digit integer", "As a label; in tables and arrays its text.", each(ALL, _long_integer)),
    Fault(
        "lone surrogate",
        "A label holds half of a surrogate pair: in JSON as an escape, in tables as three bytes.",
        each(
            TEXTS,
            _surrogate,
            npz=_surrogate_in_npz("npz"),
            **{name: cell(name, _raw_text(name, b"\xed\xa0\x80"), at("encoding", "/label")) for name in ARROWS},
        ),
    ),
    Fault("NUL", "A label holds U+0000.", each(ALL, labelled("encoding", "d\0g"))),
    Fault("byte order mark", "The file begins with EF BB BF.", each(TEXTS, _bom, **NO_TEXT)),
    Fault("UTF-16", "The file is UTF-16.", each(TEXTS, _wide, **NO_TEXT)),
    Fault("Latin-1", "A label is 'dög' in Latin-1.", each(ALL, _latin)),
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
    """JSON Lines, whatever they are called."""
    return "".join(json.dumps({"id": name, "label": label}) + "\n" for name, label in LABELS).encode()


MISTAKEN = Group(
    "The wrong name or media type",
    ("records", "lines", "csv", "tsv", "npz", "parquet", "arrow"),
    (
        Fault(
            "a Parquet file",
            "The file is Parquet, sent as the format of the column.",
            {
                **each(("records", "lines", "csv", "tsv"), lambda name: _other(name, good("parquet"))),
                **each(("npz", "arrow"), lambda name: _other(name, good("parquet"), line=False)),
                "parquet": "that is the right one",
            },
        ),
        Fault(
            "an .npz file",
            "The file is an .npz file.",
            {
                **each(("records", "lines", "csv", "tsv"), lambda name: _other(name, good("npz"))),
                **each(ARROWS, lambda name: _other(name, good("npz"), line=False)),
                "npz": "that is the right one",
            },
        ),
        Fault(
            "a CSV file",
            "The file is CSV.",
            {
                "records": _other("records", good("csv")),
                "lines": _other("lines", good("csv")),
                "csv": "that is the right one",
                "tsv": cell("tsv", good("csv"), at("wrong_shape", line=1)),
                **each(BINARY, lambda name: _other(name, good("csv"), line=False)),
            },
        ),
        Fault(
            "JSON Lines",
            "The file is JSON Lines.",
            {
                "records": cell("records", lines_as_json(), at("syntax", line=2, column=1)),
                "lines": "that is the right one",
                **each(("csv", "tsv"), lambda name: _other(name, lines_as_json())),
                **each(BINARY, lambda name: _other(name, lines_as_json(), line=False)),
            },
        ),
    ),
)
