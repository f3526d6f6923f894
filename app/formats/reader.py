"""Bytes to tables: the one door through which API, worker and command line read predictions and gold."""

from collections.abc import Callable, Mapping
from typing import BinaryIO

from app.formats.columns import Columns, Reading, Table, TooManyRecords, nothing
from app.formats.csv_table import read_csv
from app.formats.json_lines import read_json_lines
from app.formats.json_shapes import read_json
from app.formats.kinds import FileKind
from app.formats.layout import ColumnLists
from app.formats.problem import FILE, Place, Problems, problem
from app.formats.rules import DEFAULT_LIMITS, Limits, Rules
from app.formats.tidy import tidy
from app.formats.unpack import decode, read_bytes

__all__ = ["DEFAULT_LIMITS", "Limits", "Rules", "Table", "read_table"]

_READERS: Mapping[str, Callable[[str, Reading], Columns | None]] = {
    "json": read_json,
    "jsonl": read_json_lines,
    "csv": read_csv,
}


def read_table(
    stream: BinaryIO,
    kind: FileKind,
    *,
    multilabel: bool,
    gold: bool,
    problems: Problems,
    limits: Limits = DEFAULT_LIMITS,
) -> Table:
    """Read a file into columns of texts with their places.

    Never raises for what the bytes are: everything wrong goes to `problems`, and the table then holds what could be
    read. `gold` reads `split` too and refuses fields that would change the score. Source: contract, section 2.
    """
    reading = Reading(multilabel, gold, limits, problems)
    data = read_bytes(stream, gzipped=kind.gzipped, limits=limits, problems=problems)
    if data is None:
        return nothing(ColumnLists(), multilabel=multilabel)
    faults_before = problems.total.get("encoding", 0)
    text = decode(data, by_line=kind.format != "json", problems=problems)
    del data
    try:
        columns = None if text is None else _READERS[kind.format](text, reading)
    except TooManyRecords as refused:
        problems.add(problem("too_large", str(refused), Place(), expected=f"at most {limits.records} records"), FILE)
        columns = None
    if columns is None:
        return nothing(ColumnLists(), multilabel=multilabel)
    return tidy(columns, reading, damaged=problems.total.get("encoding", 0) > faults_before)
