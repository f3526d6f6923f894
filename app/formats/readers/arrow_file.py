"""Parquet and Arrow IPC files, by way of pyarrow: opened without expanding them, and read in bounded batches.

pyarrow is optional and slow to import, so it is imported where it is needed.
"""
# ruff: noqa: PLC0415

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from app.formats.columns import check_set_label_count, check_value_count
from app.formats.cpu_share import CpuShare
from app.formats.problems import quote
from app.formats.reading_rules import Limits

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_ROWS_PER_TABLE = 1 << 16
_SPARE_ROW_GROUPS, _ROWS_PER_ROW_GROUP = 100_000, 1000
"""Row groups or record batches, times columns: so many, and one more of each column for so many rows. Reading one takes
some five microseconds."""
_MAX_COMBINED_BATCHES = 4096
"""Record batches taken together, where each has few rows."""
_MAX_THRIFT_STRING_BYTES = 1 << 26
"""Bytes that one text in the metadata of a Parquet file may take."""
_MAX_THRIFT_CONTAINER_ITEMS = 1 << 20
"""Columns or row groups that the metadata of a Parquet file may list: each takes some hundred bytes of memory."""
REWRITE_REMEDY = "Write the file again with a current library, such as pandas or pyarrow."


class ArrowFileError(Exception):
    """The file, or one of its columns, is not taken."""

    def __init__(self, code: str, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.code, self.column = code, column


@dataclass(frozen=True, slots=True)
class OpenedArrowFile:
    """A file whose schema is known: the types of its columns, how many rows it says it has (or None), and its rows.

    `batches` gives the columns of these names, batch by batch; texts may come as dictionaries, so that one that many
    rows share is held once. Raises Refused where they say that they have more bytes than a file may have. `share` is the
    CPU time of all that pyarrow does.
    """

    share: CpuShare
    schema: "pa.Schema"
    rows: int | None
    batches: Callable[[Sequence[str]], Iterator["pa.RecordBatch"]]


def too_many_bytes_error(limits: Limits) -> ArrowFileError:
    """What is said of columns with more bytes than a file may have."""
    most = limits.expanded_bytes
    return ArrowFileError("too_large", f"The columns have more than {most} bytes. Leave out what is not scored.")


def open_parquet(data: bytes, limits: Limits) -> OpenedArrowFile:
    """Read the metadata of a Parquet file; raises Refused, and whatever pyarrow raises for what is none."""
    import pyarrow.parquet as pq
    import pyarrow.types as is_

    share = limits.cpu_share(limits.decoding_seconds)
    bounds = {
        "thrift_string_size_limit": _MAX_THRIFT_STRING_BYTES,
        "thrift_container_size_limit": _MAX_THRIFT_CONTAINER_ITEMS,
    }
    with share.step():
        first = pq.ParquetFile(BytesIO(data), **bounds)
        told, schema = first.metadata, first.schema_arrow
    _check_row_group_count(told.num_row_groups, "row groups", told.num_columns, limits)

    def batches(names: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        if _uncompressed_bytes(told) > limits.expanded_bytes:
            raise too_many_bytes_error(limits)
        texts = [name for name in names if is_.is_string(schema.field(name).type)]
        how: dict[str, Any] = {"read_dictionary": texts, "page_checksum_verification": True, **bounds}
        with share.step():
            again = pq.ParquetFile(BytesIO(data), metadata=told, **how)
        return share.each(again.iter_batches(batch_size=_ROWS_PER_TABLE, columns=list(names), use_threads=False))

    return OpenedArrowFile(share, schema, told.num_rows, batches)


def _check_row_group_count(count: int, name: str, columns: int, limits: Limits) -> None:
    """Refuse a file in more pieces than its rows can need: each is read for each column, however little it holds."""
    most = _SPARE_ROW_GROUPS // max(1, columns) + limits.records // _ROWS_PER_ROW_GROUP
    if count > max(1, most):
        message = (
            f"The file has {count} {name} of {columns} columns; at most {max(1, most)} are allowed. {REWRITE_REMEDY}"
        )
        raise ArrowFileError("too_large", message)


def _count_nested_columns(schema: "pa.Schema") -> int:
    """How many columns those of a schema are read as, with those inside them."""
    count, left = 0, list(schema.types)
    while left:
        kind = left.pop()
        count += 1
        left.extend(kind.field(at).type for at in range(kind.num_fields))
    return count


def _uncompressed_bytes(told: "pq.FileMetaData") -> int:
    """How many bytes the columns have by what the file says.

    Of all columns, as the metadata of a single one may be of a kind at which pyarrow aborts the process.
    """
    groups = map(told.row_group, range(told.num_row_groups))
    return sum(max(0, int(group.total_byte_size)) for group in groups)


def open_arrow(data: bytes, limits: Limits) -> OpenedArrowFile:
    """Read the schema of an Arrow IPC file; raises Refused, and whatever pyarrow raises for what is none."""
    import pyarrow as pa

    share = limits.cpu_share(limits.decoding_seconds)
    try:
        with share.step():
            first = pa.ipc.open_file(pa.BufferReader(data))
    except pa.ArrowInvalid:
        if data[:4] == b"\xff\xff\xff\xff":
            raise ArrowFileError(
                "syntax", "This is an Arrow stream. Write an Arrow file: pyarrow.ipc.new_file."
            ) from None
        raise
    schema = first.schema
    columns = _count_nested_columns(schema)
    _check_row_group_count(first.num_record_batches, "record batches", columns, limits)

    def batches(names: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        places = {name: at for at, name in enumerate(schema.names)}  # whose list is made anew each time
        options = pa.ipc.IpcReadOptions(included_fields=[places[name] for name in names])
        with share.step():
            again = pa.ipc.open_file(pa.BufferReader(data), options=options)
        return share.each(map(again.get_batch, range(again.num_record_batches)))

    return OpenedArrowFile(share, schema, None, batches)


def combine_batches(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.Table"]:
    """Batches as tables of many rows each."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_PER_TABLE or len(held) >= _MAX_COMBINED_BATCHES:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held)


class ArrowColumnValidator:
    """Looks at every value: a file may lie about where they are, and texts may not be UTF-8.

    A dictionary that many batches share is looked at once. Raises Refused, and TooManyRows for more values than a phase
    can use.
    """

    def __init__(self, limits: Limits, share: CpuShare) -> None:
        self._limits, self._share = limits, share
        self._known: dict[tuple[object, ...], pa.Array] = {}
        self._bytes = self._values = self._labels = 0

    def values(self, name: str, column: "pa.ChunkedArray") -> list[Any]:
        """The values of a column as Python has them; those of a dictionary are made once each, however often they occur."""
        import pyarrow.types as is_

        if is_.is_dictionary(column.type):
            return self._dictionary_values(name, column)
        self.check(name, column)
        return list(column.to_pylist())

    def check(self, name: str, column: "pa.ChunkedArray | pa.Array") -> None:
        """Look at a column that has no dictionary."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            with self._share.step():
                column.validate(full=True)
        except pa.ArrowInvalid as fault:
            if "UTF8" not in str(fault):
                raise
            message = f"The column {quote(name)} holds a text that is not UTF-8. Write the texts again as UTF-8."
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

    def _dictionary_values(self, name: str, column: "pa.ChunkedArray") -> list[Any]:
        found: list[Any] = []
        chunks = [(self._validate_dictionary(name, chunk.dictionary), chunk.indices) for chunk in column.chunks]
        for _, group in groupby(chunks, key=lambda chunk: id(chunk[0])):
            found.extend(_look_up_indices(list(group)))
        return found

    def _validate_dictionary(self, name: str, dictionary: "pa.Array") -> "pa.Array":
        """The same dictionary as before where it lies at the same place, which it cannot leave while it is held."""
        places = [None if part is None else (part.address, part.size) for part in dictionary.buffers()]
        key = (name, dictionary.offset, len(dictionary), *places)
        known = self._known.get(key)
        if known is None:
            self._values += len(dictionary)
            check_value_count(self._values, self._limits)
            self.check(name, dictionary)
            known = self._known[key] = dictionary
        return known


def _look_up_indices(chunks: Sequence[tuple["pa.Array", "pa.Array"]]) -> list[Any]:
    """The values that these indices have in the one dictionary of all chunks."""
    import pyarrow as pa

    dictionary, indices = chunks[0][0], pa.chunked_array([each for _, each in chunks])
    indices.validate(full=True)
    used = indices.unique().drop_null()
    places = used.to_pylist()
    if places and not 0 <= min(places) <= max(places) < len(dictionary):
        raise pa.ArrowInvalid("an index lies outside its dictionary")
    distinct: Mapping[int | None, Any] = {
        None: None,
        **dict(zip(places, dictionary.take(used).to_pylist(), strict=True)),
    }
    return [distinct[at] for at in indices.to_pylist()]


def _decoded_bytes(column: "pa.ChunkedArray | pa.Array") -> int:
    """The bytes of a column as Python will have it: views may show the same bytes many times."""
    import pyarrow as pa
    import pyarrow.types as is_

    if not is_.is_string_view(column.type):
        return int(column.nbytes)
    chunks = [column] if isinstance(column, pa.Array) else column.chunks
    views = ((chunk.offset, len(chunk), chunk.buffers()[1]) for chunk in chunks if len(chunk))
    return sum(
        int(np.frombuffer(view, "<i4")[4 * start : 4 * (start + count) : 4].sum(dtype=np.int64))
        for start, count, view in views
    )


def is_list(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds lists."""
    import pyarrow.types as is_

    return bool(is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind))


def is_text_list(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds lists of texts; lists that are all empty have no type inside."""
    import pyarrow.types as is_

    return is_list(kind) and (is_text(kind.value_type) or bool(is_.is_null(kind.value_type)))


def is_text(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds texts, or integers, which are taken as their decimal text."""
    import pyarrow.types as is_

    if is_.is_dictionary(kind):
        return is_text(kind.value_type)
    views = is_.is_string_view(kind)
    return bool(is_.is_string(kind) or is_.is_large_string(kind) or views or is_.is_integer(kind))


def is_number(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds whole or floating-point numbers."""
    import pyarrow.types as is_

    return bool(is_.is_integer(kind) or is_.is_floating(kind))


def is_float(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds binary32 or binary64 numbers."""
    import pyarrow.types as is_

    return bool(is_.is_float32(kind) or is_.is_float64(kind))
