"""Commands for organizers: create, edit, publish, archive, copy and delete a challenge."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, ChallengeFile, Slug, Token, Url
from app.cli.terminal import object_tables
from app.cli.terminal.output import CommandError, CommandOutput, command_output
from app.cli.terminal.prompts import prompt_unless_given

if TYPE_CHECKING:
    from app.client import Client


def create_challenge(file: ChallengeFile, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Create a challenge from its description."""
    from app.cli.input.yaml_file import load_description

    with command_output(as_json=as_json) as out:
        body = load_description(file)
        with connect_client(out, url, token) as client:
            challenge = client.create_challenge(body)
        out.result(challenge, lambda console: object_tables.show_challenge(console, challenge))
        _warn(out, challenge)


def edit_challenge(
    *,
    slug: Slug,
    file: ChallengeFile,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Change a challenge to match a file: the full description, or only the parts that change."""
    from app.cli.input.yaml_file import load_description

    with command_output(as_json=as_json) as out:
        changes = load_description(file)
        if changes.pop("slug", slug) != slug:
            detail = f"{file} describes another challenge."
            raise CommandError("other_slug", detail, "Check SLUG; 'assay challenge rename' gives another slug.")
        with connect_client(out, url, token) as client:
            challenge = _apply_description(client, slug, changes, reason)
        out.result(challenge, lambda console: object_tables.show_challenge(console, challenge))


def _apply_description(client: "Client", slug: str, changes: dict[str, Any], reason: str | None) -> dict[str, Any]:
    """Apply a description; phases are matched by name."""
    current = client.challenge(slug)
    if "draft" in changes and changes["draft"] == (current["status"] == "draft"):
        del changes["draft"]
    phases = changes.pop("phases", [])
    if changes:
        client.edit_challenge(slug, changes, reason=reason)
    slugs = {phase["name"]: phase["slug"] for phase in current["phases"]}
    for phase in phases:
        known = slugs.get(str(phase.get("name")))
        if known is None:
            client.add_phase(slug, phase, reason=reason)
        else:
            client.edit_phase(slug, known, phase, reason=reason)
    return client.challenge(slug)


def rename_challenge(
    *,
    slug: Slug,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new slug.")],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give a challenge another slug; its former addresses lead to the new ones."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.edit_challenge(slug, {"slug": new}, reason=reason)
        out.result(challenge, lambda _: out.say(f"The challenge {slug} is {challenge['slug']} now."))


def publish_challenge(
    *, slug: Slug, reason: AuditReason = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Publish a draft; its visibility then determines who can see it."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.edit_challenge(slug, {"draft": False}, reason=reason)
        out.result(challenge, lambda console: object_tables.show_challenge(console, challenge))


def archive_challenge(
    *, slug: Slug, reason: AuditReason = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Make a challenge read-only, as an owner: no registration, submission or change until it is unarchived."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.archive_challenge(slug, reason)
        out.result(challenge, lambda _: out.say(f"The challenge {slug} is archived."))
        _warn(out, challenge)


def unarchive_challenge(
    *,
    slug: Annotated[
        str,
        typer.Argument(
            metavar="SLUG", help="Short name of the challenge.", autocompletion=completion.archived_challenges
        ),
    ],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Let an archived challenge go on, as an owner; phases that have closed stay closed."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.unarchive_challenge(slug, reason)
        out.result(challenge, lambda _: out.say(f"The challenge {slug} is no longer archived."))


def copy_challenge(
    *,
    slug: Slug,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The slug of the copy.")],
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Default: that of the original.")] = None,
    gold: Annotated[
        bool,
        typer.Option(
            "--gold", help="Copy the active gold; organizers of either challenge can then register in neither."
        ),
    ] = False,
    opens: Annotated[
        str | None,
        typer.Option("--opens", metavar="TIME", help="When the first phase opens; all windows move with it."),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Copy the rules of a challenge into a new draft: recipes, phases, terms; no teams, submissions or announcements."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.copy_challenge(slug, new, title=title, gold=gold, opens_at=opens)
        out.result(challenge, lambda console: object_tables.show_challenge(console, challenge))
        _warn(out, challenge)
        out.note(f"It is a draft. Publish it with: assay challenge publish {new}")


def delete_challenge(
    *,
    slug: Slug,
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="SLUG", help="The slug again (default: ask on a terminal).")
    ] = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a challenge with everything in it; once something was submitted, only an administrator can.

    It cannot be undone. The audit trail keeps the record.
    """
    typed = prompt_unless_given(confirm, f"Type the slug to delete {slug} for ever", "--confirm")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if typed != slug:
            raise CommandError("not_confirmed", f"{typed!r} is not the slug {slug!r}; nothing was deleted.")
        client.delete_challenge(slug, confirm=typed, reason=reason)
        out.done("deleted", slug, f"The challenge {slug} is deleted.")


def _warn(out: CommandOutput, challenge: dict[str, Any]) -> None:
    for warning in challenge.get("warnings") or ():
        out.note(f"Warning: {warning}")
