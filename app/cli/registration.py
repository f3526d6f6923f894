"""Commands about registrations, and for organizers about invitations to a challenge."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import (
    AsJson,
    AuditReason,
    InvitationDays,
    InvitationNote,
    InvitationUses,
    OptionalReason,
    Reason,
    Slug,
    Token,
    UnlimitedUses,
    Url,
)
from app.cli.register import own_registration
from app.cli.terminal import account_tables, registration_tables
from app.cli.terminal.output import CommandError, command_output

if TYPE_CHECKING:
    from app.client import Client

User = Annotated[
    str,
    typer.Argument(
        metavar="USER",
        help="E-mail address of the user, or id of the registration.",
        autocompletion=completion.registrations,
    ),
]


def approve(
    *,
    slug: Slug,
    user: Annotated[
        str | None,
        typer.Argument(
            metavar="USER", help="E-mail address, or id of the registration.", autocompletion=completion.registrations
        ),
    ] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Approve all that are pending.")] = False,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw the approval: it is pending again.")] = False,
    reason: OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Approve a registration, or all that are pending, as an organizer.

    It also lifts a bar.
    """
    if (user is None) != everybody:
        raise typer.BadParameter("give either USER or --all")
    if everybody and withdraw:
        raise typer.BadParameter("withdraw one approval at a time", param_hint="--withdraw")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if user is None:
            ids = [row["id"] for row in client.registrations(slug) if row["status"] == "pending"]
        else:
            ids = [_registration_id(client, slug, user)]
        status = "pending" if withdraw else "approved"
        rows = [client.decide_registration(slug, each, status, reason=reason) for each in ids]
        from app.scoring.declaration.metric_syntax import pluralize

        done = f"Approved {pluralize(len(rows), 'registration')}."
        if user is not None:
            done = f"{rows[0]['user']['name']} is {'pending again' if withdraw else 'approved'}."
        out.result(rows, lambda _: out.say(done))


def bar(
    *,
    slug: Slug,
    user: User,
    reason: Reason,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Bar a user from a challenge, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = client.decide_registration(slug, _registration_id(client, slug, user), "barred", reason=reason)
        out.result(row, lambda _: out.say(f"{row['user']['name']} is barred from {slug}."))


def list_registrations(
    *,
    slug: Slug,
    status: Annotated[
        Literal["pending", "approved", "barred", "ended"] | None,
        typer.Option("--status", metavar="STATUS", help="pending, approved, barred or ended (default: all)."),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List the registrations for a challenge (for participants: your own)."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = [row for row in client.registrations(slug) if status in {None, row["status"]}]
        out.result(rows, lambda console: registration_tables.show_registrations(console, rows))


def show(
    *,
    slug: Slug,
    user: Annotated[
        str | None,
        typer.Argument(
            metavar="USER",
            help="Organizers: e-mail address, or id of the registration (default: your own).",
            autocompletion=completion.registrations,
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show a registration: state, team, terms, answers, and the history of decisions."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        own = own_registration(client, slug)["id"] if user is None else _registration_id(client, slug, user)
        row = client.registration(slug, own)
        out.result(row, lambda console: registration_tables.show_registration(console, row))


def list_invitations(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the invitations to a challenge that were not revoked, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = list(client.challenge_invitations(slug))
        out.result(rows, lambda console: account_tables.show_invitations(console, rows))


def revoke_invitation(
    *,
    slug: Slug,
    invitation: Annotated[
        str,
        typer.Argument(metavar="ID", help="Id of the invitation.", autocompletion=completion.invitations_to_challenge),
    ],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Revoke an invitation to a challenge, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.revoke_challenge_invitation(slug, invitation, reason=reason)
        out.done("revoked", invitation, f"The invitation {invitation} is revoked.")


def invite(
    *,
    slug: Slug,
    uses: InvitationUses = 1,
    unlimited: UnlimitedUses = False,
    days: InvitationDays = 30,
    note: InvitationNote = "",
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make a code with which users register for a challenge, approved at once, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        made = client.invite_to_challenge(slug, max_uses=None if unlimited else uses, days=days, note=note)
        out.result(made, lambda _: out.say(str(made["code"])))
        out.note(
            f"It is not shown again. Register with it: assay register {slug} --team NAME --invitation {made['code']}"
        )


def _registration_id(client: "Client", slug: str, user: str) -> str:
    for row in client.registrations(slug):
        if row["id"] == user or str(row["user"]["email"]).casefold() == user.casefold():
            return str(row["id"])
    raise CommandError("not_found", f"{user} is not registered for {slug}.", f"Who is: assay registration list {slug}")
