"""Reads CSV and TSV files (RFC 4180): a header, then one row per instance; reading continues after an invalid row."""

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from app.formats.column_data import RawColumns, RawScores, ReaderContext, check_row_count, split_joined_labels
from app.formats.content.wrong_format import TABLE_ON_ONE_LINE, json_format_problem
from app.formats.normalize import normalize_clean_texts
from app.formats.numbers import parse_number, parse_numbers
from app.formats.problems import Location, Problem, build_problem, quote
from app.formats.readers.long_table import PairCounter
from app.formats.readers.table_header import TableHeader, read_header
from app.formats.value_locations import Field
from app.scoring.declaration.metric_syntax import pluralize

_ROWS_PER_BATCH = 4096
"""Rows processed together: their scores become numbers before the next rows are read, so that few texts are held."""
SEPARATOR_NAMES = {",": "comma", "\t": "tab", ";": "semicolon"}

_NumberedRow = tuple[int, list[str] | None]
"""The line on which a row starts, and its fields; None if its quoting is invalid."""


def read_csv(text: str, context: ReaderContext, separator: str = ",") -> RawColumns | None:
    """Read a CSV text; None, and a problem, where the header does not identify the columns."""
    if "\r" in text and "\n" not in text:
        message = "The lines end in CR alone. Save the file with LF or CR LF line endings."
        location = Location(None, 1, None)
        context.problems.add_new("syntax", message, location, expected="LF or CR LF", got="CR")
        return None
    if problem := json_format_problem(text, "TSV" if separator == "\t" else "CSV"):
        context.problems.add(problem)
        return None
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)
    _, first = next(_numbered_rows(reader, text, separator, context), (1, None))
    header = None if first is None else read_header(first, separator, context, is_whole_text="\n" not in text)
    if header is None:
        return None
    return (_read_clean_rows(reader, header) or _read_row_by_row(header, text, separator)).columns()


def read_tsv(text: str, context: ReaderContext) -> RawColumns | None:
    """Read a TSV text, which is CSV with tabs."""
    return read_csv(text, context, "\t")


def read_semicolon_table(text: str, context: ReaderContext) -> RawColumns | None:
    """Read CSV with semicolons."""
    return read_csv(text, context, ";")


@dataclass(slots=True)
class _DelimitedRows:
    """The rows of a table, by column according to the header."""

    header: TableHeader
    lines: list[int] = field(default_factory=list)
    cells: dict[str, list[str]] = field(default_factory=dict)
    scores: "array[float]" = field(default_factory=lambda: array("d"))
    bad_rows: int = 0

    def __post_init__(self) -> None:
        self.cells = {name: [] for name in self.header.used}

    def take(self, lines: Sequence[int], rows: Sequence[list[str]]) -> None:
        """Add the used fields of these rows, except scores."""
        self.lines.extend(lines)
        for name, position in self.header.used.items():
            self.cells[name].extend([row[position] for row in rows])

    def _empty_columns(self) -> list[str]:
        """The names of gold columns that are empty."""
        fields: tuple[Field, ...] = ("split", "weight")
        return [self.header.layout.name(field) for field in fields if _is_empty_column(self.cells.get(field))]

    def columns(self) -> RawColumns:
        """All rows as columns."""
        header = self.header
        context = header.context
        check_row_count(len(self.lines) + self.bad_rows, context)
        labels: Sequence[object] | None = self.cells.get("label")
        if labels is not None and context.sets and not context.is_long_table:
            labels = split_joined_labels(labels, context.limits)
        scores = None
        if header.scores:
            matrix = np.frombuffer(self.scores, dtype=np.float64).reshape(len(self.lines), len(header.scores))
            scores = RawScores(matrix, header.score_names)
        return RawColumns(
            self.cells["id"],
            labels,
            self.lines,
            header.layout,
            context,
            splits=_none_if_empty(self.cells.get("split")),
            weights=_none_if_empty(self.cells.get("weight")),
            scores=scores,
            ignored=[*header.ignored, *self._empty_columns()],
            unreadable_rows=self.bad_rows,
            has_typed_values=False,
        )


def _is_empty_column(cells: list[str] | None) -> bool:
    """Whether a column exists but is empty."""
    return bool(cells) and not any(cells or ())


def _none_if_empty(cells: list[str] | None) -> list[str] | None:
    """A column that is not empty; else None."""
    return cells if cells and any(cells) else None


def _read_clean_rows(reader: Any, header: TableHeader) -> _DelimitedRows | None:
    """The fast path, for a table in which every row is valid; None for any other table."""
    body, line = _DelimitedRows(header), 2
    pairs = PairCounter(header.context) if header.context.is_long_table and header.context.sets else None
    score_of = _field_getter(header.scores)
    try:
        while rows := list(islice(reader, _ROWS_PER_BATCH)):
            if set(map(len, rows)) != {header.width} or reader.line_num != line + len(rows) - 1:
                return None
            check_row_count(len(body.lines) + len(rows), header.context)
            body.take(range(line, line + len(rows)), rows)
            if pairs is not None:
                pairs.add(body.cells["id"][-len(rows) :])
            if header.scores:
                numbers = parse_numbers(map(score_of, rows))
                if numbers is None:
                    return None
                body.scores.extend(numbers)
            line += len(rows)
    except csv.Error:
        return None
    return body


def _field_getter(positions: Sequence[int]) -> Any:
    """A function that picks the fields at these positions from a row."""
    if positions and list(positions) == list(range(positions[0], positions[-1] + 1)):
        span = slice(positions[0], positions[-1] + 1)
        return lambda row: row[span]
    return lambda row: [row[at] for at in positions]


def _read_row_by_row(header: TableHeader, text: str, separator: str) -> _DelimitedRows:
    """The slow path, from the start of the text: every problem is reported with its location."""
    context, body = header.context, _DelimitedRows(header)
    score_of = _field_getter(header.scores)
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)
    next(reader)
    for count, (line, row) in enumerate(_numbered_rows(reader, text, separator, context)):
        check_row_count(count, context)  # blank lines count, too: a file of nothing else would take long to read
        if row is None:
            body.bad_rows += reader.line_num - line + 1  # an unclosed quote includes many lines, each perhaps a row
        elif len(row) == header.width:
            body.take([line], [row])
            numbers = parse_numbers([score_of(row)])
            body.scores.extend(numbers or [_parse_score(header, line, row, at) for at in header.scores])
        elif row:
            body.bad_rows += 1
            build = partial(_wrong_width_problem, header.width, line, len(row), separator)
            context.problems.report("wrong_shape", line, build)
    return body


def _wrong_width_problem(width: int, line: int, fields: int, separator: str) -> Problem:
    remedy = f"Quote fields that contain a {SEPARATOR_NAMES[separator]}." if fields > width else "Add the missing ones."
    message = f"The row has {pluralize(fields, 'field', 'fields')}, but the header has {width}. {remedy}"
    location = Location(None, line, min(fields, width + 1))
    return build_problem("wrong_shape", message, location, expected=f"{width} fields", got=f"{fields} fields")


def _parse_score(header: TableHeader, line: int, row: Sequence[str], position: int) -> float:
    """The number in a field; NaN, and a problem, if it is not one."""
    value = parse_number(row[position])
    if value is None:
        header.context.problems.report(
            "not_a_number", line, partial(_not_a_number_problem, header, line, row, position)
        )
        return np.nan
    return value


def _not_a_number_problem(header: TableHeader, line: int, row: Sequence[str], position: int) -> Problem:
    remedy = "Write a finite number with a decimal point, such as 0.25 or 1e-3."
    message = f"The score is {'empty' if not row[position] else 'not a number'}. {remedy}"
    owners = normalize_clean_texts([row[header.used["id"]]], header.context.limits)
    location, owner = Location(None, line, position + 1), owners[0] if owners else None
    return build_problem(
        "not_a_number", message, location, instance_id=owner, expected="a number", got=quote(row[position])
    )


def _numbered_rows(reader: Any, text: str, separator: str, context: ReaderContext) -> Iterator[_NumberedRow]:
    """Yield each row with its first line; invalid quoting is reported."""
    lines = _LineOffsets(text)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            code = "too_large" if "field larger" in str(error) else "syntax"
            context.problems.report(code, start, partial(_quoting_problem, str(error), start, lines, separator))
            yield start, None
        else:
            if not row:
                context.problems.report("syntax", start, partial(_blank_line_problem, start))
            yield start, row


def _blank_line_problem(line: int) -> Problem:
    return build_problem("syntax", "The line is blank. Remove it.", Location(None, line, 1), expected="a row")


@dataclass(slots=True)
class _LineOffsets:
    """The offsets of the lines of a text; requested in ascending order, they take one pass in total."""

    text: str
    line: int = 1
    at: int = 0

    def start(self, line: int) -> int:
        """The offset of the first character of a line (from 1)."""
        if line < self.line:
            self.line, self.at = 1, 0
        for _ in range(line - self.line):
            self.at = self.text.index("\n", self.at) + 1
        self.line = line
        return self.at


def _quoting_problem(library_message: str, line: int, lines: _LineOffsets, separator: str) -> Problem:
    location = Location(None, line, _faulty_field(lines, line, separator))
    if "field larger" in library_message:
        message = (
            f"A field is longer than {csv.field_size_limit()} characters. Check whether a closing quote is missing."
        )
        return build_problem("too_large", message, location)
    if line == 1 and "\n" not in lines.text:
        message = TABLE_ON_ONE_LINE  # quotes of the header and of the first row meet
    elif "new-line character" in library_message:
        message = "The line contains a CR. Save the file with LF or CR LF line endings, or quote the field."
    elif "unexpected end" in library_message:
        message = "The file ends inside a quoted field. Add the closing quote; double each quote inside the field."
    else:
        sign = SEPARATOR_NAMES[separator]
        message = f"A {sign} or the end of the line must follow a closing quote. Double each quote inside a field."
    return build_problem("syntax", message, location)


def _faulty_field(lines: _LineOffsets, line: int, separator: str) -> int:
    """The number of the first field on this line with invalid quoting (from 1)."""
    pattern = re.compile(rf'"(?:[^"]|"")*+"(?={separator}|\r?\n|\Z)|(?!")[^{separator}\n]*+', re.DOTALL)
    text, at, count = lines.text, lines.start(line), 1
    while match := pattern.match(text, at):
        if "\r" in match.group().rstrip("\r") and not match.group().startswith('"'):
            return count
        at = match.end()
        if text[at : at + 1] != separator:
            return count
        count, at = count + 1, at + 1
    return count
