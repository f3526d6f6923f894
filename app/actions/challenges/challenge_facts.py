"""How a challenge stands now, for its organizers."""

from dataclasses import dataclass
from datetime import timedelta

from app.actions.access import Caller, load_organized_challenge
from app.actions.submissions.check_quota import quota_day
from app.store import clock
from app.store.queries import challenge_counts, challenges, teams
from app.store.session import ReadSession


@dataclass(frozen=True, slots=True)
class ChallengeFacts:
    """Numbers of teams and of their submissions. Tests by organizers and baselines do not count."""

    teams: int
    pending_registrations: int
    submissions: int
    today: int
    """Since midnight in the time zone of the challenge."""
    waiting: int
    """Queued or running."""
    failed: int
    """Not scored, through no fault of the team: to be scored again."""


def read_challenge_facts(session: ReadSession, caller: Caller, slug: str) -> ChallengeFacts:
    """The facts for organizers of any role; raises NotFound and Forbidden."""
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    phase_ids = [phase.id for phase in challenges.phases_of(session, challenge.id)]
    midnight = quota_day(challenge.timezone, clock.now(session))[1] - timedelta(days=1)
    rows = challenge_counts.by_status(session, phase_ids, midnight)
    total = {row.status: row.total for row in rows}
    return ChallengeFacts(
        teams=teams.count_teams(session, challenge.id),
        pending_registrations=challenge_counts.pending_registrations(session, challenge.id),
        submissions=sum(total.values()),
        today=sum(row.recent for row in rows),
        waiting=total.get("queued", 0) + total.get("running", 0),
        failed=total.get("failed", 0),
    )
