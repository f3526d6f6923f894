"""Commands that show challenges."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.connection import connect_client
from app.cli.options import AsJson, Slug, Token, Url
from app.cli.terminal import object_tables
from app.cli.terminal.output import command_output

if TYPE_CHECKING:
    from app.client import Client


def list_challenges(
    archived: Annotated[bool, typer.Option("--archived", help="List the archived challenges instead.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List the challenges that are visible to you."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenges = list(client.list_challenges(archived=archived))
        out.result(challenges, lambda console: object_tables.show_challenges(console, challenges))


def show_challenge(
    *,
    slug: Slug,
    invitation: Annotated[
        str | None,
        typer.Option("--invitation", metavar="CODE", help="Code of an invitation to it, if it is private."),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show a challenge: task, metrics, selection, tie-breakers, terms, and phases with quota and classes."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.challenge(slug, invitation=invitation)
        organizer = not as_json and _may_list_organizers(client, slug)
        out.result(
            challenge, lambda console: object_tables.show_challenge(console, challenge, for_organizers=organizer)
        )


def _may_list_organizers(client: "Client", slug: str) -> bool:
    """Whether the user is an organizer: only they may."""
    from app.client import ApiError

    try:
        next(client.organizers(slug), None)
    except ApiError:
        return False
    return True
