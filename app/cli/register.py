"""Commands with which a user registers for a challenge, states something anew, and ends the registration."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, Slug, Token, Url
from app.cli.terminal.output import CommandError, CommandOutput, command_output

if TYPE_CHECKING:
    from app.client import Client, Json


def register(
    *,
    slug: Slug,
    team: Annotated[str | None, typer.Option("--team", metavar="NAME", help="Name of the new team.")] = None,
    invitation: Annotated[
        str | None,
        typer.Option("--invitation", metavar="CODE", help="Code of an invitation to a team or the challenge."),
    ] = None,
    accept_terms: Annotated[
        int | None,
        typer.Option(
            "--accept-terms",
            metavar="VERSION",
            help="Accept this version of the terms.",
            autocompletion=completion.terms,
        ),
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option("--field", metavar="NAME=VALUE", help="Answer to a field of the challenge.")
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Register for a challenge by founding a team, or with the code of an invitation.

    On a terminal it shows the terms and asks for what is missing. Who is registered already accepts new terms and
    changes answers with --accept-terms and --field alone.
    """
    again = team is None and invitation is None
    if again and accept_terms is None and not field:
        raise typer.BadParameter("give --team NAME, to found one, or --invitation CODE, or both")
    if any("=" not in each for each in field or []):
        raise typer.BadParameter("write NAME=VALUE", param_hint="--field")
    answers = dict(each.split("=", 1) for each in field or [])
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if again:
            result = client.state_again(slug, own_registration(client, slug)["id"], terms=accept_terms, fields=answers)
        else:
            result = _register(client, out, slug, team, invitation, terms=accept_terms, answers=answers)
        out.result(result, lambda _: out.say(_describe(slug, result)))
        if again and accept_terms is not None:
            out.note(f"You have accepted version {accept_terms} of the terms.")


def _register(
    client: "Client",
    out: CommandOutput,
    slug: str,
    team: str | None,
    invitation: str | None,
    *,
    terms: int | None,
    answers: Mapping[str, str],
) -> "Json":
    """Register; if terms or answers are missing, ask for them on a terminal, else say where to read what is asked."""
    from app.client import ApiError

    try:
        return client.register(slug, team, invitation=invitation, terms=terms, fields=answers)
    except ApiError as error:
        pointers = [str(fault.get("pointer")) for fault in error.errors]
        if not any(pointer == "/terms" or pointer.startswith("/fields/") for pointer in pointers):
            raise
        if not sys.stdin.isatty():
            code = f" --invitation {invitation}" if invitation else ""
            remedy = f"Read: assay challenge show {slug}{code}. Then add --accept-terms VERSION and --field NAME=VALUE."
            detail = "The registration is not complete:"
            raise CommandError("registration_incomplete", detail, remedy, errors=error.errors) from error
    challenge = client.challenge(slug, invitation=invitation)
    if "/terms" in pointers:
        terms = _ask_for_terms(out, challenge)
    asked = {each["name"]: each["label"] for each in challenge["registration_fields"]}
    missing = [name for name in asked if f"/fields/{name}" in pointers]
    given = {name: str(typer.prompt(asked[name], err=True)) for name in missing}
    return client.register(slug, team, invitation=invitation, terms=terms, fields={**answers, **given})


def _ask_for_terms(out: CommandOutput, challenge: "Json") -> int:
    for line in str(challenge["terms"]).splitlines():
        out.note(line)
    version = int(challenge["terms_version"])
    typer.confirm(f"Do you accept these terms (version {version})?", abort=True, err=True)
    return version


def _describe(slug: str, registration: "Json") -> str:
    status, name = registration.get("status"), (registration.get("team") or {}).get("name")
    if name:
        effects = {
            "pending": "It can submit when an organizer has approved you.",
            "approved": f"Submit with: assay submit {slug} -f FILE",
        }
        return f"Team {name} in {slug}: {status}. {effects.get(str(status), '')}".rstrip()
    found = f"assay register {slug} --team NAME"
    return f"Registered for {slug}: {status}. You are in no team yet: {found}, or use a code from a captain."


def own_registration(client: "Client", slug: str) -> "Json":
    """The user's own registration for a challenge; raises CommandError without one."""
    address = client.me().get("email")
    for each in client.registrations(slug):
        if (each.get("user") or {}).get("email") == address:
            return each
    raise CommandError("not_registered", f"You are not registered for {slug}.", f"assay register {slug} --team NAME")


def unregister(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """End your registration for a challenge, and leave your team.

    Once your team has used quota, you need an organizer's leave to join or found another one afterwards.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        own = own_registration(client, slug)
        client.end_registration(slug, own["id"])
        out.done("ended", own["id"], f"Your registration for {slug} has ended.")
