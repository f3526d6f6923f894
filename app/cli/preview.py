"""Commands that preview what other gold or another recipe would change, and that show what corrections changed."""

import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, Phase, Slug, Token, Url
from app.cli.terminal.correction_tables import show_errata, show_previews
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandOutput, command_output

Json = dict[str, Any]
POLL_SECONDS = 0.3
GoldVersion = Annotated[
    int | None,
    typer.Argument(
        metavar="[VERSION]",
        min=1,
        help="Version number (default: the newest draft).",
        autocompletion=completion.gold_versions,
    ),
]
RecipeVersion = Annotated[
    int | None, typer.Argument(metavar="[VERSION]", min=1, help="Version number (default: the newest draft).")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is computed.")]
Again = Annotated[bool, typer.Option("--again", help="Compute it again, even if nothing has changed since.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum seconds for --wait.")
]


def preview_gold(
    *,
    slug: Slug,
    version: GoldVersion = None,
    phase: Phase = None,
    wait: Wait = False,
    again: Again = False,
    timeout: Timeout = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show what a version of the gold would change: scores, ranks, and who would move; nothing is activated.

    Only organizers see it. With --wait, the exit status is 3 if --timeout expires first.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        number = version or _newest_draft(
            list(client.gold_versions(slug, name)), f"{slug}/{name} has no draft of its gold"
        )
        preview = _computed(
            lambda: client.gold_preview(slug, name, number),
            lambda: client.preview_gold(slug, name, number),
            again=again,
        )
        if wait:
            preview = _wait(out, preview, lambda: client.gold_preview(slug, name, number), timeout)
        _show(out, preview, [preview], f"assay gold preview {slug} {number} --phase {name} --wait", wait=wait)


def preview_recipe(
    *,
    slug: Slug,
    version: RecipeVersion = None,
    wait: Wait = False,
    again: Again = False,
    timeout: Timeout = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show what a version of a recipe would change in each phase that it scores; nothing is activated.

    Only organizers see it. With --wait, the exit status is 3 if --timeout expires first.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        number = version or _newest_draft(list(client.recipe_versions(slug)), f"{slug} has no draft of a recipe")
        preview = _computed(
            lambda: client.recipe_preview(slug, number), lambda: client.preview_recipe(slug, number), again=again
        )
        if wait:
            preview = _wait(out, preview, lambda: client.recipe_preview(slug, number), timeout)
        _show(out, preview, preview["phases"], f"assay recipe preview {slug} {number} --wait", wait=wait)


def errata(*, slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show what corrections changed on the boards of a challenge, why, and which ranks moved, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = list(client.errata(slug, phase=phase))
        out.result(found, lambda console: show_errata(console, found))


def _newest_draft(versions: list[Json], missing: str) -> int:
    drafts = [int(row["version"]) for row in versions if row["status"] == "draft"]
    if not drafts:
        raise typer.BadParameter(f"{missing}, so name a version", param_hint="VERSION")
    return max(drafts)


def _computed(read: Callable[[], Json], start: Callable[[], Json], *, again: bool) -> Json:
    """The last preview if it still holds, otherwise one that is computed now."""
    from app.client import ApiError

    try:
        found = read()
    except ApiError as error:
        if error.status != 404:
            raise
        return start()
    phases = found.get("phases", [found])
    holds = all(each["status"] == "scoring" or (each["status"] == "done" and not each["outdated"]) for each in phases)
    return found if holds and not again else start()


def _wait(out: CommandOutput, preview: Json, read: Callable[[], Json], timeout: float | None) -> Json:
    deadline = None if timeout is None else time.monotonic() + timeout
    with out.count_bar("Scoring") as progress:
        while preview["status"] == "scoring" and (deadline is None or time.monotonic() < deadline):
            counts = [each["progress"] for each in preview.get("phases", [preview])]
            progress(*(sum(each[name] for each in counts) for name in ("scored", "total")))
            time.sleep(POLL_SECONDS)
            preview = read()
    return preview


def _show(out: CommandOutput, preview: Json, phases: list[Json], follow: str, *, wait: bool) -> None:
    out.result(preview, lambda console: show_previews(console, phases))
    if preview["status"] == "scoring":
        out.note(f"It is being computed. Follow it with: {follow}")
        raise typer.Exit(EXIT_STILL_WAITING if wait else 0)
    if preview["status"] == "failed":
        raise typer.Exit(EXIT_FAILED)
