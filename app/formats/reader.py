"""Bytes to tables: the one door through which API, worker and command line read predictions and gold."""

from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

from app.formats.columns import NormalizedTable, RawColumns, ReaderContext, TooManyRows, empty_table
from app.formats.decoding import decode_utf8
from app.formats.decompression import read_bytes
from app.formats.detection import FileKind
from app.formats.layouts import ColumnListsLayout
from app.formats.normalize import normalize_columns
from app.formats.problems import Location, Problem, Problems, TooManyProblems, build_problem
from app.formats.readers.arrow_table import read_arrow, read_parquet
from app.formats.readers.csv_table import read_csv, read_tsv
from app.formats.readers.json_document import read_json
from app.formats.readers.json_lines import read_json_lines
from app.formats.readers.long_table import group_by_id
from app.formats.readers.npz import read_npz
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.text_size import check_text_size
from app.scoring.declaration.task import TaskKind

__all__ = ["DEFAULT_LIMITS", "READERS", "Limits", "NormalizedTable", "ReadingRules", "read_table"]

BytesReader = Callable[[bytes, ReaderContext], RawColumns | None]


def _text_reader(form: str, read: Callable[[str, ReaderContext], RawColumns | None], *, by_line: bool) -> BytesReader:
    """A reader of bytes from one of texts."""

    def read_bytes_of_text(data: bytes, reading: ReaderContext) -> RawColumns | None:
        before = reading.problems.count
        if not data.isspace():  # which is an empty file
            check_text_size(data, form, reading)
        text = decode_utf8(data, by_line=by_line, problems=reading.problems)
        damaged = reading.problems.count > before
        columns = None if text is None else read(text, reading)
        if columns is not None:
            columns.has_invalid_bytes = damaged
        return columns

    return read_bytes_of_text


READERS: Mapping[str, BytesReader] = {
    "json": _text_reader("json", read_json, by_line=False),
    "jsonl": _text_reader("jsonl", read_json_lines, by_line=True),
    "csv": _text_reader("csv", read_csv, by_line=True),
    "tsv": _text_reader("tsv", read_tsv, by_line=True),
    "npz": read_npz,
    "parquet": read_parquet,
    "arrow": read_arrow,
}
"""How the bytes of each format become columns; None where they cannot be read at all (a problem says why)."""


def memory_limit_problem(most: int) -> Problem:
    """What is said of a file that cannot be read with this many bytes of memory."""
    message = f"Reading this file takes more than the {most >> 20} MiB of memory that there are for one. "
    mend = "Leave out what is not scored; many scores take least as .npz."
    return build_problem("too_large", message + mend, Location())


def cpu_limit_problem(seconds: float) -> Problem:
    """What is said of a file that cannot be read within so many seconds of CPU time."""
    message = f"Reading this file takes more than the {seconds:g} s of CPU time that there are for one"
    message += ", or decoding its Parquet or Arrow more than a small part of them. "
    mend = "Leave out what is not scored, and write plain values once; many rows are read quickest as CSV or .npz."
    return build_problem("too_large", message + mend, Location())


def read_table(
    stream: BinaryIO,
    kind: FileKind,
    *,
    task: TaskKind,
    gold: bool,
    problems: Problems,
    classes: Sequence[str] | None = None,
    wants_scores: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> NormalizedTable:
    """Read a file into columns of texts (and scores as given) with their places.

    Never raises for what the bytes are: everything wrong goes to `problems`, and the table then holds what could be
    read. `gold` reads `split` and `weight` too and refuses fields that would change the score. `classes` (NFC) is the
    vocabulary where it is known; `wants_scores` reads scores beside labels. Source: contract, section 2.
    """
    sets = task == "multilabel"
    reading = ReaderContext(task, gold, limits, problems, sets, classes, kind.layout == "long", wants_scores)
    data = read_bytes(stream, kind.encoding, limits=limits, problems=problems)
    try:
        columns = None if data is None else READERS[kind.format](data, reading)
        if columns is None:
            return empty_table(ColumnListsLayout(), sets=sets)
        if reading.is_long_table and columns.reading.sets and columns.labels is not None:
            columns = group_by_id(columns)
        table = normalize_columns(columns)
    except TooManyRows as refused:
        problems.stop(refused.found)
        return empty_table(ColumnListsLayout(), sets=sets)
    except TooManyProblems:
        return empty_table(ColumnListsLayout(), sets=sets)
    if reading.is_long_table and not columns.reading.sets:
        table.notes.append(
            "layout=long is for sets of labels; in this task each row is an instance, so it changes nothing"
        )
    return table
