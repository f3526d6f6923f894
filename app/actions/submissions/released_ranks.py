"""The ranks that submissions and reports show after the final release: the private one, with the public one beside it."""

import threading
from typing import NamedTuple

from cachetools import TTLCache

from app.actions.submissions.board_scores import split_standings
from app.actions.submissions.score_visibility import is_board_visible
from app.store import clock
from app.store.queries import audit_entries
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import ReadSession
from app.store.tables import Phase


class ReleasedRanks(NamedTuple):
    """The ranks of a submission that counts for its team; None where another one counts, or none of them has a rank."""

    rank: int | None
    public_rank: int | None


NO_RANKS = ReleasedRanks(None, None)


Ranks = dict[str, ReleasedRanks]
"""By submission id."""

# All teams read their submissions at once after a release, and each rank takes the standings of both splits. Every act
# that changes a rank has an entry in the audit trail; what a rescoring adds to the scores shows after a second.
_known: TTLCache[tuple[str, str | None], Ranks] = TTLCache(maxsize=32, ttl=1.0)
_lock = threading.Lock()


def released_ranks(session: ReadSession, phase_id: str, *, organizer: bool) -> Ranks:
    """The ranks of all submissions; none before the release, and none for readers who may not see the board.

    As on the board, the public rank beside a private one is that of the team, which another submission may have got.
    """
    phase = session.get_one(Phase, phase_id)
    of = active_version(session, phase)
    if phase.released_at is None or of is None or not of.gold.has_splits:
        return {}
    if not is_board_visible(phase, clock.now(session), organizer=organizer):
        return {}
    key = (phase.id, audit_entries.last_id(session, phase.challenge_id))
    with _lock:
        found = _known.get(key)
        if found is None:
            found = _known[key] = _ranks(session, phase, of)
        return found


def _ranks(session: ReadSession, phase: Phase, of: BoardVersion) -> Ranks:
    private, public = (split_standings(session, phase, of, split)[0] for split in ("private", "public"))
    of_team = {each.entry.team: each.rank for each in public if each.rank is not None}
    found = {each.entry.submission: ReleasedRanks(None, each.rank) for each in public if each.rank is not None}
    counting = (each for each in private if each.rank is not None)
    return found | {each.entry.submission: ReleasedRanks(each.rank, of_team.get(each.entry.team)) for each in counting}
