"""Commands about the files that a challenge offers, and the export of submissions."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, PhaseIfSeveral, Slug, Token, Url
from app.cli.terminal import announcement_tables
from app.cli.terminal.output import CommandError, command_output

Audience = Literal["public", "teams"]
FileName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the file.", autocompletion=completion.files)]
AUDIENCE_HELP = "Who may download it: public, or teams (members of approved teams)."
CHUNK_BYTES = 1 << 20


def list_files(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the files that a challenge offers, such as training data."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = list(client.files(slug))
        out.result(rows, lambda console: announcement_tables.show_files(console, rows))


def upload_file(
    *,
    slug: Slug,
    file: Annotated[
        Path,
        typer.Option("--file", "-f", metavar="FILE", exists=True, dir_okay=False, help="The file, of any kind."),
    ],
    licence: Annotated[
        str, typer.Option("--licence", metavar="NAME", help="Its licence, such as CC-BY-4.0 or 'research only'.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name to offer it by (default: that of the file).")
    ] = None,
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="What it holds.")] = "",
    audience: Annotated[Audience, typer.Option("--audience", metavar="AUDIENCE", help=AUDIENCE_HELP)] = "public",
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Offer a file for download, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        about: dict[str, Any] = {"name": name, "licence": licence, "description": description, "audience": audience}
        with out.upload_bar(f"Uploading {file.name}") as progress:
            row = client.upload_file(slug, file, **about, progress=progress)
        out.result(row, lambda console: announcement_tables.show_files(console, [row]))


def edit_file(
    *,
    slug: Slug,
    name: FileName,
    licence: Annotated[str | None, typer.Option("--licence", metavar="NAME", help="Its licence.")] = None,
    description: Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What it holds.")] = None,
    audience: Annotated[Audience | None, typer.Option("--audience", metavar="AUDIENCE", help=AUDIENCE_HELP)] = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Change the licence, the description or the audience of a file, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        given = {"licence": licence, "description": description, "audience": audience}
        changes = {field: value for field, value in given.items() if value is not None}
        if not changes:
            raise CommandError("nothing_to_change", "Nothing to change.", "See assay file edit --help.")
        row = client.edit_file(slug, name, reason=reason, **changes)
        out.result(row, lambda console: announcement_tables.show_files(console, [row]))


def download_file(
    *,
    slug: Slug,
    name: FileName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="Output file (default: NAME, here)."),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Download a file of a challenge and check its SHA-256."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = next((each for each in client.files(slug) if each["name"] == name), None)
        if row is None:
            raise CommandError("not_found", f"{slug} has no file {name!r}.", f"See: assay file list {slug}")
        target = output or Path(Path(name).name)  # never outside this folder, whatever the service calls it
        if output is None and target.exists():
            raise CommandError("file_exists", f"{target} exists.", "Choose another place with --output.")
        with out.upload_bar(f"Downloading {name}", final_label="Checking") as progress:
            _save(target, lambda stream: client.download_file(slug, name, stream, progress), str(row["sha256"]))
        saved = {"file": str(target), "size": row["size"], "sha256": row["sha256"], "licence": row["licence"]}
        out.result(saved, lambda _: out.say(f"Wrote {target} ({row['size']} bytes, licence: {row['licence']})."))


def delete_file(
    *,
    slug: Slug,
    name: FileName,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a file of a challenge, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.delete_file(slug, name, reason=reason)
        out.done("deleted", name, f"The file {name} is deleted.")


def export(
    *,
    slug: Slug,
    phase: PhaseIfSeveral = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The ZIP archive to write.")
    ],
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Save a phase as an archive from which anybody can check its scores; it holds the gold. As an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        with out.upload_bar(f"Exporting {slug}") as progress:
            _save(output, lambda stream: client.export(slug, stream, phase, progress))
        saved = {"file": str(output), "size": output.stat().st_size}
        out.result(saved, lambda _: out.say(f"Wrote {output} ({saved['size']} bytes)."))


def _save(target: Path, write: Callable[[IO[bytes]], None], sha256: str | None = None) -> None:
    """Write a file that is complete, and has this SHA-256, or not there at all."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".assay-")
    part = Path(temporary)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
        if sha256 is not None and _sha256(part) != sha256:
            raise CommandError("damaged", "The file arrived damaged; nothing was saved.", "Download it again.")
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
