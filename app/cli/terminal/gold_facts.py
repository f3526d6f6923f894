"""Shows on a terminal what the service read from a file of gold labels."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, show_table
from app.text.visible_labels import visible_label

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LISTED = 20
_MAX_CLASSES = 30
_KINDS = ("relabelled", "reweighted", "voided", "restored", "moved")


def show_gold(console: "Console", gold: Mapping[str, Any]) -> None:
    """Print the facts about a version of the gold, one a line."""
    for name, value in _facts(gold).items():
        if value is not None:
            console.print(f"{name}: {clean(value)}", **PLAIN)
    if gold.get("difference"):
        show_gold_difference(console, gold["difference"], gold.get("classes") or [])


def show_gold_difference(console: "Console", difference: Mapping[str, Any], classes: Sequence[str]) -> None:
    """Print how a version differs from the one that it follows: the counts, and the classes that gained or lost."""
    counts: Mapping[str, int] = difference.get("counts") or {}
    said = ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS if counts.get(kind)) or "no instance changed"
    console.print(f"compared with version {difference.get('base')}: {said}", **PLAIN)
    if difference.get("metadata"):
        console.print(f"metadata changed: {clean(', '.join(difference['metadata']))}", **PLAIN)
    before, after = (_sums(difference, side) for side in ("before", "after"))
    rows = [row for row in zip(classes, before, after, strict=False) if row[1] != row[2]]
    if not rows:
        return
    shown = rows[:_MAX_CLASSES]
    columns = [Column("class", [visible_label(row[0]) for row in shown], wrap=True)]
    columns += [Column(name, [row[at] for row in shown], right=True) for at, name in ((1, "before"), (2, "after"))]
    show_table(console, columns)
    if len(rows) > len(shown):
        console.print(f"{len(rows) - len(shown)} more classes changed.", **PLAIN)


def _sums(difference: Mapping[str, Any], side: str) -> list[int]:
    """How many instances of all splits have each class."""
    by_split = (difference.get("class_counts") or {}).get(side) or {}
    return [sum(numbers) for numbers in zip(*by_split.values(), strict=True)]


def _facts(gold: Mapping[str, Any]) -> dict[str, Any]:
    classes = gold.get("classes") or []
    listed = ", ".join(visible_label(str(name)) for name in classes[:_MAX_LISTED]) + (
        ", ..." if len(classes) > _MAX_LISTED else ""
    )
    public, instances = gold.get("public_instances"), gold.get("instances")
    splits = "none"
    if gold.get("has_splits"):
        splits = "public and private" if public is None else f"{public} public, {int(instances or 0) - public} private"
    return {
        "version": f"{gold.get('version')} ({gold.get('status')})",
        "format": gold.get("format"),
        "instances": instances,
        "void": gold.get("void_instances") or None,
        "classes": f"{len(classes)}: {listed}" if classes else None,
        "splits": splits,
        "weights": "of instances" if gold.get("weighted") else "none",
        "metadata": ", ".join(gold.get("accessories") or ()) or None,
    }
