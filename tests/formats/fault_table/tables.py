"""Faults that only tables (CSV, TSV), only .npz files, or only Parquet and Arrow files can have."""

import io
import struct
import warnings
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

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
from tests.formats.fault_table.text import encrypted
from tests.formats.fault_table.write import ARROWS, LABELS, TABLES, columnar, make_cell, npz, table_text, write_file

HEAD = ("id", "label")


def _lines(column: str, lines: list[tuple[str, ...]], *problems: ProblemFields, end: str = "\n") -> Cell:
    return make_cell(column, table_text(column, lines, end), *problems)


def _with(line: tuple[str, ...], *problems: ProblemFields, at_line: int = 3) -> Any:
    """A maker of tables with this line in place of, or before, another."""

    def make(column: str) -> Cell:
        lines: list[tuple[str, ...]] = [HEAD, *LABELS]
        lines[at_line - 1] = line
        return _lines(column, lines, *problems)

    return make


def _no_header(column: str) -> Cell:
    return _lines(column, list(LABELS), problem_at("wrong_shape", line=1))


def _header_again(column: str) -> Cell:
    found = [
        problem_at("unknown_id", None, "id", line=3, column=1),
        problem_at("unknown_label", None, "id", line=3, column=2),
    ]
    return _lines(column, [HEAD, LABELS[0], HEAD, *LABELS[1:]], *found)


def _blank(column: str) -> Cell:
    body = write_file(column, LABELS).replace(b"\nt2", b"\n\nt2")
    return make_cell(column, body, problem_at("syntax", line=3, column=1))


def _other_separator(column: str) -> Cell:
    sign = "|" if column != "tsv" else ","
    body = "".join(sign.join(line) + "\n" for line in [HEAD, *LABELS])
    return make_cell(column, body, problem_at("wrong_shape", line=1))


def _columns_renamed(column: str) -> Cell:
    return _lines(column, [("ID", "label"), *LABELS], problem_at("wrong_shape", line=1))


TEXT = Group(
    "Tables",
    TABLES,
    (
        Fault(
            "unclosed quote",
            "A field begins with a quote that is never closed.",
            cells_of_columns(
                TABLES, _with(("t2", '"dog'), problem_at("syntax", line=3, column=2), *missing_instances("t2", "t3"))
            ),
        ),
        Fault(
            "text after a closing quote",
            'The field is "do"g.',
            cells_of_columns(
                TABLES, _with(("t2", '"do"g'), problem_at("syntax", line=3, column=2), *missing_instances("t2"))
            ),
        ),
        Fault("missing header", "The first line is a data row.", cells_of_columns(TABLES, _no_header)),
        Fault("header in another case", "ID instead of id.", cells_of_columns(TABLES, _columns_renamed)),
        Fault("repeated header", "On line 3, as in concatenated files.", cells_of_columns(TABLES, _header_again)),
        Fault(
            "too many fields",
            "A row has three fields instead of two.",
            cells_of_columns(
                TABLES, _with(("t2", "dog", "x"), problem_at("wrong_shape", line=3, column=3), *missing_instances("t2"))
            ),
        ),
        Fault(
            "too few fields",
            "A row has one field instead of two.",
            cells_of_columns(
                TABLES, _with(("t2",), problem_at("wrong_shape", line=3, column=1), *missing_instances("t2"))
            ),
        ),
        Fault(
            "CR alone ends lines",
            "As on classic Mac OS.",
            cells_of_columns(
                TABLES, lambda column: _lines(column, [HEAD, *LABELS], problem_at("syntax", line=1), end="\r")
            ),
        ),
        Fault("blank line", "Line 3 is blank.", cells_of_columns(TABLES, _blank)),
        Fault("other separator", "Bars in CSV, commas in TSV.", cells_of_columns(TABLES, _other_separator)),
    ),
)


# ---- .npz --------------------------------------------------------------------------------------------


def _archive(**members: bytes) -> bytes:
    """A zip archive of members that are given as bytes."""
    return _zipped([(f"{name}.npy", data) for name, data in members.items()])


def _zipped(members: list[tuple[str, bytes]]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is given twice
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)
    return body.getvalue()


def _array(values: Any, shape: tuple[int, ...] | None = None) -> bytes:
    """The .npy bytes of an array, whose header may lie about its shape."""
    found = np.asarray(values)
    body = io.BytesIO()
    header = {"descr": npy.dtype_to_descr(found.dtype), "fortran_order": False, "shape": shape or found.shape}
    npy.write_array_header_1_0(body, header)
    return body.getvalue() + found.tobytes()


def _pickled() -> bytes:
    body = io.BytesIO()
    np.savez(body, ids=np.array(IDS), labels=np.array(CLASSES, dtype=object))
    return body.getvalue()


def _damaged() -> bytes:
    """An archive of which one byte of an array is another, so that its checksum is wrong."""
    body = bytearray(npz(ids=IDS, labels=CLASSES))
    body[body.index(b"c\0\0\0a\0\0\0t\0\0\0")] = ord("b")
    return bytes(body)


def _member_off_archive() -> bytes:
    """An archive whose directory says that an array begins elsewhere."""
    body = bytearray(npz(ids=IDS, labels=CLASSES))
    entry = body.rindex(b"PK\x01\x02")
    struct.pack_into("<I", body, entry + 42, 7)
    return bytes(body)


def _one(name: str, meaning: str, body: bytes, *problems: ProblemFields, challenge: str = "label") -> Fault:
    return Fault(name, meaning, {"npz": make_cell("npz", body, *problems, challenge=challenge)})


GOOD = {"ids": _array(IDS), "labels": _array(CLASSES)}
NPZ = Group(
    ".npz files",
    ("npz",),
    (
        _one(
            "pickled objects", "labels is an array of dtype object.", _pickled(), problem_at("wrong_shape", "/labels")
        ),
        _one(
            "forged shape",
            "The header of labels states 3,000,000 texts; there are three.",
            _archive(**GOOD | {"labels": _array(CLASSES, (3_000_000,))}),
            problem_at("syntax", "/labels"),
        ),
        _one(
            "forged negative shape",
            "The header of labels states -3 texts.",
            _archive(**GOOD | {"labels": _array(CLASSES, (-3,))}),
            problem_at("syntax", "/labels"),
        ),
        _one(
            "no array",
            "The member labels is not .npy data.",
            _archive(**GOOD | {"labels": b"cat"}),
            problem_at("syntax", "/labels"),
        ),
        _one(
            "duplicate member",
            "The archive contains labels twice.",
            _zipped([("ids.npy", GOOD["ids"]), ("labels.npy", GOOD["labels"]), ("labels.npy", GOOD["labels"])]),
            problem_at("duplicate_key", "/labels"),
        ),
        _one("encrypted", "The archive is marked as encrypted.", encrypted(), problem_at("syntax", "/ids")),
        _one("wrong checksum", "A byte of labels was changed.", _damaged(), problem_at("syntax")),
        _one(
            "wrong directory",
            "The directory has a wrong offset for a member.",
            _member_off_archive(),
            problem_at("syntax"),
        ),
        _one("no answers", "There are only ids.", npz(ids=IDS), problem_at("wrong_shape")),
        _one(
            "three dimensions",
            "scores has the shape 3 × 3 × 1.",
            npz(ids=IDS, classes=CLASSES, scores=np.zeros((3, 3, 1))),
            problem_at("wrong_shape", "/scores"),
        ),
        _one(
            "no dimension",
            "scores is a number, not an array.",
            npz(ids=IDS, scores=np.array(0.5)),
            problem_at("wrong_shape", "/scores"),
        ),
        _one(
            "classes and width",
            "There are two class names, but scores has three columns.",
            npz(ids=IDS, classes=CLASSES[:2], scores=np.full((3, 3), 1 / 3)),
            problem_at("wrong_class_count", "/scores"),
        ),
    ),
)


# ---- Parquet and Arrow -------------------------------------------------------------------------------


def _nested(column: str) -> Cell:
    labels = [{"name": label} for label in CLASSES]
    return make_cell(
        column, columnar(column, pa.table({"id": IDS, "label": labels})), problem_at("wrong_shape", "/label")
    )


def _deep_lists(column: str) -> Cell:
    table = pa.table({"id": IDS, "labels": [[[label]] for label in CLASSES]})
    return make_cell(column, columnar(column, table), problem_at("wrong_shape", "/labels"), challenge="sets")


def _integers(column: str) -> Cell:
    table = pa.table({"id": IDS, "label": [1, 2, 3]})
    found = [problem_at("unknown_label", f"/label/{row}", name, got=f'"{row + 1}"') for row, name in enumerate(IDS)]
    return make_cell(column, columnar(column, table), *found, challenge="sets")


def _null_set(column: str) -> Cell:
    table = pa.table({"id": IDS, "labels": [["cat"], None, ["eel"]]})
    return make_cell(column, columnar(column, table), problem_at("wrong_shape", "/labels/1", "t2"), challenge="sets")


def _null_in_set(column: str) -> Cell:
    table = pa.table({"id": IDS, "labels": [["cat"], ["dog", None], ["eel"]]})
    return make_cell(column, columnar(column, table), problem_at("wrong_shape", "/labels/1/1", "t2"), challenge="sets")


def _dates(column: str) -> Cell:
    days = pa.array([1, 2, 3], pa.date32())
    return make_cell(
        column, columnar(column, pa.table({"id": days, "label": CLASSES})), problem_at("wrong_shape", "/id")
    )


def _score_lists_of_int(column: str) -> Cell:
    table = pa.table({"id": IDS, "scores": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]})
    return make_cell(column, columnar(column, table), problem_at("wrong_shape", "/scores"))


def _null_scores(column: str) -> Cell:
    table = pa.table({"id": IDS, "scores": [[0.7, 0.2, 0.1], None, [0.1, 0.1, 0.8]]})
    return make_cell(column, columnar(column, table), problem_at("wrong_shape", "/scores/1", "t2"))


def _stream(column: str) -> Cell:
    body = io.BytesIO()
    table = pa.table({"id": IDS, "label": CLASSES})
    with pa.ipc.new_stream(body, table.schema) as stream:
        stream.write_table(table)
    return make_cell(column, body.getvalue(), problem_at("syntax"))


def _damage(column: str) -> Cell:
    """The last bytes, which say where the metadata stand, are others."""
    body = write_file(column, LABELS)
    return make_cell(column, body[:-12] + b"\xff\xff\xff\x7f" + body[-8:], problem_at("syntax"))


COLUMNAR = Group(
    "Parquet and Arrow files",
    ARROWS,
    (
        Fault("nested column", "label is a column of structs.", cells_of_columns(ARROWS, _nested)),
        Fault("lists of lists", "labels is a column of lists of lists.", cells_of_columns(ARROWS, _deep_lists)),
        Fault(
            "integers as sets",
            "A column of integers in a multi-label task, where they are not labels.",
            cells_of_columns(ARROWS, _integers),
        ),
        Fault("null set", "The set of t2 is null.", cells_of_columns(ARROWS, _null_set)),
        Fault("null in a set", "A label of t2 is null.", cells_of_columns(ARROWS, _null_in_set)),
        Fault("null scores", "The list of scores of t2 is null.", cells_of_columns(ARROWS, _null_scores)),
        Fault("dates as ids", "The column id has a type that is not text.", cells_of_columns(ARROWS, _dates)),
        Fault(
            "scores as lists of integers",
            "scores is a column of lists of integers.",
            cells_of_columns(ARROWS, _score_lists_of_int),
        ),
        Fault("damaged footer", "Bytes of the footer were changed.", cells_of_columns(ARROWS, _damage)),
        Fault("Arrow stream", "A stream, not a file.", cells_of_columns(ARROWS, _stream)),
    ),
)
