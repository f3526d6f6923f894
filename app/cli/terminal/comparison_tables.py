"""The table of `assay compare`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean, describe_size
from app.cli.terminal.table_layout import Column, format_numbers, score_column, show_table

if TYPE_CHECKING:
    from rich.console import Console

_LEVEL = 0.05


def show_comparison(console: "Console", report: Mapping[str, Any], omitted: int) -> None:
    """Print the comparison of two systems, and what it says in words; `omitted` metrics apply and were not compared."""
    console.print(describe_size(report), **PLAIN)
    for name in ("a", "b"):
        console.print(f"{name}: {clean(report['files'][name])}", **PLAIN)
    metrics = report["metrics"]
    rows = list(metrics.values())
    columns = [Column("metric", list(metrics))]
    columns += [score_column(name, [row[name] for row in rows]) for name in ("a", "b")]
    columns += [score_column("a - b", [row["difference"] for row in rows])]
    columns += [score_column(f"{end} 95 %", [row[end] for row in rows]) for end in ("low", "high")]
    columns += [_p_column("p", "p_value", rows)]
    if any(row["mcnemar_p"] is not None for row in rows):
        columns += [_p_column("McNemar p", "mcnemar_p", rows)]
    columns += [
        Column("rounds", [_rounds(row) for row in rows], right=True, drop_priority=1),
        score_column("smallest shown", [row["smallest_difference"] for row in rows], drop_priority=2),
        Column("differ on", [row["discordant"] for row in rows], format_numbers, right=True, drop_priority=3),
    ]
    show_table(console, columns)
    if omitted:
        console.print(f"{omitted} more metrics apply: --all compares them, --metric one.", **PLAIN)
    console.print(f"\nThe test assumes: {report['null_hypothesis']}", **PLAIN)
    console.print(_conclusion(metrics), **PLAIN)


def _p_column(name: str, key: str, rows: list[Mapping[str, Any]]) -> Column:
    return Column(name, [row[key] for row in rows], _format_p, right=True)


def _format_p(values: Any) -> list[str]:
    """P-values with three significant digits."""
    return format_numbers([None if value is None else float(f"{value:.3g}") for value in values])


def _rounds(row: Mapping[str, Any]) -> str:
    """The number of rounds, or that all exchanges were tried."""
    if row["rounds"] is None:
        return ""
    return f"all {row['rounds']}" if row["exact"] else str(row["rounds"])


def _conclusion(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    """What a reader may conclude, in one sentence."""
    tested = {name: row["p_value"] for name, row in metrics.items() if row["p_value"] is not None}
    shown = [name for name, p_value in tested.items() if p_value <= _LEVEL]
    if not tested:
        return "No metric could be tested."
    if not shown:
        return "No difference is shown at the 5 % level. That does not say that the systems are equal."
    if len(tested) == 1:
        return f"The difference in {shown[0]} is significant at the 5 % level."
    return (
        f"Significant at the 5 % level: {', '.join(shown)}. Each metric is tested by itself: with many metrics, some "
        "differences seem significant by chance."
    )
