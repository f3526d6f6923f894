"""Reads tables from Parquet and Arrow IPC files: columns as in CSV, with lists for sets of labels and for scores."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.formats.column_data import RawColumns, RawScores, ReaderContext, check_row_count, split_joined_labels
from app.formats.problems import WHOLE_FILE_ROW, Location, Problem, build_problem, pointer_token, quote
from app.formats.readers import arrow_file
from app.formats.readers.arrow_file import (
    REWRITE_REMEDY,
    ArrowColumnValidator,
    ArrowFileError,
    OpenedArrowFile,
    combine_batches,
    is_float,
    is_list,
    is_number,
    is_text,
    is_text_list,
    too_many_bytes_error,
)
from app.formats.readers.table_header import TableHeader, identify_columns
from app.formats.reading_rules import Limits
from app.formats.value_locations import ColumnListsLayout, FieldNames
from app.formats.weights import to_shortest_decimals

_ALLOCATION_SIZE = re.compile(r"of size ([0-9]+)")
"""The size of a failed allocation in Arrow's message; a damaged file may request any size."""


def read_parquet(data: bytes, context: ReaderContext) -> RawColumns | None:
    """Read a Parquet file; None where it cannot be read (a problem says why)."""
    return _read_file(data, context, "Parquet", arrow_file.open_parquet)


def read_arrow(data: bytes, context: ReaderContext) -> RawColumns | None:
    """Read an Arrow IPC file; None where it cannot be read (a problem says why)."""
    return _read_file(data, context, "Arrow IPC", arrow_file.open_arrow)


def _read_file(
    data: bytes, context: ReaderContext, name: str, open_file: Callable[[bytes, Limits], OpenedArrowFile]
) -> RawColumns | None:
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        if not data:
            raise ArrowFileError("syntax", f"The file is empty. {REWRITE_REMEDY}")  # noqa: TRY301 (one answer for all that is refused)
        return _build_columns(open_file(data, context.limits), context)
    except ArrowFileError as error:
        location = Location(None if error.column is None else pointer_token(error.column))
        problem = build_problem(error.code, str(error), location)
        (context.problems.stop if error.code == "too_large" else context.problems.add)(problem)
    except MemoryError as error:  # also raised by Arrow, whose error is an ArrowException as well
        allocation, max_bytes = _ALLOCATION_SIZE.search(str(error)), context.limits.expanded_bytes
        if allocation is None or int(allocation[1]) <= max_bytes:
            raise  # an ordinary lack of memory, which the caller can relieve by freeing other golds
        context.problems.stop(build_problem("too_large", str(too_many_bytes_error(context.limits))))
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError, EOFError) as error:
        message = f"This is not a valid {name} file ({_error_text(error)}). {REWRITE_REMEDY}"
        context.problems.add_new("syntax", message)
    return None


def _error_text(error: Exception) -> str:
    text = str(error).split("\n", 1)[0].split(" Detail:", 1)[0].strip().rstrip(".")
    return (text.encode("ascii", "replace").decode() or type(error).__name__)[:120]


@dataclass(frozen=True, slots=True)
class _ArrowColumnMapping:
    """The meaning of the columns of a file: the column of each field, and the columns of scores.

    `has_score_lists`: one column holds the scores of all classes, as lists.
    """

    header: TableHeader
    columns: Mapping[str, str]
    scores: Sequence[str]
    has_score_lists: bool
    types: Mapping[str, pa.DataType]

    @property
    def has_joined_labels(self) -> bool:
        """Whether the labels of a set are one text."""
        return "label" in self.columns and not is_list(self.types[self.columns["label"]])


def _build_columns(file: OpenedArrowFile, context: ReaderContext) -> RawColumns | None:
    check_row_count(file.rows or 0, context)
    shape = _map_columns(file.schema, context)
    if shape is None:
        return None
    context, columns = shape.header.context, shape.columns
    cells, scores = _read_values(file, shape, context)
    labels = cells.get("label")
    if labels is not None and context.sets and not context.is_long_table and shape.has_joined_labels:
        labels = [[cell] if isinstance(cell, int) else cell for cell in split_joined_labels(labels, context.limits)]
    score = "score" if list(shape.scores) == ["score"] else "scores"
    field_names = FieldNames(columns["id"], columns.get("label", "label"), columns.get("split", "split"), score=score)
    return RawColumns(
        cells["id"],
        labels,
        range(len(cells["id"])),
        ColumnListsLayout(field_names, () if shape.has_score_lists else shape.scores, shape.has_joined_labels),
        context,
        splits=cells.get("split"),
        weights=cells.get("weight"),
        scores=None if scores is None else RawScores(scores, shape.header.score_names),
        ignored=shape.header.ignored,
    )


def _map_columns(schema: pa.Schema, context: ReaderContext) -> _ArrowColumnMapping | None:
    """Identify the columns by names and types; None, and problems, where they are not clear."""
    names = [str(name) for name in schema.names]
    is_unlabelled = {"label", "labels"}.isdisjoint(names)
    has_score_lists = _has_score_lists(schema, context) and (
        is_unlabelled or (context.wants_scores and not context.is_long_table)
    )
    column_names = [name for name in names if name != "scores"] if has_score_lists else names
    header, header_problems = identify_columns(column_names, context, has_score_lists=has_score_lists)
    if header is None:
        for code, build in header_problems:
            context.problems.report(code, WHOLE_FILE_ROW, partial(_problem_at_column, build, column_names))
        return None
    fields = {field: column_names[at] for field, at in header.used.items()}
    scores = ["scores"] if has_score_lists else [column_names[at] for at in header.scores]
    types = {name: schema.field(name).type for name in (*fields.values(), *scores)}
    shape = _ArrowColumnMapping(header, fields, scores, has_score_lists, types)
    type_problems = _wrong_type_problems(shape, header.context)
    for problem in type_problems:
        context.problems.add(problem)
    return None if type_problems else shape


def _problem_at_column(build: Callable[[], Problem], column_names: Sequence[str]) -> Problem:
    """A problem of the header, with the column's name as its location."""
    problem = build()
    location = Location(None if problem.column is None else pointer_token(column_names[problem.column - 1]))
    return build_problem(problem.code, problem.message, location, expected=problem.expected, got=problem.got)


def _has_score_lists(schema: pa.Schema, context: ReaderContext) -> bool:
    """Whether the column `scores` holds the scores of all classes, rather than those of a class with this name."""
    if context.gold or "scores" not in schema.names:
        return False
    return "scores" not in (context.classes or ()) or is_list(schema.types[schema.names.index("scores")])


def _wrong_type_problems(shape: _ArrowColumnMapping, context: ReaderContext) -> list[Problem]:
    """A problem for each column with a type that its field cannot have."""
    problems = []
    for field, name in shape.columns.items():
        kind, expected = shape.types[name], "strings"
        is_valid = is_text(kind)
        if field == "weight":
            expected, is_valid = "numbers", is_number(kind)
        elif field == "label" and context.sets:
            expected = "strings or lists of strings"
            is_valid = is_valid or (not context.is_long_table and is_text_list(kind))
        if not is_valid:
            problems.append(_wrong_type_problem(name, kind, expected))
    for name in shape.scores:
        kind = shape.types[name]
        if not (is_list(kind) and is_float(kind.value_type) if shape.has_score_lists else is_float(kind)):
            problems.append(_wrong_type_problem(name, kind, "lists of float64" if shape.has_score_lists else "float64"))
    return problems


def _wrong_type_problem(name: str, kind: pa.DataType, expected: str) -> Problem:
    got = str(kind)[:60]
    message = f"The column {quote(name)} has the type {got}. It must contain {expected}."
    return build_problem("wrong_shape", message, Location(pointer_token(name)), expected=expected, got=got)


def _read_values(
    file: OpenedArrowFile, shape: _ArrowColumnMapping, context: ReaderContext
) -> tuple[dict[str, list[Any]], NDArray[np.float64] | list[Any] | None]:
    """The values of the used columns; scores as a matrix, or row by row if they are lists."""
    cells: dict[str, list[Any]] = {field: [] for field in shape.columns}
    parts: list[NDArray[np.float64]] = []
    rows: list[Any] = []
    validator = ArrowColumnValidator(context.limits, file.budget)
    for part in combine_batches(_check_batch_rows(file.batches([*shape.columns.values(), *shape.scores]), context)):
        for field, name in shape.columns.items():
            cells[field].extend(validator.values(name, part.column(name)))
        if shape.has_score_lists:
            rows.extend(validator.values("scores", part.column("scores")))
        elif shape.scores:
            for name in shape.scores:
                validator.check(name, part.column(name))
            parts.append(_score_matrix(part, shape.scores))
    if "weight" in cells:
        cells["weight"] = to_shortest_decimals(cells["weight"], shape.types[shape.columns["weight"]].to_pandas_dtype())
    if shape.has_score_lists:
        return cells, rows
    width = len(shape.scores)
    return cells, (np.concatenate(parts) if parts else np.zeros((0, width))) if width else None


def _check_batch_rows(batches: Iterator[pa.RecordBatch], context: ReaderContext) -> Iterator[pa.RecordBatch]:
    """Yield the batches; raises TooManyRows once they have more rows than the phase can use."""
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        check_row_count(rows, context)
        yield batch


def _score_matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    """The float columns of a table side by side; null becomes NaN."""
    matrix = np.empty((table.num_rows, len(names)))
    for at, name in enumerate(names):
        matrix[:, at] = table.column(name).to_numpy()
    return matrix
