"""Shows registrations on a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_time, show_table, time_column
from app.text.email_addresses import DELETED_DOMAIN

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def show_registrations(console: "Console", rows: Sequence[Json]) -> None:
    """Print a list of registrations, with the answers to what the challenge asks."""
    answers = ["; ".join(f"{name}: {value}" for name, value in (row.get("fields") or {}).items()) for row in rows]
    columns = [
        Column("user", [_user(row, short=True) for row in rows]),
        Column("team", [_team(row) for row in rows], wrap=True),
        Column("status", [row.get("status") for row in rows]),
        Column("reason", [row.get("reason") for row in rows], wrap=True),
        *([Column("answers", answers, wrap=True)] if any(answers) else []),
        Column("terms", [row.get("terms_version") for row in rows], drop_priority=1),
        time_column("registered", [row.get("created_at") for row in rows], drop_priority=2),
        Column("id", [row.get("id") for row in rows], drop_priority=3),
    ]
    show_table(console, columns)


def _user(row: Json, *, short: bool = False) -> str:
    """Who is registered; that an account was deleted stands in its name, and its address is none."""
    name, email = str(row["user"]["name"]), str(row["user"]["email"])
    if email.endswith(f"@{DELETED_DOMAIN}"):
        return name
    return email if short else f"{name} <{email}>"


def _team(row: Json) -> str:
    return str((row.get("team") or {}).get("name") or "")


def show_registration(console: "Console", row: Json) -> None:
    """Print one registration with its history."""
    accepted = row.get("terms_accepted_at")
    facts = {
        "team": _team(row) or "none",
        "status": row.get("status"),
        "reason": row.get("reason"),
        "needs permission to join another team": "yes" if row.get("bound_team_id") else None,
        "terms": f"version {row.get('terms_version')}, accepted {format_time(accepted)} UTC" if accepted else None,
        **(row.get("fields") or {}),
    }
    console.print(f"{clean(_user(row))} ({clean(row.get('id'))})", **PLAIN)
    for name, value in facts.items():
        if value is not None:
            console.print(f"{clean(name)}: {clean(value)}", **PLAIN)
    history: Sequence[Json] = row.get("history") or ()
    columns = [
        time_column("when", [act.get("at") for act in history]),
        Column("what", [act.get("action") for act in history]),
        Column("by", [act.get("role") for act in history]),
        Column("why", [act.get("reason") for act in history], wrap=True),
    ]
    show_table(console, columns)
