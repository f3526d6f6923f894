"""Printing former and frozen boards, and how ranks changed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_numbers, format_time, show_table, time_column

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
_MAX_MOVES = 3  # of one point


def show_former(console: "Console", board: Json) -> None:
    """Print which former board it is, and what it lacks; nothing for the present one."""
    if board.get("former"):
        console.print(clean(board["former"]["meaning"]), **PLAIN)
    if board.get("unscored"):
        console.print(f"Submissions without scores by these versions: {board['unscored']}.", **PLAIN)


def show_rank_history(console: "Console", history: Json) -> None:
    """Print the changes of a board, oldest first."""
    points: Sequence[Json] = history["points"]
    columns = [
        time_column("time", [point["at"] for point in points]),
        Column("what", [point["kind"].replace("_", " ") for point in points]),
        Column("team", [point["team"]["name"] if point["team"] else "" for point in points], wrap=True),
        Column("ranks since then", [_moves(point) for point in points], wrap=True),
        Column("entries", [point["entries"] for point in points], format_numbers, right=True, drop_priority=3),
        Column("versions", [_versions(point) for point in points], drop_priority=2),
        Column("reason", [point["reason"] or "" for point in points], wrap=True, drop_priority=1),
    ]
    title = f"{history['challenge']} / {history['phase']}, ranked by {history['primary']}: {history['total']} changes"
    show_table(console, columns, title=title, more="--json")
    console.print("Versions: gold, recipe, scorer.", **PLAIN)


def show_frozen_boards(console: "Console", boards: Sequence[Json]) -> None:
    """Print the frozen boards of a phase, newest first."""
    if not boards:
        console.print("The phase has no frozen boards.", **PLAIN)
        return
    columns = [
        Column("number", [board["number"] for board in boards], format_numbers, right=True),
        Column("title", [board["title"] for board in boards], wrap=True),
        time_column("frozen", [board["frozen_at"] for board in boards]),
        Column("superseded by", [board["superseded_by"] for board in boards], format_numbers, right=True),
        Column("SHA-256", [board["sha256"][:12] for board in boards], drop_priority=1),
        Column("reason", [board["reason"] for board in boards], wrap=True, drop_priority=2),
    ]
    show_table(console, columns, title="Frozen boards", more="--json")


def show_frozen_board(console: "Console", board: Json) -> None:
    """Print a frozen board: its rows, and how to cite it."""
    content: Json = board["content"]
    rows: Sequence[Json] = content["rows"]
    primary = content["primary"]
    columns = [
        Column("rank", ["" if row["rank"] is None else row["rank"] for row in rows], format_numbers, right=True),
        Column("team", [f"{row['team']}{_mark(row)}" for row in rows], wrap=True),
        Column("method", [row["method"] for row in rows], wrap=True),
        *(
            Column(metric["key"], [row["scores"].get(metric["key"], {}).get("value") or "" for row in rows], right=True)
            for metric in sorted(content["metrics"], key=lambda metric: metric["key"] != primary)
        ),
        Column("entries", [row["entries"] for row in rows], format_numbers, right=True, drop_priority=1),
    ]
    show_table(console, columns, title=f"{board['title']} ({content['split']})", more="--json or --csv")
    lines = [
        (
            f"Gold version {content['gold_version']}, recipe version {content['recipe_version']}, "
            f"scorer version {content['scorer_version']}. Frozen at {format_time(board['frozen_at'])} UTC: {board['reason']}"
        ),
        f"Cite it as: {board['citation']}",
    ]
    if board["superseded_by"] is not None:
        lines.append(f"It is superseded by frozen board {board['superseded_by']}.")
    for line in lines:
        console.print(clean(line), **PLAIN)


def _mark(row: Json) -> str:
    mark = "baseline" if row["baseline"] else row["mark"]
    return f" ({mark})" if mark else ""


def _versions(point: Json) -> str:
    return f"{point['gold_version']}, {point['recipe_version']}, {point['scorer_version']}"


def _moves(point: Json) -> str:
    changes: Sequence[Json] = point["changes"]
    shown = [f"{each['team']['name']}: {each['rank'] or each['mark'] or '-'}" for each in changes[:_MAX_MOVES]]
    more = len(changes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
