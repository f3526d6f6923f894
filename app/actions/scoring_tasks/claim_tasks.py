"""Claim due tasks together with everything that scoring them needs."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cachetools import LRUCache, cached

from app.actions.scoring_tasks.further_versions import FurtherVersion, find_further_versions
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference
from app.formats import FileKind
from app.queue import Queue, TaskClaim
from app.scoring import SCORER_VERSION
from app.store.clock import ClockReading
from app.store.queries import tasks
from app.store.queries.fair_scheduling import prepare_claims
from app.store.queries.tasks import Claimed
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Recipe

MAX_CACHED_MEASURES = 1024


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """Everything that scoring one task needs."""

    submission_id: str
    file_key: str
    kind: FileKind
    gold: GoldReference
    recipe: Mapping[str, Any]
    further: tuple[FurtherVersion, ...] = ()
    """What it is scored by besides, in the same turn, if the file is valid for this gold."""
    accepted: bool = False
    """Whether the file was accepted before (see ScorePredictions)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedTask(TaskClaim):
    """A claim with the loaded task; equal to another one if the claims are."""

    job: LoadedTask
    started_at: datetime
    """Tells apart two claims with the same attempt, of which one was rolled back."""
    waited: timedelta | None
    """How long the submission waited for its first scoring; None for a later one."""


def is_scoring_due(session: ReadSession, *, longer: timedelta = timedelta()) -> bool:
    """Whether any task of a new submission is due, and has been for at least `longer`."""
    return tasks.has_due(session, SCORER_VERSION, longer)


def claim_tasks(
    session: WriteSession,
    queue: Queue,
    count: int,
    *,
    lease: timedelta | None = None,
    moment: ClockReading | None = None,
) -> list[ClaimedTask]:
    """Claim up to `count` due tasks in fair order, for the duration of the lease if there is one.

    Without a lease only where no other process claims tasks. If further tasks are due, this transaction also makes sure
    that the queue wakes another worker for them. Empty if none is due, or other workers claim them all. `moment` comes
    from `prepare_claims`, if the caller has called that.
    """
    moment = moment or prepare_claims(session)
    claimed = tasks.claim(session, SCORER_VERSION, moment, count, lease)
    if claimed and claimed[-1].more:
        orphan = queue.find_orphaned_task(session)
        if orphan is not None:
            queue.enqueue(session, orphan)
    return [_load(session, each) for each in claimed]


def _load(session: WriteSession, claimed: Claimed) -> ClaimedTask:
    was_active = claimed.gold_activated_at is not None
    gold, recipe = _measure(session, claimed) if was_active else _load_measure(session, claimed)
    kind = FileKind(claimed.format, claimed.encoding, claimed.layout)
    job = LoadedTask(
        claimed.submission_id, claimed.file_key, kind, gold, recipe, find_further_versions(session, claimed)
    )
    waited = max(timedelta(), claimed.started_at - claimed.submitted_at) if claimed.attempt == 1 else None
    return ClaimedTask(claimed.task_id, claimed.attempt, job, claimed.started_at, waited)


def _load_measure(session: ReadSession, claimed: Claimed) -> tuple[GoldReference, Mapping[str, Any]]:
    """What a submission is measured by."""
    version, recipe = session.get_one(GoldVersion, claimed.gold_id), session.get_one(Recipe, claimed.recipe_id)
    return gold_reference(version), recipe.body


def _measure_key(_session: ReadSession, claimed: Claimed) -> tuple[str, datetime | None, str]:
    return claimed.gold_id, claimed.gold_activated_at, claimed.recipe_id


# A recipe never changes, nor does gold that was active; `gold_reference` explains why its id is not enough.
_measure = cached(LRUCache(MAX_CACHED_MEASURES), key=_measure_key, lock=threading.Lock())(_load_measure)
