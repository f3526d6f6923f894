"""Commands about recipes: that of a challenge, and those of phases that have their own."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, NamedPhase, Slug, Token, Url, file_option
from app.cli.switch import Confirm, ListsInstances, PublicReason, Timeout, Wait, wait_for_switches
from app.cli.terminal import version_tables
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
    draft: Annotated[bool, typer.Option("--draft", help="Leave it a draft in any case.")] = False,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Store a recipe for a challenge or for one phase, active at once unless submissions need new scores for it."""
    from app.cli.input.yaml_file import load_description

    with command_output(as_json=as_json) as out:
        body = load_description(file)
        with connect_client(out, url, token) as client:
            recipe = client.put_recipe(slug, body, phase, draft=draft, reason=reason)
        out.result(recipe, lambda console: print_recipe(console, recipe))
        if recipe.get("status") == "draft":
            version = recipe["version"]
            out.note(f"It is a draft. See what it would change: assay recipe preview {slug} {version} --wait")
            out.note(f"Then activate it: assay recipe activate {slug} {version} --reason …")


def list_versions(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the versions of the recipes of a challenge and its phases, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        versions = list(client.recipe_versions(slug))
        out.result(versions, lambda console: version_tables.show_recipe_versions(console, versions))


def activate_recipe(
    *,
    slug: Slug,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Version number.")],
    reason: PublicReason = None,
    lists_instances: ListsInstances = False,
    wait: Wait = False,
    confirm: Confirm = False,
    timeout: Timeout = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Activate a draft or a former version of a recipe, for all phases that it scores.

    With --wait, the exit status is 1 if submissions cannot be scored, and 3 if --timeout expires first.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        recipe = client.activate_recipe(slug, version, reason=reason, lists_instances=lists_instances)
        status = 0
        if wait and recipe.get("switches"):
            switches = [(str(each["phase"]), int(each["number"])) for each in recipe["switches"]]
            status = wait_for_switches(out, client, slug, switches, confirm=confirm, timeout=timeout, reason=reason)
            recipe = client.recipe_version(slug, version)
        out.result(recipe, lambda _: out.say(f"Recipe version {version} of {slug}: {recipe.get('status')}."))
        if status:
            raise typer.Exit(status)


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
