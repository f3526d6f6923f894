"""Read teams: an organizer all of a challenge, a member their own, with members, invitations and proposals."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.actions.access import Caller, is_organizer, load_visible_challenge, require_scope
from app.store import clock
from app.store.queries import invitations, memberships, paging, team_merges, teams
from app.store.queries.memberships import Member
from app.store.queries.team_merges import Proposal
from app.store.session import ReadSession
from app.store.tables import Invitation, Team


@dataclass(frozen=True, slots=True)
class TeamView:
    """A team with what its members see of it."""

    team: Team
    members: list[Member]
    invitations: list[Invitation]
    proposals: list[Proposal]


def list_teams(
    session: ReadSession, caller: Caller, slug: str, *, limit: int, cursor: str | None
) -> tuple[list[TeamView], bool, str | None]:
    """The teams of a challenge for its organizers, the caller's own for everybody else, with the next cursor.

    The second value says whether the caller reads as an organizer.
    """
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "read")
    organizer = is_organizer(session, caller, challenge)
    query = teams.teams_of(challenge.id)
    if not organizer:
        registration = teams.registration_of(session, challenge.id, user_id)
        query = query.where(Team.id == (registration.team_id if registration is not None else None))
    rows, following = paging.page(session, query, Team, limit=limit, cursor=cursor)
    return view_teams(session, rows), organizer, following


def view_teams(session: ReadSession, rows: Sequence[Team]) -> list[TeamView]:
    """These teams with their members, open invitations and open proposals, in four statements for any number."""
    ids = [team.id for team in rows]
    members = memberships.members_by_team(session, ids)
    open_codes = invitations.open_of_teams(session, ids, clock.steady(session))
    proposals = team_merges.open_proposals(session, ids)
    return [
        TeamView(
            team,
            members[team.id],
            [each for each in open_codes if each.team_id == team.id],
            [each for each in proposals if team.id in {each.merge.team_id, each.merge.other_team_id}],
        )
        for team in rows
    ]
