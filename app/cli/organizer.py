"""Commands for organizers: create, edit and publish a challenge; upload, list and activate its gold labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.connection import connect_client
from app.cli.input import value_parsing
from app.cli.options import (
    FORMATS_HELP,
    AsJson,
    ChallengeFile,
    Classes,
    Layout,
    Phase,
    Slug,
    Token,
    Url,
    file_option,
    gold_metadata_options,
)
from app.cli.terminal import object_tables
from app.cli.terminal.output import CommandError, CommandOutput, command_output

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
        for warning in challenge.get("warnings") or ():
            out.note(f"Warning: {warning}")


def edit_challenge(
    slug: Slug, file: ChallengeFile, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Change a challenge to match a file: the full description, or only the parts that change."""
    from app.cli.input.yaml_file import load_description

    with command_output(as_json=as_json) as out:
        changes = load_description(file)
        if changes.pop("slug", slug) != slug:
            detail = f"{file} describes another challenge; a slug cannot be changed."
            raise CommandError("other_slug", detail, "Check SLUG.")
        with connect_client(out, url, token) as client:
            challenge = _apply_description(client, slug, changes)
        out.result(challenge, lambda console: object_tables.show_challenge(console, challenge))


def _apply_description(client: "Client", slug: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Apply a description; fixed fields must be unchanged, and phases are matched by name."""
    current = client.challenge(slug)
    for name in ("task", "classes", "positive_label"):
        if name in changes and _as_texts(changes.pop(name)) != _as_texts(current[name]):
            detail = f"The {name} of a challenge cannot be changed after creation."
            raise CommandError("fixed", detail, "Create a new challenge.")
    if "draft" in changes and changes["draft"] == (current["status"] == "draft"):
        del changes["draft"]
    recipe, phases = changes.pop("recipe", None), changes.pop("phases", [])
    if changes:
        client.edit_challenge(slug, changes)
    if recipe is not None:
        client.put_recipe(slug, recipe)
    slugs = {phase["name"]: phase["slug"] for phase in current["phases"]}
    for phase in phases:
        client.put_phase(slug, slugs.get(str(phase.get("name"))), phase)
    return client.challenge(slug)


def _as_texts(value: Any) -> Any:
    """A list of labels as texts: YAML may have parsed some as numbers."""
    return [str(label) for label in value] if isinstance(value, list) else value


def publish_challenge(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Publish a draft; its visibility then determines who can see it."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        challenge = client.edit_challenge(slug, {"draft": False})
        out.result(challenge, lambda console: object_tables.show_challenge(console, challenge))


@gold_metadata_options()
def upload_gold(
    *,
    slug: Slug,
    file: Annotated[Path, file_option("--file", "-f", help=f"Gold labels: {FORMATS_HELP}; - for stdin.")],
    phase: Phase = None,
    layout: Layout = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    activate: Annotated[bool, typer.Option("--activate/--draft", help="Activate it, or leave it a draft.")] = True,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Upload the gold labels of a phase as a new version."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        tables = {} if classes is None else {"classes": value_parsing.read_strings(classes)}
        metadata = value_parsing.read_gold_metadata(gold_metadata)
        tables |= {name: _request_body(name, value) for name, value in metadata.items()}
        name = client.phase(slug, phase)
        with out.upload_bar(f"Uploading {file.name}", final_label="Validating") as progress:
            gold = client.upload_gold(
                slug, name, file, activate=activate and not tables, layout=layout, progress=progress
            )
        if tables:
            try:
                gold = _put_gold_tables(client, slug, name, int(gold["version"]), tables, activate=activate)
            except Exception:
                out.note(f"Version {gold['version']} is stored as a draft, without the refused metadata.")
                raise
        _show_gold_version(out, slug, name, gold)
        if gold.get("status") == "draft":
            out.note(f"Activate it with: assay gold activate {slug} {gold['version']} --phase {name}")


def activate_gold(
    *,
    slug: Slug,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Version number.")],
    phase: Phase = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Activate a draft of the gold."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        _show_gold_version(out, slug, name, client.activate_gold(slug, name, version))


def list_gold(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the versions of a phase's gold, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        versions = list(client.gold_versions(slug, client.phase(slug, phase)))
        out.result(versions, lambda console: object_tables.show_gold_versions(console, versions))


def _show_gold_version(out: CommandOutput, slug: str, phase: str, gold: dict[str, Any]) -> None:
    message = f"Gold version {gold.get('version')} of {slug}/{phase}: {gold.get('status')}."
    out.result(gold, lambda _: out.say(message))
    if gold.get("inference"):
        out.note(f"What scores disclose: {gold['inference'].get('statement')}")
    out.notes(_merge_remarks_and_notes(gold.get("remarks") or (), gold.get("notes") or ()))


def _merge_remarks_and_notes(remarks: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Remarks, then notes; if both say that no classes were declared, only the remark, which is more specific."""
    start = "no classes were declared"
    redundant = any(remark.lower().startswith(start) for remark in remarks)
    return [*remarks, *(note for note in notes if not (redundant and note.lower().startswith(start)))]


def _request_body(name: str, value: Any) -> Any:
    """The request body for one kind of gold metadata."""
    return {"parents": value} if name == "hierarchy" else value


def _put_gold_tables(
    client: "Client", slug: str, phase: str, version: int, tables: dict[str, Any], *, activate: bool
) -> dict[str, Any]:
    """Add gold metadata to a draft, and activate it if `activate`."""
    gold: dict[str, Any] = {"version": version}
    for name, content in tables.items():
        gold = client.put_gold_table(slug, phase, version, name, content)
    return client.activate_gold(slug, phase, version) if activate else gold
