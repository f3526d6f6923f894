"""Admit a submission: check window, registration and quota, then store row, ledger entry and task at once."""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import datetime

from app.actions.access import (
    Caller,
    can_organize,
    effective_role,
    load_admission_facts,
    load_visible_challenge,
    require_administrator,
    require_approved_status,
    require_scope,
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
from app.store.queries import challenges, fair_scheduling, quota, submissions, tasks, teams
from app.store.queries.phase_for_user import PhaseContext
from app.store.queries.submission_details import SubmissionDetails, TaskState
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, IdempotencyKey, Phase, Recipe, Submission, Team
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
    """Permission to submit to a phase for a team, given by id and name; None if the team is still to be created."""

    context: PhaseContext
    name: str
    team: tuple[str, str] | None
    by_organizer: bool

    @property
    def gold_id(self) -> str:
        """The active gold; raises NoGold."""
        if self.context.gold_id is None:
            raise NoGold
        return self.context.gold_id


def only_open_phase(session: ReadSession, caller: Caller, slug: str, *, key: str | None) -> str:
    """The slug of the only open phase; raises NoOpenPhase, SeveralOpenPhases.

    A retry with a known Idempotency-Key goes to the phase of the first request, whichever phases are open now.
    """
    challenge = load_visible_challenge(session, caller, slug)
    stored = _find_key(session, caller, key) if key else None
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


def _find_key(session: ReadSession, caller: Caller, key: str) -> IdempotencyKey | None:
    return submissions.find_idempotency_key(session, require_scope(caller, "submit"), key, clock.steady(session))


def admit(session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata) -> Admission:
    """The single rule of admission, for every route; raises the reason for a refusal. It does not check the quota."""
    admission = _resolve_admission(session, caller, slug, phase_slug, entry)
    _require_open(admission, clock.now(session))
    return admission


def _resolve_admission(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> Admission:
    """The caller and the team that the caller may submit for, at any time."""
    context = load_admission_facts(session, caller, slug, phase_slug)
    require_scope(caller, "submit")
    by_organizer = can_organize(caller) and effective_role(caller, context.role) in {"owner", "editor"}
    if (entry.team is not None or entry.baseline) and not by_organizer:
        require_administrator(caller, "Only organizers may name a team or enter a baseline.")
    name = entry.team if entry.team is not None else _own_team_name(context, by_organizer=by_organizer)
    return Admission(context, name, _resolve_team(session, context, entry, name), by_organizer)


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


def require_admission_early(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata, *, key: str | None
) -> bool:
    """Raise what admission raises before the body is read; the storing transaction checks again.

    Returns whether an organizer sends the submission; False for a retry, where that is not checked.

    A retry with a known Idempotency-Key passes: its submission was admitted by the first request.
    """
    if key is not None:
        load_admission_facts(session, caller, slug, phase_slug)
        if _find_key(session, caller, key) is not None:
            return False
    return admit(session, caller, slug, phase_slug, entry).by_organizer


def require_quota_early(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> None:
    """Raise QuotaExceeded early if the storing transaction would refuse now, so that no large body is sent first."""
    admission = admit(session, caller, slug, phase_slug, entry)
    if not admission.by_organizer and admission.team is not None:
        _require_quota(session, admission, admission.team[0], clock.now(session))


def max_prediction_bytes(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, limits: Limits, *, pairs: bool
) -> int | None:
    """The largest useful body of predictions for this phase, in bytes; None if unknown.

    `pairs`: the upload declares a table with one row per pair of instance and label.

    For gold stored before `longest_id` existed, ids are assumed to have the maximum length. The limit of such gold is
    unknown if some instances are not scored.
    """
    gold_id = load_admission_facts(session, caller, slug, phase_slug).gold_id
    gold = None if gold_id is None else session.get_one(GoldVersion, gold_id)
    if gold is None or (gold.void_instances is None and not is_fully_scored(gold.notes)):
        return None
    longest = 4 * limits.text_length if gold.longest_id is None else gold.longest_id
    instances = gold.instances + (gold.void_instances or 0)
    size = replace(PhaseSize.of((), gold.classes), instances=instances, longest_id_bytes=longest)
    return max_upload_bytes(size, limits, pairs=pairs)


def _resolve_team(
    session: ReadSession, context: PhaseContext, entry: SubmissionMetadata, name: str
) -> tuple[str, str] | None:
    """The caller's own team, or the named one; baselines have names of their own, separate from those of teams."""
    if entry.team is None and not entry.baseline:
        assert context.team_id is not None
        return context.team_id, name
    team = teams.by_name(session, context.challenge_id, name, baseline=entry.baseline)
    return None if team is None else (team.id, team.name)


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


def _find_or_create_team(session: WriteSession, challenge_id: str, name: str, *, baseline: bool) -> tuple[str, str]:
    """The team or baseline that an organizer names. It is looked up again: another request may just have created it."""
    locks.team_names(session, challenge_id)
    challenge = session.get_one(Challenge, challenge_id)
    team = teams.by_name(session, challenge_id, name, baseline=baseline)
    team = team or add_team(session, challenge, name, baseline=baseline, reserved=True)
    return team.id, team.name


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
) -> tuple[SubmissionView, bool]:
    """The stored submission and whether it is new: a retry of the same request with the same key returns the first one.

    Raises what admission raises, QuotaExceeded, RequestInFlight and IdempotencyMismatch.
    """
    user_id = require_scope(caller, "submit")
    locks.challenge(session, slug, shared=True)
    if key is not None and not locks.try_key(session, user_id, key):
        raise RequestInFlight  # another replica handles a request with this key
    mark = request_fingerprint(slug, phase_slug, entry, kind, stored.sha256)
    earlier = find_earlier_submission(session, user_id, key, mark) if key is not None else None
    if earlier is not None:
        return read_submission_status(session, caller, earlier), False
    admission = _resolve_admission(session, caller, slug, phase_slug, entry)
    team = admission.team or _find_or_create_team(
        session, admission.context.challenge_id, admission.name, baseline=entry.baseline
    )
    if not admission.by_organizer:
        locks.team(session, admission.context.phase_id, team[0])
    moment = clock.read(session)  # read after taking the lock, so that timestamps order a team's submissions
    _require_open(admission, moment.now)
    submission = _new_submission(admission, team, entry, stored, kind, user_id=user_id, moment=moment)
    _reserve_and_add(session, admission, submission, moment.now)
    task = _enqueue(session, queue, submission, admission, moment.steady)
    if key is not None:
        submissions.delete_expired_keys(session, user_id, key, moment.steady)
        names = {"user_id": user_id, "key": key, "fingerprint": mark, "submission_id": submission.id}
        session.add(IdempotencyKey(**names, created_at=moment.steady))
    session.flush()
    details = SubmissionDetails(submission, admission.context, task, scores={})
    organizer = can_organize(caller) and effective_role(caller, admission.context.role) is not None
    return submission_view(session, caller, details, organizer=organizer), True


def _reserve_and_add(session: WriteSession, admission: Admission, submission: Submission, now: datetime) -> None:
    """Store the row and, unless an organizer sends it, the quota reservation."""
    if admission.by_organizer:
        submissions.add(session, submission)
        return
    day = _require_quota(session, admission, submission.team_id, now)
    submissions.add(session, submission)
    quota.reserve(session, submission, day)


def _require_quota(session: ReadSession, admission: Admission, team_id: str, now: datetime) -> str:
    """The day in the challenge's calendar; raises QuotaExceeded if the team has used up its quota."""
    context = admission.context
    day, reset_at = quota_day(context.timezone, now)
    limits = {name: limit for name, limit in context.quota.items() if limit is not None}
    if limits:
        require_quota(limits, quota.usage(session, context.phase_id, team_id, day), reset_at=reset_at, now=now)
    return day


def find_earlier_submission(session: ReadSession, user_id: str, key: str, mark: str) -> str | None:
    """The id of the submission stored with this key; raises IdempotencyMismatch for a key of another request."""
    row = submissions.find_idempotency_key(session, user_id, key, clock.steady(session))
    if row is None:
        return None
    if row.fingerprint != mark:
        raise IdempotencyMismatch
    return row.submission_id


def request_fingerprint(slug: str, phase_slug: str, entry: SubmissionMetadata, kind: FileKind, sha256: str) -> str:
    """What identifies a request: the bytes of its file, and all metadata."""
    parts = [slug, phase_slug, entry.method, entry.description, entry.link, entry.team, entry.baseline]
    text = json.dumps([*parts, kind.format, kind.encoding, kind.layout, sha256])
    return hashlib.sha256(text.encode()).hexdigest()


def _new_submission(
    admission: Admission,
    team: tuple[str, str],
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
        team_id=team[0],
        team=Team(id=team[0], name=team[1]),
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


def _enqueue(
    session: WriteSession, queue: Queue, submission: Submission, admission: Admission, moment: datetime
) -> TaskState:
    version = target_scorer_version(admission.context.scorer_version)
    sender = submission.user_id
    own = fair_scheduling.Lane.of_participant(sender, submission.team_id)
    task_id = tasks.add(
        session,
        submission_id=submission.id,
        gold_id=admission.gold_id,
        recipe_id=admission.context.recipe_id,
        scorer_version=version,
        lane=fair_scheduling.Lane.of_organizer(sender) if admission.by_organizer else own,
        moment=moment,
    )
    assert task_id is not None, "a new submission has no task yet"
    queue.enqueue(session, task_id, scorer_version=version)
    return TaskState(task_id, "queued", SUBMISSION_PRIORITY, version)


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
    admission = admit(session, caller, slug, phase_slug, entry)
    return DryRunContext(
        gold=session.get_one(GoldVersion, admission.gold_id),
        challenge=session.get_one(Challenge, admission.context.challenge_id),
        recipe=session.get_one(Recipe, admission.context.recipe_id),
    )
