"""Hostile files of Parquet and Arrow."""

import io
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.formats.content.format_detection import FileKind
from tests.fuzz.hostile_file import MAX_FILE_BYTES, HostileFile, TargetGold, constant_body, zstd_frame


def parquet_bytes(table: pa.Table, **how: Any) -> bytes:
    """A Parquet file."""
    body = io.BytesIO()
    pq.write_table(table, body, **how)
    return body.getvalue()


def arrow_bytes(batches: list[pa.RecordBatch], compression: str | None = None) -> bytes:
    """An Arrow file of these batches."""
    body = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(body, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return body.getvalue()


def dictionary(values: list[str], rows: int, index: str = "int32") -> pa.Array:
    """A column whose rows all are the first of these texts."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, index)), pa.array(values, pa.string()))


def pair(ids: pa.Array, labels: pa.Array, label: str = "label") -> pa.Table:
    """Two columns."""
    return pa.table({"id": ids, label: labels})


def parquet_files() -> Iterator[HostileFile]:
    """Parquet."""
    kind = FileKind("parquet")
    one = dictionary(["x" * 1000], 9_000_000)
    yield HostileFile("rows", kind, constant_body(parquet_bytes(pair(one, one))))
    numbers = pa.array(np.zeros(9_000_000, "i8"))
    yield HostileFile("numbers", kind, constant_body(parquet_bytes(pair(numbers, numbers), compression="zstd")))
    wide = pa.array(["x" * 1_000_000] * 900)
    yield HostileFile(
        "wide texts", kind, constant_body(parquet_bytes(pair(wide, wide), compression="zstd", use_dictionary=False))
    )
    values = [f"{number % 10}" * 90 for number in range(100_000)]
    texts = pa.array(values)
    plain = {"compression": "zstd", "use_dictionary": False}
    yield HostileFile("long ids", kind, constant_body(parquet_bytes(pair(texts, texts), **plain)))
    few = pa.array(["t0000001"] * 9000)
    yield HostileFile("row groups", kind, constant_body(parquet_bytes(pair(few, few), row_group_size=1)))
    yield HostileFile(
        "pages of scores", FileKind("parquet", "zstd"), lambda phase: zstd_frame(pages(phase)), scores=True
    )
    yield HostileFile("row groups of scores", FileKind("parquet", "zstd"), _row_groups, scores=True)
    columns = pa.table({"id": ["a"], "label": ["b"], **{f"k{number}": [1] for number in range(12_000)}})
    yield HostileFile("columns", kind, constant_body(parquet_bytes(columns, compression="zstd")[: 8 * MAX_FILE_BYTES]))
    row = pa.array([["c0"] * 20_000_000], pa.list_(pa.string()))
    swollen = parquet_bytes(pair(pa.array(["t0000001"]), row, "labels"), compression="zstd")
    yield HostileFile("a long list", kind, constant_body(swollen), "multilabel")


def arrow_files() -> Iterator[HostileFile]:
    """Arrow IPC."""
    kind, squeezed = FileKind("arrow"), FileKind("arrow", "zstd")
    yield from (
        HostileFile(name, squeezed, constant_body(zstd_frame(_repeated(values))))
        for name, values in {
            "one dictionary": [f"value {number}" for number in range(100_000)],
            "one dictionary of empty texts": [""] * 100_000,
            "an empty dictionary": [],
        }.items()
    )
    nothing = pa.record_batch({"id": pa.array([], pa.string()), "label": pa.array([], pa.string())})
    yield HostileFile("empty batches", squeezed, constant_body(zstd_frame(arrow_bytes([nothing] * 20_000))))
    one = pa.record_batch({"id": ["t0000001"], "label": ["c0"]})
    yield HostileFile("batches of a row", squeezed, constant_body(zstd_frame(arrow_bytes([one] * 20_000))))
    numbers = pa.array(np.zeros(50_000_000, "i1"))
    yield HostileFile(
        "numbers", kind, constant_body(arrow_bytes([pa.record_batch({"id": numbers, "label": numbers})], "zstd"))
    )
    row = pa.array([["c0"] * 20_000_000], pa.list_(pa.string()))
    long = pa.record_batch({"id": pa.array(["t0000001"]), "labels": row})
    yield HostileFile("a long list", squeezed, constant_body(zstd_frame(arrow_bytes([long]))), "multilabel")
    offsets = pa.array([0, 2_000_000_000], pa.int32())
    empty = pa.ListArray.from_arrays(offsets, pa.nulls(2_000_000_000))
    void = pa.record_batch({"id": pa.array(["t0000001"]), "labels": empty})
    yield HostileFile("a list of nulls", kind, constant_body(arrow_bytes([void])), "multilabel")
    shown = struct.pack("<i4sii", 3_000_000, b"xxxx", 0, 0) * 1000
    parts = [None, pa.py_buffer(shown), pa.py_buffer(b"x" * 3_000_000)]
    view = pa.Array.from_buffers(pa.string_view(), 1000, parts)
    views = pa.record_batch({"id": view, "label": view})
    yield HostileFile("one text in many views", squeezed, constant_body(zstd_frame(arrow_bytes([views]))))
    yield HostileFile("empty batches of scores", squeezed, _empty_batches, scores=True)
    yield HostileFile("columns beside scores", squeezed, _columns_beside_scores, scores=True)
    columns = pa.record_batch({"id": ["a"], "label": ["b"], **{f"k{number}": [1] for number in range(50_000)}})
    yield HostileFile("columns", squeezed, constant_body(zstd_frame(arrow_bytes([columns]))))


def score_table(phase: TargetGold) -> pa.Table:
    """A row for each instance, and a score of each class."""
    rows, classes = len(phase.ids), phase.classes
    equal = pa.array(np.full(rows, 1 / len(classes)))
    return pa.table({"id": pa.array(phase.ids), **dict.fromkeys(classes, equal)})


def _empty_batches(phase: TargetGold) -> bytes:
    """The scores, and as many empty batches as fit."""
    table = score_table(phase)
    nothing = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in table.schema.types], schema=table.schema)
    return zstd_frame(arrow_bytes([*table.to_batches(), *[nothing] * 30_000]))


def _columns_beside_scores(phase: TargetGold) -> bytes:
    """A few rows of scores behind as many ignored columns as there may be."""
    table = score_table(phase).slice(0, 2)
    nothing = {f"x{number}": pa.nulls(2) for number in range(60_000)}
    return zstd_frame(
        arrow_bytes(pa.table(nothing | dict(zip(table.column_names, table.columns, strict=True))).to_batches())
    )


def pages(phase: TargetGold) -> bytes:
    """The scores, each in a page of its own."""
    how = {"use_dictionary": False, "write_statistics": False, "data_page_size": 1, "write_batch_size": 1}
    return parquet_bytes(score_table(phase), compression="zstd", **how)


def _row_groups(phase: TargetGold) -> bytes:
    """The scores, with a row group for each row."""
    how = {"use_dictionary": False, "write_statistics": False, "compression": "none", "store_schema": False}
    return zstd_frame(parquet_bytes(score_table(phase), row_group_size=max(1, len(phase.ids) // 10_000), **how))


def _repeated(values: list[str]) -> bytes:
    """Ten thousand batches of a row, which share a dictionary."""
    index = pa.array([0] if values else [None], pa.int32())
    column = pa.DictionaryArray.from_arrays(index, pa.array(values, pa.string()))
    return arrow_bytes([pa.record_batch({"id": column, "label": column})] * 10_000)
