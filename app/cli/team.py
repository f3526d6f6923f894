"""Commands about teams: members, invitations, captaincy and merges; for organizers also the quota of one team."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import (
    AsJson,
    AuditReason,
    InvitationNote,
    OfTeam,
    OptionalReason,
    Phase,
    Reason,
    ReasonOfOrganizer,
    Slug,
    TeamInvitationDays,
    TeamName,
    Token,
    Url,
)
from app.cli.terminal import object_tables, team_tables
from app.cli.terminal.output import CommandError, command_output
from app.text.close_matches import near_names

if TYPE_CHECKING:
    from app.client import Client, Json

Member = Annotated[
    str,
    typer.Argument(
        metavar="MEMBER", help="Name, e-mail address or id of the member.", autocompletion=completion.members
    ),
]
OtherTeam = Annotated[
    str, typer.Argument(metavar="TEAM", help="Name or id of the other team.", autocompletion=completion.teams)
]


def list_teams(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the teams of a challenge (for participants: your own)."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = list(client.teams(slug))
        out.result(rows, lambda console: team_tables.show_teams(console, rows))


def show_team(slug: Slug, team: OfTeam = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show your team: members, open invitations and proposals to merge."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = find_team(client, slug, team)
        out.result(row, lambda console: team_tables.show_team(console, row))


def invite(
    *,
    slug: Slug,
    note: InvitationNote = "",
    days: TeamInvitationDays = 14,
    team: OfTeam = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make a code that admits one user to your team; for its captain."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        made = client.invite_to_team(slug, find_team(client, slug, team)["id"], note=note, days=days)
        out.result(made, lambda _: out.say(str(made["code"])))
        out.note(f"It admits one user and is not shown again: assay register {slug} --invitation {made['code']}")


def revoke(
    *,
    slug: Slug,
    invitation: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Id of the invitation: assay team show.", autocompletion=completion.invitations_to_team
        ),
    ],
    team: OfTeam = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Revoke an invitation to your team that was not used; for its captain."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.revoke_team_invitation(slug, find_team(client, slug, team)["id"], invitation, reason=reason)
        out.done("revoked", invitation, f"The invitation {invitation} is revoked.")


def leave(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Leave your team; your registration stays.

    After the team has used quota, you need an organizer's permission to join or found another one.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = find_team(client, slug, None)
        client.remove_member(slug, row["id"], str(client.me()["id"]))
        out.done("left", row["id"], f"You left {row['name']}.")


def remove(
    *,
    slug: Slug,
    member: Member,
    reason: ReasonOfOrganizer = None,
    team: OfTeam = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Remove a member from your team; for its captain and for organizers."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = find_team(client, slug, team)
        person = _find_member(row["members"], member)
        client.remove_member(slug, row["id"], person["id"], reason=reason)
        out.done("removed", person["id"], f"{person['name']} is no longer in {row['name']}.")


def hand_over(
    *,
    slug: Slug,
    member: Member,
    team: OfTeam = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Hand over the captaincy of your team to another member."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = find_team(client, slug, team)
        person = _find_member(row["members"], member)
        result = client.edit_team(slug, row["id"], captain=person["id"], reason=reason)
        out.result(result, lambda _: out.say(f"{person['name']} is the captain of {row['name']} now."))


def rename(
    *,
    slug: Slug,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    team: OfTeam = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give your team another name; for its captain."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.edit_team(slug, find_team(client, slug, team)["id"], name=name, reason=reason)
        out.result(result, lambda _: out.say(f"The team is called {result['name']} now."))


def merge(
    *,
    slug: Slug,
    other: OtherTeam,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Withdraw your proposal, or decline that of the other team.")
    ] = False,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Propose to merge your team with another one, or agree to its proposal; for captains.

    The team that proposed stays, with its name and captain.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = find_team(client, slug, None)
        if withdraw:
            client.withdraw_merge(slug, row["id"], other, reason=reason)
            out.done("withdrawn", row["id"], f"No merge with {other} is proposed any more.")
            return
        result = client.merge_teams(slug, row["id"], other, reason=reason)
        names = (result["team"]["name"], result["with"]["name"])
        done = f"{names[1]} is part of {names[0]} now."
        waits = f"Proposed. The captain of {names[1]} agrees with: assay team merge {slug} '{names[0]}'"
        out.result(result, lambda _: out.say(done if result["merged"] else waits))


def allow(
    *,
    slug: Slug,
    member: Annotated[
        str,
        typer.Argument(
            metavar="USER",
            help="Name or e-mail address of the user, or id of the registration.",
            autocompletion=completion.registrations,
        ),
    ],
    reason: OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """As an organizer, let a user who left a team that had used quota join or found another one."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        people = [{"id": each["id"], **each["user"]} for each in client.registrations(slug)]
        person = _find_member(people, member, f"assay registration list {slug}")
        result = client.allow_to_join(slug, person["id"], reason=reason)
        out.result(result, lambda _: out.say(f"{person['name']} may join or found another team."))


def find_team(client: "Client", slug: str, name: str | None) -> "Json":
    """The team with this id or name, never a baseline; without a name, the caller's own.

    The id comes first: the name of a team may be the id of another.
    """
    rows = [row for row in client.teams(slug) if not row["baseline"]]
    if name is None:
        own = client.me()["id"]
        found = [row for row in rows if any(each["id"] == own for each in row["members"])]
    else:
        found = [row for field in ("id", "name") for row in rows if row[field] == name]
    if found:
        return found[0]
    if name is None:
        remedy = f"Found one: assay register {slug} --team NAME; organizers name one with --team."
        raise CommandError("no_team", f"You are in no team of {slug}.", remedy)
    hint = near_names(name, [str(row["name"]) for row in rows])
    raise CommandError("not_found", f"{slug} has no team '{name}' that you may see.", hint)


def _find_member(people: Sequence["Json"], name: str, listed_by: str = "assay team show SLUG") -> "Json":
    """The person with this id, e-mail address (in any case) or name; the command `listed_by` lists them."""
    for field in ("id", "email", "name"):
        fold = str.casefold if field == "email" else str
        found = [each for each in people if fold(str(each.get(field) or "")) == fold(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise CommandError("ambiguous", f"Several people are called {name}.", f"Give an id: {listed_by}.")
    raise CommandError("not_found", f"There is nobody called {name} here.", f"'{listed_by}' lists the people.")


def grant_quota(
    *,
    slug: Slug,
    team: TeamName,
    per_day: Annotated[int | None, typer.Option("--per-day", metavar="N", help="Additional submissions a day.")] = None,
    total: Annotated[int | None, typer.Option("--total", metavar="N", help="Additional submissions in total.")] = None,
    reason: Reason,
    phase: Phase = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Grant one team more submissions in a phase, or fewer with a negative number."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        quota = client.grant_quota(slug, client.phase(slug, phase), team, per_day=per_day, total=total, reason=reason)
        out.result(quota, lambda console: object_tables.show_quota(console, quota))
