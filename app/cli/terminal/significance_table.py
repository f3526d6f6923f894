"""Printing how sure the order of a leaderboard is."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.order_tables import show_rankings
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_numbers, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
PENDING = "pending"


def show_significance(console: "Console", found: Json) -> None:
    """Print rank sets, values with intervals and tie groups, then what a reader may conclude and what that rests on."""
    rows: Sequence[Json] = found["rows"]
    columns = [
        Column("ranks", [_span(row.get("rank_low"), row.get("rank_high")) for row in rows]),
        Column("team", [row["team"]["name"] for row in rows], wrap=True),
        Column("value", [row.get("value") for row in rows], format_numbers, right=True),
        Column("95 % interval", [_interval(row) for row in rows]),
        Column("rank", [row.get("rank") for row in rows], format_numbers, right=True),
        Column("tie group", [row.get("tie_group") for row in rows], format_numbers, right=True, drop_priority=1),
        Column("entries", [row["entries"] for row in rows], format_numbers, right=True, drop_priority=2),
    ]
    title = f"{found['challenge']} / {found['phase']}, {found['metric']} ({found['split']}): {found['status']}"
    if rows:
        show_table(console, columns, title=title, more="--json")
    else:
        console.print(clean(title), **PLAIN)
    rests_on, choice = found["rests_on"], found["selection"]
    sentences = [found["reason"], found["conclusion"], *(rests_on["notes"] or ()), choice["meaning"] if rows else None]
    for sentence in filter(None, sentences):
        console.print(clean(sentence), **PLAIN)
    if rests_on["n"] is not None:
        console.print(clean(_basis(rests_on, found["draw_seed"])), **PLAIN)


def show_board_rankings(console: "Console", found: Json) -> None:
    """Print the ranked rows under every metric of the recipe, how far the rankings agree, and the pairs that flip."""
    console.print(clean(f"{found['challenge']} / {found['phase']} ({found['split']}): {found['status']}"), **PLAIN)
    result = found["result"]
    for sentence in filter(None, [found["reason"], result.get("reason")]):
        console.print(clean(sentence), **PLAIN)
    if not result.get("rows"):
        return
    names = {row["row"]: row["team"]["name"] for row in found["rows"]}
    primary = found["primary"]
    rows = [{**row, "system": names[row["key"]]} for row in result["rows"]]
    rows.sort(key=lambda row: row["ranks"].get(primary) or len(rows) + 1)
    flips = [{**flip, "a": names[flip["a"]], "b": names[flip["b"]]} for flip in result["flips"]]
    metrics = sorted(result["metrics"], key=lambda metric: metric["metric"] != primary)
    show_rankings(console, {**result, "rows": rows, "flips": flips, "metrics": metrics}, noun="team")


def _basis(rests_on: Json, seed: str) -> str:
    if rests_on["groups"] is None:
        return f"{rests_on['n']:,} instances, {rests_on['draws']:,} draws, draw seed {seed}."
    groups = f"{rests_on['groups']:,} groups"
    return f"{rests_on['n']:,} instances in {groups}, {rests_on['draws']:,} draws, draw seed {seed}."


def _span(low: int | None, high: int | None) -> str:
    if low is None or high is None:
        return PENDING
    return str(low) if low == high else f"{low} to {high}"


def _interval(row: Json) -> str:
    low, high = row.get("low"), row.get("high")
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
