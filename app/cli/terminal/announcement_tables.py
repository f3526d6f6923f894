"""Shows announcements, files and organizers of a challenge on a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_time, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def show_announcements(console: "Console", rows: Sequence[Json]) -> None:
    """Print announcements with their texts."""
    if not rows:
        console.print("No announcements.", **PLAIN)
    for row in rows:
        edited = f", edited {format_time(row['edited_at'])} UTC" if row.get("edited_at") else ""
        console.print(f"{clean(row['title'])}", **PLAIN)
        console.print(f"  {format_time(row['created_at'])} UTC{edited}, {clean(row['id'])}", **PLAIN)
        for line in str(row["body"]).splitlines():
            console.print(f"  {clean(line)}", **PLAIN)


def show_files(console: "Console", rows: Sequence[Json]) -> None:
    """Print the files of a challenge."""
    columns = [
        Column("name", [row["name"] for row in rows], wrap=True),
        Column("bytes", [row["size"] for row in rows], right=True),
        Column("licence", [row["licence"] for row in rows], wrap=True),
        Column("for", [row["audience"] for row in rows]),
        Column("description", [row["description"] for row in rows], wrap=True, drop_priority=1),
        Column("SHA-256", [row["sha256"] for row in rows], drop_priority=2),
    ]
    show_table(console, columns)


def show_organizers(console: "Console", rows: Sequence[Json]) -> None:
    """Print organizers and their roles."""
    show_table(
        console, [Column(name, [row[name] for row in rows], wrap=name == "name") for name in ("role", "name", "email")]
    )
