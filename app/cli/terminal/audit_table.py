"""Shows the audit trail on a terminal."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN
from app.cli.terminal.table_layout import Column, format_time, show_table, time_column

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]

MAX_VALUE_LENGTH = 60
_HASH = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT.*Z")


def show_trail(console: "Console", entries: Sequence[Json], *, with_challenge: bool) -> None:
    """Print entries: when, who, what, and why."""
    if not entries:
        console.print("No entries match.", **PLAIN)
        return
    columns = [
        time_column("time", [entry.get("at") for entry in entries]),
        Column("who", [_who(entry) for entry in entries], wrap=True),
        Column("action", [f"{entry.get('action')} {_object(entry)}".rstrip() for entry in entries], wrap=True),
        Column("changes and reason", [_details(entry) for entry in entries], wrap=True),
        Column("id", [entry.get("id") for entry in entries], drop_priority=1),
    ]
    if with_challenge:
        columns.insert(1, Column("challenge", [_slug(entry.get("challenge")) for entry in entries], wrap=True))
    show_table(console, columns)


def _who(entry: Json) -> str:
    actor = entry.get("actor")
    return str(entry.get("role")) if not actor else f"{actor.get('name') or actor['id']} ({entry.get('role')})"


def _object(entry: Json) -> str:
    """What was changed by its name, or else what it belongs to: of a submission the phase, the team and the id."""
    thing = entry.get("object")
    if thing is None:
        return ""
    if thing["type"] == "challenge":
        return ""
    user, team, phase = entry.get("user"), entry.get("team"), _slug(entry.get("phase"))
    parts = [phase] if phase and thing["type"] != "phase" else []
    if thing.get("name"):
        parts.append(str(thing["name"]))
    elif thing["type"] != "submission" and user:
        parts.append(str(user.get("name") or user["id"]))
    else:
        parts += [str(team.get("name") or team["id"])] if team else []
        parts.append(str(thing["id"]))
    return ", ".join(parts)


def _slug(place: Json | None) -> str:
    return "" if place is None else str(place.get("slug") or place["id"])


def _details(entry: Json) -> str:
    names = entry.get("names") or {}
    changes = entry.get("changes") or {}
    parts = [
        f"{name}: {_change(pair, names)}"
        for name, pair in changes.items()
        if not (name == "reason" and entry.get("reason") and pair.get("to") == entry["reason"])
    ]
    parts += [f"reason: {entry['reason']}"] if entry.get("reason") else []
    return "; ".join(parts)


def _change(pair: Json, names: Json) -> str:
    before, after = (_value(pair.get(end), names) for end in ("from", "to"))
    if pair.get("from") is None:
        return after
    return f"{before} → {after}"


def _value(value: Any, names: Json) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = ", ".join(str(names.get(each, each)) for each in value) or "none"
    elif isinstance(value, str):
        text = _text(value, names)
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


def _text(value: str, names: Json) -> str:
    """A text with a name for an id, a time in UTC, and the beginning of a hash."""
    if _HASH.fullmatch(value):
        return f"{value[:12]}…"
    return f"{format_time(value)} UTC" if _TIME.fullmatch(value) else str(names.get(value, value))
