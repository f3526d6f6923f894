"""Parquet and Arrow IPC files, by way of pyarrow: looked at before they are expanded, in bounded batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.formats.columns import Columns, GivenScores, Reading, TooManyRecords, check_count
from app.formats.csv_header import Header, read_header
from app.formats.layout import ColumnLists, Names
from app.formats.problem import FILE, Place, Problems, problem, quote, token

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 1 << 16
_BATCHES = 100_000
"""Record batches of one Arrow file; libraries make one of thousands of rows."""
_THRIFT = 1 << 26
"""Bytes that one text in the metadata of a Parquet file may take."""
_PARTS = 1 << 20
"""Columns or row groups that the metadata of a Parquet file may list: each takes some hundred bytes of memory."""
_MEND = "Write the file again with a current library, such as pandas or pyarrow."


class _Refused(Exception):
    """The file is not taken."""

    def __init__(self, code: str, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.code, self.column = code, column


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file whose schema is known: its columns' types, how many rows it says it has, and its rows in batches."""

    schema: "pa.Schema"
    rows: int
    batches: Callable[[Sequence[str]], Iterator["pa.RecordBatch"]]


def read_parquet(data: bytes, reading: Reading) -> Columns | None:
    """Read a Parquet file; None where it cannot be read (a problem says why)."""
    return _read(data, reading, "Parquet", _open_parquet)


def read_arrow(data: bytes, reading: Reading) -> Columns | None:
    """Read an Arrow IPC file; None where it cannot be read (a problem says why)."""
    return _read(data, reading, "Arrow IPC", _open_arrow)


def _read(data: bytes, reading: Reading, name: str, open_file: Callable[[bytes], _Opened]) -> Columns | None:
    import pyarrow as pa  # noqa: PLC0415 (optional, and slow to import)

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        opened = open_file(data)
        return _columns(opened, reading)
    except _Refused as refused:
        place = Place(None if refused.column is None else token(refused.column))
        reading.problems.add(problem(refused.code, str(refused), place))
    except TooManyRecords:
        raise
    except MemoryError:  # also that of Arrow, which is an ArrowException as well
        message = (
            "Reading this file takes more memory than allowed. Leave out what is not scored, or send an .npz file."
        )
        reading.problems.add(problem("too_large", message, Place()))
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError, EOFError) as fault:
        message = f"This is no intact {name} file ({_plain(fault)}). {_MEND}"
        reading.problems.add(problem("syntax", message, Place()))
    return None


def _plain(fault: Exception) -> str:
    text = str(fault).split("\n", 1)[0].split(" Detail:", 1)[0].strip().rstrip(".")
    return (text.encode("ascii", "replace").decode() or type(fault).__name__)[:120]


def _open_parquet(data: bytes) -> _Opened:
    import pyarrow.parquet as pq  # noqa: PLC0415

    if not data:
        raise _Refused("syntax", f"The file is empty. {_MEND}")
    file = pq.ParquetFile(
        BytesIO(data),
        thrift_string_size_limit=_THRIFT,
        thrift_container_size_limit=_PARTS,
        page_checksum_verification=True,
    )

    def batches(names: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        return iter(file.iter_batches(batch_size=_AT_ONCE, columns=list(names), use_threads=False))

    return _Opened(file.schema_arrow, file.metadata.num_rows, batches)


def _open_arrow(data: bytes) -> _Opened:
    import pyarrow as pa  # noqa: PLC0415

    if not data:
        raise _Refused("syntax", f"The file is empty. {_MEND}")
    try:
        file = pa.ipc.open_file(pa.BufferReader(data))
    except pa.ArrowInvalid:
        if data[:4] == b"\xff\xff\xff\xff":
            raise _Refused("syntax", "This is an Arrow stream. Write an Arrow file: pyarrow.ipc.new_file.") from None
        raise

    if file.num_record_batches > _BATCHES:
        message = f"The file has {file.num_record_batches} record batches; at most {_BATCHES} are allowed. {_MEND}"
        raise _Refused("too_large", message)

    def batches(names: Sequence[str]) -> Iterator["pa.RecordBatch"]:
        for number in range(file.num_record_batches):
            yield file.get_batch(number).select(list(names))

    return _Opened(file.schema, -1, batches)


# ---- the columns --------------------------------------------------------------------------------


def _columns(opened: _Opened, reading: Reading) -> Columns | None:
    if opened.rows > reading.limits.records:
        check_count(opened.rows, reading.limits)
    schema = opened.schema
    names = [str(name) for name in schema.names]
    listed = _gives_lists(schema, reading) and (reading.wants_scores or not {"label", "labels"} & set(names))
    header = _header([name for name in names if not listed or name != "scores"], reading, listed=listed)
    if header is None:
        return None
    reading = header.reading
    chosen = {field: header.layout.header[at] for field, at in header.used.items()}
    wide = ["scores"] if listed else [header.layout.header[at] for at in header.scores]
    types = {name: schema.field(name).type for name in (*chosen.values(), *wide)}
    if not _check_types(chosen, wide, types, listed=listed, reading=reading):
        return None
    cells, scores = _take(opened, chosen, wide, listed=listed, reading=reading)
    labels = cells.get("label")
    joined = "label" in chosen and not _is_list(types[chosen["label"]])
    if labels is not None and reading.sets and not reading.long and joined:
        labels = [_as_set(cell) for cell in labels]
    rows = len(cells["id"])
    score = "scores" if listed else "score" if wide == ["score"] else "scores"
    called = Names(chosen["id"], chosen.get("label", "label"), chosen.get("split", "split"), score=score)
    named = None if listed or header.score_names is None else list(header.score_names)
    return Columns(
        cells["id"],
        labels,
        range(rows),
        ColumnLists(called, () if listed else wide, joined),
        reading,
        splits=cells.get("split"),
        weights=cells.get("weight"),
        scores=None if scores is None else GivenScores(scores, named),
        ignored=[name for name in header.ignored if not listed or name != "scores"],
    )


def _gives_lists(schema: "pa.Schema", reading: Reading) -> bool:
    """Whether the column `scores` holds those of all classes, rather than those of a class that is called so."""
    if reading.gold or "scores" not in schema.names:
        return False
    return "scores" not in (reading.classes or ()) or _is_list(schema.types[schema.names.index("scores")])


def _as_set(cell: object) -> object:
    """The labels that a text or integer stands for; what is null stays so, and is a problem."""
    if isinstance(cell, str):
        return cell.split("|") if cell else []
    return cell if cell is None else [cell]


def _header(names: Sequence[str], reading: Reading, *, listed: bool) -> Header | None:
    """The columns told as in CSV; their faults point to columns instead of line 1."""
    found = Problems()
    extra = ["label"] if listed and "label" not in names and "labels" not in names else []
    header = read_header(
        [*names, *extra], ",", replace(reading, problems=found, wants_scores=reading.wants_scores and not listed)
    )
    for one in found.first:
        place = Place(None if one.column is None else token(names[one.column - 1]))
        message = (
            one.message.replace("The header has", "The file has")
            .replace("The header does not name", "The file has no column")
            .replace("The first line must name the columns", "Name the columns")
            .replace("The header names", "The file names")
        )
        reading.problems.add(
            problem(one.code, message, place, instance_id=one.instance_id, expected=one.expected, got=one.got), FILE
        )
    if header is not None and extra:
        used = {field: at for field, at in header.used.items() if field != "label"}
        header = replace(header, used=used)
    return (
        None
        if header is None
        else replace(
            header, reading=replace(header.reading, problems=reading.problems, wants_scores=reading.wants_scores)
        )
    )


def _is_list(kind: "pa.DataType") -> bool:
    import pyarrow.types as is_  # noqa: PLC0415

    return bool(is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind))


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow.types as is_  # noqa: PLC0415

    if is_.is_dictionary(kind):
        return _is_text(kind.value_type)
    views = is_.is_string_view(kind)
    return bool(is_.is_string(kind) or is_.is_large_string(kind) or views or is_.is_integer(kind))


def _is_float(kind: "pa.DataType") -> bool:
    import pyarrow.types as is_  # noqa: PLC0415

    return bool(is_.is_float32(kind) or is_.is_float64(kind))


def _check_types(
    chosen: dict[str, str], wide: Sequence[str], types: dict[str, "pa.DataType"], *, listed: bool, reading: Reading
) -> bool:
    """Whether each column has a type that its field can have; a problem for each that has not."""
    faults = []
    for field, name in chosen.items():
        kind = types[name]
        sets = field == "label" and reading.sets and not reading.long and _is_list(kind) and _is_text(kind.value_type)
        sound = _is_text(kind) or sets
        if field == "weight":
            sound = sound or _is_float(kind)
        due = (
            "numbers"
            if field == "weight"
            else "strings or lists of strings"
            if field == "label" and reading.sets
            else "strings"
        )
        if not sound:
            faults.append((name, kind, due))
    for name in wide:
        kind = types[name]
        if not (_is_list(kind) and _is_float(kind.value_type) if listed else _is_float(kind)):
            faults.append((name, kind, "lists of float64" if listed else "float64"))
    for name, kind, due in faults:
        message = f"The column {quote(name)} has the type {str(kind)[:60]}. Write {due}."
        reading.problems.add(
            problem("wrong_shape", message, Place(token(name)), expected=due, got=str(kind)[:60]), FILE
        )
    return not faults


def _take(
    opened: _Opened, chosen: dict[str, str], wide: Sequence[str], *, listed: bool, reading: Reading
) -> tuple[dict[str, list[Any]], NDArray[np.float64] | list[Any] | None]:
    """The values of the columns that are used; scores as a matrix, or row by row where they are no matrix."""
    cells: dict[str, list[Any]] = {field: [] for field in chosen}
    parts: list[NDArray[np.float64]] = []
    rows: list[Any] = []
    size = 0
    for batch in opened.batches([*chosen.values(), *wide]):
        check_count(len(cells["id"]) + batch.num_rows, reading.limits)
        _validate(batch)
        size += batch.nbytes
        if size > reading.limits.expanded_bytes:
            most = reading.limits.expanded_bytes
            raise _Refused("too_large", f"The columns have more than {most} bytes. Leave out what is not scored.")
        for field, name in chosen.items():
            cells[field].extend(batch.column(name).to_pylist())
        if listed:
            rows.extend(batch.column("scores").to_pylist())
        elif wide:
            parts.append(_matrix(batch, wide))
    if listed:
        return cells, rows
    return cells, (np.concatenate(parts) if parts else np.zeros((0, len(wide)))) if wide else None


def _validate(batch: "pa.RecordBatch") -> None:
    """Look at every value: an Arrow file may lie about where they are, and texts may not be UTF-8."""
    import pyarrow as pa  # noqa: PLC0415

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as fault:
            if "UTF8" not in str(fault):
                raise
            message = f"The column {quote(name)} holds a text that is not UTF-8. Write the texts again as UTF-8."
            raise _Refused("encoding", message, name) from None
    batch.validate(full=True)


def _matrix(batch: "pa.RecordBatch", wide: Sequence[str]) -> NDArray[np.float64]:
    """The float columns of a batch side by side; what is null is NaN."""
    found = np.empty((batch.num_rows, len(wide)))
    for at, name in enumerate(wide):
        found[:, at] = batch.column(name).to_numpy(zero_copy_only=False)
    return found
