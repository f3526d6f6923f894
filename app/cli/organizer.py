"""Commands of organizers: create and edit a challenge; upload, list and activate its gold labels."""

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
            made = client.create_challenge(body)
        out.result(made, lambda console: object_tables.show_challenge(console, made))
        for warning in made.get("warnings") or ():
            out.note(f"Warning: {warning}")


def edit_challenge(
    slug: Slug, file: ChallengeFile, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Make a challenge as the file says: the file it was created from, or only what changes."""
    from app.cli.input.yaml_file import load_description

    with command_output(as_json=as_json) as out:
        changes = load_description(file)
        if changes.pop("slug", slug) != slug:
            raise CommandError("other_slug", f"{file} is about another challenge; a slug is for good.", "Check SLUG.")
        with connect_client(out, url, token) as client:
            made = _apply_description(client, slug, changes)
        out.result(made, lambda console: object_tables.show_challenge(console, made))


def _apply_description(client: "Client", slug: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Apply a description: what is fixed must be as it is, phases are known by their names."""
    now = client.challenge(slug)
    for name in ("task", "classes", "positive_label"):
        if name in changes and _as_texts(changes.pop(name)) != _as_texts(now[name]):
            raise CommandError(
                "fixed", f"A challenge keeps its {name}: it is fixed at creation.", "Open a new challenge."
            )
    if "draft" in changes and changes["draft"] == (now["status"] == "draft"):
        del changes["draft"]
    recipe, phases = changes.pop("recipe", None), changes.pop("phases", [])
    if changes:
        client.edit_challenge(slug, changes)
    if recipe is not None:
        client.put_recipe(slug, recipe)
    known = {phase["name"]: phase["slug"] for phase in now["phases"]}
    for phase in phases:
        client.put_phase(slug, known.get(str(phase.get("name"))), phase)
    return client.challenge(slug)


def _as_texts(value: Any) -> Any:
    """Labels as texts: YAML may have read some as numbers."""
    return [str(each) for each in value] if isinstance(value, list) else value


def publish_challenge(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Publish a draft: from now on its visibility says who sees it."""
    with command_output(as_json=as_json) as out:
        _edit_and_show(out, slug, {"draft": False}, url, token)


def _edit_and_show(out: CommandOutput, slug: str, changes: dict[str, Any], url: str | None, token: str | None) -> None:
    with connect_client(out, url, token) as client:
        made = client.edit_challenge(slug, changes)
    out.result(made, lambda console: object_tables.show_challenge(console, made))


@gold_metadata_options()
def upload_gold(
    *,
    slug: Slug,
    file: Annotated[Path, file_option("--file", "-f", help=f"True labels: {FORMATS_HELP}; - is standard input.")],
    phase: Phase = None,
    layout: Layout = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    activate: Annotated[
        bool, typer.Option("--activate/--draft", help="Put it into use at once, or keep a draft.")
    ] = True,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Upload the true labels of a phase as a new version."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        tables = {} if classes is None else {"classes": value_parsing.read_strings(classes)}
        metadata = value_parsing.read_gold_metadata(gold_metadata)
        tables |= {name: _request_body(name, value) for name, value in metadata.items()}
        name = client.phase(slug, phase)
        with out.upload_bar(f"Uploading {file.name}", then="Checking") as progress:
            made = client.upload_gold(
                slug, name, file, activate=activate and not tables, layout=layout, progress=progress
            )
        if tables:
            try:
                made = _put_gold_tables(client, slug, name, int(made["version"]), tables, activate=activate)
            except Exception:
                out.note(f"Version {made['version']} is kept as a draft, without what was refused.")
                raise
        _show_gold_version(out, slug, name, made)
        if made.get("status") == "draft":
            out.note(f"Put it into use with: assay gold activate {slug} {made['version']} --phase {name}")


def activate_gold(
    *,
    slug: Slug,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Number of the version.")],
    phase: Phase = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Put a draft of the gold into use."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        _show_gold_version(out, slug, name, client.activate_gold(slug, name, version))


def list_gold(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the versions of a phase's gold, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = list(client.gold_versions(slug, client.phase(slug, phase)))
        out.result(found, lambda console: object_tables.show_gold_versions(console, found))


def _show_gold_version(out: CommandOutput, slug: str, phase: str, made: dict[str, Any]) -> None:
    said = f"Gold version {made.get('version')} of {slug}/{phase}: {made.get('status')}."
    out.result(made, lambda _: out.say(said))
    if made.get("inference"):
        out.note(f"What its scores tell: {made['inference'].get('statement')}")
    for note in _merge_remarks_and_notes(made.get("remarks") or (), made.get("notes") or ()):
        out.note(f"Note: {note}")


def _merge_remarks_and_notes(remarks: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Remarks, then notes; of the two that name the undeclared vocabulary, only the remark, which says more."""
    about = "no classes were declared"
    told = any(remark.lower().startswith(about) for remark in remarks)
    return [*remarks, *(note for note in notes if not (told and note.lower().startswith(about)))]


def _request_body(name: str, value: Any) -> Any:
    """The body that puts an accessory into its place."""
    return {"parents": value} if name == "hierarchy" else value


def _put_gold_tables(
    client: "Client", slug: str, phase: str, version: int, tables: dict[str, Any], *, activate: bool
) -> dict[str, Any]:
    """Give a draft its tables, and put it into use if asked."""
    made: dict[str, Any] = {"version": version}
    for name, content in tables.items():
        made = client.put_gold_table(slug, phase, version, name, content)
    return client.activate_gold(slug, phase, version) if activate else made
