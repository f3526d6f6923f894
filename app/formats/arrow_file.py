"""Parquet and Arrow IPC files, by way of pyarrow: opened without expanding them, and read in bounded batches.

pyarrow is optional and slow to import, so it is imported where it is needed.
"""
# ruff: noqa: PLC0415

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from app.formats.problem import quote

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 1 << 16
_BATCHES = 100_000
"""Record batches of one Arrow file; libraries make one of thousands of rows."""
_THRIFT = 1 << 26
"""Bytes that one text in the metadata of a Parquet file may take."""
_PARTS = 1 << 20
"""Columns or row groups that the metadata of a Parquet file may list: each takes some hundred bytes of memory."""
MEND = "Write the file again with a current library, such as pandas or pyarrow."


class Refused(Exception):
    """The file, or one of its columns, is not taken."""

    def __init__(self, code: str, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.code, self.column = code, column


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose schema is known: the types of its columns, how many rows it says it has (or None), and its rows.

    `batches` gives the columns of these names, batch by batch; texts may come as dictionaries, so that one that many
    rows share is held once.
    """

    schema: "pa.Schema"
    rows: int | None
    batches: Callable[[Sequence[str]], Iterator["pa.RecordBatch"]]


def open_parquet(data: bytes) -> Opened:
    """Read the metadata of a Parquet file; raises Refused, and whatever pyarrow raises for what is none."""
    import pyarrow.parquet as pq
    import pyarrow.types as is_

    limits = {"thrift_string_size_limit": _THRIFT, "thrift_container_size_limit": _PARTS}
    first = pq.ParquetFile(BytesIO(data), **limits)
    schema = first.schema_arrow

    def batches(names: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        texts = [name for name in names if is_.is_string(schema.field(name).type)]
        again = pq.ParquetFile(BytesIO(data), read_dictionary=texts, page_checksum_verification=True, **limits)
        return iter(again.iter_batches(batch_size=_AT_ONCE, columns=list(names), use_threads=False))

    return Opened(schema, first.metadata.num_rows, batches)


def open_arrow(data: bytes) -> Opened:
    """Read the schema of an Arrow IPC file; raises Refused, and whatever pyarrow raises for what is none."""
    import pyarrow as pa

    try:
        first = pa.ipc.open_file(pa.BufferReader(data))
    except pa.ArrowInvalid:
        if data[:4] == b"\xff\xff\xff\xff":
            raise Refused("syntax", "This is an Arrow stream. Write an Arrow file: pyarrow.ipc.new_file.") from None
        raise
    if first.num_record_batches > _BATCHES:
        message = f"The file has {first.num_record_batches} record batches; at most {_BATCHES} are allowed. {MEND}"
        raise Refused("too_large", message)
    schema = first.schema

    def batches(names: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        options = pa.ipc.IpcReadOptions(included_fields=[schema.names.index(name) for name in names])
        again = pa.ipc.open_file(pa.BufferReader(data), options=options)
        for number in range(again.num_record_batches):
            yield again.get_batch(number)

    return Opened(schema, None, batches)


def validate(batch: "pa.RecordBatch") -> None:
    """Look at every value: an Arrow file may lie about where they are, and texts may not be UTF-8."""
    import pyarrow as pa

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as fault:
            if "UTF8" not in str(fault):
                raise
            message = f"The column {quote(name)} holds a text that is not UTF-8. Write the texts again as UTF-8."
            raise Refused("encoding", message, name) from None
    batch.validate(full=True)


def values(column: "pa.Array") -> list[Any]:
    """The values of a column as Python has them; those of a dictionary are made once each, however often they occur."""
    import pyarrow.types as is_

    if not is_.is_dictionary(column.type):
        return list(column.to_pylist())
    distinct: Mapping[int | None, Any] = {None: None, **dict(enumerate(column.dictionary.to_pylist()))}
    return [distinct[at] for at in column.indices.to_pylist()]


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


def is_integer(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds whole numbers."""
    import pyarrow.types as is_

    return bool(is_.is_integer(kind))


def is_float(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds binary32 or binary64 numbers."""
    import pyarrow.types as is_

    return bool(is_.is_float32(kind) or is_.is_float64(kind))
