"""The tables of `assay items`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import UNDEFINED, Column, score_column, show_table

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN_PAIRS = 20


def system_name(found: Mapping[str, Any], at: int) -> str:
    """The name of a system by its position: that of its file, or of its team."""
    system = found["systems"][at]
    return str(system["system"] if "system" in system else system["team"]["name"])


def labels_text(labels: list[str] | None) -> str:
    """The labels of one answer."""
    return UNDEFINED if labels is None else "{" + ", ".join(labels) + "}" if len(labels) != 1 else labels[0]


def _answers(item: Mapping[str, Any]) -> str:
    wrong = [f"{labels_text(each['labels'])} ({each['votes']})" for each in item["answers"] if not each["right"]]
    return ", ".join(wrong) or UNDEFINED


def show_items(console: "Console", found: Mapping[str, Any]) -> None:
    """Print how many instances are suspect, then the instances."""
    counts, items = found["counts"], found["items"]
    console.print(
        f"{found['instances']:,} instances, {len(found['systems']):,} systems. No system is right on "
        f"{counts['none_right']:,}, all are on {counts['all_right']:,}; on {counts['suspect']:,} more systems give one "
        "wrong answer than are right.",
        **PLAIN,
    )
    if not items:
        return
    columns = [
        Column("instance", [item["id"] for item in items], wrap=True),
        Column("gold", [labels_text(item["gold"]) for item in items], wrap=True),
        Column("right", [f"{item['right']}/{item['systems']}" for item in items], right=True),
        Column("instead", [_answers(item) for item in items], wrap=True),
        score_column("suspicion", [item["suspicion"] for item in items]),
        score_column("discrimination", [item["discrimination"] for item in items]),
    ]
    show_table(console, columns)


def show_agreement(console: "Console", found: Mapping[str, Any]) -> None:
    """Print Fleiss' kappa, then the pairs that agree most."""
    kappa = found["fleiss_kappa"]
    text = UNDEFINED if kappa is None else f"{kappa:.6g}"
    console.print(f"Fleiss' kappa of {len(found['systems']):,} systems: {text}", **PLAIN)
    pairs = sorted(found["pairs"], key=lambda pair: -pair["agreement"])[:_SHOWN_PAIRS]
    if not pairs:
        return
    columns = [
        Column("system", [system_name(found, pair["a"]) for pair in pairs], wrap=True),
        Column("and", [system_name(found, pair["b"]) for pair in pairs], wrap=True),
        score_column("agreement", [pair["agreement"] for pair in pairs]),
        score_column("kappa", [pair["kappa"] for pair in pairs]),
        score_column("error overlap", [pair["error_overlap"] for pair in pairs]),
    ]
    show_table(console, columns)
    if len(found["pairs"]) > len(pairs):
        console.print(f"… {len(found['pairs']) - len(pairs):,} more pairs; --json has all", **PLAIN)


def show_near_duplicates(console: "Console", found: Mapping[str, Any]) -> None:
    """Print how many pairs share more errors than independent systems, then the closest pairs."""
    console.print(f"{found['reported']:,} of {found['compared']:,} pairs are near-duplicates.", **PLAIN)
    console.print(clean(found["meaning"]), **PLAIN)
    pairs = found["pairs"][:_SHOWN_PAIRS]
    if not pairs:
        return
    verdicts = ["identical" if pair["identical"] else "near" if pair["reported"] else "" for pair in pairs]
    columns = [
        Column("system", [system_name(found, pair["a"]) for pair in pairs], wrap=True),
        Column("and", [system_name(found, pair["b"]) for pair in pairs], wrap=True),
        Column("verdict", verdicts),
        Column("same errors", [f"{pair['same_wrong']}/{pair['either_wrong']}" for pair in pairs], right=True),
        score_column("expected", [pair["expected"] for pair in pairs]),
        score_column("deviations", [pair["deviations"] for pair in pairs]),
    ]
    show_table(console, columns)


def show_relabelling(console: "Console", found: Mapping[str, Any]) -> None:
    """Print what changes, then each system with its rank and first metric before and after."""
    changes, sizes, metric, rows = found["changes"], found["instances"], found["ranked_by"][0], found["rows"]
    console.print(
        f"{changes['relabelled']:,} relabelled, {changes['voided']:,} voided, {changes['unchanged']:,} unchanged; "
        f"instances: {sizes['before']:,} before, {sizes['after']:,} after. {found['moved']:,} rows would move.",
        **PLAIN,
    )
    values = [row["values"].get(metric, {"before": None, "after": None}) for row in rows]
    columns = [
        Column("rank", [row["rank"]["after"] or UNDEFINED for row in rows], right=True),
        Column("before", [row["rank"]["before"] or UNDEFINED for row in rows], right=True),
        Column("system", [system_name(found, row["system"]) for row in rows], wrap=True),
        score_column(f"{metric} before", [value["before"] for value in values]),
        score_column("after", [value["after"] for value in values]),
    ]
    show_table(console, columns)
