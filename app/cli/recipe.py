"""Commands about recipes: that of a challenge, and those of phases that have their own."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, NamedPhase, Slug, Token, Url, file_option
from app.cli.terminal.output import command_output
from app.cli.terminal.recipe_facts import show_recipe as print_recipe

OfPhase = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="PHASE",
        help="Phase (default: the recipe that the phases share).",
        autocompletion=completion.phases,
    ),
]


def show_recipe(
    slug: Slug, phase: OfPhase = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Show the recipe of a challenge or of one phase: metrics, ranking rules and what scores disclose."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        recipe = client.recipe(slug, phase)
        out.result(recipe, lambda console: print_recipe(console, recipe))


def set_recipe(
    *,
    slug: Slug,
    file: Annotated[Path, file_option("--file", "-f", help="Recipe in YAML or JSON.")],
    phase: OfPhase = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Activate a recipe for a challenge, or for one phase alone."""
    from app.cli.input.yaml_file import load_description

    with command_output(as_json=as_json) as out:
        body = load_description(file)
        with connect_client(out, url, token) as client:
            recipe = client.put_recipe(slug, body, phase, reason=reason)
        out.result(recipe, lambda console: print_recipe(console, recipe))


def drop_recipe(
    *,
    slug: Slug,
    phase: NamedPhase,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Return a phase to the recipe of its challenge."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        recipe = client.drop_recipe(slug, phase, reason=reason)
        out.result(recipe, lambda console: print_recipe(console, recipe))
