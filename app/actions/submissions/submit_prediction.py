"""Admit a submission: window, registration and quota, then row, ledger and task in one transaction."""

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
from app.actions.submissions.read_submissions import SubmissionView, read_submission_status
from app.actions.submissions.score_visibility import current_split
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
from app.formats.size_limits import PhaseSize, max_upload_bytes
from app.pipeline import SourceFile, is_fully_scored
from app.prepared.gold_source import GoldSource
from app.queue import Queue
from app.scoring_processes.messages import ValidatePredictions
from app.store import clock, locks
from app.store.queries import challenges, fair_scheduling, quota, submissions, tasks, teams
from app.store.queries.admission_context import AdmissionContext
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, IdempotencyKey, Phase, Recipe, Submission, Team
from app.store.types import format_timestamp, id_at


@dataclass(frozen=True, slots=True)
class SubmissionMetadata:
    """What a submitter says about a submission, besides its file."""

    method: str
    description: str = ""
    link: str | None = None
    team: str | None = None
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """Leave to submit to a phase: under which name, and as which team, by id and name; None while it is to be founded."""

    facts: AdmissionContext
    name: str
    team: tuple[str, str] | None
    by_organizer: bool

    @property
    def gold_id(self) -> str:
        """The gold in force; raises NoGold."""
        if self.facts.gold_id is None:
            raise NoGold
        return self.facts.gold_id


def only_open_phase(session: ReadSession, caller: Caller, slug: str, *, key: str | None) -> str:
    """The slug of the one phase that is open now; raises NoOpenPhase, SeveralOpenPhases.

    A repetition under a known key goes where its submission went, whichever phases are open now.
    """
    challenge = load_visible_challenge(session, caller, slug)
    row = (
        submissions.find_idempotency_key(session, require_scope(caller, "submit"), key, clock.steady(session))
        if key
        else None
    )
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


def admit(session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata) -> Admission:
    """The one rule of admission, for every way in; raises the reason for a refusal. The quota is checked apart."""
    admission = _resolve_admission(session, caller, slug, phase_slug, entry)
    _require_open(admission, clock.now(session))
    return admission


def _resolve_admission(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> Admission:
    """Who may submit for whom, whatever time it is."""
    facts = load_admission_facts(session, caller, slug, phase_slug)
    require_scope(caller, "submit")
    by_organizer = can_organize(caller) and effective_role(caller, facts.role) in {"owner", "editor"}
    if (entry.team is not None or entry.baseline) and not by_organizer:
        require_administrator(caller, "Only organizers may name a team or enter a baseline.")
    name = entry.team if entry.team is not None else _own_team_name(facts, by_organizer=by_organizer)
    return Admission(facts, name, _resolve_team(session, facts, entry, name), by_organizer)


def _require_open(admission: Admission, now: datetime) -> None:
    """Raise NoOpenPhase or NoGold unless the phase takes submissions at this moment."""
    facts = admission.facts
    if not admission.by_organizer and not challenges.is_within_window(facts.opens_at, facts.closes_at, now):
        raise NoOpenPhase(
            f"The phase '{facts.phase}' is not open now.",
            opens_at=format_timestamp(facts.opens_at),
            closes_at=format_timestamp(facts.closes_at) if facts.closes_at else None,
        )
    _ = admission.gold_id


def require_admission_early(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata, *, key: str | None
) -> bool:
    """Raise what admission raises before the body is read; the storing transaction asks again.

    Gives whether an organizer sends it, as far as that was asked.

    A repetition under a known key is let through: its submission was admitted then, whatever holds now.
    """
    if key is not None:
        load_admission_facts(session, caller, slug, phase_slug)
        if (
            submissions.find_idempotency_key(session, require_scope(caller, "submit"), key, clock.steady(session))
            is not None
        ):
            return False
    return admit(session, caller, slug, phase_slug, entry).by_organizer


def require_quota_early(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> None:
    """Raise QuotaExceeded for what the storing transaction would refuse now: a large body need not come for that."""
    admission = admit(session, caller, slug, phase_slug, entry)
    if not admission.by_organizer and admission.team is not None:
        _require_quota(session, admission, admission.team[0], clock.now(session))


def max_prediction_bytes(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, limits: Limits, *, pairs: bool
) -> int | None:
    """The bytes that a body of predictions may have to be of any use in this phase; None where that is not known.

    `pairs`: the upload says that it is a table with a row for each pair of instance and label.

    Of gold from before this was kept, ids are taken to be as long as they may be, and if some are not scored nothing
    is known.
    """
    gold_id = load_admission_facts(session, caller, slug, phase_slug).gold_id
    gold = None if gold_id is None else session.get_one(GoldVersion, gold_id)
    if gold is None or (gold.void_instances is None and not is_fully_scored(gold.notes)):
        return None
    longest = 4 * limits.text_length if gold.longest_id is None else gold.longest_id
    needs = replace(
        PhaseSize.of((), gold.classes), instances=gold.instances + (gold.void_instances or 0), longest=longest
    )
    return max_upload_bytes(needs, limits, pairs=pairs)


def _resolve_team(
    session: ReadSession, facts: AdmissionContext, entry: SubmissionMetadata, name: str
) -> tuple[str, str] | None:
    """The caller's own team, or the one named; the names of baselines are apart from those of teams."""
    if entry.team is None and not entry.baseline:
        assert facts.team_id is not None
        return facts.team_id, name
    named = teams.by_name(session, facts.challenge_id, name, baseline=entry.baseline)
    return None if named is None else (named.id, named.name)


def _own_team_name(facts: AdmissionContext, *, by_organizer: bool) -> str:
    if by_organizer and facts.registration is None:
        raise NotRegistered(
            "You organize this challenge but have no team in it.",
            remedy="Add ?team=NAME (and &baseline=true for a baseline) to the request.",
        )
    if not by_organizer:
        require_approved_status(facts.registration, facts.reason)
    assert facts.team is not None
    return facts.team


def _find_or_create_team(session: WriteSession, challenge_id: str, name: str, *, baseline: bool) -> tuple[str, str]:
    """The team or baseline that an organizer names, unless another request founds it at this very moment."""
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
    """The stored submission, and whether it is new: the same request under the same key gives the earlier one.

    Raises what admission raises, QuotaExceeded, RequestInFlight and IdempotencyMismatch.
    """
    user_id = require_scope(caller, "submit")
    locks.challenge(session, slug, shared=True)
    if key is not None and not locks.try_key(session, user_id, key):
        raise RequestInFlight  # at another replica
    mark = request_fingerprint(slug, phase_slug, entry, kind, stored.sha256)
    earlier = find_earlier_submission(session, user_id, key, mark) if key is not None else None
    if earlier is not None:
        return read_submission_status(session, caller, earlier), False
    admission = _resolve_admission(session, caller, slug, phase_slug, entry)
    team = admission.team or _find_or_create_team(
        session, admission.facts.challenge_id, admission.name, baseline=entry.baseline
    )
    if not admission.by_organizer:
        locks.team(session, admission.facts.phase_id, team[0])
    moment = clock.read(session)  # once the line is passed: which of a team's is the latest is told by it
    _require_open(admission, moment.now)
    submission = _new_submission(admission, team, entry, stored, kind, user_id=user_id, moment=moment)
    _reserve_and_add(session, admission, submission, moment.now)
    task_id = _enqueue(session, queue, submission, admission, moment.steady)
    if key is not None:
        note = IdempotencyKey(user_id=user_id, key=key, fingerprint=mark, submission_id=submission.id)
        _store_idempotency_key(session, note, moment.steady)
    session.flush()
    return _initial_view(session, caller, admission, submission, task_id), True


def _reserve_and_add(session: WriteSession, admission: Admission, submission: Submission, now: datetime) -> None:
    """The row, and unless an organizer sends it the quota that it takes."""
    if admission.by_organizer:
        submissions.add(session, submission)
        return
    day = _require_quota(session, admission, submission.team_id, now)
    submissions.add(session, submission)
    quota.reserve(session, submission, day)


def _require_quota(session: ReadSession, admission: Admission, team_id: str, now: datetime) -> str:
    """The day of the challenge's calendar; raises QuotaExceeded where the team may send nothing more now."""
    facts = admission.facts
    day, reset_at = quota_day(facts.timezone, now)
    limits = {name: limit for name, limit in facts.quota.items() if limit is not None}
    if limits:
        require_quota(limits, quota.usage(session, facts.phase_id, team_id, day), reset_at=reset_at, now=now)
    return day


def _store_idempotency_key(session: WriteSession, note: IdempotencyKey, moment: datetime) -> None:
    note.created_at = moment
    submissions.delete_expired_keys(session, note.user_id, note.key, moment)
    session.add(note)


def _initial_view(
    session: ReadSession, caller: Caller, admission: Admission, submission: Submission, task_id: str
) -> SubmissionView:
    """A submission as its sender sees it at this moment, without reading it back."""
    facts = admission.facts
    organizer = can_organize(caller) and effective_role(caller, facts.role) is not None
    return SubmissionView(
        submission=submission,
        is_file_visible=organizer or not submission.on_behalf,
        challenge=facts.challenge,
        phase=facts.phase,
        queue_position=fair_scheduling.queue_position(session, task_id),
        scores={},
        splits={} if organizer else None,
        split=current_split(has_splits=bool(facts.has_splits), released=facts.released_at),
        gold_version=facts.gold_version,
        recipe_version=facts.recipe_version,
        organizer=organizer,
        scored=False,
    )


def find_earlier_submission(session: ReadSession, user_id: str, key: str, mark: str) -> str | None:
    """The id of the submission that this key stood for; raises IdempotencyMismatch when it stood for another request."""
    row = submissions.find_idempotency_key(session, user_id, key, clock.steady(session))
    if row is None:
        return None
    if row.fingerprint != mark:
        raise IdempotencyMismatch
    return row.submission_id


def request_fingerprint(slug: str, phase_slug: str, entry: SubmissionMetadata, kind: FileKind, sha256: str) -> str:
    """What makes two requests the same: the bytes, and everything said about them."""
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
        phase_id=admission.facts.phase_id,
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
) -> str:
    version = target_scorer_version(admission.facts.scorer_version)
    sender = submission.user_id
    own = fair_scheduling.Lane.of_participant(sender, submission.team_id)
    task_id = tasks.add(
        session,
        submission_id=submission.id,
        gold_id=admission.gold_id,
        recipe_id=admission.facts.recipe_id,
        scorer_version=version,
        lane=fair_scheduling.Lane.of_organizer(sender) if admission.by_organizer else own,
        moment=moment,
    )
    assert task_id is not None, "a new submission has no task yet"
    queue.enqueue(session, task_id, scorer_version=version)
    return task_id


@dataclass(frozen=True, slots=True)
class DryRunContext:
    """What predictions are checked against, without scoring them."""

    gold: GoldVersion
    challenge: Challenge
    recipe: Recipe

    def request(self, gold: GoldSource, predictions: SourceFile) -> ValidatePredictions:
        """The request to a scoring process."""
        return ValidatePredictions(gold, predictions, self.recipe.body)


def dry_run(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> DryRunContext:
    """What to check predictions against; raises what admission raises."""
    admission = admit(session, caller, slug, phase_slug, entry)
    return DryRunContext(
        gold=session.get_one(GoldVersion, admission.gold_id),
        challenge=session.get_one(Challenge, admission.facts.challenge_id),
        recipe=session.get_one(Recipe, admission.facts.recipe_id),
    )
