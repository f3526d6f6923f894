"""Tables of switches and of versions of recipes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.table_layout import Column, show_table, time_column

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]


def show_switches(console: "Console", switches: Sequence[Json]) -> None:
    """Print the switches of a board."""
    columns = [
        Column("switch", [row["number"] for row in switches], right=True),
        Column("status", [row["status"] for row in switches]),
        *(
            Column(title, [_from_to(row, name) for row in switches])
            for title, name in (("gold", "gold"), ("recipe", "recipe"), ("scorer", "scorer_version"))
        ),
        time_column("switched", [row.get("switched_at") for row in switches], drop_priority=1),
        Column("by", [row.get("requested_by") or "" for row in switches]),
        Column("reason", [row.get("reason") or "" for row in switches]),
    ]
    show_table(console, columns)


def _from_to(row: Json, name: str) -> str:
    """A version before and after; one number if it did not change."""
    before, after = (row.get("from") or {}).get(name), row["to"][name]
    return str(after) if before in {None, after} else f"{before} → {after}"


def show_recipe_versions(console: "Console", versions: Sequence[Json]) -> None:
    """Print the versions of the recipes of a challenge and its phases."""
    columns = [
        Column("version", [row["version"] for row in versions], right=True),
        Column("status", [row["status"] for row in versions]),
        Column("phase", [row.get("phase") or "shared" for row in versions]),
        Column("primary", [_name(row["primary"]) for row in versions]),
        Column("metrics", [len(row["metrics"]) for row in versions], right=True),
        Column("selection", [row["selection"] for row in versions]),
    ]
    show_table(console, columns)


def _name(metric: Any) -> str:
    return str(metric.get("name") if isinstance(metric, dict) else metric)
