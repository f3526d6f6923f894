"""CSV files (RFC 4180): a header, then one row per instance; a bad row is reported and reading goes on."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from app.formats.columns import Columns, Reading, check_count
from app.formats.layout import CsvCells, Names
from app.formats.problem import FILE, Place, Problem, problem, quote
from app.formats.records import refused_in_gold

_FIELD = re.compile(r'"(?:[^"]|"")*+"(?=,|\r?\n|\Z)|(?!")[^,\n]*+', re.DOTALL)

_Row = tuple[int, list[str] | None]
"""The line on which a row starts, and its fields; None where it is not well quoted."""


def read_csv(text: str, reading: Reading) -> Columns | None:
    """Read a CSV text; None where its header does not tell which column is which (a problem says so)."""
    if "\r" in text and "\n" not in text:
        message = "The lines end in CR alone, as on old Macs. Save the file with LF or CR LF line ends."
        place = Place(None, 1, None)
        reading.problems.add(problem("syntax", message, place, expected="LF or CR LF", got="CR"), FILE)
        return None
    lines = io.StringIO(text, newline="\n")
    reader = csv.reader(lines, strict=True)
    rows = _rows(reader, text, reading)
    _, header = next(rows, (1, None))
    layout = None if header is None else _layout(header, reading)
    if header is None or layout is None:
        return None
    numbers, cells, bad = _body(reader, len(header), text, reading)
    check_count(len(cells) + bad, reading.limits)
    return _columns(layout, numbers, cells, bad, reading)


def _rows(reader: Any, text: str, reading: Reading) -> Iterator[_Row]:
    """Each row with the line on which it starts; faults of quoting are reported in passing."""
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            code = "too_large" if "field larger" in str(error) else "syntax"
            reading.problems.report(code, start, partial(_quoting_problem, str(error), start, text))
            yield start, None
        else:
            if not row:
                message = "The line is blank. Remove it."
                reading.problems.add(problem("syntax", message, Place(None, start, 1), expected="a row"), start)
            yield start, row


def _quoting_problem(found: str, line: int, text: str) -> Problem:
    place = Place(None, line, _faulty_field(text, line))
    if "field larger" in found:
        message = f"A field is larger than {csv.field_size_limit()} characters. Perhaps a closing quote is missing."
        return problem("too_large", message, place)
    if "new-line character" in found:
        message = "A CR stands inside the line. Save the file with LF or CR LF line ends, or quote the field."
    elif "unexpected end" in found:
        message = "The file ends inside a quoted field. Close the quote; write a quote within it twice."
    else:
        message = "After a closing quote a comma or the line's end must follow. Write a quote within a field twice."
    return problem("syntax", message, place)


def _faulty_field(text: str, line: int) -> int:
    """The number of the first field on this line that is not well quoted (from 1)."""
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    number = 1
    while found := _FIELD.match(text, at):
        if "\r" in found.group().rstrip("\r") and not found.group().startswith('"'):
            return number
        at = found.end()
        if text[at : at + 1] != ",":
            return number
        number, at = number + 1, at + 1
    return number


def _layout(header: Sequence[str], reading: Reading) -> CsvCells | None:
    """Which column is which; None (and problems) where that is not clear."""
    most = reading.limits.columns
    if len(header) > most:
        message = f"The header has {len(header)} columns; at most {most} are allowed. Leave out what is not scored."
        reading.problems.add(problem("too_large", message, Place(None, 1), expected=f"at most {most} columns"), 1)
        return None
    found: list[Problem] = []
    seen: set[str] = set()
    for number, name in enumerate(header, start=1):
        place = Place(None, 1, number)
        if name in seen:
            message = f"The header names {quote(name)} twice. Keep one of the columns."
            found.append(problem("duplicate_key", message, place, got=quote(name)))
        elif refusal := refused_in_gold(name, reading):
            found.append(problem("wrong_shape", refusal, place, got=quote(name)))
        seen.add(name)
    label = _label_name(header, reading)
    shown = ", ".join(quote(name) for name in header[:10])
    for name in ("id", label):
        if name not in header:
            message = f"The header has no column '{name}'. The first line must name the columns: id,label."
            message += _other_separator(header)
            found.append(problem("wrong_shape", message, Place(None, 1), expected=f"a column '{name}'", got=shown))
    for fault in found:
        reading.problems.add(fault, 1)
    return None if found else CsvCells(header, Names("id", label))


def _other_separator(header: Sequence[str]) -> str:
    """A hint at a separator that is not a comma."""
    signs = {";": "semicolon", "\t": "tab", "|": "vertical bar"}
    found = next((sign for sign in signs if len(header) == 1 and sign in header[0]), None)
    return f" It seems to be separated by {signs[found]}s; use commas." if found else ""


def _label_name(header: Sequence[str], reading: Reading) -> str:
    """In multi-label files the column may be called `labels` too."""
    return "labels" if reading.multilabel and "labels" in header and "label" not in header else "label"


def _body(reader: Any, width: int, text: str, reading: Reading) -> tuple[Sequence[int], list[list[str]], int]:
    """Line numbers and cells of all rows of the right width, and how many others there are."""
    try:
        cells = list(reader)
    except csv.Error:
        cells = None
    if cells is not None and reader.line_num == len(cells) + 1 and set(map(len, cells)) <= {width}:
        return range(2, len(cells) + 2), cells, 0
    again = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    next(again)
    return _row_by_row(again, _rows(again, text, reading), width, reading)


def _row_by_row(
    reader: Any, rows: Iterator[_Row], width: int, reading: Reading
) -> tuple[list[int], list[list[str]], int]:
    numbers: list[int] = []
    cells: list[list[str]] = []
    bad = 0
    for line, row in rows:
        if row is None:
            bad += reader.line_num - line + 1  # an unclosed quote takes in many lines, each perhaps a row
        elif len(row) == width:
            numbers.append(line)
            cells.append(row)
        elif row:
            bad += 1
            message = "The row has not as many fields as the header. Quote fields that hold a comma."
            place = Place(None, line, min(len(row), width + 1))
            expected, got = f"{width} fields", f"{len(row)} fields"
            reading.problems.add(problem("wrong_shape", message, place, expected=expected, got=got), line)
    return numbers, cells, bad


def _columns(layout: CsvCells, numbers: Sequence[int], cells: list[list[str]], bad: int, reading: Reading) -> Columns:
    header = list(layout.header)
    columns: list[tuple[str, ...]] = list(zip(*cells, strict=True)) if cells else [() for _ in header]
    labels: Sequence[object] = columns[header.index(layout.name("label"))]
    if reading.multilabel:
        labels = [str(cell).split("|") if cell else [] for cell in labels]
    splits = columns[header.index("split")] if reading.gold and "split" in header else None
    if splits is not None and not any(splits) and splits:
        splits = None
    used = {"id", layout.name("label"), *(("split",) if reading.gold else ())}
    ignored = [name for name in dict.fromkeys(header) if name not in used]
    return Columns(columns[header.index("id")], labels, splits, numbers, layout, ignored, bad)
