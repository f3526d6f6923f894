"""Shows imports of phases on a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_time, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def show_imports(console: "Console", rows: Sequence[Json]) -> None:
    """Print imports."""
    if not rows:
        console.print("No imports.", **PLAIN)
        return
    columns = [
        Column("id", [row["id"] for row in rows]),
        Column("status", [row["status"] for row in rows]),
        Column("source", [_phase(row) for row in rows], wrap=True),
        Column("challenge", [row["challenge"] or row["slug"] for row in rows], wrap=True),
        Column("scored", [_scored(row) for row in rows], right=True, drop_priority=1),
        Column("requested (UTC)", [format_time(row["requested_at"]) for row in rows], drop_priority=2),
    ]
    show_table(console, columns)


def show_import(console: "Console", row: Json) -> None:
    """Print one import, with why it failed, and with the ids at its source if they were read."""
    console.print(f"Import {clean(row['id'])}: {clean(row['status'])}", **PLAIN)
    console.print(f"From {clean(_source(row))}, exported {format_time(row['origin']['exported_at'])} UTC", **PLAIN)
    if row["status"] == "running":
        console.print(f"{clean(row['stage'].capitalize())}, {_scored(row)} submissions scored", **PLAIN)
    if row["status"] == "done":
        where = f"challenge {clean(row['challenge'])}, phase {clean(row['phase'])}"
        console.print(f"Imported as {where}: {_scored(row)} submissions, all scores the same digits", **PLAIN)
    failure = row.get("failure")
    if failure:
        console.print(f"Nothing was imported. {clean(failure['detail'])}", **PLAIN)
        if failure.get("remedy"):
            console.print(clean(failure["remedy"]), **PLAIN)
    if row.get("ids"):
        names = {"kind": "kind", "origin_id": "id at the source", "local_id": "id here"}
        show_table(console, [Column(label, [each[name] for each in row["ids"]]) for name, label in names.items()])


def _source(row: Json) -> str:
    return _phase(row) + (f" of {row['origin']['url']}" if row["origin"]["url"] else "")


def _phase(row: Json) -> str:
    return f"{row['origin']['challenge']}/{row['origin']['phase']}"


def _scored(row: Json) -> str:
    return f"{row['done']} of {row['total']}" if row["total"] else str(row["done"])
