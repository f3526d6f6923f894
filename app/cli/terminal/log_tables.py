"""Shows records of the transparency log on a terminal."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.table_layout import Column, show_table, time_column

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def show_log_records(console: "Console", records: Sequence[Json]) -> None:
    """Print the records about a challenge: what each says, and where it is in the log."""
    positions = ["pending" if record["position"] is None else record["position"] for record in records]
    columns = [
        time_column("recorded", [record["recorded_at"] for record in records], drop_priority=1),
        Column("phase", [record["phase"] for record in records], drop_priority=3),
        Column("kind", [record["kind"] for record in records]),
        Column("says", [_summary(record) for record in records], drop_priority=2),
        Column("position", positions, right=True),
        Column("id", [record["id"] for record in records]),
    ]
    show_table(console, columns)


def _summary(record: Json) -> str:
    """The versions that a record names; the whole record is in the JSON."""
    said = json.loads(record["record"] or "{}")
    if record["kind"] == "switch":
        before = f" from {_versions(said['from'])}" if "from" in said else ""
        return f"number {said['number']}{before} to {_versions(said['to'])}"
    if record["kind"] == "gold":
        return f"gold {said['version']} is {said['commitment'][:16]}…"
    if record["kind"] == "release":
        return f"gold {said['gold_version']}, recipe {said['recipe_version']}, scorer {said['scorer_version']}"
    return f"number {said['number']} is {said['sha256'][:16]}…"


def _versions(of: Json) -> str:
    return f"gold {of['gold']}, recipe {of['recipe']}, scorer {of['scorer_version']}"
