"""Shows a recipe on a terminal."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean

if TYPE_CHECKING:
    from rich.console import Console


def show_recipe(console: "Console", recipe: Mapping[str, Any]) -> None:
    """Print the version, the rules and what the scores disclose, one a line."""
    of = f"of the phase {recipe['phase']}" if recipe.get("phase") else "of the challenge"
    console.print(f"recipe {of}, version {clean(recipe.get('version'))}", **PLAIN)
    names = ("primary", "metrics", "tie_breakers", "options", "selection_meaning", "decision", "disclosure", "ladder")
    for name in (*names, "ladder_meaning"):
        value = recipe.get(name)
        if value not in (None, [], {}):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            console.print(f"{name.removesuffix('_meaning').replace('_', '-')}: {clean(shown)}", **PLAIN)
    for bound in recipe.get("inference") or ():
        console.print(f"What scores of {clean(bound.get('phase'))} disclose: {clean(bound.get('statement'))}", **PLAIN)
