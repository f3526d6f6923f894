"""Admit a submission: window, registration and quota, then row, ledger and task in one transaction."""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from app.actions.access import (
    Caller,
    may_organize,
    require_administrator,
    require_approved,
    require_scope,
    role_by,
    see_challenge,
    see_facts,
)
from app.actions.challenges.team_registration import add_team
from app.actions.scoring_tasks.upgrade_scorer import version_for
from app.actions.submissions.check_quota import quota_day, require_quota
from app.actions.submissions.read_submissions import Seen, follow_submission
from app.actions.submissions.score_visibility import split_now
from app.errors import (
    IdempotencyMismatch,
    NoGold,
    NoOpenPhase,
    NotRegistered,
    RequestInFlight,
    SeveralOpenPhases,
)
from app.files import Stored
from app.formats import FileKind, Limits
from app.formats.size_limits import Needs, most_as_sent
from app.pipeline import says_all_scored
from app.queue import Queue
from app.store import clock, locks
from app.store.queries import challenges, fair_scheduling, quota, submissions, tasks, teams
from app.store.queries.admission_context import Facts
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, IdempotencyKey, Phase, Recipe, Submission, Team
from app.store.types import id_of, moment_text


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
    """Leave to submit to a phase: under which name, and as which team, by id and name; None while it is to be founded."""

    facts: Facts
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
    admission = _admission(session, caller, slug, phase_slug, entry)
    _require_open(admission, clock.now(session))
    return admission


def _admission(session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: Entry) -> Admission:
    """Who may submit for whom, whatever time it is."""
    facts = see_facts(session, caller, slug, phase_slug)
    require_scope(caller, "submit")
    by_organizer = may_organize(caller) and role_by(caller, facts.role) in {"owner", "editor"}
    if (entry.team is not None or entry.baseline) and not by_organizer:
        require_administrator(caller, "Only organizers may name a team or enter a baseline.")
    name = entry.team if entry.team is not None else _own_name(facts, by_organizer=by_organizer)
    return Admission(facts, name, _team(session, facts, entry, name), by_organizer)


def _require_open(admission: Admission, now: datetime) -> None:
    """Raise NoOpenPhase or NoGold unless the phase takes submissions at this moment."""
    facts = admission.facts
    if not admission.by_organizer and not challenges.within(facts.opens_at, facts.closes_at, now):
        raise NoOpenPhase(
            f"The phase '{facts.phase}' is not open now.",
            opens_at=moment_text(facts.opens_at),
            closes_at=moment_text(facts.closes_at) if facts.closes_at else None,
        )
    _ = admission.gold_id


def refuse_early(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: Entry, *, key: str | None
) -> bool:
    """Raise what admission raises before the body is read; the storing transaction asks again.

    Gives whether an organizer sends it, as far as that was asked.

    A repetition under a known key is let through: its submission was admitted then, whatever holds now.
    """
    if key is not None:
        see_facts(session, caller, slug, phase_slug)
        if submissions.key_of(session, require_scope(caller, "submit"), key, clock.steady(session)) is not None:
            return False
    return admit(session, caller, slug, phase_slug, entry).by_organizer


def require_quota_early(session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: Entry) -> None:
    """Raise QuotaExceeded for what the storing transaction would refuse now: a large body need not come for that."""
    admission = admit(session, caller, slug, phase_slug, entry)
    if not admission.by_organizer and admission.team is not None:
        _require_quota(session, admission, admission.team[0], clock.now(session))


def room(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, limits: Limits, *, pairs: bool
) -> int | None:
    """The bytes that a body of predictions may have to be of any use in this phase; None where that is not known.

    `pairs`: the upload says that it is a table with a row for each pair of instance and label.

    Of gold from before this was kept, ids are taken to be as long as they may be, and if some are not scored nothing
    is known.
    """
    gold_id = see_facts(session, caller, slug, phase_slug).gold_id
    gold = None if gold_id is None else session.get_one(GoldVersion, gold_id)
    if gold is None or (gold.void_instances is None and not says_all_scored(gold.notes)):
        return None
    longest = 4 * limits.text_length if gold.longest_id is None else gold.longest_id
    needs = replace(Needs.of((), gold.classes), instances=gold.instances + (gold.void_instances or 0), longest=longest)
    return most_as_sent(needs, limits, pairs=pairs)


def _team(session: ReadSession, facts: Facts, entry: Entry, name: str) -> tuple[str, str] | None:
    """The caller's own team, or the one named; the names of baselines are apart from those of teams."""
    if entry.team is None and not entry.baseline:
        assert facts.team_id is not None
        return facts.team_id, name
    named = teams.by_name(session, facts.challenge_id, name, baseline=entry.baseline)
    return None if named is None else (named.id, named.name)


def _own_name(facts: Facts, *, by_organizer: bool) -> str:
    if by_organizer and facts.registration is None:
        raise NotRegistered(
            "You organize this challenge but have no team in it.",
            remedy="Add ?team=NAME (and &baseline=true for a baseline) to the request.",
        )
    if not by_organizer:
        require_approved(facts.registration, facts.reason)
    assert facts.team is not None
    return facts.team


def _founded(session: WriteSession, challenge_id: str, name: str, *, baseline: bool) -> tuple[str, str]:
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
    entry: Entry,
    stored: Stored,
    kind: FileKind,
    key: str | None = None,
) -> tuple[Seen, bool]:
    """The stored submission, and whether it is new: the same request under the same key gives the earlier one.

    Raises what admission raises, QuotaExceeded, RequestInFlight and IdempotencyMismatch.
    """
    user_id = require_scope(caller, "submit")
    locks.challenge(session, slug, shared=True)
    if key is not None and not locks.try_key(session, user_id, key):
        raise RequestInFlight  # at another replica
    mark = fingerprint(slug, phase_slug, entry, kind, stored.sha256)
    earlier = known(session, user_id, key, mark) if key is not None else None
    if earlier is not None:
        return follow_submission(session, caller, earlier), False
    admission = _admission(session, caller, slug, phase_slug, entry)
    team = admission.team or _founded(session, admission.facts.challenge_id, admission.name, baseline=entry.baseline)
    if not admission.by_organizer:
        locks.team(session, admission.facts.phase_id, team[0])
    moment = clock.read(session)  # once the line is passed: which of a team's is the latest is told by it
    _require_open(admission, moment.now)
    submission = _row(admission, team, entry, stored, kind, user_id=user_id, moment=moment)
    _reserve_and_add(session, admission, submission, moment.now)
    task_id = _enqueue(session, queue, submission, admission, moment.steady)
    if key is not None:
        note = IdempotencyKey(user_id=user_id, key=key, fingerprint=mark, submission_id=submission.id)
        _note_key(session, note, moment.steady)
    session.flush()
    return _as_sent(session, caller, admission, submission, task_id), True


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


def _note_key(session: WriteSession, note: IdempotencyKey, moment: datetime) -> None:
    note.created_at = moment
    submissions.forget_old_keys(session, note.user_id, note.key, moment)
    session.add(note)


def _as_sent(session: ReadSession, caller: Caller, admission: Admission, submission: Submission, task_id: str) -> Seen:
    """A submission as its sender sees it at this moment, without reading it back."""
    facts = admission.facts
    organizer = may_organize(caller) and role_by(caller, facts.role) is not None
    return Seen(
        submission=submission,
        file_shown=organizer or not submission.on_behalf,
        challenge=facts.challenge,
        phase=facts.phase,
        queue_position=fair_scheduling.position(session, task_id),
        scores={},
        splits={} if organizer else None,
        split=split_now(has_splits=bool(facts.has_splits), released=facts.released_at),
        gold_version=facts.gold_version,
        recipe_version=facts.recipe_version,
        organizer=organizer,
        scored=False,
    )


def known(session: ReadSession, user_id: str, key: str, mark: str) -> str | None:
    """The id of the submission that this key stood for; raises IdempotencyMismatch when it stood for another request."""
    row = submissions.key_of(session, user_id, key, clock.steady(session))
    if row is None:
        return None
    if row.fingerprint != mark:
        raise IdempotencyMismatch
    return row.submission_id


def fingerprint(slug: str, phase_slug: str, entry: Entry, kind: FileKind, sha256: str) -> str:
    """What makes two requests the same: the bytes, and everything said about them."""
    parts = [slug, phase_slug, entry.method, entry.description, entry.link, entry.team, entry.baseline]
    text = json.dumps([*parts, kind.format, kind.encoding, kind.layout, sha256])
    return hashlib.sha256(text.encode()).hexdigest()


def _row(
    admission: Admission,
    team: tuple[str, str],
    entry: Entry,
    stored: Stored,
    kind: FileKind,
    *,
    user_id: str,
    moment: clock.Reading,
) -> Submission:
    return Submission(
        id=id_of(moment.steady),
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
    version = version_for(admission.facts.scorer_version)
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
class DryRun:
    """What predictions are checked against, without scoring them."""

    gold: GoldVersion
    challenge: Challenge
    recipe: Recipe

    def request(self, path: Path, kind: FileKind) -> dict[str, Any]:
        """What a child needs to know besides the gold."""
        return {
            "kind": "validate",
            "predictions": {"path": str(path), **kind.to_dict()},
            "recipe": self.recipe.body,
        }


def dry_run(session: ReadSession, caller: Caller, slug: str, phase_slug: str, entry: Entry) -> DryRun:
    """What to check predictions against; raises what admission raises."""
    admission = admit(session, caller, slug, phase_slug, entry)
    return DryRun(
        gold=session.get_one(GoldVersion, admission.gold_id),
        challenge=session.get_one(Challenge, admission.facts.challenge_id),
        recipe=session.get_one(Recipe, admission.facts.recipe_id),
    )
