"""What a code admits to, for whoever holds it."""

from typing import NamedTuple

from app.actions.access import Caller, load_challenge_with_code, load_visible_challenge
from app.actions.accounts.issue_token import hash_token_secret
from app.actions.invitations.codes import require_usable
from app.errors import InvalidInvitation, NotFound, Renamed
from app.store.queries import invitations
from app.store.session import ReadSession
from app.store.tables import Challenge, Team


class InvitationTarget(NamedTuple):
    """What the code of an invitation admits to; challenge and team are None if the caller may not learn them."""

    kind: str
    """`site`, `challenge` or `team`."""
    challenge: Challenge | None
    team: Team | None


def read_invitation(session: ReadSession, caller: Caller, code: str) -> InvitationTarget:
    """What a code admits to, if it can be used now; raises InvalidInvitation.

    A user learns the challenge that the code invites to. The code of a team shows no challenge that the user does not
    see: a captain admits nobody to it. Visitors learn the kind alone.
    """
    row = invitations.by_hash(session, hash_token_secret(code))
    if row is None:
        raise InvalidInvitation
    require_usable(session, code, row.kind, challenge_id=row.challenge_id)
    if row.challenge_id is None or caller.user_id is None:
        return InvitationTarget(row.kind, None, None)
    slug = session.get_one(Challenge, row.challenge_id).slug
    try:
        if row.kind == "challenge":
            challenge = load_challenge_with_code(session, caller, slug, code_hash=row.code_hash)
        else:
            challenge = load_visible_challenge(session, caller, slug)
    except (NotFound, Renamed):
        return InvitationTarget(row.kind, None, None)
    team = None if row.team_id is None else session.get(Team, row.team_id)
    return InvitationTarget(row.kind, challenge, team)
