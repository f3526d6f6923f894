"""Lets every file option take a pipe, or - for standard input: what cannot be read twice is kept in a temporary file."""

import atexit
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import typer

_STDIN = Path("-")
_KNOWN_SUFFIXES = (
    *(".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".tab", ".npz", ".parquet", ".pq", ".arrow", ".feather"),
    *(".yaml", ".yml", ".txt", ".gz", ".zst"),
)
_SUFFIX_BY_MAGIC = {
    b"\x1f\x8b": ".json.gz",
    b"\x28\xb5\x2f\xfd": ".json.zst",
    b"PK\x03\x04": ".npz",
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
}
"""What the first bytes of a pipe tell about what comes."""
_MAGIC_LENGTH = 6


def spool_pipe(ctx: typer.Context, value: Path | None) -> Path | None:
    """The file itself, or a copy of what comes through a pipe; the copy is gone when the command ends.

    A pipe without an ending of its own (as of `<(…)` in the shell) is told by its first bytes, else it holds JSON.
    """
    if value is None or value.is_file():
        return value
    if value != _STDIN and (value.is_dir() or not value.exists()):
        raise typer.BadParameter(f"file '{value}' does not exist" if not value.exists() else f"'{value}' is a folder")
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    for at_the_end in (ctx.call_on_close, atexit.register):  # a command that is refused is never closed
        at_the_end(partial(shutil.rmtree, folder, ignore_errors=True))
    with _open_pipe(ctx, value) as stream:
        start = stream.read(_MAGIC_LENGTH)
        copy = folder / _spool_file_name(value, start)
        with copy.open("wb") as target:
            target.write(start)
            shutil.copyfileobj(stream, target)
    return copy


@contextlib.contextmanager
def _open_pipe(ctx: typer.Context, value: Path) -> Iterator[BinaryIO]:
    if value != _STDIN:
        with value.open("rb") as stream:
            yield stream
        return
    if ctx.meta.get(__name__):
        raise typer.BadParameter("standard input can be given for one file only")
    ctx.meta[__name__] = True
    yield sys.stdin.buffer


def _spool_file_name(value: Path, start: bytes) -> str:
    if value.name.lower().endswith(_KNOWN_SUFFIXES):
        return value.name
    ending = next((ending for begin, ending in _SUFFIX_BY_MAGIC.items() if start.startswith(begin)), ".json")
    return ("stdin" if value == _STDIN else "pipe") + ending
