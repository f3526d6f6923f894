"""Admit a submission: window, registration and quota, then row, ledger and task in one transaction."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from app.actions.access import Caller, edits, require_membership, require_scope, see_challenge, see_phase
from app.actions.admit_team import add_team
from app.actions.raise_scorer import version_for
from app.errors import (
    Forbidden,
    IdempotencyMismatch,
    NoGold,
    NoOpenPhase,
    NotRegistered,
    QuotaExceeded,
    RequestInFlight,
    SeveralOpenPhases,
)
from app.files import Stored
from app.formats import FileKind
from app.names import name_key
from app.queue import Queue
from app.store import challenges, clock, gold, locks, quota, submissions, tasks, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, IdempotencyKey, Phase, Recipe, Submission, Team
from app.store.types import id_of, moment_text

QUOTA_REMEDIES = {
    "per_day": "Wait until the time in 'reset_at', when the challenge's next day begins.",
    "total": "The quota of this phase is used up; only its organizers can raise it.",
    "concurrent": "Wait until one of the team's submissions has ended.",
    "invalid_per_day": "Check files with ?dry_run=true, which is free; the next day begins at the time in 'reset_at'.",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a submitter says about a submission, besides its file."""

    method: str
    description: str = ""
    link: str | None = None
    team: str | None = None
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """Leave to submit: to which phase, under which gold and recipe; the team is None while it has to be founded."""

    phase: Phase
    gold: GoldVersion
    recipe: Recipe
    team: Team | None
    by_organizer: bool


def only_open_phase(session: ReadSession, caller: Caller, slug: str, *, key: str | None) -> str:
    """The slug of the one phase that is open now; raises NoOpenPhase, SeveralOpenPhases.

    A repetition under a known key goes where its submission went, whichever phases are open now.
    """
    challenge = see_challenge(session, caller, slug)
    row = submissions.key_of(session, require_scope(caller, "submit"), key, clock.steady(session)) if key else None
    if row is not None:
        phase = session.get_one(Phase, session.get_one(Submission, row.submission_id).phase_id)
        if phase.challenge_id == challenge.id:
            return phase.slug
    open_now = challenges.open_phases(session, challenge.id, clock.now(session))
    if not open_now:
        raise NoOpenPhase
    if len(open_now) > 1:
        raise SeveralOpenPhases(phases=[phase.slug for phase in open_now])
    return open_now[0].slug


def admit(session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: Entry) -> Admission:
    """The one rule of admission, for every way in; raises the reason for a refusal. The quota is checked apart."""
    phase = see_phase(session, caller, slug, phase_slug)
    require_scope(caller, "submit")
    by_organizer = edits(session, caller, phase.challenge)
    if (entry.team is not None or entry.baseline) and not by_organizer:
        raise Forbidden("Only organizers may name a team or enter a baseline.")
    team = _team(session, caller, phase, entry, by_organizer=by_organizer)
    if not by_organizer and not challenges.is_open(phase, clock.now(session)):
        raise NoOpenPhase(
            f"The phase '{phase.slug}' is not open now.",
            opens_at=moment_text(phase.opens_at),
            closes_at=moment_text(phase.closes_at) if phase.closes_at else None,
        )
    active = gold.active(session, phase.id)
    if active is None:
        raise NoGold
    recipe = challenges.active_recipe(session, phase.challenge_id)
    return Admission(phase=phase, gold=active, recipe=recipe, team=team, by_organizer=by_organizer)


def refuse_early(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: Entry, *, key: str | None
) -> None:
    """Raise what admission raises before the body is read; the storing transaction asks again.

    A repetition under a known key is let through: its submission was admitted then, whatever holds now.
    """
    see_phase(session, caller, slug, phase_slug)
    user_id = require_scope(caller, "submit")
    if key is None or submissions.key_of(session, user_id, key, clock.steady(session)) is None:
        admit(session, caller, slug, phase_slug, entry)


def _team(session: ReadSession, caller: Caller, phase: Phase, entry: Entry, *, by_organizer: bool) -> Team | None:
    if not by_organizer:
        return require_membership(session, caller, phase.challenge).team
    if entry.team is not None:
        return teams.by_name(session, phase.challenge_id, entry.team)
    registration = teams.registration_of(session, phase.challenge_id, caller.user_id or "")
    if registration is None:
        raise NotRegistered(
            "You organize this challenge but have no team in it.",
            remedy="Add ?team=NAME (and &baseline=true for a baseline) to the request.",
        )
    return registration.team


def _founded(session: WriteSession, challenge: Challenge, name: str) -> Team:
    """The team that an organizer names, unless another request founds it at this very moment."""
    locks.team_name(session, challenge.id, name_key(name))
    return teams.by_name(session, challenge.id, name) or add_team(session, challenge, name)


def submit_prediction(
    session: WriteSession,
    queue: Queue,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    entry: Entry,
    stored: Stored,
    kind: FileKind,
    key: str | None = None,
) -> tuple[Submission, bool]:
    """The stored submission, and whether it is new: the same request under the same key gives the earlier one.

    Raises what admission raises, QuotaExceeded, RequestInFlight and IdempotencyMismatch.
    """
    user_id = require_scope(caller, "submit")
    locks.challenge(session, slug, shared=True)
    if key is not None and not locks.try_key(session, user_id, key):
        raise RequestInFlight  # at another replica
    now = clock.now(session)
    mark = fingerprint(slug, phase_slug, entry, kind, stored.sha256)
    if key is not None:
        earlier = known(session, user_id, key, mark)
        if earlier is not None:
            return earlier, False
    admission = admit(session, caller, slug, phase_slug, entry)
    team = admission.team or _founded(session, admission.phase.challenge, entry.team or "")
    day, reset_at = quota_day(admission.phase, now)
    if not admission.by_organizer:
        locks.team(session, admission.phase.id, team.id)
        _require_quota(session, admission.phase, team, day=day, reset_at=reset_at, now=now)
    submission = _row(admission, team, entry, stored, kind, user_id=user_id, now=now)
    submission.id = id_of(clock.steady(session))  # which of a team's is the latest is told by it
    session.add(submission)
    session.flush()
    if not admission.by_organizer:
        quota.reserve(session, submission, day)
    _enqueue(session, queue, submission, admission)
    if key is not None:
        moment = clock.steady(session)
        submissions.forget_old_keys(session, user_id, key, moment)
        session.add(
            IdempotencyKey(user_id=user_id, key=key, fingerprint=mark, submission_id=submission.id, created_at=moment)
        )
    session.flush()
    return submission, True


def known(session: ReadSession, user_id: str, key: str, mark: str) -> Submission | None:
    """The submission that this key stood for; raises IdempotencyMismatch when it stood for another request."""
    row = submissions.key_of(session, user_id, key, clock.steady(session))
    if row is None:
        return None
    if row.fingerprint != mark:
        raise IdempotencyMismatch
    return session.get_one(Submission, row.submission_id)


def fingerprint(slug: str, phase_slug: str, entry: Entry, kind: FileKind, sha256: str) -> str:
    """What makes two requests the same: the bytes, and everything said about them."""
    parts = [slug, phase_slug, entry.method, entry.description, entry.link, entry.team, entry.baseline]
    text = json.dumps([*parts, kind.format, kind.encoding, kind.layout, sha256])
    return hashlib.sha256(text.encode()).hexdigest()


def quota_day(phase: Phase, now: datetime) -> tuple[str, datetime]:
    """The day of the challenge's calendar, and when the next one begins."""
    zone = ZoneInfo(phase.challenge.timezone)
    today = now.astimezone(zone).date()
    return today.isoformat(), datetime.combine(today + timedelta(days=1), time.min, tzinfo=zone)


def _require_quota(
    session: WriteSession, phase: Phase, team: Team, *, day: str, reset_at: datetime, now: datetime
) -> None:
    used = quota.usage(session, phase.id, team.id, day)
    counts: Mapping[str, int] = {
        "per_day": used.per_day,
        "total": used.total,
        "concurrent": used.concurrent,
        # each one at work may turn out invalid: sent one after the other without waiting, they must not pass the limit
        "invalid_per_day": used.invalid_per_day + used.concurrent,
    }
    for name, limit in phase.quota.items():
        if limit is None or counts[name] < limit:
            continue
        at_work = name == "concurrent" or (name == "invalid_per_day" and used.invalid_per_day < limit)
        daily = name in {"per_day", "invalid_per_day"} and not at_work
        wait = max(1, round((reset_at - now).total_seconds())) if daily else 5 if at_work else 86400
        raise QuotaExceeded(
            f"The team has used {counts[name]} of {limit} ({name}"
            + (f", {used.concurrent} of them still being checked)." if at_work else ")."),
            remedy=QUOTA_REMEDIES["concurrent" if at_work else name],
            headers={"Retry-After": str(wait)},
            quota=name,
            limit=limit,
            used=counts[name],
            reset_at=moment_text(reset_at) if daily else None,
        )


def _row(
    admission: Admission, team: Team, entry: Entry, stored: Stored, kind: FileKind, *, user_id: str, now: datetime
) -> Submission:
    return Submission(
        phase_id=admission.phase.id,
        team_id=team.id,
        team=team,
        user_id=user_id,
        status="queued",
        method=entry.method,
        description=entry.description,
        link=entry.link,
        baseline=entry.baseline,
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        **kind.to_dict(),
        submitted_at=now,
        problems=[],
        problem_totals={},
        notes=[],
    )


def _enqueue(session: WriteSession, queue: Queue, submission: Submission, admission: Admission) -> None:
    version = version_for(admission.phase)
    task_id = tasks.add(
        session,
        submission_id=submission.id,
        gold_id=admission.gold.id,
        recipe_id=admission.recipe.id,
        scorer_version=version,
    )
    assert task_id is not None, "a new submission has no task yet"
    queue.enqueue(session, task_id, scorer_version=version)


def dry_run_request(path: str, kind: FileKind, recipe: Recipe) -> dict[str, Any]:
    """What a child needs to know, besides the gold, to check predictions without scoring them."""
    return {"kind": "validate", "predictions": {"path": path, **kind.to_dict()}, "recipe": recipe.body}
