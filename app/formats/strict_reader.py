"""The strict reader: from bytes to a table, with every problem; used by the API, the workers and the command line alike."""

from collections.abc import Collection, Sequence
from typing import BinaryIO

from app.formats.column_data import NormalizedTable, RawColumns, ReaderContext, TooManyRows, empty_table
from app.formats.content.decompression import read_bytes
from app.formats.content.format_detection import FileKind
from app.formats.content.text_start import examine_start
from app.formats.content.utf8_decoding import decode_utf8
from app.formats.content.value_count import check_text_size
from app.formats.content.wrong_format import BINARY_REMEDY
from app.formats.format_declaration import Format
from app.formats.normalize import normalize_columns
from app.formats.problems import REDUCE_SIZE_REMEDY, Location, Problem, Problems, TooManyProblems, build_problem
from app.formats.readers.long_table import group_by_id
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.registry import FORMATS
from app.formats.value_locations import ColumnListsLayout
from app.scoring.declaration.task import TaskKind

__all__ = ["DEFAULT_LIMITS", "Limits", "NormalizedTable", "ReadingRules", "read_table"]

_ZIP_MAGIC = b"PK\x03\x04"
_XLS_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WORKBOOK_PARTS = (b"xl/workbook", b"xl/worksheets/", b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet")
_NPY_MAGIC = b"\x93NUMPY"
_PICKLE_MAGICS = tuple(b"\x80" + bytes([version]) for version in range(2, 6))
_LOST_BY_CURL = (b"\0", b"\r", b"\n")
"""The bytes that curl -d removes; every binary file has some of them."""
_MIN_BINARY_BYTES = 64


def memory_limit_problem(limit: int) -> Problem:
    """The problem of a file that cannot be read with this many bytes of memory."""
    message = f"Reading this file needs more than the {limit >> 20} MiB of memory allowed for one file. "
    remedy = f"{REDUCE_SIZE_REMEDY} For many scores, .npz needs the least memory. "
    remedy += "An administrator can raise ASSAY_SCORING_MEMORY."
    return build_problem("too_large", message + remedy)


def cpu_limit_problem(seconds: float) -> Problem:
    """The problem of a file that cannot be read within this many seconds of CPU time."""
    message = f"Reading this file takes more than the {seconds:g} s of CPU time allowed for one file"
    message += ", or decoding its Parquet or Arrow data takes more than a small part of it. "
    remedy = f"{REDUCE_SIZE_REMEDY} Write plain values, and none twice. For many rows, CSV and .npz are the fastest. "
    remedy += "An administrator can raise ASSAY_SCORING_CPU."
    return build_problem("too_large", message + remedy)


def read_columns(form: Format, data: bytes, context: ReaderContext) -> RawColumns | None:
    """Read the columns of a file in this format; None where nothing can be read (a problem says why)."""
    if form.read_bytes is not None:
        if len(data) >= _MIN_BINARY_BYTES and not any(byte in data for byte in _LOST_BY_CURL):
            message = f"The file is damaged: it has no zero byte, as after curl -d. {BINARY_REMEDY}"
            context.problems.add_new("syntax", message)
            return None
        return form.read_bytes(data, context)
    before = context.problems.count
    start = examine_start(data, form)
    form = start.form
    if start.skipped:
        data = data[start.skipped :]
    if not data.isspace():  # white space alone is an empty file, whatever its number of lines
        check_text_size(data, form, context)
    if problem := binary_file_problem(data):
        context.problems.add(problem)
        return None
    by_line = bool(form.separator) or form.has_record_per_line
    text = decode_utf8(data, by_line=by_line, problems=context.problems)
    has_invalid_bytes = context.problems.count > before
    if text is None:
        return None
    context.notes.extend(start.notes)
    assert form.read_text is not None
    columns = form.read_text(text, context)
    if columns is not None:
        columns.has_invalid_bytes = has_invalid_bytes
    return columns


def binary_file_problem(data: bytes) -> Problem | None:
    """The problem of a file in a binary format that was sent as text; None for any other file."""
    message = ""
    if _is_workbook(data):
        message = "The file is a spreadsheet workbook, not text. Save the sheet as CSV (UTF-8) and send that file."
    elif data.startswith(_NPY_MAGIC):
        message = "The file is a single NumPy array (.npy). Save ids and scores by name with numpy.savez, as .npz."
    elif data.startswith(_PICKLE_MAGICS):
        message = "The file is a Python pickle, which is never read. Save the data as CSV, JSON or .npz."
    if message:
        return build_problem("syntax", message, Location(None, 1, 1), expected="text")
    form = next((form for form in FORMATS.values() if form.is_binary and data.startswith(form.magic)), None)
    if form is None or (form.key == "npz" and not data.startswith(_ZIP_MAGIC)):
        return None
    message = f"The file was read as text but looks like {form.name}. "
    message += f"Use a file name that ends in {form.ending}, or send it as {form.media_type}."
    return build_problem("syntax", message, Location(None, 1, 1), expected="text")


def _is_workbook(data: bytes) -> bool:
    """Whether this is a workbook: a ZIP archive with the parts of one (.xlsx, .ods), or the old format of Excel (.xls)."""
    is_archive = data.startswith(_ZIP_MAGIC)
    return data.startswith(_XLS_MAGIC) or (is_archive and any(name in data for name in _WORKBOOK_PARTS))


def read_table(
    stream: BinaryIO,
    kind: FileKind,
    *,
    task: TaskKind,
    gold: bool,
    problems: Problems,
    classes: Sequence[str] | None = None,
    known_classes: Collection[str] = (),
    wants_scores: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> NormalizedTable:
    """Read a file into columns of texts (scores as written in the file), with the location of each value.

    Never raises for the content of the file: everything wrong is added to `problems`, and the table holds what could be
    read. `gold` also reads `split` and `weight`, and refuses fields that would change the score. `classes` (NFC) is the
    vocabulary where it is known, `known_classes` are some classes where it is not; `wants_scores` reads scores beside
    labels.
    """
    sets, is_long = task == "multilabel", kind.layout == "long"
    context = ReaderContext(task, gold, limits, problems, sets, classes, is_long, wants_scores, known_classes)
    table = _read_table(stream, kind, context)
    table.notes[:0] = context.notes
    return table


def _read_table(stream: BinaryIO, kind: FileKind, context: ReaderContext) -> NormalizedTable:
    problems, sets = context.problems, context.sets
    data = read_bytes(stream, kind.encoding, limits=context.limits, problems=problems)
    try:
        columns = None if data is None else read_columns(FORMATS[kind.format], data, context)
        if columns is None:
            return empty_table(ColumnListsLayout(), sets=sets)
        if context.is_long_table and columns.context.sets and columns.labels is not None:
            columns = group_by_id(columns)
        table = normalize_columns(columns)
    except TooManyRows as error:
        problems.stop(error.problem)
        return empty_table(ColumnListsLayout(), sets=sets)
    except TooManyProblems:
        return empty_table(ColumnListsLayout(), sets=sets)
    if context.is_long_table and not columns.context.sets:
        note = "layout=long has no effect: it is for sets of labels, and in this task each row is an instance"
        table.notes.append(note)
    return table
