"""Shows what was checked in an archive of a phase, and its scores beside those that were computed again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
MAX_FAULTS = 50
OUTCOMES = {
    "same": "the same digits",
    "different": "DIFFERENT",
    "other_scorer": "another scorer version, other values",
    "no_file": "the archive has no file",
    "refused": "the file has problems",
}


def show_verification(console: "Console", found: Json) -> None:
    """Print what an archive holds, and each fault."""
    from app.scoring.declaration.metric_syntax import pluralize

    about = f"{clean(found['challenge'])}, phase {clean(found['phase'])}, exported {clean(found['exported_at'])}"
    console.print(f"Archive of {about}", **PLAIN)
    nouns = ("member", "gold version", "submission", "receipt", "frozen board")
    counts = [pluralize(found[noun.replace(" ", "_") + "s"], noun) for noun in nouns]
    console.print(", ".join(counts), **PLAIN)
    if found["files_missing"]:
        deleted = pluralize(found["files_missing"], "file was", "files were")
        console.print(f"{deleted} deleted before the export.", **PLAIN)
    told = {
        "commitments": ("gold_versions", "gold versions are those that their commitments name"),
        "signatures": ("receipts", "receipts are signed by the keys given"),
        "logged": ("receipts", "receipts are in the log with the key given"),
    }
    for name, (of, text) in told.items():
        if found[name]:
            console.print(f"{found[name]} of {found[of]} {text}.", **PLAIN)
    for fault in found["faults"][:MAX_FAULTS]:
        console.print(f"Fault: {clean(fault)}", **PLAIN)
    if len(found["faults"]) > MAX_FAULTS:
        console.print(f"and {len(found['faults']) - MAX_FAULTS} more faults", **PLAIN)
    console.print("The archive is damaged or was changed." if found["faults"] else "Everything fits.", **PLAIN)


def show_archived_scores(console: "Console", rows: Sequence[Json]) -> None:
    """Print each archived score with the outcome of computing it again, and the values that differ."""
    from app.scoring.declaration.metric_syntax import pluralize

    columns = [
        Column("submission", [row["submission"] for row in rows]),
        Column("team", [row["team"] for row in rows], wrap=True, drop_priority=2),
        Column("method", [row["method"] for row in rows], wrap=True, drop_priority=1),
        Column("gold", [row["gold_version"] for row in rows], right=True),
        Column("recipe", [row["recipe_version"] for row in rows], right=True),
        Column("scorer", [row["scorer_version"] for row in rows], right=True, drop_priority=3),
        Column("split", [row["split"] for row in rows]),
        Column("result", [OUTCOMES[row["outcome"]] for row in rows], wrap=True),
    ]
    show_table(console, columns)
    for row in rows:
        for metric, values in row["differences"].items():
            told = f"archived {values['archived']}, computed {values['computed']}"
            console.print(f"{clean(row['submission'])} {row['split']} {clean(metric)}: {told}", **PLAIN)
    instances = {row["submission"]: row["instances"] for row in rows if row["instances"]}
    for submission, outcome in instances.items():
        if outcome != "same":
            told = "other classes than gold and predictions give"
            console.print(f"{clean(submission)} instances: {told}", **PLAIN)
    console.print(f"{len(rows)} scores: {_told(row['outcome'] for row in rows)}", **PLAIN)
    if instances:
        console.print(f"{pluralize(len(instances), 'file')} of instances: {_told(instances.values())}", **PLAIN)


def _told(outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    return "; ".join(f"{counts[name]} {text}" for name, text in OUTCOMES.items() if counts[name]) or "none"
