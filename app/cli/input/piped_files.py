"""Lets file options accept a pipe or - for standard input: commands read files twice, so a pipe is copied to a file."""

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
"""File formats by the first bytes of a pipe."""
_MAGIC_LENGTH = 6


def spool_pipe(ctx: typer.Context, value: Path | None) -> Path | None:
    """The file itself, or a temporary copy of a pipe's content, which is deleted when the command ends.

    The format of a pipe without a file suffix, such as `<(…)` in the shell, is detected from its first bytes (default:
    JSON).
    """
    if value is None or value.is_file():
        return value
    if value != _STDIN and (value.is_dir() or not value.exists()):
        raise typer.BadParameter(f"file '{value}' does not exist" if not value.exists() else f"'{value}' is a folder")
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    # call_on_close does not run for a command that is refused as wrong usage; atexit does.
    for register in (ctx.call_on_close, atexit.register):
        register(partial(shutil.rmtree, folder, ignore_errors=True))
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
        raise typer.BadParameter("standard input can be used for one file only")
    ctx.meta[__name__] = True
    yield sys.stdin.buffer


def _spool_file_name(value: Path, start: bytes) -> str:
    if value.name.lower().endswith(_KNOWN_SUFFIXES):
        return value.name
    suffix = next((suffix for magic, suffix in _SUFFIX_BY_MAGIC.items() if start.startswith(magic)), ".json")
    return ("stdin" if value == _STDIN else "pipe") + suffix
