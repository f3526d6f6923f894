"""Commands about the switches of a board from one set of versions to another: list, confirm, cancel, and wait for them."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, Phase, Slug, Token, Url
from app.cli.terminal import correction_tables, version_tables
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandOutput, command_output

if TYPE_CHECKING:
    from app.client import Client

POLL_SECONDS = 0.5
Json = dict[str, Any]
Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Number of the switch.")]
PublicReason = Annotated[
    str | None,
    typer.Option(
        "--reason", metavar="TEXT", help="Why; required once something was submitted, and public with the errata."
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the boards have switched.")]
Confirm = Annotated[
    bool, typer.Option("--confirm", help="With --wait, let submissions that cannot be scored leave the board.")
]
ListsInstances = Annotated[
    bool, typer.Option("--list-instances", help="Name the ids of the changed instances in the public errata.")
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum seconds for --wait.")
]


def list_switches(
    slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """List which versions the board of a phase was computed from, since when and why, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        switches = list(client.switches(slug, client.phase(slug, phase)))
        out.result(switches, lambda console: version_tables.show_switches(console, switches))
        for row in switches:
            if row["blocked_by"]:
                _note_blocked(out, slug, row)


def preview_switch(
    *, slug: Slug, number: Number, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Show what a pending switch would change on the board, by the scores that there are now; only organizers see it."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.switch_preview(slug, client.phase(slug, phase), number)
        out.result(found, lambda console: correction_tables.show_preview(console, found))


def confirm_switch(
    *,
    slug: Slug,
    number: Number,
    phase: Phase = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Let a pending switch happen although some submissions cannot be scored: they leave the board."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        switch = client.confirm_switch(slug, name, number, reason=reason)
        out.result(switch, lambda _: out.say(f"Switch {number} of {slug}/{name}: confirmed."))


def cancel_switch(
    *,
    slug: Slug,
    number: Number,
    phase: Phase = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a pending switch; the board stays as it is."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        switch = client.cancel_switch(slug, name, number, reason=reason)
        out.result(switch, lambda _: out.say(f"Switch {number} of {slug}/{name}: cancelled."))


def wait_for_switches(
    out: CommandOutput,
    client: "Client",
    slug: str,
    switches: Sequence[tuple[str, int]],
    *,
    confirm: bool,
    timeout: float | None,
    reason: str | None,
) -> int:
    """Show the progress of pending switches, each named by phase and number, until they end; returns the exit status."""
    deadline = None if timeout is None else time.monotonic() + timeout
    with out.count_bar(f"Scoring {slug}") as progress:
        while True:
            rows = [client.switch(slug, *each) for each in switches]
            pending = [row for row in rows if row["status"] == "pending"]
            counts = [row["progress"] or {} for row in pending]
            progress(*(sum(each.get(name, 0) for each in counts) for name in ("scored", "total")))
            blocked = [row for row in pending if row["blocked_by"] and _is_all_tried(row)]
            if not pending or (blocked and not confirm):
                break
            for row in blocked:
                client.confirm_switch(slug, row["phase"], row["number"], reason=reason)
            if deadline is not None and time.monotonic() >= deadline:
                return EXIT_STILL_WAITING
            time.sleep(POLL_SECONDS)
    for row in blocked:
        _note_blocked(out, slug, row)
    return EXIT_FAILED if blocked or any(row["status"] == "cancelled" for row in rows) else 0


def _is_all_tried(row: Json) -> bool:
    """Whether everything has been scored that can be."""
    progress = row["progress"]
    return bool(progress["scored"] + progress["failed"] >= progress["total"])


def _note_blocked(out: CommandOutput, slug: str, row: Json) -> None:
    for each in row["blocked_by"]:
        out.note(f"{each['submission']} cannot be scored: {each['detail']}")
    name = f"{slug} {row['number']} --phase {row['phase']}"
    out.note(f"Let them leave the board with: assay switch confirm {name}; or: assay switch cancel {name}")
