"""The rule of admission: who may submit to a phase, for which team, when, and how much."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.actions.access import (
    Caller,
    effective_role,
    load_visible_challenge,
    phase_not_found,
    require_administrator,
    require_approved_status,
    require_may_write,
    require_not_archived,
    require_scope,
    require_team_in_competition,
    require_visible_context,
)
from app.actions.challenges.resolve_times import times_of_error
from app.actions.submissions.check_quota import QuotaBalance, quota_balance, quota_day
from app.errors import (
    NoGold,
    NoOpenPhase,
    NoTeam,
    NotRegistered,
    PhasePaused,
    SeveralOpenPhases,
)
from app.store import clock
from app.store.queries import admission as admission_queries
from app.store.queries import challenges, teams
from app.store.queries.admission import AdmissionFacts
from app.store.queries.phase_for_user import PhaseContext
from app.store.session import ReadSession
from app.store.tables import Challenge, Phase, Submission


@dataclass(frozen=True, slots=True)
class SubmissionMetadata:
    """What a submitter states about a submission, besides its file."""

    method: str
    description: str = ""
    link: str | None = None
    team: str | None = None
    baseline: bool = False
    test: bool = False

    @property
    def is_for_organizers(self) -> bool:
        """Whether only an organizer may send it: for a team of others, as a baseline or as a test."""
        return self.team is not None or self.baseline or self.test


@dataclass(frozen=True, slots=True)
class Admission:
    """Permission to submit to a phase for the team of this name."""

    context: PhaseContext
    name: str
    by_organizer: bool

    @property
    def gold_id(self) -> str:
        """The active gold; raises NoGold."""
        if self.context.gold_id is None:
            raise NoGold
        return self.context.gold_id


@dataclass(frozen=True, slots=True)
class Sender:
    """Who submits, and what admission to the phase of the request depends on."""

    caller: Caller
    facts: AdmissionFacts


def only_open_phase(session: ReadSession, caller: Caller, slug: str, *, key: str | None) -> str:
    """The slug of the only open phase; raises NoOpenPhase, SeveralOpenPhases.

    A retry with a known Idempotency-Key goes to the phase of the first request, whichever phases are open now.
    """
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "submit") if key else ""
    stored = admission_queries.load_facts(session, user_id, slug, "", key).key if key else None
    if stored is not None:
        phase = session.get_one(Phase, session.get_one(Submission, stored.submission_id).phase_id)
        if phase.challenge_id == challenge.id:
            return phase.slug
    require_not_archived(challenge)
    open_now = challenges.open_phases(session, challenge.id, clock.now(session))
    if not open_now:
        raise _no_open_phase(session, challenge)
    accepting = [phase for phase in open_now if phase.paused_at is None]
    if not accepting:
        raise PhasePaused(reason=open_now[0].pause_reason)
    open_now = accepting
    if len(open_now) > 1:
        raise SeveralOpenPhases(phases=[phase.slug for phase in open_now])
    return open_now[0].slug


def _no_open_phase(session: ReadSession, challenge: Challenge) -> NoOpenPhase:
    """The error that says which phase opens next, or closed last.

    It names the phases that take entries after their close, which nobody should send by accident.
    """
    now, phases = clock.now(session), challenges.phases_of(session, challenge.id)
    coming = min((phase for phase in phases if phase.opens_at > now), key=lambda phase: phase.opens_at, default=None)
    closed = [phase for phase in phases if phase.closes_at is not None and phase.closes_at <= now]
    detail: str | None = None
    facts: dict[str, Any] = {}
    if coming is not None:
        facts = times_of_error(challenge.timezone, opens_at=coming.opens_at)
        detail = f"No phase is open now. '{coming.slug}' opens next, at {facts['opens_at']}."
    elif closed:
        last = max(closed, key=_close_of)
        facts = times_of_error(challenge.timezone, closes_at=last.closes_at)
        detail = f"All phases have closed. '{last.slug}' closed last, at {facts['closes_at']}."
    late = [phase.slug for phase in closed if phase.late == "unofficial"]
    if not late:
        return NoOpenPhase(detail, **facts)
    remedy = "Entries after the close are scored and never ranked: send them to a phase of 'late_phases' by its name."
    return NoOpenPhase(detail, remedy=remedy, late_phases=late, **facts)


def _close_of(phase: Phase) -> datetime:
    assert phase.closes_at is not None
    return phase.closes_at


def load_admission_facts(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, key: str | None = None
) -> AdmissionFacts:
    """Everything that admission depends on."""
    assert caller.user_id is not None
    return admission_queries.load_facts(session, caller.user_id, slug, phase_slug, key)


def require_visible_phase(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, facts: AdmissionFacts
) -> PhaseContext:
    """The phase of these facts, if the caller may see it; raises NotFound."""
    if facts.context is None:
        raise phase_not_found(session, load_visible_challenge(session, caller, slug), phase_slug)
    require_visible_context(caller, facts.context)
    return facts.context


def require_admission_early(caller: Caller, facts: AdmissionFacts, entry: SubmissionMetadata, *, retries: bool) -> bool:
    """Raise what admission raises before the body is read; the storing transaction checks again.

    The phase must exist. Returns whether an organizer sends the submission; False for a retry, where that is not
    checked.

    With `retries`, one with a known Idempotency-Key passes: its submission was admitted by the first request.
    """
    assert facts.context is not None
    require_visible_context(caller, facts.context)
    require_scope(caller, "submit")
    if retries and facts.key is not None:
        return False
    return admit(caller, facts.context, entry, facts.read_at.now).by_organizer


def admit(caller: Caller, context: PhaseContext, entry: SubmissionMetadata, now: datetime) -> Admission:
    """The single rule of admission to a phase that the caller may see; raises the reason for a refusal.

    It does not check the quota.
    """
    admission = resolve_admission(caller, context, entry)
    require_open(admission, now)
    return admission


def resolve_admission(caller: Caller, context: PhaseContext, entry: SubmissionMetadata) -> Admission:
    """The team that the caller may submit for, at any time."""
    require_scope(caller, "submit")
    role = effective_role(caller, context.role)
    if role is not None:
        require_may_write(caller, role)
    by_organizer = role is not None
    if entry.is_for_organizers and not by_organizer:
        require_administrator(caller, "Only organizers may name a team, or enter a baseline or a test.")
    if entry.test:
        return Admission(context, teams.TEST_TEAM_NAME, by_organizer)
    name = entry.team if entry.team is not None else _own_team_name(context, by_organizer=by_organizer)
    return Admission(context, name, by_organizer)


def require_open(admission: Admission, now: datetime) -> None:
    """Raise ChallengeArchived, NoOpenPhase, PhasePaused or NoGold unless the phase accepts submissions at this moment.

    Organizers may submit at any time, except to an archived challenge.
    """
    context = admission.context
    require_not_archived(context)
    if not admission.by_organizer:
        times = times_of_error(context.timezone, opens_at=context.opens_at, closes_at=context.closes_at)
        if now < context.opens_at:
            detail = f"The phase '{context.phase}' has not opened yet; it opens at {times['opens_at']}."
            raise NoOpenPhase(detail, **times)
        if is_late(context, now) and context.late == "refuse":
            raise NoOpenPhase(f"The phase '{context.phase}' has closed, at {times['closes_at']}.", **times)
        if context.paused_at is not None:
            raise PhasePaused(reason=context.pause_reason)
    _ = admission.gold_id  # raises NoGold


def is_late(context: PhaseContext, now: datetime) -> bool:
    """Whether the phase has closed: an entry that is sent now is unofficial, whoever sends it."""
    return context.closes_at is not None and now >= context.closes_at


def require_quota_early(
    session: ReadSession, caller: Caller, context: PhaseContext, entry: SubmissionMetadata, now: datetime
) -> None:
    """Raise QuotaExceeded early if the storing transaction would refuse now, so that no large body is sent first."""
    admission = admit(caller, context, entry, now)
    if not admission.by_organizer:
        assert context.team_id is not None
        require_quota_left(session, context, context.team_id, now)


def _own_team_name(context: PhaseContext, *, by_organizer: bool) -> str:
    if by_organizer and context.team is None:
        raise NotRegistered(
            "You organize this challenge but have no team in it.",
            remedy="Add test=true to try the challenge, or team=NAME (and baseline=true for a baseline).",
        )
    if not by_organizer:
        require_approved_status(context.registration, context.reason)
        require_team_in_competition(context.disqualified_at, context.disqualified_reason)
    if context.team is None:
        raise NoTeam
    return context.team


def require_quota_left(
    session: ReadSession, context: PhaseContext, team_id: str, now: datetime
) -> tuple[str, QuotaBalance | None]:
    """The day in the challenge's calendar, and the team's balance if there are limits; raises QuotaExceeded."""
    if not has_limits(context):
        return quota_day(context.timezone, now)[0], None
    day, balance = team_balance(session, context, team_id, now)
    balance.require_one_more(now)
    return day, balance


def has_limits(context: PhaseContext) -> bool:
    """Whether the phase limits what a team may submit."""
    return any(limit is not None for limit in context.quota.values())


def team_balance(session: ReadSession, context: PhaseContext, team_id: str, now: datetime) -> tuple[str, QuotaBalance]:
    """The day in the challenge's calendar, and the balance of a team in the phase."""
    return quota_balance(session, context.quota, context.timezone, phase_id=context.phase_id, team_id=team_id, now=now)
