"""Tables of what other versions change: previews and errata."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_time, score_column, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
MAX_SAME = 10
"""How many rows that do not move a table shows."""
_KINDS = {
    "relabelled": "relabelled",
    "reweighted": "re-weighted",
    "voided": "no longer scored",
    "restored": "scored again",
    "moved": "moved to another split",
}


def show_previews(console: "Console", previews: Sequence[Json]) -> None:
    """Print the previews of one version in several phases."""
    for preview in previews:
        show_preview(console, preview)


def show_preview(console: "Console", preview: Json) -> None:
    """Print what a switch would change in one phase, the rows that move first."""
    _say(console, f"{preview['challenge']}/{preview['phase']}: {_versions(preview)}")
    progress = preview["progress"]
    if preview["status"] == "scoring":
        _say(console, f"{progress['scored']} of {progress['total']} submissions are scored.")
        return
    if preview["failure"]:
        _say(console, str(preview["failure"].get("detail")))
        return
    if preview["outdated"]:
        _say(console, f"Outdated. {preview['remedy']}")
    changes = preview["gold_changes"]
    if changes is not None:
        _say(console, f"Gold: {_gold_sentence(changes['counts'])}.")
    result = preview["result"]
    for split, part in result["splits"].items():
        show_difference(console, part, "" if split == "all" else split)
    if result["ladder"] is not None:
        show_difference(console, result["ladder"], "shown under the Ladder")
    for row in result["unscored"]:
        _say(console, f"Cannot be scored: {row['submission']} of {row['team']['name']}.")
    for row in result["empty_predictions"]:
        _say(console, f"{row['predictions']} predictions count as empty: {row['submission']} of {row['team']['name']}.")


def show_errata(console: "Console", errata: Sequence[Json]) -> None:
    """Print corrections, each with the ranks that moved."""
    if not errata:
        _say(console, "Nothing was corrected.")
    for each in errata:
        head = f"{each['phase']}, switch {each['number']} of {format_time(each['switched_at'])} UTC: {_versions(each)}"
        _say(console, head)
        if each["reason"]:
            _say(console, each["reason"])
        if each["gold_changes"] is not None:
            _say(console, f"Gold: {_gold_sentence(each['gold_changes']['counts'])}.")
        for kind, ids in (each["instances"] or {}).items():
            if ids:
                _say(console, f"{_KINDS.get(kind, kind)}: {', '.join(ids)}")
        if each["recipe_changes"] is not None:
            _show_recipe_changes(console, each["recipe_changes"])
        if each["withheld"]:
            _say(console, each["withheld"])
        for split, part in each["boards"].items():
            title = "shown under the Ladder" if each["ladder"] else "" if split == "all" else split
            show_difference(console, part, title)


def show_difference(console: "Console", part: Json, title: str) -> None:
    """Print the rows of a board that move, and the first ones that do not."""
    counts = part["counts"]
    moved = [row for row in part["rows"] if row["change"] not in {None, "same"}]
    same = [row for row in part["rows"] if row["change"] == "same"][:MAX_SAME]
    sentence = (
        f"{counts['moved']} of {counts['ranked_after']} ranks move, the largest by {counts['largest_move']}; "
        f"{counts['entered']} enter, {counts['left']} leave"
    )
    lead = "; another leader" if part["leaders"]["changed"] else ""
    _say(console, f"{title + ': ' if title else ''}{sentence}{lead}.")
    rows = moved + same
    if rows:
        show_table(console, _columns(part, rows))


def _say(console: "Console", text: str) -> None:
    console.print(clean(text), **PLAIN)


def _columns(part: Json, rows: Sequence[Json]) -> list[Column]:
    metrics = _shown_metrics(part)
    return [
        Column("rank", [_rank(row) for row in rows], right=True),
        Column("move", [_move(row) for row in rows], right=True),
        Column("team", [row["team"]["name"] for row in rows], wrap=True),
        *(
            score_column(f"{metric} {side}", [_value(row, side, metric) for row in rows], drop_priority=place)
            for place, metric in enumerate(metrics)
            for side in ("before", "after")
        ),
    ]


def _shown_metrics(part: Json) -> list[str]:
    """The metrics that rank the boards, then those that both boards have."""
    sides = [
        dict.fromkeys(name for row in part["rows"] if row[side] for name in row[side]["scores"])
        for side in ("before", "after")
    ]
    common = [name for name in sides[1] if name in sides[0]]
    return list(dict.fromkeys([part["primary"]["after"], part["primary"]["before"], *common]))


def _rank(row: Json) -> str:
    before, after = (None if row[side] is None else row[side]["rank"] for side in ("before", "after"))
    return f"{before or '–'} → {after or '–'}"  # noqa: RUF001 - an en dash on purpose


def _move(row: Json) -> str:
    if row["change"] in {"entered", "left"}:
        return str(row["change"])
    return f"{row['move']:+d}" if row["move"] else "0"


def _value(row: Json, side: str, metric: str) -> Any:
    found = row[side]
    return None if found is None else found["scores"].get(metric, {}).get("value")


def _versions(row: Json) -> str:
    before, after = row["from"] or {}, row["to"]
    words = {"gold": "gold", "recipe": "recipe", "scorer_version": "scorer"}
    parts = [
        f"{word} {before.get(name)} → {after[name]}" for name, word in words.items() if before.get(name) != after[name]
    ]
    return ", ".join(parts) or "the same versions"


def _gold_sentence(counts: Mapping[str, int]) -> str:
    return (
        ", ".join(f"{count} {_KINDS.get(kind, kind)}" for kind, count in counts.items() if count)
        or "no instance changed"
    )


def _show_recipe_changes(console: "Console", changes: Json) -> None:
    parts = [f"+ {text}" for text in changes["metrics_added"]] + [f"- {text}" for text in changes["metrics_removed"]]
    parts += [f"{name}: {pair['before']} → {pair['after']}" for name, pair in changes["changed"].items()]
    _say(console, f"Recipe: {'; '.join(parts) or 'no metric changed'}.")
