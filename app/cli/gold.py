"""Commands about the gold labels of a phase: upload, list, show, activate and delete versions."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.input import value_parsing
from app.cli.options import (
    FORMATS_HELP,
    AsJson,
    AuditReason,
    Classes,
    Layout,
    Phase,
    Slug,
    Token,
    Url,
    file_option,
    gold_metadata_options,
)
from app.cli.switch import Confirm, ListsInstances, PublicReason, Timeout, Wait, wait_for_switches
from app.cli.terminal import object_tables
from app.cli.terminal.gold_facts import show_gold
from app.cli.terminal.output import CommandOutput, command_output

if TYPE_CHECKING:
    from app.client import Client

Version = Annotated[
    int, typer.Argument(metavar="VERSION", min=1, help="Version number.", autocompletion=completion.gold_versions)
]


@gold_metadata_options()
def upload_gold(
    *,
    slug: Slug,
    file: Annotated[Path, file_option("--file", "-f", help=f"Gold labels: {FORMATS_HELP}; - for stdin.")],
    phase: Phase = None,
    layout: Layout = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    activate: Annotated[
        bool | None,
        typer.Option("--activate/--draft", help="Activate it, or leave it a draft (default: ask on a terminal)."),
    ] = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Upload the gold labels of a phase as a draft, show what was read, and activate it if asked to."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        tables = {} if classes is None else {"classes": value_parsing.read_strings(classes)}
        metadata = value_parsing.read_gold_metadata(gold_metadata)
        tables |= {name: _request_body(name, value) for name, value in metadata.items()}
        name = client.phase(slug, phase)
        with out.upload_bar(f"Uploading {file.name}", final_label="Validating") as progress:
            gold = client.upload_gold(slug, name, file, layout=layout, reason=reason, progress=progress)
        version = int(gold["version"])
        try:
            for table, content in tables.items():
                gold = client.put_gold_table(slug, name, version, table, content, reason=reason)
        except Exception:
            out.note(f"Version {version} is stored as a draft, without the refused metadata.")
            raise
        if not as_json:
            show_gold(out.console, gold)
            # The remark on activation says the same, and more.
            out.notes(note for note in gold.get("notes") or () if not (activate and _says_no_classes(note)))
        if _wants_activation(activate, as_json=as_json):
            _activate(out, client, slug, name, version, noted=() if as_json else gold.get("notes") or (), reason=reason)
            return
        out.result(gold, lambda _: out.say(_status_line(slug, name, gold)))
        if gold.get("difference") is None:
            out.note(f"Activate it with: assay gold activate {slug} {version} --phase {name}")
            return
        out.note(f"See what it would change: assay gold preview {slug} {version} --phase {name} --wait")
        out.note(f"Then activate it: assay gold activate {slug} {version} --phase {name} --reason …")


def _wants_activation(activate: bool | None, *, as_json: bool) -> bool:
    """Whether to activate the draft: as the option says, else as the user answers; no without a terminal."""
    if activate is not None or as_json or not sys.stdin.isatty():
        return bool(activate)
    return typer.confirm("Activate this version?", err=True)


def activate_gold(
    *,
    slug: Slug,
    version: Version,
    phase: Phase = None,
    reason: PublicReason = None,
    lists_instances: ListsInstances = False,
    wait: Wait = False,
    confirm: Confirm = False,
    timeout: Timeout = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Activate a version of the gold: at once before the first submission, else when all submissions are scored by it.

    With --wait, the exit status is 1 if submissions cannot be scored, and 3 if --timeout expires first.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        gold = client.activate_gold(slug, name, version, reason=reason, lists_instances=lists_instances)
        status = 0
        if wait and gold.get("switch"):
            switches = [(name, int(gold["switch"]["number"]))]
            status = wait_for_switches(out, client, slug, switches, confirm=confirm, timeout=timeout, reason=reason)
            gold = client.gold_version(slug, name, version)
        _show_activated(out, slug, name, gold)
        if status:
            raise typer.Exit(status)


def _activate(
    out: CommandOutput,
    client: "Client",
    slug: str,
    phase: str,
    version: int,
    *,
    noted: Sequence[str] = (),
    reason: str | None = None,
) -> None:
    """Activate a version and show what the service remarks, without the notes that were shown before."""
    _show_activated(out, slug, phase, client.activate_gold(slug, phase, version, reason=reason), noted)


def _show_activated(
    out: CommandOutput, slug: str, phase: str, gold: Mapping[str, Any], noted: Sequence[str] = ()
) -> None:
    out.result(gold, lambda _: out.say(_status_line(slug, phase, gold)))
    if gold.get("inference"):
        out.note(f"What scores disclose: {gold['inference'].get('statement')}")
    notes = [note for note in gold.get("notes") or () if note not in noted]
    out.notes(_merge_remarks_and_notes(gold.get("remarks") or (), notes))


def show_gold_version(
    *, slug: Slug, version: Version, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Show what was read from a version of the gold: instances, classes, splits, weights and remarks."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        gold = client.gold_version(slug, client.phase(slug, phase), version)
        out.result(gold, lambda console: show_gold(console, gold))
        out.notes(gold.get("notes") or ())


def open_gold(
    *, slug: Slug, version: Version, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Show the nonce that opens the commitment to a version, to be published with the gold, never before."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        opening = client.gold_opening(slug, client.phase(slug, phase), version)
        out.result(opening, lambda _: _show_opening(out, opening))
        out.note("Publish the nonce only with the gold: with it, a guess of the gold can be checked.")


def _show_opening(out: CommandOutput, opening: Mapping[str, Any]) -> None:
    out.say(f"Nonce:       {opening['nonce']}")
    out.say(f"Commitment:  {opening['commitment']}")


def delete_gold(
    *,
    slug: Slug,
    version: Version,
    phase: Phase = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a draft of the gold."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        client.delete_gold(slug, name, version, reason=reason)
        out.done("deleted", version, f"Gold version {version} of {slug}/{name}: deleted.")


def list_gold(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the versions of a phase's gold, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        versions = list(client.gold_versions(slug, client.phase(slug, phase)))
        out.result(versions, lambda console: object_tables.show_gold_versions(console, versions))


def _status_line(slug: str, phase: str, gold: Mapping[str, Any]) -> str:
    progress = gold.get("progress")
    scored = f", {progress['scored']} of {progress['total']} submissions scored" if progress else ""
    return f"Gold version {gold.get('version')} of {slug}/{phase}: {gold.get('status')}{scored}."


def _merge_remarks_and_notes(remarks: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Remarks, then notes; if both say that no classes were declared, only the remark, which is more specific."""
    redundant = any(map(_says_no_classes, remarks))
    return [*remarks, *(note for note in notes if not (redundant and _says_no_classes(note)))]


def _says_no_classes(note: str) -> bool:
    return note.lower().startswith("no classes were declared")


def _request_body(name: str, value: Any) -> Any:
    """The request body for one kind of gold metadata."""
    return {"parents": value} if name == "hierarchy" else value
