"""The command `assay`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from app import __version__
from app.cli.command_loading import RootGroup


def _print_version(value: bool) -> None:
    if value:
        print(f"assay {__version__}")
        raise typer.Exit


def _root_callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Assay, a scoring service for challenges: gold labels and predictions in, scores and leaderboards out.

    Exit status: 0 success, 1 failed or refused, 2 wrong usage, 3 timed out while still queued or running.
    """


root = typer.Typer(
    name="assay",
    cls=RootGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    callback=_root_callback,
    rich_markup_mode=None,  # the help is plain text: importing rich for it would take longer than the rest of it
    context_settings={"max_content_width": 120},
)


def main() -> None:
    """Run the command in sys.argv."""
    # numpy would start a thread per processor for linear algebra, which no command uses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Python sets a standard stream to None if the caller closed it; writing to it would then fail.
    with Path(os.devnull).open("w", encoding="utf-8") as devnull:
        sys.stdout, sys.stderr = sys.stdout or devnull, sys.stderr or devnull
        root(prog_name="assay")
