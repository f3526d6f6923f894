"""Admit a submission: check window, registration and quota, then store row, ledger entry and task at once."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.actions.access import (
    Caller,
    can_organize,
    effective_role,
    load_visible_challenge,
    phase_not_found,
    require_administrator,
    require_approved_status,
    require_scope,
    require_visible_context,
)
from app.actions.challenges.team_registration import add_team
from app.actions.scoring_tasks.upgrade_scorer import target_scorer_version
from app.actions.submissions.check_quota import quota_day, require_quota
from app.actions.submissions.read_submissions import SubmissionView, read_submission_status, submission_view
from app.errors import (
    IdempotencyMismatch,
    NoGold,
    NoOpenPhase,
    NotRegistered,
    RequestInFlight,
    SeveralOpenPhases,
)
from app.files import StoredFile
from app.formats import FileKind, Limits
from app.formats.phase_size_limits import PhaseSize, max_upload_bytes
from app.pipeline import SourceFile, is_fully_scored
from app.prepared.gold_source import GoldSource
from app.queue import Queue
from app.scoring_processes.messages import ValidatePredictions
from app.store import clock, locks
from app.store.queries import admission as admission_queries
from app.store.queries import challenges, fair_scheduling, quota, tasks, teams
from app.store.queries import gold as gold_queries
from app.store.queries.admission import AdmissionFacts
from app.store.queries.phase_for_user import PhaseContext
from app.store.queries.submission_details import SubmissionDetails, TaskState
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe, Submission, Team
from app.store.types import format_timestamp, id_at
from app.task_priorities import SUBMISSION_PRIORITY


@dataclass(frozen=True, slots=True)
class SubmissionMetadata:
    """What a submitter states about a submission, besides its file."""

    method: str
    description: str = ""
    link: str | None = None
    team: str | None = None
    baseline: bool = False


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
    open_now = challenges.open_phases(session, challenge.id, clock.now(session))
    if not open_now:
        raise NoOpenPhase
    if len(open_now) > 1:
        raise SeveralOpenPhases(phases=[phase.slug for phase in open_now])
    return open_now[0].slug


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
    admission = _resolve_admission(caller, context, entry)
    _require_open(admission, now)
    return admission


def _resolve_admission(caller: Caller, context: PhaseContext, entry: SubmissionMetadata) -> Admission:
    """The team that the caller may submit for, at any time."""
    require_scope(caller, "submit")
    by_organizer = can_organize(caller) and effective_role(caller, context.role) in {"owner", "editor"}
    if (entry.team is not None or entry.baseline) and not by_organizer:
        require_administrator(caller, "Only organizers may name a team or enter a baseline.")
    name = entry.team if entry.team is not None else _own_team_name(context, by_organizer=by_organizer)
    return Admission(context, name, by_organizer)


def _require_open(admission: Admission, now: datetime) -> None:
    """Raise NoOpenPhase or NoGold unless the phase accepts submissions at this moment."""
    context = admission.context
    if not admission.by_organizer and not challenges.is_within_window(context.opens_at, context.closes_at, now):
        raise NoOpenPhase(
            f"The phase '{context.phase}' is not open now.",
            opens_at=format_timestamp(context.opens_at),
            closes_at=format_timestamp(context.closes_at) if context.closes_at else None,
        )
    _ = admission.gold_id  # raises NoGold


def require_quota_early(
    session: ReadSession, caller: Caller, context: PhaseContext, entry: SubmissionMetadata, now: datetime
) -> None:
    """Raise QuotaExceeded early if the storing transaction would refuse now, so that no large body is sent first."""
    admission = admit(caller, context, entry, now)
    if not admission.by_organizer:
        assert context.team_id is not None
        _require_quota(session, admission, context.team_id, now)


def max_prediction_bytes(session: ReadSession, gold_id: str | None, limits: Limits, *, pairs: bool) -> int | None:
    """The largest useful body of predictions for a phase with this gold, in bytes; None if unknown.

    `pairs`: the upload declares a table with one row per pair of instance and label.

    For gold stored before `longest_id` existed, ids are assumed to have the maximum length. The limit of such gold is
    unknown if some instances are not scored.
    """
    gold = None if gold_id is None else gold_queries.size_of(session, gold_id)
    if gold is None or (gold.void_instances is None and not is_fully_scored(gold.notes)):
        return None
    longest = 4 * limits.text_length if gold.longest_id is None else gold.longest_id
    instances = gold.instances + (gold.void_instances or 0)
    size = replace(PhaseSize.of((), gold.classes), instances=instances, longest_id_bytes=longest)
    return max_upload_bytes(size, limits, pairs=pairs)


def _own_team_name(context: PhaseContext, *, by_organizer: bool) -> str:
    if by_organizer and context.registration is None:
        raise NotRegistered(
            "You organize this challenge but have no team in it.",
            remedy="Add ?team=NAME (and &baseline=true for a baseline) to the request.",
        )
    if not by_organizer:
        require_approved_status(context.registration, context.reason)
    assert context.team is not None
    return context.team


def _find_or_create_team(session: WriteSession, admission: Admission, entry: SubmissionMetadata) -> teams.TeamReference:
    """The caller's own team, or the one that an organizer names, which is created if it does not exist.

    Baselines have names of their own, separate from those of teams.
    """
    context, name = admission.context, admission.name
    if entry.team is None and not entry.baseline:
        assert context.team_id is not None
        return teams.TeamReference(context.team_id, name)
    team = teams.by_name(session, context.challenge_id, name, baseline=entry.baseline)
    if team is None:
        locks.team_names(session, context.challenge_id)
        # It is looked up again: another request may just have created it.
        team = teams.by_name(session, context.challenge_id, name, baseline=entry.baseline)
    if team is not None:
        return team
    challenge = session.get_one(Challenge, context.challenge_id)
    created = add_team(session, challenge, name, baseline=entry.baseline, reserved=True)
    return teams.TeamReference(created.id, created.name)


def submit_prediction(
    session: WriteSession,
    queue: Queue,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    entry: SubmissionMetadata,
    stored: StoredFile,
    kind: FileKind,
    key: str | None = None,
    will_wait: Callable[[str], bool] | None = None,
) -> tuple[SubmissionView, bool]:
    """The stored submission and whether it is new: a retry of the same request with the same key returns the first one.

    `will_wait` is called with the id of a new one; if it returns True, that comes without its position in the queue,
    because the caller reads it again later.

    Raises what admission raises, QuotaExceeded, RequestInFlight and IdempotencyMismatch.
    """
    user_id = require_scope(caller, "submit")
    if not locks.try_submission(session, slug, user_id, key):
        raise RequestInFlight  # another replica handles a request with this key
    facts = load_admission_facts(session, caller, slug, phase_slug, key)
    mark = request_fingerprint(slug, phase_slug, entry, kind, stored.sha256)
    if facts.key is not None:
        if facts.key.fingerprint != mark:
            raise IdempotencyMismatch
        return read_submission_status(session, caller, facts.key.submission_id), False
    context = require_visible_phase(session, caller, slug, phase_slug, facts)
    admission = _resolve_admission(caller, context, entry)
    team = _find_or_create_team(session, admission, entry)
    lane = _lane(admission, user_id, team.id)
    moment = locks.team_and_lane(session, context.phase_id, team.id, lane.name)
    _require_open(admission, moment.now)
    submission = _new_submission(admission, team, entry, stored, kind, user_id=user_id, moment=moment)
    named = None if key is None else _stored_key(submission, key, mark, moment)
    task = _store(session, queue, submission, admission, lane=lane, moment=moment, key=named)
    waits = will_wait is not None and will_wait(submission.id)
    details = SubmissionDetails(submission, context, None if waits else task, scores={})
    organizer = can_organize(caller) and effective_role(caller, context.role) is not None
    return submission_view(session, caller, details, organizer=organizer), True


def _lane(admission: Admission, user_id: str, team_id: str) -> fair_scheduling.Lane:
    lane = fair_scheduling.Lane
    return lane.of_organizer(user_id) if admission.by_organizer else lane.of_participant(user_id, team_id)


def _stored_key(submission: Submission, key: str, mark: str, moment: clock.ClockReading) -> dict[str, Any]:
    names = {"user_id": submission.user_id, "key": key, "fingerprint": mark, "submission_id": submission.id}
    return names | {"created_at": moment.steady}


def _require_quota(session: ReadSession, admission: Admission, team_id: str, now: datetime) -> str:
    """The day in the challenge's calendar; raises QuotaExceeded if the team has used up its quota."""
    context = admission.context
    day, reset_at = quota_day(context.timezone, now)
    limits = {name: limit for name, limit in context.quota.items() if limit is not None}
    if limits:
        require_quota(limits, quota.usage(session, context.phase_id, team_id, day), reset_at=reset_at, now=now)
    return day


def request_fingerprint(slug: str, phase_slug: str, entry: SubmissionMetadata, kind: FileKind, sha256: str) -> str:
    """What identifies a request: the bytes of its file, and all metadata."""
    parts = [slug, phase_slug, entry.method, entry.description, entry.link, entry.team, entry.baseline]
    text = json.dumps([*parts, kind.format, kind.encoding, kind.layout, sha256])
    return hashlib.sha256(text.encode()).hexdigest()


def _new_submission(
    admission: Admission,
    team: teams.TeamReference,
    entry: SubmissionMetadata,
    stored: StoredFile,
    kind: FileKind,
    *,
    user_id: str,
    moment: clock.ClockReading,
) -> Submission:
    return Submission(
        id=id_at(moment.steady),
        phase_id=admission.context.phase_id,
        team_id=team.id,
        team=Team(id=team.id, name=team.name),
        user_id=user_id,
        status="queued",
        method=entry.method,
        description=entry.description,
        link=entry.link,
        baseline=entry.baseline,
        on_behalf=entry.team is not None or entry.baseline,
        attempt=0,
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        **kind.to_dict(),
        submitted_at=moment.now,
        problems=[],
        problem_totals={},
        notes=[],
    )


def _store(
    session: WriteSession,
    queue: Queue,
    submission: Submission,
    admission: Admission,
    *,
    lane: fair_scheduling.Lane,
    moment: clock.ClockReading,
    key: dict[str, Any] | None,
) -> TaskState:
    """Store the submission with its task, its key and, unless an organizer sends it, the quota reservation."""
    reservation = None
    if not admission.by_organizer:
        day = _require_quota(session, admission, submission.team_id, moment.now)
        reservation = quota.reservation(submission, day)
    version = target_scorer_version(admission.context.scorer_version)
    provenance = {"gold_id": admission.gold_id, "recipe_id": admission.context.recipe_id, "scorer_version": version}
    turn = fair_scheduling.next_turn(session, lane)
    task = tasks.new_values({"submission_id": submission.id} | provenance, lane, turn, moment.steady)
    admission_queries.store(session, submission, task=task, reservation=reservation, key=key)
    queue.enqueue(session, task["id"], scorer_version=version)
    return TaskState(task["id"], "queued", SUBMISSION_PRIORITY, version)


@dataclass(frozen=True, slots=True)
class DryRunContext:
    """What predictions are checked against without being scored."""

    gold: GoldVersion
    challenge: Challenge
    recipe: Recipe

    def request(self, gold: GoldSource, predictions: SourceFile) -> ValidatePredictions:
        """The request to a scoring process."""
        return ValidatePredictions(gold, predictions, self.recipe.body)


def dry_run(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> DryRunContext:
    """The gold, challenge and recipe to check predictions against; raises what admission raises."""
    facts = load_admission_facts(session, caller, slug, phase_slug)
    context = require_visible_phase(session, caller, slug, phase_slug, facts)
    admission = admit(caller, context, entry, facts.read_at.now)
    return DryRunContext(
        gold=session.get_one(GoldVersion, admission.gold_id),
        challenge=session.get_one(Challenge, admission.context.challenge_id),
        recipe=session.get_one(Recipe, admission.context.recipe_id),
    )
