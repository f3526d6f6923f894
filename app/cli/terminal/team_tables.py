"""Shows teams on a terminal: members, open invitations and proposals to merge."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_time, show_table, time_column

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]


def show_teams(console: "Console", teams: Sequence[Json]) -> None:
    """Print a list of teams."""
    columns = [
        Column("team", [team.get("name") for team in teams], wrap=True),
        Column("members", [_names(team) for team in teams], wrap=True),
        Column("state", ["disqualified" if team.get("disqualified_at") else "" for team in teams]),
        Column("baseline", ["yes" if team.get("baseline") else "" for team in teams], drop_priority=1),
        time_column("founded", [team.get("created_at") for team in teams], drop_priority=2),
        Column("id", [team.get("id") for team in teams], drop_priority=3),
    ]
    show_table(console, columns)


def _names(team: Json) -> str:
    """The members; the captain is marked."""
    return ", ".join(
        f"{member['name']} (captain)" if member.get("captain") else str(member["name"]) for member in team["members"]
    )


def show_team(console: "Console", team: Json) -> None:
    """Print one team."""
    console.print(f"{clean(team.get('name'))} ({clean(team.get('id'))})", **PLAIN)
    if team.get("disqualified_at"):
        when, why = format_time(team["disqualified_at"]), clean(team.get("disqualified_reason"))
        console.print(f"disqualified on {clean(when)} UTC: {why}", **PLAIN)
    members: Sequence[Json] = team.get("members") or ()
    columns = [
        Column("member", [member.get("name") for member in members], wrap=True),
        Column("role", ["captain" if member.get("captain") else "" for member in members]),
        Column("registration", [member.get("status") for member in members]),
        time_column("joined", [member.get("joined_at") for member in members], drop_priority=1),
        Column("id", [member.get("id") for member in members], drop_priority=2),
    ]
    show_table(console, columns)
    for invitation in team.get("invitations") or ():
        note = f" {clean(invitation['note'])}" if invitation.get("note") else ""
        until = clean(format_time(invitation["expires_at"]))
        console.print(f"Open invitation{note}, until {until} UTC: {clean(invitation.get('id'))}", **PLAIN)
    for proposal in team.get("merges") or ():
        first, second = clean(proposal["team"]["name"]), clean(proposal["with"]["name"])
        console.print(f"Proposed: {second} becomes part of {first}; the captain of {second} has to agree.", **PLAIN)
