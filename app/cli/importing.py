"""Commands for administrators that import phases from other installations."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, Token, Url
from app.cli.terminal.import_tables import show_import, show_imports
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandOutput, command_output

if TYPE_CHECKING:
    from app.client import Client

POLL_SECONDS = 0.5
UNDER_WAY = frozenset({"queued", "running"})


def import_phase(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The archive that assay export wrote.")
    ],
    *,
    slug: Annotated[
        str | None, typer.Option("--slug", metavar="SLUG", help="The slug of the challenge here; default: as there.")
    ] = None,
    reason: AuditReason = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the import has ended.")] = True,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum seconds for --wait.")
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Import a phase of another installation: its scores are computed again before anybody sees it.

    Requires an administrator. Exit status: 0 done, 1 failed, 3 still under way.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        with out.upload_bar(f"Uploading {file.name}") as progress:
            found = client.import_phase(file, slug=slug, reason=reason, progress=progress)
        if wait:
            found = _wait(out, client, found, timeout)
        out.result(found, lambda console: show_import(console, found))
        if found["status"] in UNDER_WAY:
            out.note(f"Follow it with: assay imports {found['id']}")
            raise typer.Exit(EXIT_STILL_WAITING if wait else 0)
        if found["status"] == "failed":
            raise typer.Exit(EXIT_FAILED)


def list_imports(
    import_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Show this import with the ids at its source; default: list all.")
    ] = None,
    *,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List the imports of phases, newest first, or show one. Requires an administrator."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if import_id is None:
            rows = list(client.imports())
            out.result(rows, lambda console: show_imports(console, rows))
            return
        found: dict[str, Any] = dict(client.phase_import(import_id))
        found["ids"] = list(client.imported_ids(import_id))
        out.result(found, lambda console: show_import(console, found))


def _wait(out: CommandOutput, client: "Client", found: Any, timeout: float | None) -> Any:
    deadline = None if timeout is None else time.monotonic() + timeout
    with out.count_bar("Importing") as progress:
        while found["status"] in UNDER_WAY and (deadline is None or time.monotonic() < deadline):
            progress(found["done"], max(found["total"], found["done"]))
            time.sleep(POLL_SECONDS)
            found = client.phase_import(found["id"])
    return found
