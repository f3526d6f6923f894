"""Reads JSON Lines files: one record per line; reading continues after an invalid line."""

import json
from functools import partial
from typing import Any

from app.formats.column_data import RawColumns, ReaderContext
from app.formats.content.wrong_format import lost_line_breaks_problem, table_format_problem
from app.formats.problems import Location, Problem, build_problem
from app.formats.readers.records import columns_from_records
from app.formats.readers.strict_json import (
    TooDeep,
    decoding_problem,
    decoding_problem_code,
    inspect_nesting,
    json_decoder,
)
from app.formats.value_locations import FieldNames, JsonLinesLayout

_WHITESPACE = " \t\r"


def read_json_lines(text: str, context: ReaderContext) -> RawColumns | None:
    """Read a JSON Lines text; None, and a problem, where it is another format."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    layout = JsonLinesLayout(FieldNames("id", context.answer_field))
    records = _decode_clean_lines(lines, context)
    if records is not None:
        try:
            return columns_from_records(records, range(1, len(lines) + 1), layout, context, 0)
        except TooDeep:
            pass
    if problem := table_format_problem(text, "JSON Lines") or _lost_line_breaks(text, context):
        context.problems.add(problem)
        return None
    numbers, records = _decode_line_by_line(lines, context)
    columns = columns_from_records(records, numbers, layout, context, 0)
    columns.unreadable_rows += sum(1 for line in lines if line.strip(_WHITESPACE)) - len(records)
    return columns


def _lost_line_breaks(text: str, context: ReaderContext) -> Problem | None:
    """The problem of a text whose first line has several records and is the only one."""
    try:
        end = json_decoder(context.limits).raw_decode(text)[1]
    except (json.JSONDecodeError, RecursionError):
        return None
    return lost_line_breaks_problem(text, end)


def _decode_clean_lines(lines: list[str], context: ReaderContext) -> list[Any] | None:
    """The values of all lines, if every line is exactly one value; else None."""
    decode = json_decoder(context.limits, exact=context.gold).raw_decode
    try:
        pairs = [decode(line) for line in lines]
    except (json.JSONDecodeError, RecursionError):
        return None
    if [end for _, end in pairs] != list(map(len, lines)):
        return None
    return [value for value, _ in pairs]


def _blank_line_problem(number: int) -> Problem:
    message = "The line is blank. Remove it: JSON Lines has one record on each line."
    return build_problem("syntax", message, Location(None, number, 1), expected="a record")


def _decode_line_by_line(lines: list[str], context: ReaderContext) -> tuple[list[int], list[Any]]:
    decoder = json_decoder(context.limits, exact=context.gold)
    numbers: list[int] = []
    records: list[Any] = []
    for number, whole in enumerate(lines, start=1):
        line = whole.removesuffix("\r")
        if not line.strip(_WHITESPACE):
            context.problems.report("syntax", number, partial(_blank_line_problem, number))
            continue
        try:
            record = decoder.decode(line)
            if inspect_nesting([record])[0] > context.limits.nesting:
                raise TooDeep  # noqa: TRY301 (the same answer as for RecursionError)
        except (json.JSONDecodeError, RecursionError, TooDeep) as error:
            build = partial(decoding_problem, error, line, context.limits, line=number)
            context.problems.report(decoding_problem_code(error, line, context.limits), number, build)
        else:
            numbers.append(number)
            records.append(record)
    return numbers, records
