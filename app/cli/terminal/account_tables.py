"""Shows accounts, tokens and invitations on a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.table_layout import Column, show_table, time_column

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def _column(rows: Sequence[Json], name: str, **layout: Any) -> Column:
    return Column(name, [row.get(name) for row in rows], **layout)


def show_users(console: "Console", users: Sequence[Json]) -> None:
    """Print a list of accounts."""
    states = [
        ", ".join(
            word
            for word, applies in (
                ("administrator", user.get("admin")),
                ("approved", user.get("approved") and not user.get("admin")),
                ("disabled", user.get("disabled_at")),
            )
            if applies
        )
        for user in users
    ]
    columns = [
        _column(users, "email"),
        _column(users, "name", wrap=True),
        Column("state", states),
        time_column("created", [user.get("created_at") for user in users], drop_priority=1),
        _column(users, "id", drop_priority=2),
    ]
    show_table(console, columns)


def show_tokens(console: "Console", tokens: Sequence[Json]) -> None:
    """Print a list of tokens."""
    columns = [
        _column(tokens, "id"),
        _column(tokens, "name", wrap=True),
        Column("scopes", [" ".join(token.get("scopes") or ()) for token in tokens], drop_priority=1),
        time_column("last used", [token.get("last_used_at") for token in tokens]),
        time_column("expires", [token.get("expires_at") for token in tokens]),
    ]
    show_table(console, columns)


def show_invitations(console: "Console", invitations: Sequence[Json]) -> None:
    """Print a list of invitations."""
    uses = [f"{row.get('uses')} of {row.get('max_uses') or 'any number'}" for row in invitations]
    columns = [
        _column(invitations, "id"),
        _column(invitations, "note", wrap=True),
        Column("used", uses),
        time_column("expires", [row.get("expires_at") for row in invitations]),
    ]
    show_table(console, columns)
