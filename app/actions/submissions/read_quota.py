"""Read the quota usage of a team, and its ledger."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.actions.access import Caller, load_visible_phase, require_scope
from app.actions.submissions.check_quota import quota_day
from app.actions.submissions.read_submissions import own_team_id
from app.store import clock
from app.store.queries import quota
from app.store.session import ReadSession
from app.store.tables import QuotaEntry


@dataclass(frozen=True, slots=True)
class QuotaState:
    """Limit, usage and remainder by the name of the limit; None where there is no limit."""

    limits: dict[str, int | None]
    used: dict[str, int]
    remaining: dict[str, int | None]
    reset_at: datetime
    ledger: list[QuotaEntry]


def read_quota(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> QuotaState:
    """The state of the caller's own team; raises NotFound, and NotRegistered and related errors."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_scope(caller, "read")
    team_id = own_team_id(session, caller, phase)
    day, reset_at = quota_day(phase.challenge.timezone, clock.now(session))
    usage = quota.usage(session, phase.id, team_id, day)
    names = ("per_day", "total", "concurrent", "invalid_per_day")
    used: dict[str, int] = {name: getattr(usage, name) for name in names}
    limits: dict[str, Any] = {name: phase.quota.get(name) for name in used}
    counted = used | {"invalid_per_day": usage.invalid_per_day + usage.concurrent}  # as admission counts
    remaining = {name: None if limit is None else max(0, limit - counted[name]) for name, limit in limits.items()}
    return QuotaState(limits, used, remaining, reset_at, quota.entries(session, phase.id, team_id))
