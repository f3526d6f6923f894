"""CSV and TSV files (RFC 4180): a header, then one row per instance; a bad row is reported and reading goes on."""

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

from app.formats.columns import Columns, GivenScores, Reading, check_rows, split_labels
from app.formats.layouts import Field
from app.formats.normalize import plain
from app.formats.numbers import number, numbers
from app.formats.problems import FILE, Place, Problem, problem, quote
from app.formats.readers.long_table import PairCount
from app.formats.readers.table_header import Header, read_header
from app.formats.wrong_format import looks_like_json

_AT_ONCE = 4096
"""Rows taken together: scores become numbers before the next ones are read, so that few texts are held."""
NAMES_OF = {",": "comma", "\t": "tab"}

_Row = tuple[int, list[str] | None]
"""The line on which a row starts, and its fields; None where it is not well quoted."""


def read_csv(text: str, reading: Reading, separator: str = ",") -> Columns | None:
    """Read a CSV text; None where its header does not tell which column is which (a problem says so)."""
    if "\r" in text and "\n" not in text:
        message = "The lines end in CR alone, as on old Macs. Save the file with LF or CR LF line ends."
        place = Place(None, 1, None)
        reading.problems.add(problem("syntax", message, place, expected="LF or CR LF", got="CR"), FILE)
        return None
    if mistaken := looks_like_json(text, "CSV" if separator == "," else "TSV"):
        reading.problems.add(mistaken)
        return None
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)
    _, first = next(_rows(reader, text, separator, reading), (1, None))
    header = None if first is None else read_header(first, separator, reading)
    if header is None:
        return None
    return _body(reader, header, text, separator).columns()


def read_tsv(text: str, reading: Reading) -> Columns | None:
    """Read a TSV text, which is CSV with tabs."""
    return read_csv(text, reading, "\t")


@dataclass(slots=True)
class _Body:
    """The rows of a table, taken apart into what its header says they hold."""

    header: Header
    lines: list[int] = field(default_factory=list)
    cells: dict[str, list[str]] = field(default_factory=dict)
    scores: "array[float]" = field(default_factory=lambda: array("d"))
    bad: int = 0

    def __post_init__(self) -> None:
        self.cells = {name: [] for name in self.header.used}

    def take(self, lines: Sequence[int], rows: Sequence[list[str]]) -> None:
        """Keep the fields that are used, except scores."""
        self.lines.extend(lines)
        for name, at in self.header.used.items():
            self.cells[name].extend([row[at] for row in rows])

    def _empty(self) -> list[str]:
        """What the header calls columns of gold that hold nothing."""
        fields: tuple[Field, ...] = ("split", "weight")
        return [self.header.layout.name(field) for field in fields if _is_empty(self.cells.get(field))]

    def columns(self) -> Columns:
        """All rows as columns."""
        header = self.header
        reading = header.reading
        check_rows(len(self.lines) + self.bad, reading)
        labels: Sequence[object] | None = self.cells.get("label")
        if labels is not None and reading.sets and not reading.long:
            labels = split_labels(labels, reading.limits)
        scores = None
        if header.scores:
            matrix = np.frombuffer(self.scores, dtype=np.float64).reshape(len(self.lines), len(header.scores))
            scores = GivenScores(matrix, header.score_names)
        return Columns(
            self.cells["id"],
            labels,
            self.lines,
            header.layout,
            reading,
            splits=_unless_empty(self.cells.get("split")),
            weights=_unless_empty(self.cells.get("weight")),
            scores=scores,
            ignored=[*header.ignored, *self._empty()],
            unreadable=self.bad,
            typed=False,
        )


def _is_empty(cells: list[str] | None) -> bool:
    """Whether a column is there, but holds nothing."""
    return bool(cells) and not any(cells or ())


def _unless_empty(cells: list[str] | None) -> list[str] | None:
    """A column with something in it."""
    return cells if cells and any(cells) else None


def _body(reader: Any, header: Header, text: str, separator: str) -> _Body:
    """The quick way for rows that are all sound, else row by row from the start."""
    return _quick(reader, header) or _row_by_row(header, text, separator)


def _quick(reader: Any, header: Header) -> _Body | None:
    body, line = _Body(header), 2
    pairs = PairCount(header.reading) if header.reading.long and header.reading.sets else None
    score_of = _picker(header.scores)
    try:
        while rows := list(islice(reader, _AT_ONCE)):
            if set(map(len, rows)) != {header.width} or reader.line_num != line + len(rows) - 1:
                return None
            check_rows(len(body.lines) + len(rows), header.reading)
            body.take(range(line, line + len(rows)), rows)
            if pairs is not None:
                pairs.add(body.cells["id"][-len(rows) :])
            if header.scores:
                found = numbers(map(score_of, rows))
                if found is None:
                    return None
                body.scores.extend(found)
            line += len(rows)
    except csv.Error:
        return None
    return body


def _picker(places: Sequence[int]) -> Any:
    """What picks the fields at these places from a row."""
    if places and list(places) == list(range(places[0], places[-1] + 1)):
        span = slice(places[0], places[-1] + 1)
        return lambda row: row[span]
    return lambda row: [row[at] for at in places]


def _row_by_row(header: Header, text: str, separator: str) -> _Body:
    """The slow way: every fault is reported where it stands."""
    reading, body = header.reading, _Body(header)
    score_of = _picker(header.scores)
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)
    next(reader)
    for count, (line, row) in enumerate(_rows(reader, text, separator, reading)):
        check_rows(count, reading)  # blank lines too: a file of nothing else takes long to tell
        if row is None:
            body.bad += reader.line_num - line + 1  # an unclosed quote takes in many lines, each perhaps a row
        elif len(row) == header.width:
            body.take([line], [row])
            body.scores.extend(numbers([score_of(row)]) or [_score(header, line, row, at) for at in header.scores])
        elif row:
            body.bad += 1
            reading.problems.report("wrong_shape", line, partial(_wrong_width, header.width, line, len(row), separator))
    return body


def _wrong_width(width: int, line: int, found: int, separator: str) -> Problem:
    mend = f"Quote fields that hold a {NAMES_OF[separator]}." if found > width else "Write the row whole."
    message = f"The row has not as many fields as the header. {mend}"
    place = Place(None, line, min(found, width + 1))
    return problem("wrong_shape", message, place, expected=f"{width} fields", got=f"{found} fields")


def _score(header: Header, line: int, row: Sequence[str], at: int) -> float:
    """The number in a field; NaN, and a problem, where there is none."""
    value = number(row[at])
    if value is None:
        header.reading.problems.report("not_a_number", line, partial(_no_number, header, line, row, at))
        return np.nan
    return value


def _no_number(header: Header, line: int, row: Sequence[str], at: int) -> Problem:
    mend = "Write a finite number with a decimal point, such as 0.25 or 1e-3."
    message = f"The score is {'empty' if not row[at] else 'not a number'}. {mend}"
    owners = plain([row[header.used["id"]]], header.reading.limits)
    place, owner = Place(None, line, at + 1), owners[0] if owners else None
    return problem("not_a_number", message, place, instance_id=owner, expected="a number", got=quote(row[at]))


def _rows(reader: Any, text: str, separator: str, reading: Reading) -> Iterator[_Row]:
    """Each row with the line on which it starts; faults of quoting are reported in passing."""
    lines = _Lines(text)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            code = "too_large" if "field larger" in str(error) else "syntax"
            reading.problems.report(code, start, partial(_quoting_problem, str(error), start, lines, separator))
            yield start, None
        else:
            if not row:
                reading.problems.report("syntax", start, partial(_blank, start))
            yield start, row


def _blank(line: int) -> Problem:
    return problem("syntax", "The line is blank. Remove it.", Place(None, line, 1), expected="a row")


@dataclass(slots=True)
class _Lines:
    """Where lines begin in a text; asked for in rising order, all of them together cost one walk."""

    text: str
    line: int = 1
    at: int = 0

    def start(self, line: int) -> int:
        """The position of the first character of a line (from 1)."""
        if line < self.line:
            self.line, self.at = 1, 0
        for _ in range(line - self.line):
            self.at = self.text.index("\n", self.at) + 1
        self.line = line
        return self.at


def _quoting_problem(found: str, line: int, lines: _Lines, separator: str) -> Problem:
    place = Place(None, line, _faulty_field(lines, line, separator))
    if "field larger" in found:
        message = f"A field is larger than {csv.field_size_limit()} characters. Perhaps a closing quote is missing."
        return problem("too_large", message, place)
    if "new-line character" in found:
        message = "A CR stands inside the line. Save the file with LF or CR LF line ends, or quote the field."
    elif "unexpected end" in found:
        message = "The file ends inside a quoted field. Close the quote; write a quote within it twice."
    else:
        sign = NAMES_OF[separator]
        message = f"After a closing quote a {sign} or the line's end must follow. Write a quote within a field twice."
    return problem("syntax", message, place)


def _faulty_field(lines: _Lines, line: int, separator: str) -> int:
    """The number of the first field on this line that is not well quoted (from 1)."""
    pattern = re.compile(rf'"(?:[^"]|"")*+"(?={separator}|\r?\n|\Z)|(?!")[^{separator}\n]*+', re.DOTALL)
    text, at, count = lines.text, lines.start(line), 1
    while found := pattern.match(text, at):
        if "\r" in found.group().rstrip("\r") and not found.group().startswith('"'):
            return count
        at = found.end()
        if text[at : at + 1] != separator:
            return count
        count, at = count + 1, at + 1
    return count
