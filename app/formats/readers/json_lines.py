"""JSON Lines files: one record a line; a bad line is reported and reading goes on with the next."""

import json
from functools import partial
from typing import Any

from app.formats.columns import Columns, Reading
from app.formats.layouts import Names, RecordLines
from app.formats.problems import Place, Problem, problem
from app.formats.readers.records import from_records
from app.formats.readers.strict_json import TooDeep, decoding_code, decoding_problem, json_decoder, survey
from app.formats.wrong_format import looks_like_table

_SPACE = " \t\r"


def read_json_lines(text: str, reading: Reading) -> Columns | None:
    """Read a JSON Lines text; None where it is none at all (a problem says so)."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    layout = RecordLines(Names("id", reading.due))
    records = _quick(lines, reading)
    if records is not None:
        try:
            return from_records(records, range(1, len(lines) + 1), layout, reading, 0)
        except TooDeep:
            pass
    if mistaken := looks_like_table(text, "JSON Lines"):
        reading.problems.add(mistaken)
        return None
    numbers, records = _line_by_line(lines, reading)
    columns = from_records(records, numbers, layout, reading, 0)
    columns.unreadable += sum(1 for line in lines if line.strip(_SPACE)) - len(records)
    return columns


def _quick(lines: list[str], reading: Reading) -> list[Any] | None:
    """All values, if every line is exactly one."""
    read = json_decoder(reading.limits, exact=reading.gold).raw_decode
    try:
        pairs = [read(line) for line in lines]
    except (json.JSONDecodeError, RecursionError):
        return None
    if [end for _, end in pairs] != list(map(len, lines)):
        return None
    return [value for value, _ in pairs]


def _blank(number: int) -> Problem:
    message = "The line is blank. Remove it: JSON Lines has one record on each line."
    return problem("syntax", message, Place(None, number, 1), expected="a record")


def _line_by_line(lines: list[str], reading: Reading) -> tuple[list[int], list[Any]]:
    decoder = json_decoder(reading.limits, exact=reading.gold)
    numbers: list[int] = []
    records: list[Any] = []
    for number, whole in enumerate(lines, start=1):
        line = whole.removesuffix("\r")
        if not line.strip(_SPACE):
            reading.problems.report("syntax", number, partial(_blank, number))
            continue
        try:
            record = decoder.decode(line)
            if survey([record])[0] > reading.limits.nesting:
                raise TooDeep  # noqa: TRY301 (the same answer as for RecursionError)
        except (json.JSONDecodeError, RecursionError, TooDeep) as error:
            build = partial(decoding_problem, error, line, reading.limits, line=number)
            reading.problems.report(decoding_code(error, line, reading.limits), number, build)
        else:
            numbers.append(number)
            records.append(record)
    return numbers, records
