"""Shows phases and their final release on a terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.object_tables import list_classes, phase_state, quota_words
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, show_table, time_in_zones

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def show_phase(console: "Console", phase: Json) -> None:
    """Print one phase."""
    facts = {
        "slug": phase["slug"],
        "state": phase_state(phase),
        "paused at": time_in_zones(phase, "paused_at"),
        "reason of the pause": phase["pause_reason"],
        "opens": time_in_zones(phase, "opens_at"),
        "closes": time_in_zones(phase, "closes_at") or "never",
        "late submissions": {"refuse": "refused", "unofficial": "scored and marked, not ranked"}[phase["late"]],
        "quota": quota_words(phase["quota"]),
        "leaderboard": phase["leaderboard"] + (", anonymous" if phase["anonymous"] else ""),
        "reports": ", ".join(phase["reports"]),
        "private scores released": time_in_zones(phase, "released_at"),
        "task": phase["task"],
        "positive label": phase["positive_label"],
        "classes": list_classes(phase["classes"]),
        "recipe": "its own" if phase["own_recipe"] else "that of the challenge",
    }
    console.print(clean(phase["name"]), **PLAIN)
    for name, value in facts.items():
        if value is not None:
            console.print(f"{name}: {clean(value)}", **PLAIN)


def show_ladder(console: "Console", found: Json) -> None:
    """Print how many submissions of each team were released, and what the Ladder guarantees."""
    if found["ladder"] is None:
        console.print(f"The recipe of the phase {clean(found['phase'])} has no Ladder: scores are shown.", **PLAIN)
        return
    rows = found["teams"]
    columns = [
        Column("team", [row["team"]["name"] for row in rows], wrap=True),
        *(Column(name, [row[name] for row in rows], right=True) for name in ("submissions", "releases", "waiting")),
        Column("best so far", [row["value"] for row in rows], right=True),
    ]
    show_table(console, columns)
    for sentence in (found["ladder"]["meaning"], found["guarantee"]):
        console.print(clean(sentence), **PLAIN)


def show_release(console: "Console", release: Json) -> None:
    """Print both ranks of each team, and the state of the release."""
    rows = release["rows"]
    columns = [
        Column("private", [row["mark"] or row["private_rank"] for row in rows], right=True),
        Column("public", [row["public_rank"] for row in rows], right=True),
        Column(
            "move",
            [None if row["move"] is None else f"{row['move']:+d}".replace("+0", "0") for row in rows],
            right=True,
        ),
        Column("team", [row["team"]["name"] + (" (baseline)" if row["baseline"] else "") for row in rows], wrap=True),
        Column("submission", [row["submission"] for row in rows]),
    ]
    show_table(console, columns)
    console.print(clean(release["selection"]["meaning"]), **PLAIN)
    if release["released_at"] is not None:
        console.print(f"Released at {clean(time_in_zones(release, 'released_at'))}.", **PLAIN)
    if release["choices_until"] is not None:
        until = clean(time_in_zones(release, "choices_until"))
        console.print(f"Teams may select entries that were scored after the close until {until}.", **PLAIN)
    for obstacle in release["obstacles"]:
        console.print(f"Not yet: {clean(obstacle['detail'])}", **PLAIN)
