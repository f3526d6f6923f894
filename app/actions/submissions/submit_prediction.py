"""Admit a submission: check window, registration and quota, then store row, ledger entry and task at once."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app.actions.access import (
    Caller,
    can_organize,
    effective_role,
    require_scope,
)
from app.actions.audit.record import created_fields, record
from app.actions.submissions.admission import (
    Admission,
    SubmissionMetadata,
    admit,
    is_late,
    load_admission_facts,
    require_open,
    require_quota_left,
    require_visible_phase,
    resolve_admission,
)
from app.actions.submissions.check_quota import QuotaBalance
from app.actions.submissions.read_submissions import SubmissionView, read_submission_status, submission_view
from app.actions.teams.found_team import add_team, add_test_team
from app.actions.versions.target_scores import target_scorer_version
from app.errors import (
    IdempotencyMismatch,
    RequestInFlight,
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
from app.store.queries import fair_scheduling, quota, tasks, teams
from app.store.queries import gold as gold_queries
from app.store.queries.submission_details import SubmissionDetails, TaskState
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe, Submission, Team
from app.store.types import id_at
from app.task_priorities import SUBMISSION_PRIORITY


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


def _find_or_create_team(
    session: WriteSession, caller: Caller, admission: Admission, entry: SubmissionMetadata
) -> teams.TeamReference:
    """The caller's own team, or the one that an organizer names, which is created if it does not exist.

    Baselines have names of their own, separate from those of teams, and test entries share one team.
    """
    context, name = admission.context, admission.name
    if not entry.is_for_organizers:
        assert context.team_id is not None
        return teams.TeamReference(context.team_id, name)

    def find() -> teams.TeamReference | None:
        if entry.test:
            return teams.of_tests(session, context.challenge_id)
        return teams.by_name(session, context.challenge_id, name, baseline=entry.baseline)

    team = find()
    if team is None:
        locks.team_names(session, context.challenge_id)
        team = find()  # another request may just have created it
    if team is not None:
        return team
    challenge = session.get_one(Challenge, context.challenge_id)
    if entry.test:
        created = add_test_team(session, challenge)
    else:
        created = add_team(session, challenge, name, baseline=entry.baseline, reserved=True)
        shown = created_fields({"name": created.name, "baseline": entry.baseline})
        record(session, caller, "team.found", challenge=challenge, of=created, changes=shown)
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
    context = require_visible_phase(session, caller, slug, phase_slug, facts)
    mark = request_fingerprint(context.phase_id, entry, kind, stored.sha256)
    if facts.key is not None:
        if facts.key.fingerprint != mark:
            raise IdempotencyMismatch
        return read_submission_status(session, caller, facts.key.submission_id, balance=True), False
    admission = resolve_admission(caller, context, entry)
    team = _find_or_create_team(session, caller, admission, entry)
    lane = _lane(admission, user_id, team.id)
    moment = locks.team_and_lane(session, context.phase_id, team.id, lane.name)
    require_open(admission, moment.now)
    submission = _new_submission(admission, team, entry, stored, kind, user_id=user_id, moment=moment)
    named = None if key is None else _stored_key(submission, key, mark, moment)
    task, balance = _store(session, queue, submission, admission, lane=lane, moment=moment, key=named)
    if entry.is_for_organizers:
        _record(session, caller, submission, team)
    waits = will_wait is not None and will_wait(submission.id)
    details = SubmissionDetails(submission, context, None if waits else task, scores={})
    organizer = can_organize(caller) and effective_role(caller, context.role) is not None
    view = submission_view(session, caller, details, organizer=organizer)
    return replace(view, balance=None if balance is None else balance.after_one_more()), True


def _record(session: WriteSession, caller: Caller, submission: Submission, team: teams.TeamReference) -> None:
    """Record what an organizer sends; what teams send is in the list of submissions."""
    phase = session.get_one(Phase, submission.phase_id)
    shown = {"team": team.name, "baseline": submission.baseline, "test": submission.test}
    shown |= {"unofficial": submission.unofficial, "sha256": submission.sha256}
    changes = created_fields(shown)
    record(session, caller, "submission.create", challenge=phase.challenge, of=submission, changes=changes)


def _lane(admission: Admission, user_id: str, team_id: str) -> fair_scheduling.Lane:
    lane = fair_scheduling.Lane
    return lane.of_organizer(user_id) if admission.by_organizer else lane.of_participant(user_id, team_id)


def _stored_key(submission: Submission, key: str, mark: str, moment: clock.ClockReading) -> dict[str, Any]:
    names = {"user_id": submission.user_id, "key": key, "fingerprint": mark, "submission_id": submission.id}
    return names | {"created_at": moment.steady}


def request_fingerprint(phase_id: str, entry: SubmissionMetadata, kind: FileKind, sha256: str) -> str:
    """What identifies a request: the bytes of its file, its phase, whose slug may change, and all metadata."""
    parts = [phase_id, entry.method, entry.description, entry.link, entry.team, entry.baseline]
    parts += ["test"] if entry.test else []  # stored keys of other requests keep their fingerprint
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
        test=entry.test,
        on_behalf=entry.is_for_organizers and not entry.test,
        unofficial=is_late(admission.context, moment.now),
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
) -> tuple[TaskState, QuotaBalance | None]:
    """Store the submission with its task, its key and, unless an organizer sends it, the quota reservation.

    Also returns the balance of the team's quota before.
    """
    reservation, balance = None, None
    if not admission.by_organizer:
        day, balance = require_quota_left(session, admission.context, submission.team_id, moment.now)
        reservation = quota.reservation(submission, day)
    version = target_scorer_version(admission.context.scorer_version)
    provenance = {"gold_id": admission.gold_id, "recipe_id": admission.context.recipe_id, "scorer_version": version}
    turn = fair_scheduling.next_turn(session, lane)
    task = tasks.new_values({"submission_id": submission.id} | provenance, lane, turn, moment.steady)
    admission_queries.store(session, submission, task=task, reservation=reservation, key=key)
    queue.enqueue(session, task["id"], scorer_version=version)
    return TaskState(task["id"], "queued", SUBMISSION_PRIORITY, version), balance


@dataclass(frozen=True, slots=True)
class DryRunContext:
    """What predictions are checked against without being scored."""

    gold: GoldVersion
    recipe: Recipe

    def request(self, gold: GoldSource, predictions: SourceFile) -> ValidatePredictions:
        """The request to a scoring process."""
        return ValidatePredictions(gold, predictions, self.recipe.body)


def dry_run(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: SubmissionMetadata
) -> DryRunContext:
    """The gold and recipe to check predictions against; raises what admission raises."""
    facts = load_admission_facts(session, caller, slug, phase_slug)
    context = require_visible_phase(session, caller, slug, phase_slug, facts)
    admission = admit(caller, context, entry, facts.read_at.now)
    return DryRunContext(
        gold=session.get_one(GoldVersion, admission.gold_id),
        recipe=session.get_one(Recipe, admission.context.recipe_id),
    )
