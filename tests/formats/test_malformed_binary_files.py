"""Faults of binary files that fuzzing discovered: each is reported as a problem and crashes nothing."""

import io
import struct
import zipfile
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from app.formats.content.format_detection import FileKind
from app.formats.label_set_detection import has_label_sets
from app.formats.reading_rules import Limits
from tests.each_case import for_each
from tests.formats.fault_table.write import columnar, npz
from tests.formats.reading import read, read_valid_sets

HEADER = "{{'descr': '<U1', 'fortran_order': False, 'shape': {}}}"


def npz_with_header(header: str) -> bytes:
    """An archive whose array of ids has this header."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        text = header.encode()
        archive.writestr("ids.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"a\0\0\0")
    return file.getvalue()


@for_each("kind", ["parquet", "arrow"])
def test_integers_are_labels_of_sets_too(kind: str) -> None:
    data = columnar(kind, pa.table({"id": ["t1", "t2", "t3"], "label": [0, 1, 0]}))
    assert read_valid_sets(data, kind, multilabel=True, classes=("0", "1")) == [[0], [1], [0]]


@for_each("kind", ["parquet", "arrow"])
@for_each(
    "column, labels, expected",
    [
        ("labels", [["a"], ["b"]], True),
        ("label", [["a"], ["b"]], True),
        ("labels", ["a", "b"], True),
        ("label", ["a", "b|c"], True),
        ("label", ["a", "b"], False),
    ],
)
def test_a_column_of_sets_is_one_though_each_holds_one_label(
    kind: str, column: str, labels: list[Any], expected: bool
) -> None:
    """As in JSON, where lists say it, and in CSV, where the name of the column does."""
    data = columnar(kind, pa.table({"id": ["t1", "t2"], column: labels}))
    assert has_label_sets(io.BytesIO(data), FileKind(kind), Limits()) == expected


@for_each("kind", ["parquet", "arrow", "npz"])
def test_the_task_of_a_file_with_too_many_records_cannot_be_told(kind: str) -> None:
    table = pa.table({"id": [1, 2, 3], "labels": [["a", "b"], ["a"], ["b"]]})
    data = npz(ids=[1, 2, 3], labels=["a|b", "a", "b"]) if kind == "npz" else columnar(kind, table)
    assert has_label_sets(io.BytesIO(data), FileKind(kind), Limits())
    assert not has_label_sets(io.BytesIO(data), FileKind(kind), Limits(records=2))


@for_each(
    "header",
    [
        "-" * 9000 + "1",
        HEADER.format("(True,)"),
        HEADER.format("(" + "9" * 3900 + ",)"),
        HEADER.format("(here,)"),
        HEADER.replace("'<U1'", "[('a', '<U1')] * 2").format("(1,)"),
    ],
)
def test_a_header_that_is_none_is_told_the_same_each_time_and_in_short(header: str) -> None:
    said = [read(npz_with_header(header), "npz")[1].to_dict() for _ in range(2)]
    assert said[0] == said[1]
    assert said[0]["total"] == {"syntax": 1}
    message = said[0]["problems"][0]["message"]
    assert "0x" not in message
    assert len(message) < 250
    assert message.endswith(".")


def test_what_takes_too_much_memory_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limits of a file the file is at fault; below them a MemoryError reaches the caller."""
    size = 2_048_000_000

    def refuse(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError(f"realloc of size {size} failed")

    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", refuse)
    assert read(b"PAR1", "parquet")[1].total == {"too_large": 1}
    size = 2_048_000
    with pytest.raises(MemoryError):
        read(b"PAR1", "parquet")
