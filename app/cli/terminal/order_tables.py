"""The tables of `assay order`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.analysis.order.html_report import first_share_text, interval_text, notes_on_systems, rank_set_text
from app.analysis.order.rankings_text import (
    flip_count,
    flip_text,
    metric_strings,
    rankings_sentence,
    tau_rows_text,
    tau_text,
)
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import UNDEFINED, Column, score_column, show_table

if TYPE_CHECKING:
    from rich.console import Console

_LISTED_FLIPS = 10


def show_order(console: "Console", report: Mapping[str, Any]) -> None:
    """Print the conclusion and one row per system, its rank set first."""
    rows = report["rows"]
    console.print(clean(report["conclusion"]), **PLAIN)
    shares = [first_share_text(row) or UNDEFINED for row in rows]
    columns = [
        Column("ranks", [rank_set_text(row) or UNDEFINED for row in rows]),
        Column("system", [row["system"] for row in rows], wrap=True),
        score_column("value", [row["value"] for row in rows]),
        Column("95 % interval", [interval_text(row) or UNDEFINED for row in rows], drop_priority=1),
        Column("tie group", [row["tie_group"] for row in rows], right=True, drop_priority=2),
        Column("first", shares, right=True, drop_priority=3),
    ]
    show_table(console, columns)
    console.print(_sizes(report), **PLAIN)
    for note in notes_on_systems(rows):
        console.print(clean(note), **PLAIN)
    if "rankings" in report:
        console.print()
        show_rankings(console, report["rankings"])


def show_rankings(console: "Console", rankings: Mapping[str, Any], *, noun: str = "system") -> None:
    """Print ranks by each metric, how far the rankings agree, and the pairs that flip; `noun`: what is ranked."""
    metrics, rows, flips = metric_strings(rankings), rankings["rows"], rankings["flips"]
    console.print(clean(rankings_sentence(rankings)), **PLAIN)
    ranks = [Column(text, [row["ranks"][text] for row in rows], right=True) for text in metrics]
    names = Column(noun, [row["system"] for row in rows], wrap=True)
    show_table(console, [names, *ranks], title="Ranks by each metric; 1 is best")
    taus = [Column(text, [tau_text(rankings, one, text) for one in metrics], right=True) for text in metrics]
    title = f"Kendall's tau-b between the rankings, {tau_rows_text(rankings)}"
    show_table(console, [Column("metric", metrics), *taus], title=title)
    for note in rankings["notes"]:
        console.print(clean(note), **PLAIN)
    for flip in flips[:_LISTED_FLIPS]:
        console.print(clean(flip_text(flip)), **PLAIN)
    if len(flips) > _LISTED_FLIPS:
        more, limit = flip_count(rankings) - _LISTED_FLIPS, len(flips)
        console.print(f"… {more:,} more flips; --json has {limit - _LISTED_FLIPS:,} of them", **PLAIN)


def _sizes(report: Mapping[str, Any]) -> str:
    groups = "" if report["groups"] is None else f", groups: {report['groups']:,}"
    return f"instances: {report['n']:,}{groups}, bootstrap draws: {report['draws']:,}"
