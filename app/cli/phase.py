"""Commands about phases, for organizers."""

import sys
from typing import Annotated, Any

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.input.phase_fields import merge_fields, phase_fields
from app.cli.options import AsJson, AuditReason, NamedPhase, Phase, Reason, Slug, Token, Url, Yes
from app.cli.terminal import object_tables, phase_tables
from app.cli.terminal.output import CommandError, command_output
from app.cli.terminal.prompts import require_consent


def release_phase(
    *,
    slug: Slug,
    phase: Phase = None,
    yes: Yes = False,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Preview the final release of a phase: public and private ranks; with --yes, release the private scores.

    On a terminal it asks after the preview. A release cannot be undone. Afterwards everybody sees the private scores.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        asks = not yes and not as_json and sys.stdin.isatty()
        if reason is not None and not yes and not asks:
            raise CommandError("reason_without_release", "--reason belongs to a release.", "Add --yes.")
        name = client.phase(slug, phase)
        if not yes:
            preview = client.release_preview(slug, name)
            out.result(preview, lambda console: phase_tables.show_release(console, preview))
            if preview["obstacles"] or preview["released_at"] is not None:
                return
            if not asks:
                out.note(f"Release them with: assay phase release {slug} --phase {name} --yes")
                return
        require_consent(f"Release the private scores of {slug}/{name}? This cannot be undone.", yes=yes)
        release = client.release(slug, name, reason)
        out.result(release, lambda console: phase_tables.show_release(console, release))


def show_ladder(
    *, slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Show the feedback that the Ladder of a phase has given to each team, and what it guarantees."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.ladder(slug, client.phase(slug, phase))
        out.result(found, lambda console: phase_tables.show_ladder(console, found))


def list_phases(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the phases of a challenge with windows, quotas and states."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        phases = client.challenge(slug)["phases"]
        out.result(phases, lambda console: object_tables.show_phases(console, phases))


def show_phase(
    *, slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Show a phase: window, quota, leaderboard, labels and state."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = client.show_phase(slug, client.phase(slug, phase))
        out.result(row, lambda console: phase_tables.show_phase(console, row))


@phase_fields
def add_phase(
    *,
    slug: Slug,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name; the slug is derived from it.")],
    fields: dict[str, Any],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Add a phase after the others, from options or a file."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = client.add_phase(slug, merge_fields(fields, {}) | {"name": name}, reason=reason)
        out.result(row, lambda console: phase_tables.show_phase(console, row))


@phase_fields
def edit_phase(
    *,
    slug: Slug,
    phase: Phase = None,
    fields: dict[str, Any],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Change a phase, by options or to match a file.

    '--total none' removes a limit of the quota, '--closes never' the close.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        known = client.phase(slug, phase)
        changes = merge_fields(fields, client.show_phase(slug, known))
        if not changes:
            raise CommandError("nothing_to_change", "No option says what to change.", "See assay phase edit --help.")
        row = client.edit_phase(slug, known, changes, reason=reason)
        out.result(row, lambda console: phase_tables.show_phase(console, row))


def rename_phase(
    *,
    slug: Slug,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name; the slug is derived from it.")],
    phase: Phase = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give a phase another name and slug; its former addresses lead to the new ones."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = client.edit_phase(slug, client.phase(slug, phase), {"name": name}, reason=reason)
        out.result(row, lambda _: out.say(f"The phase is named {row['name']} now; its slug is {row['slug']}."))


def order_phases(
    *,
    slug: Slug,
    phases: Annotated[
        list[str], typer.Argument(metavar="PHASE...", help="All phases.", autocompletion=completion.phases)
    ],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Put the phases of a challenge in this order."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = client.edit_challenge(slug, {"phase_order": phases}, reason=reason)["phases"]
        out.result(rows, lambda console: object_tables.show_phases(console, rows))


def pause_phase(
    *,
    slug: Slug,
    phase: Phase = None,
    reason: Reason,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Refuse submissions of participants until the phase is resumed; the close does not move."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        paused = client.pause_phase(slug, client.phase(slug, phase), reason)
        out.result(paused, lambda _: out.say(f"The phase {paused['slug']} is paused."))


def resume_phase(
    *,
    slug: Slug,
    phase: Phase = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Accept submissions to a paused phase again."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        resumed = client.resume_phase(slug, client.phase(slug, phase), reason=reason)
        out.result(resumed, lambda _: out.say(f"The phase {resumed['slug']} goes on."))


def delete_phase(
    *,
    slug: Slug,
    phase: NamedPhase,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a phase with its gold, while nothing was submitted to it."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.delete_phase(slug, phase, reason=reason)
        out.done("deleted", phase, f"The phase {phase} is deleted.")
