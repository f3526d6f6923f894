"""Reads the gold files of an archive, which are checked like those that anybody uploads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.archives.open_archive import Archive, InvalidArchive
from app.errors import AssayError
from app.formats import FORMATS, FileKind
from app.formats.content.format_detection import ENCODINGS, LAYOUTS
from app.formats.reading_rules import Limits
from app.pipeline import Gold, SourceFile, load_gold
from app.scoring.declaration.task import TASK_KINDS


def integer(row: Mapping[str, Any], name: str) -> int:
    """A number of a row; raises InvalidArchive for anything else."""
    value = row.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArchive(f"'{name}' must be a whole number, not {str(value)[:40]!r}.")
    return value


def file_kind(row: Mapping[str, Any]) -> FileKind:
    """How a file of the archive is read; raises InvalidArchive."""
    form, encoding, layout = (str(row.get(name)) for name in ("format", "encoding", "layout"))
    if form not in FORMATS or encoding not in {"", *ENCODINGS} or layout not in {"", *LAYOUTS}:
        raise InvalidArchive(f"The archive holds a file of an unknown format: {form[:40]!r}.")
    return FileKind(form, encoding, layout)


def read_gold(archive: Archive, row: Mapping[str, Any], folder: Path, limits: Limits) -> Gold | None:
    """The gold of a version as the service read it, None if the archive lacks its file; raises InvalidArchive."""
    version = integer(row, "version")
    if row.get("file") is None:
        return None
    if row.get("task") not in TASK_KINDS:
        raise InvalidArchive(f"Gold version {version} of the archive has an unknown task.")
    path, kind = folder / "gold", file_kind(row)
    archive.write_to(str(row["file"]), path)
    try:
        settings = {"task": row["task"], "positive_label": row["positive_label"], "classes": row["classes"]}
        settings |= {"metadata": row["metadata"], "earlier_ids": row.get("void_ids") or ()}
        gold, problems = load_gold(SourceFile(path, kind), **settings, limits=limits)
    except (AssayError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArchive(f"Gold version {version} of the archive cannot be read.") from error
    if gold is None:
        raise InvalidArchive(f"The file of gold version {version} has problems: {problems.to_dict()['total']}.")
    return gold
