"""Complete what a settlement left out that committed beside a switch of its board, or beside the final release.

On PostgreSQL such a transaction may have read the phase before the switch, while the switch could not read its scores
yet. Then the board lacks an entry, or the transparency log a receipt.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import structlog

from app.actions.receipts.log_receipts import log_shown_receipts, shown_but_unlogged
from app.actions.versions.target_scores import add_target_tasks, target_provenance
from app.queue import Queue
from app.scoring import SCORER_VERSION
from app.store import locks
from app.store.queries import board_switches, target_scores
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import Database, ReadSession
from app.store.tables import Phase

log = structlog.get_logger()


class ChangedPhase(NamedTuple):
    """A phase whose board switched or was released, with the slug of its challenge, whose lock guards both."""

    id: str
    slug: str


def phases_changed_since(session: ReadSession, moment: datetime | None) -> list[ChangedPhase]:
    """The phases whose board switched or was released since then; all that ever did so without a moment."""
    return [ChangedPhase(*row) for row in board_switches.changed_since(session, moment)]


def complete_boards(db: Database, queue: Queue, phases: Sequence[ChangedPhase]) -> int:
    """Add the scoring tasks and log records that these phases lack; returns how many phases lacked some."""
    with db.read() as session:
        lacking = [each for each in phases if _lacks_any(session, each)]
    return sum(_complete(db, queue, each) for each in lacking)


def _lacks_any(session: ReadSession, of: ChangedPhase) -> bool:
    phase = session.get(Phase, of.id)
    version = None if phase is None else active_version(session, phase)
    if phase is None or version is None:
        return False
    return _lacks_tasks(session, phase, version) or bool(shown_but_unlogged(session, phase, version))


def _lacks_tasks(session: ReadSession, phase: Phase, version: BoardVersion) -> bool:
    if version.scorer_version != SCORER_VERSION:  # a matter of the workers that have it
        return False
    return bool(target_scores.without_task(session, phase.id, target_provenance(session, version), 1))


def _complete(db: Database, queue: Queue, of: ChangedPhase) -> bool:
    with db.write() as session:
        locks.challenge(session, of.slug)  # what this reads now is not changed by a switch
        phase = session.get(Phase, of.id)
        version = None if phase is None else active_version(session, phase)
        if phase is None or version is None or not locks.try_maintenance(session):
            return False
        lacks_tasks = _lacks_tasks(session, phase, version)
        tasks = add_target_tasks(session, queue, phase, version) if lacks_tasks else 0
        records = log_shown_receipts(session, phase, version)
    if tasks or records:
        log.warning("board_completed", phase=of.id, tasks=tasks, log_records=records)
    return bool(tasks or records)
