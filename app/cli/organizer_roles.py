"""Commands about the organizers of a challenge and their roles."""

from typing import Annotated, Literal

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, Slug, Token, Url
from app.cli.terminal import announcement_tables
from app.cli.terminal.output import command_output


def list_organizers(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the organizers of a challenge and their roles, as one of them."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = list(client.organizers(slug))
        out.result(rows, lambda console: announcement_tables.show_organizers(console, rows))


def add_organizer(
    *,
    slug: Slug,
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="E-mail address of the account.")],
    role: Annotated[
        Literal["owner", "editor", "viewer"],
        typer.Option("--role", metavar="ROLE", help="owner, editor or viewer; all of them read the gold."),
    ] = "editor",
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make a user an organizer, or change the role of one, as an owner."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = client.set_organizer(slug, email, role, reason=reason)
        out.result(row, lambda _: out.say(f"{row['name']} ({row['email']}) is {row['role']} of {slug}."))


def remove_organizer(
    *,
    slug: Slug,
    email: Annotated[
        str,
        typer.Argument(metavar="EMAIL", help="E-mail address of the account.", autocompletion=completion.organizers),
    ],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Take the role of an organizer away, as an owner; the user still cannot register for the challenge."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.remove_organizer(slug, email, reason=reason)
        out.done("removed", email, f"{email} no longer organizes {slug}.")
