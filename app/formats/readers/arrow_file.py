"""Opens Parquet and Arrow IPC files with pyarrow, without expanding them, and reads them in bounded batches.

pyarrow is optional and slow to import: the registry of formats imports this module on first use.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as arrow_types

from app.formats.column_data import check_set_label_count, check_value_count
from app.formats.content.library_cpu_budget import CpuBudget
from app.formats.problems import REDUCE_SIZE_REMEDY, quote
from app.formats.reading_rules import Limits

_ROWS_PER_TABLE = 1 << 16
_SPARE_ROW_GROUPS, _ROWS_PER_ROW_GROUP = 100_000, 1000
"""The most row groups or record batches, times columns, and one more of each column per so many rows. Reading one takes
about five microseconds."""
_MAX_COMBINED_BATCHES = 4096
"""Record batches combined into one table, where each has few rows."""
_MAX_THRIFT_STRING_BYTES = 1 << 26
"""Bytes of a single text in the metadata of a Parquet file."""
_MAX_THRIFT_CONTAINER_ITEMS = 1 << 20
"""Columns or row groups in the metadata of a Parquet file: each takes about a hundred bytes of memory."""
REWRITE_REMEDY = "Write the file again with a current library, such as pandas or pyarrow."


class ArrowFileError(Exception):
    """The file, or one of its columns, is refused."""

    def __init__(self, code: str, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.code, self.column = code, column


@dataclass(frozen=True, slots=True)
class OpenedArrowFile:
    """A file whose schema is known: its column types, its declared number of rows (None if unknown), and its batches.

    `batches` yields the columns with the given names, batch by batch; texts may come as dictionaries, so that a text
    shared by many rows is held once. It raises ArrowFileError if the columns declare more bytes than a file may have.
    `budget` limits the CPU time of all calls of pyarrow.
    """

    budget: CpuBudget
    schema: pa.Schema
    rows: int | None
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


def too_many_bytes_error(limits: Limits) -> ArrowFileError:
    """The error for columns with more bytes than a file may have."""
    max_bytes = limits.expanded_bytes
    return ArrowFileError("too_large", f"The columns have more than {max_bytes} bytes. {REDUCE_SIZE_REMEDY}")


def open_parquet(data: bytes, limits: Limits) -> OpenedArrowFile:
    """Read the metadata of a Parquet file; raises ArrowFileError, and any error of pyarrow for an invalid file."""
    budget = limits.cpu_budget(limits.decoding_seconds)
    bounds = {
        "thrift_string_size_limit": _MAX_THRIFT_STRING_BYTES,
        "thrift_container_size_limit": _MAX_THRIFT_CONTAINER_ITEMS,
    }
    with budget.step():
        header = pq.ParquetFile(BytesIO(data), **bounds)
        metadata, schema = header.metadata, header.schema_arrow
    _check_row_group_count(metadata.num_row_groups, "row groups", metadata.num_columns, limits)

    def batches(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if _uncompressed_bytes(metadata) > limits.expanded_bytes:
            raise too_many_bytes_error(limits)
        texts = [name for name in names if arrow_types.is_string(schema.field(name).type)]
        options: dict[str, Any] = {"read_dictionary": texts, "page_checksum_verification": True, **bounds}
        with budget.step():
            file = pq.ParquetFile(BytesIO(data), metadata=metadata, **options)
        return budget.iterate(file.iter_batches(batch_size=_ROWS_PER_TABLE, columns=list(names), use_threads=False))

    return OpenedArrowFile(budget, schema, metadata.num_rows, batches)


def _check_row_group_count(count: int, name: str, columns: int, limits: Limits) -> None:
    """Refuse a file in more pieces than its rows can need: each is read once per column, however small it is."""
    max_count = _SPARE_ROW_GROUPS // max(1, columns) + limits.records // _ROWS_PER_ROW_GROUP
    if count > max(1, max_count):
        message = f"The file has {count} {name} of {columns} columns; at most {max(1, max_count)} are allowed."
        raise ArrowFileError("too_large", f"{message} {REWRITE_REMEDY}")


def _count_nested_columns(schema: pa.Schema) -> int:
    """The number of columns of a schema, including nested ones."""
    count, pending = 0, list(schema.types)
    while pending:
        kind = pending.pop()
        count += 1
        pending.extend(kind.field(at).type for at in range(kind.num_fields))
    return count


def _uncompressed_bytes(metadata: pq.FileMetaData) -> int:
    """The total size of the columns, as declared in the metadata.

    It is the total of all columns: pyarrow aborts the process for some kinds of metadata of a single column.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return sum(max(0, int(group.total_byte_size)) for group in groups)


def open_arrow(data: bytes, limits: Limits) -> OpenedArrowFile:
    """Read the schema of an Arrow IPC file; raises ArrowFileError, and any error of pyarrow for an invalid file."""
    budget = limits.cpu_budget(limits.decoding_seconds)
    try:
        with budget.step():
            first = pa.ipc.open_file(pa.BufferReader(data))
    except pa.ArrowInvalid:
        if data[:4] == b"\xff\xff\xff\xff":
            message = "The file is an Arrow stream. Write it in the Arrow file format, with pyarrow.ipc.new_file."
            raise ArrowFileError("syntax", message) from None
        raise
    schema = first.schema
    columns = _count_nested_columns(schema)
    _check_row_group_count(first.num_record_batches, "record batches", columns, limits)

    def batches(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        positions = {name: at for at, name in enumerate(schema.names)}  # pyarrow builds this list anew on each access
        options = pa.ipc.IpcReadOptions(included_fields=[positions[name] for name in names])
        with budget.step():
            file = pa.ipc.open_file(pa.BufferReader(data), options=options)
        return budget.iterate(map(file.get_batch, range(file.num_record_batches)))

    return OpenedArrowFile(budget, schema, None, batches)


def combine_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of many rows each, combined from batches."""
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_PER_TABLE or len(pending) >= _MAX_COMBINED_BATCHES:
            yield pa.Table.from_batches(pending)
            pending, rows = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


class ArrowColumnValidator:
    """Validates every value: a file may declare wrong offsets, and its texts may not be UTF-8.

    A dictionary shared by many batches is validated once. Raises ArrowFileError, and TooManyRows for more values than
    the phase can use.
    """

    def __init__(self, limits: Limits, budget: CpuBudget) -> None:
        self._limits, self._budget = limits, budget
        self._dictionaries: dict[tuple[object, ...], pa.Array] = {}
        self._bytes = self._values = self._labels = 0

    def values(self, name: str, column: pa.ChunkedArray) -> list[Any]:
        """The values of a column as Python objects; each value of a dictionary is converted only once."""
        if arrow_types.is_dictionary(column.type):
            return self._dictionary_values(name, column)
        self.check(name, column)
        return list(column.to_pylist())

    def check(self, name: str, column: pa.ChunkedArray | pa.Array) -> None:
        """Validate a column without a dictionary."""
        try:
            with self._budget.step():
                column.validate(full=True)
        except pa.ArrowInvalid as error:
            if "UTF8" not in str(error):
                raise
            message = f"The column {quote(name)} contains text that is not valid UTF-8. Write it again as UTF-8."
            raise ArrowFileError("encoding", message, name) from None
        self._bytes += _decoded_bytes(column)
        if self._bytes > self._limits.expanded_bytes:
            raise too_many_bytes_error(self._limits)
        if is_list(column.type):
            count = pc.sum(pc.list_value_length(column)).as_py() or 0
            self._values += count
            check_value_count(self._values, self._limits)
            self._labels += 0 if is_float(column.type.value_type) else count
            check_set_label_count(self._labels, self._limits)

    def _dictionary_values(self, name: str, column: pa.ChunkedArray) -> list[Any]:
        values: list[Any] = []
        chunks = [(self._validate_dictionary(name, chunk.dictionary), chunk.indices) for chunk in column.chunks]
        for _, group in groupby(chunks, key=lambda chunk: id(chunk[0])):
            values.extend(_look_up_indices(list(group)))
        return values

    def _validate_dictionary(self, name: str, dictionary: pa.Array) -> pa.Array:
        """The validated dictionary: the earlier object if the address is the same, as it is not reused while in memory."""
        addresses = [None if part is None else (part.address, part.size) for part in dictionary.buffers()]
        key = (name, dictionary.offset, len(dictionary), *addresses)
        if key not in self._dictionaries:
            self._values += len(dictionary)
            check_value_count(self._values, self._limits)
            self.check(name, dictionary)
            self._dictionaries[key] = dictionary
        return self._dictionaries[key]


def _look_up_indices(chunks: Sequence[tuple[pa.Array, pa.Array]]) -> list[Any]:
    """The values at these indices of the one dictionary that all chunks share."""
    dictionary, indices = chunks[0][0], pa.chunked_array([part for _, part in chunks])
    indices.validate(full=True)
    used = indices.unique().drop_null()
    positions = used.to_pylist()
    if positions and not 0 <= min(positions) <= max(positions) < len(dictionary):
        raise pa.ArrowInvalid("an index lies outside its dictionary")
    distinct = dict(zip(positions, dictionary.take(used).to_pylist(), strict=True))
    return [distinct.get(at) for at in indices.to_pylist()]  # None, which is no position, stays None


def _decoded_bytes(column: pa.ChunkedArray | pa.Array) -> int:
    """The bytes of a column as Python objects: string views may refer to the same bytes many times."""
    if not arrow_types.is_string_view(column.type):
        return int(column.nbytes)
    chunks = [column] if isinstance(column, pa.Array) else column.chunks
    views = ((chunk.offset, len(chunk), chunk.buffers()[1]) for chunk in chunks if len(chunk))
    return sum(
        int(np.frombuffer(view, "<i4")[4 * start : 4 * (start + count) : 4].sum(dtype=np.int64))
        for start, count, view in views
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists."""
    return bool(arrow_types.is_list(kind) or arrow_types.is_large_list(kind) or arrow_types.is_fixed_size_list(kind))


def is_text_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists of texts; if all its lists are empty, the items have the null type."""
    return is_list(kind) and (is_text(kind.value_type) or bool(arrow_types.is_null(kind.value_type)))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds texts, or integers, which are read as their decimal text."""
    if arrow_types.is_dictionary(kind):
        return is_text(kind.value_type)
    views = arrow_types.is_string_view(kind)
    return bool(
        arrow_types.is_string(kind) or arrow_types.is_large_string(kind) or views or arrow_types.is_integer(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds integers or floating-point numbers."""
    return bool(arrow_types.is_integer(kind) or arrow_types.is_floating(kind))


def is_float(kind: pa.DataType) -> bool:
    """Whether a column of this type holds binary32 or binary64 numbers."""
    return bool(arrow_types.is_float32(kind) or arrow_types.is_float64(kind))
