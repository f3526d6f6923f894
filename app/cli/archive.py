"""The command that checks an archive of a phase without a service."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import AsJson
from app.cli.terminal.archive_tables import show_verification
from app.cli.terminal.output import EXIT_FAILED, command_output

ArchiveFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The archive that assay export wrote.")
]


def verify(file: ArchiveFile, *, as_json: AsJson = False) -> None:
    """Check an archive: the hash of every member, each file against its submission, each receipt against its file."""
    from dataclasses import asdict

    from app.archives.open_archive import open_archive
    from app.archives.verification import verify_archive

    with command_output(as_json=as_json) as out:
        with open_archive(file) as archive:
            found = asdict(verify_archive(archive)) | {
                name: archive.manifest.get(name) for name in ("challenge", "phase", "exported_at", "program", "origin")
            }
        out.result(found | {"valid": not found["faults"]}, lambda console: show_verification(console, found))
        if found["faults"]:
            raise typer.Exit(EXIT_FAILED)
