"""Queries of imports of phases: the work list, origin ids, and foreign receipts."""

from datetime import datetime

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import undefer

from app.store import clock
from app.store.board_invalidation import NO_BOARD_CHANGE
from app.store.session import ReadSession, WriteSession
from app.store.tables import ForeignReceipt, GoldVersion, ImportedId, Phase, PhaseImport, Recipe

_QUIET = {"synchronize_session": False, **NO_BOARD_CHANGE}


def of_origin_phase(session: ReadSession, phase_id: str) -> PhaseImport | None:
    """The import of a phase of another installation that is done or under way."""
    query = select(PhaseImport).where(PhaseImport.origin_phase_id == phase_id, PhaseImport.status != "failed")
    return session.scalar(query)


def is_local_phase(session: ReadSession, phase_id: str) -> bool:
    """Whether a phase with this id is of this installation."""
    return session.get(Phase, phase_id) is not None


def next_waiting(session: ReadSession) -> str | None:
    """The oldest import that is queued, or whose worker has let its lease expire."""
    expired = (PhaseImport.status == "running") & (PhaseImport.lease_until < clock.steady(session))
    query = select(PhaseImport.id).where(or_(PhaseImport.status == "queued", expired))
    return session.scalar(query.order_by(PhaseImport.id).limit(1))


def lock(session: WriteSession, import_id: str) -> PhaseImport | None:
    """An import, locked until the end of the transaction."""
    query = select(PhaseImport).where(PhaseImport.id == import_id).with_for_update()
    return session.scalar(query.execution_options(populate_existing=True))


def renew(session: WriteSession, import_id: str, attempt: int, *, stage: str, done: int, lease_until: datetime) -> bool:
    """Note the progress of the worker that holds an import; False if it no longer does."""
    own = and_(PhaseImport.id == import_id, PhaseImport.attempt == attempt, PhaseImport.status == "running")
    values = {"stage": stage, "done": done, "lease_until": lease_until}
    updated = session.execute(update(PhaseImport).where(own).values(values), execution_options=_QUIET)
    return bool(getattr(updated, "rowcount", 0))


def requeue_running(session: WriteSession) -> None:
    """Queue the imports that an earlier run of the only service left."""
    running = update(PhaseImport).where(PhaseImport.status == "running")
    session.execute(running.values(status="queued", stage="", lease_until=None), execution_options=_QUIET)


def newest(session: ReadSession, *, before: str | None, limit: int) -> list[PhaseImport]:
    """Imports, the newest first."""
    query = select(PhaseImport).order_by(PhaseImport.id.desc()).limit(limit)
    return list(session.scalars(query if before is None else query.where(PhaseImport.id < before)))


def origin_ids(
    session: ReadSession, import_id: str, *, kind: str | None, after: tuple[str, str] | None, limit: int
) -> list[ImportedId]:
    """The ids of an import by kind and id at the source."""
    query = select(ImportedId).where(ImportedId.import_id == import_id)
    if kind is not None:
        query = query.where(ImportedId.kind == kind)
    if after is not None:
        later = (ImportedId.kind == after[0]) & (ImportedId.origin_id > after[1])
        query = query.where((ImportedId.kind > after[0]) | later)
    return list(session.scalars(query.order_by(ImportedId.kind, ImportedId.origin_id).limit(limit)))


def origin_of(session: ReadSession, kind: str, local_id: str) -> tuple[ImportedId, PhaseImport] | None:
    """The id that a row had at its source, with the import; None for a row that was not imported."""
    query = select(ImportedId, PhaseImport).join(PhaseImport, PhaseImport.id == ImportedId.import_id)
    row = session.execute(query.where(ImportedId.kind == kind, ImportedId.local_id == local_id)).one_or_none()
    return None if row is None else (row[0], row[1])


def foreign_receipts(session: ReadSession, submission_id: str) -> list[tuple[ForeignReceipt, GoldVersion, Recipe]]:
    """The foreign receipts of a submission with their versions."""
    query = (
        select(ForeignReceipt, GoldVersion, Recipe)
        .join(GoldVersion, GoldVersion.id == ForeignReceipt.gold_id)
        .join(Recipe, Recipe.id == ForeignReceipt.recipe_id)
        .where(ForeignReceipt.submission_id == submission_id)
        .order_by(GoldVersion.version, Recipe.version, ForeignReceipt.scorer_version, ForeignReceipt.split)
        .options(undefer(ForeignReceipt.envelope), undefer(ForeignReceipt.proof))
    )
    return [(row[0], row[1], row[2]) for row in session.execute(query)]
