"""Files of Parquet and Arrow whose metadata name one place many times, or say that a page is small."""

import gzip
import io
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

from app.formats.content.format_detection import FileKind
from tests.fuzz import thrift
from tests.fuzz.hostile_file import HostileFile, TargetGold, zstd_frame

_BLOCK = "<qiiq"
"""Where a message is in an Arrow file, the sizes of its head and its body."""
_TIMES = 200_000
_DICTIONARIES, _BATCHES = 2, 3
"""Fields of the footer of an Arrow file (format/File.fbs)."""
_GZIP, _ZSTD = 2, 6
"""Codecs of Parquet (parquet.thrift)."""


def _footer(data: bytes) -> tuple[bytes, bytearray]:
    """The part of an Arrow file before the footer, and the footer."""
    (size,) = struct.unpack("<i", data[-10:-6])
    return data[: -10 - size], bytearray(data[-10 - size : -10])


def _listed_again(data: bytes, field: int, times: int) -> bytes:
    """The same file with the last block of a list of its footer listed so many times more."""
    body, footer = _footer(data)
    (table,) = struct.unpack_from("<I", footer)
    slots = table - struct.unpack_from("<i", footer, table)[0]
    slot = table + struct.unpack_from("<H", footer, slots + 4 + 2 * field)[0]
    blocks = slot + struct.unpack_from("<I", footer, slot)[0]
    (count,) = struct.unpack_from("<I", footer, blocks)
    size = struct.calcsize(_BLOCK)
    listed = bytes(footer[blocks + 4 : blocks + 4 + count * size])
    footer.extend(bytes(-(len(footer) + 4) % 8))
    struct.pack_into("<I", footer, slot, len(footer) - slot)
    footer += struct.pack("<I", count + times) + listed + listed[-size:] * times
    return body + bytes(footer) + struct.pack("<i", len(footer)) + b"ARROW1"


def _arrow(field: int) -> Any:
    def make(phase: TargetGold) -> bytes:
        labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(phase.ids), "i4")), pa.array(phase.classes))
        more = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([*phase.classes, "x"]))
        body = io.BytesIO()
        schema = pa.schema([("id", pa.string()), ("label", labels.type)])
        options = pa.ipc.IpcWriteOptions(compression="zstd", emit_dictionary_deltas=True)
        with pa.ipc.new_file(body, schema, options=options) as writer:
            writer.write_batch(pa.record_batch([pa.array(phase.ids), labels], schema=schema))
            writer.write_batch(pa.record_batch([pa.array([], pa.string()), more], schema=schema))
        return zstd_frame(_listed_again(body.getvalue(), field, _TIMES if field == _DICTIONARIES else _TIMES // 5))

    return make


def _one_chunk(phase: TargetGold, extra: int) -> bytes:
    """Scores whose columns all are the same pages of a row; behind the number, each page expands to so many bytes more."""
    ids, rows = pa.array(phase.ids), len(phase.ids)
    equal = pa.array(np.full(rows, 1 / len(phase.classes)))
    fields = [pa.field("id", pa.string(), nullable=False)]
    fields += [pa.field(name, pa.float64(), nullable=False) for name in phase.classes]
    table = pa.Table.from_arrays([ids, *[equal] * len(phase.classes)], schema=pa.schema(fields))
    body = io.BytesIO()
    how = {"use_dictionary": False, "write_statistics": False, "store_schema": False, "compression": "zstd"}
    pq.write_table(table, body, row_group_size=rows, **how)
    data = body.getvalue()
    (size,) = struct.unpack("<I", data[-8:-4])
    footer = thrift.read(data[-8 - size : -8])
    columns = footer[4][0][1]
    first = columns[0][3]
    data = data[: first[9] + first[7]]
    row = struct.pack("<d", 1 / len(phase.classes)) + bytes(extra)
    page = gzip.compress(row) if extra else zstd.compress(row)
    head = thrift.encode({1: 0, 2: len(row), 3: len(page), 5: {1: 1, 2: 0, 3: 3, 4: 3}})
    chunk = (head + page) * rows
    for column in columns[1:]:
        column[2] = column[3][9] = len(data)
        column[3] |= {4: _GZIP if extra else _ZSTD, 6: 100, 7: len(chunk)}
    footer[4][0][2] = 1
    metadata = thrift.encode(footer)
    return zstd_frame(data + chunk + metadata + struct.pack("<I", len(metadata)) + b"PAR1")


def shared_files() -> Iterator[HostileFile]:
    """Arrow and Parquet."""
    kind = FileKind("arrow", "zstd")
    yield HostileFile("a dictionary listed again and again", kind, _arrow(_DICTIONARIES))
    yield HostileFile("a batch listed again and again", kind, _arrow(_BATCHES))
    kind = FileKind("parquet", "zstd")
    yield HostileFile("one chunk for all columns", kind, lambda phase: _one_chunk(phase, 0), scores=True)
    yield HostileFile("pages that expand", kind, lambda phase: _one_chunk(phase, 2_000_000), scores=True)
