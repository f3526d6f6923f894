"""Commands of organizers: create a challenge, upload its gold labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import inputs, show
from app.cli.connection import connected
from app.cli.options import AsJson, Phase, Slug, Token, Url
from app.cli.output import reporting

if TYPE_CHECKING:
    from app.client import Client


def create_challenge(
    file: Annotated[
        Path, typer.Option("--file", "-f", exists=True, dir_okay=False, help="The challenge, in YAML or JSON.")
    ],
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Create a challenge from its description."""
    from app.cli.yaml_file import load

    with reporting(as_json=as_json) as out:
        body = load(file)
        with connected(out, url, token) as client:
            made = client.create_challenge(body)
        out.result(made, lambda console: show.challenge(console, made))
        for warning in made.get("warnings") or ():
            out.note(f"Warning: {warning}")


def upload_gold(
    *,
    slug: Slug,
    file: Annotated[
        Path,
        typer.Option("--file", "-f", exists=True, dir_okay=False, help="True labels: .json, .jsonl, .csv, also .gz."),
    ],
    phase: Phase = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", exists=True, dir_okay=False, help="JSON list of the classes.")
    ] = None,
    train_frequencies: Annotated[
        Path | None, typer.Option("--train-frequencies", exists=True, dir_okay=False, help="JSON {label: count}.")
    ] = None,
    class_weights: Annotated[
        Path | None, typer.Option("--class-weights", exists=True, dir_okay=False, help="JSON {label: weight}.")
    ] = None,
    activate: Annotated[
        bool, typer.Option("--activate/--draft", help="Put it into use at once, or keep a draft.")
    ] = True,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Upload the true labels of a phase as a new version."""
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        tables = _tables(classes, train_frequencies, class_weights)
        name = client.phase(slug, phase)
        with out.upload_bar(f"Uploading {file.name}", then="Checking") as progress:
            made = client.upload_gold(slug, name, file, activate=activate and not tables, progress=progress)
        if tables:
            made = _complete(client, slug, name, int(made["version"]), tables, activate=activate)
        said = f"Gold version {made.get('version')} of {slug}/{name}: {made.get('status')}."
        out.result(made, lambda _: out.say(said))
        for note in [*(made.get("remarks") or ()), *(made.get("notes") or ())]:
            out.note(f"Note: {note}")


def _tables(classes: Path | None, train_frequencies: Path | None, class_weights: Path | None) -> dict[str, Any]:
    """What goes with the gold, by the name of its resource; read before anything is sent."""
    given: dict[str, Any] = {}
    if classes is not None:
        given["classes"] = inputs.strings(classes)
    if train_frequencies is not None:
        given["train-frequencies"] = inputs.frequencies(train_frequencies)
    if class_weights is not None:
        given["class-weights"] = inputs.weights(class_weights)
    return given


def _complete(
    client: "Client", slug: str, phase: str, version: int, tables: dict[str, Any], *, activate: bool
) -> dict[str, Any]:
    """Give a draft its tables, and put it into use if asked."""
    made: dict[str, Any] = {"version": version}
    for name, content in tables.items():
        made = client.put_gold_table(slug, phase, version, name, content)
    return client.activate_gold(slug, phase, version) if activate else made
