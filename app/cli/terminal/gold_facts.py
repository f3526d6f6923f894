"""Shows on a terminal what the service read from a file of gold labels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LISTED = 20


def show_gold(console: "Console", gold: Mapping[str, Any]) -> None:
    """Print the facts about a version of the gold, one a line."""
    for name, value in _facts(gold).items():
        if value is not None:
            console.print(f"{name}: {clean(value)}", **PLAIN)


def _facts(gold: Mapping[str, Any]) -> dict[str, Any]:
    classes = gold.get("classes") or []
    listed = ", ".join(map(str, classes[:_MAX_LISTED])) + (", ..." if len(classes) > _MAX_LISTED else "")
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
