"""Commands that show leaderboards, now and formerly, and freeze them."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.connection import connect_client
from app.cli.options import AsJson, Phase, Reason, Slug, Token, Url
from app.cli.terminal import board_tables, object_tables
from app.cli.terminal.output import EXIT_FAILED, CommandError, CommandOutput, command_output
from app.cli.terminal.significance_table import show_board_rankings, show_significance

if TYPE_CHECKING:
    from rich.console import Console

    from app.client import Json

_Metric = Annotated[
    str | None, typer.Option("--metric", metavar="KEY", help="Rank by this metric (default: the primary one).")
]
_Split = Annotated[
    str | None, typer.Option("--split", metavar="SPLIT", help="public, private or all, if visible to you.")
]
_Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, max=200, help="Only the first N rows (default: all).")
]
_Cursor = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="The rows after a page: its 'next' (see --json).")
]
_AsCsv = Annotated[bool, typer.Option("--csv", help="Print the leaderboard as CSV.")]
_AsLatex = Annotated[bool, typer.Option("--latex", help="Print the leaderboard as a LaTeX table.")]
_Significance = Annotated[
    bool, typer.Option("--significance", help="Show how sure the order is: rank sets, intervals and tie groups.")
]
_Rankings = Annotated[
    bool, typer.Option("--rankings", help="Show the ranks by every metric side by side, and which pairs flip.")
]
_History = Annotated[bool, typer.Option("--history", help="Show how the ranks changed over time, and by what.")]
_AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="The board as it was then, such as 2027-03-01T12:00:00Z."),
]
_GoldVersion = Annotated[
    int | None, typer.Option("--gold-version", metavar="N", min=1, help="By this gold version, once in force.")
]
_RecipeVersion = Annotated[
    int | None, typer.Option("--recipe-version", metavar="N", min=1, help="By this recipe version, once in force.")
]


def _check_views(views: dict[str, bool], *, metric: str | None, is_part: bool, is_former: bool) -> None:
    """Refuse options that a view of the whole board has no use for."""
    chosen = [option for option, is_chosen in views.items() if is_chosen]
    if len(chosen) > 1:
        raise typer.BadParameter(f"use only one of {' and '.join(chosen)}")
    for option in chosen:
        if is_part:
            raise typer.BadParameter(f"{option} shows everything, as a table or with --json")
        if is_former:
            raise typer.BadParameter(f"{option} is not available for former boards")
        if metric is not None and option != "--significance":
            raise typer.BadParameter(f"{option} takes no metric", param_hint="--metric")


def leaderboard(
    *,
    slug: Slug,
    phase: Phase = None,
    metric: _Metric = None,
    split: _Split = None,
    limit: _Limit = None,
    cursor: _Cursor = None,
    as_csv: _AsCsv = False,
    as_latex: _AsLatex = False,
    significance: _Significance = False,
    rankings: _Rankings = False,
    history: _History = False,
    as_of: _AsOf = None,
    gold_version: _GoldVersion = None,
    recipe_version: _RecipeVersion = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboard of a phase, best first: now, at a former time, or by former versions."""
    if as_csv + as_latex + as_json > 1:
        raise typer.BadParameter("use only one of --csv, --latex and --json")
    is_part = as_csv or as_latex or limit is not None or cursor is not None
    former = {"as_of": as_of, "gold_version": gold_version, "recipe_version": recipe_version}
    views = {"--significance": significance, "--rankings": rankings, "--history": history}
    _check_views(views, metric=metric, is_part=is_part, is_former=any(former.values()))
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        if significance or rankings or history:
            read_all: Callable[..., Json] = client.rank_history if history else client.rankings
            show: Callable[[Console, Json], None] = board_tables.show_rank_history if history else show_board_rankings
            if significance:
                read_all, show = partial(client.significance, metric=metric), show_significance
            found = read_all(slug, name, split=split)
            out.result(found, lambda console: show(console, found))
            return
        filters = {"metric": metric, "split": split, "limit": limit, "cursor": cursor, **former}
        if as_csv or as_latex:
            read = client.leaderboard_csv if as_csv else client.leaderboard_latex
            sys.stdout.write(read(slug, name, **filters))
            return
        board = client.leaderboard(slug, name, **filters)
        out.result(board, lambda console: _show_board(console, board))
        if board.get("next") is not None:
            shown = f"{len(board['rows'])} of {board['total']} rows"
            out.notes([f"These are {shown}; the next ones: --cursor {board['next']}"])


def _show_board(console: "Console", board: "Json") -> None:
    object_tables.show_board(console, board)
    board_tables.show_former(console, board)


def freeze(
    *,
    slug: Slug,
    reason: Reason,
    phase: Phase = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Default: the names of challenge and phase.")
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Freeze the final board of a phase, to be cited.

    It is stored as participants see it, with a hash of its content, and never changes.
    After a correction freeze it again: the new frozen board supersedes the old one, which stays.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.freeze_board(slug, client.phase(slug, phase), reason, title)
        out.result(found, lambda console: board_tables.show_frozen_board(console, found))


def frozen(
    *,
    slug: Slug,
    key: Annotated[
        str | None, typer.Argument(metavar="NUMBER", help="Number or hash of a frozen board (default: list all).")
    ] = None,
    phase: Phase = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print its rows as CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print its rows as a LaTeX table.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List the frozen boards of a phase, or show one."""
    if as_csv + as_latex + as_json > 1:
        raise typer.BadParameter("use only one of --csv, --latex and --json")
    if key is None and (as_csv or as_latex):
        raise typer.BadParameter("name a frozen board", param_hint="NUMBER")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        if key is None:
            listed = list(client.frozen_boards(slug, name))
            out.result(listed, lambda console: board_tables.show_frozen_boards(console, listed))
        elif as_csv or as_latex:
            sys.stdout.write(client.frozen_board_text(slug, name, key, "csv" if as_csv else "latex"))
        else:
            found = client.frozen_board(slug, name, key)
            out.result(found, lambda console: board_tables.show_frozen_board(console, found))


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A frozen board as JSON.", exists=True, dir_okay=False)],
    sha256: Annotated[
        str | None,
        typer.Option("--sha256", metavar="HASH", help="The hash that was cited (default: that in the file)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the hash of a frozen board again, without a service.

    FILE is what 'assay board frozen SLUG NUMBER --json' prints, or its 'content' alone with --sha256.
    """
    with command_output(as_json=as_json) as out:
        found, expected = _read_frozen(file)
        expected = sha256 or expected
        if expected is None:
            raise CommandError("no_hash", f"{file.name} names no hash.", "Give the one that was cited with --sha256.")
        is_same = found == expected.lower()
        out.result({"valid": is_same, "sha256": found, "expected": expected}, lambda _: _say_verified(out, found))
        if not is_same:
            out.note(f"{file.name} is not the frozen board with the hash {expected}.")
            raise typer.Exit(EXIT_FAILED)


def _say_verified(out: CommandOutput, found: str) -> None:
    out.say(f"The content has the SHA-256 {found}.")


def _read_frozen(file: Path) -> tuple[str, str | None]:
    """The hash of the content in a file, and the hash that the file names."""
    from app.text.canonical_json import content_hash

    try:
        document = json.loads(file.read_bytes())
        is_whole = isinstance(document, dict) and "content" in document
        content = document["content"] if is_whole else document
        named = document.get("sha256") if is_whole else None
        return content_hash(content), named if isinstance(named, str) else None
    except (ValueError, RecursionError) as fault:
        raise CommandError("syntax", f"{file.name} is not JSON: {fault}", "Save the frozen board again.") from fault
