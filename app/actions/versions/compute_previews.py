"""Compute previews in the background: score what is missing at low priority, then compare the boards."""

from typing import Any, Literal

import structlog

from app.actions.access import Caller, load_organized_phase
from app.actions.versions import perform_switch, request_switch
from app.actions.versions.compare_boards import compare_boards
from app.actions.versions.preview_switch import PreviewView, source_of, target_of, view_preview
from app.actions.versions.target_scores import add_target_tasks, target_progress, target_provenance
from app.errors import NotFound
from app.queue import Queue
from app.store import clock
from app.store.queries import board_previews, board_switches, target_scores
from app.store.queries.board_versions import active_version
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import BoardPreview, Phase

log = structlog.get_logger()

PreviewState = Literal["tasks are missing", "waiting", "settled"]


def previews_in_progress(session: ReadSession) -> list[str]:
    """The ids of the previews that are not finished, the oldest first."""
    return board_previews.in_progress(session)


def preview_state(session: ReadSession, preview_id: str) -> PreviewState:
    """The state of a preview, read without a lock.

    While the board of its phase switches, it waits: the submissions are scored for the switch first.
    """
    row = session.get(BoardPreview, preview_id)
    if row is None or row.status != "scoring":
        return "waiting"  # deleted, or another worker has finished it
    provenance = target_provenance(session, target_of(session, row))
    if board_switches.has_open_rescoring(session, provenance):
        return "waiting"  # first of all, because it costs next to nothing
    if _is_switching(session, row.phase_id):
        return "waiting"
    if target_scores.without_task(session, row.phase_id, provenance, 1):
        return "tasks are missing"
    return "settled"


def _is_switching(session: ReadSession, phase_id: str) -> bool:
    """Whether submissions of a phase are scored for a switch; not while that waits for an organizer."""
    pending = board_switches.pending(session, phase_id)
    if pending is None:
        return False
    if perform_switch.switch_state(session, pending.id) == "tasks are missing":
        return True
    target = request_switch.target_of(session, pending)
    return board_switches.has_open_rescoring(session, target_provenance(session, target))


def add_preview_tasks(session: WriteSession, queue: Queue, preview_id: str) -> int:
    """Add some of the tasks that a preview still needs; returns how many, 0 once it has them all.

    Only one worker at a time may do this: two would find the same submissions without a task.
    """
    row = session.get(BoardPreview, preview_id, populate_existing=True)
    if row is None or row.status != "scoring":
        return 0
    return add_target_tasks(session, queue, session.get_one(Phase, row.phase_id), target_of(session, row))


def finish_preview(db: Database, preview_id: str) -> bool:
    """Compare the boards once every submission is settled, and store the result; returns whether it did.

    The boards are read before the transaction that stores them, so that nobody waits for a large comparison.
    """
    with db.read() as session:
        row = session.get(BoardPreview, preview_id)
        if row is None or row.status != "scoring":
            return False
        requested_at = row.requested_at
        failure = _failure(session, row)
        result = None if failure is not None else _compare(session, row)
    with db.write() as session:
        row = session.get(BoardPreview, preview_id, with_for_update=True)
        if row is None or row.status != "scoring" or row.requested_at != requested_at:
            return False
        row.status, row.finished_at = "done" if failure is None else "failed", clock.now(session)
        row.result, row.failure = result, failure
    log.info("preview_finished", preview=preview_id, failed=failure is not None)
    return True


def _failure(session: ReadSession, row: BoardPreview) -> dict[str, Any] | None:
    """Why nothing can be compared; None if it can."""
    if source_of(session, row) is None:
        return {"code": "version_deleted", "detail": "The version that it was to be compared with was deleted."}
    phase, target = session.get_one(Phase, row.phase_id), target_of(session, row)
    progress = target_progress(session, phase, target)
    if not progress.total or len(progress.failed) < progress.total:
        return None
    task = target_scores.failed_tasks(session, phase.id, target_provenance(session, target))[0]
    reason = (task.failure or {}).get("detail") or "no reason was stored"
    return {"code": "nothing_scored", "detail": f"No submission could be scored by these versions; the first: {reason}"}


def _compare(session: ReadSession, row: BoardPreview) -> dict[str, Any]:
    phase, target, before = session.get_one(Phase, row.phase_id), target_of(session, row), source_of(session, row)
    assert before is not None
    empty = board_previews.empty_predictions(session, phase.id, target_provenance(session, target))
    result = compare_boards(session, phase, before, target)
    result |= {"empty_predictions": [each._asdict() for each in empty]}
    return result | {"inputs": board_previews.board_inputs(session, phase)}


def compare_pending_switch(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, slots: int
) -> PreviewView:
    """What a pending switch would change by the scores that there are now, also one to another scorer, for organizers.

    Raises NotFound for a switch that is not pending: the errata tell what it changed.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=False)
    switch, before = board_switches.by_number(session, phase.id, number), active_version(session, phase)
    if switch is None or switch.status != "pending" or before is None:
        detail = f"The phase has no pending switch {number}."
        raise NotFound(detail, remedy="'assay errata' and the page Corrections tell what a switch has changed.")
    columns = {name: getattr(switch, name) for name in ("phase_id", "to_gold_id", "to_recipe_id", "to_scorer_version")}
    origin = {"from_gold_id": before.gold.id, "from_recipe_id": before.recipe.id, "from_scorer_version": before[2]}
    times = {"requested_at": switch.requested_at, "finished_at": clock.now(session)}
    row = BoardPreview(status="done", **columns, **origin, **times)  # not stored
    row.result = _compare(session, row)
    return view_preview(session, phase, row, slots=slots)
