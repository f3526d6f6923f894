"""Switch boards to other versions, once every submission has the scores, in one transaction under the challenge's lock."""

from collections.abc import Sequence
from typing import Literal

import structlog

from app.actions.audit.record import record
from app.actions.scoring_tasks.score_tests_again import score_tests_again
from app.actions.versions import request_switch
from app.actions.versions.compare_boards import compare_boards
from app.actions.versions.target_scores import add_first_tasks, add_target_tasks, target_provenance
from app.queue import Queue
from app.store import clock, locks
from app.store.queries import board_switches, challenges, gold, target_scores
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import BoardSwitch, Phase, Recipe

log = structlog.get_logger()

SwitchState = Literal["tasks are missing", "waiting", "ready"]


def switch_state(session: ReadSession, switch_id: str) -> SwitchState:
    """The state of a pending switch, with those that are done together with it, read without a lock."""
    row = session.get(BoardSwitch, switch_id)
    if row is None or row.status != "pending":
        return "waiting"  # deleted, or another worker has done it
    states = [_state(session, each) for each in request_switch.switch_group(session, row)]
    if "tasks are missing" in states:
        return "tasks are missing"
    return "waiting" if "waiting" in states else "ready"


def _state(session: ReadSession, row: BoardSwitch) -> SwitchState:
    provenance = target_provenance(session, request_switch.target_of(session, row))
    if board_switches.has_open_rescoring(session, provenance):
        return "waiting"  # first of all, because it costs next to nothing
    return "tasks are missing" if _lacks_tasks(session, row, provenance) else _settled_state(session, row, provenance)


def _lacks_tasks(session: ReadSession, row: BoardSwitch, provenance: ScoreProvenance) -> bool:
    if target_scores.without_task(session, row.phase_id, provenance, 1):
        return True
    return bool(target_scores.unsettled_without_task(session, row.phase_id, row.to_scorer_version, 1))


def _settled_state(session: ReadSession, row: BoardSwitch, provenance: ScoreProvenance) -> SwitchState:
    """Whether a switch whose tasks are all there is ready, or waits for scores or for an organizer."""
    requested = (row.phase_id, provenance, row.requested_at)
    if board_switches.has_first_scoring_without_target(session, *requested):
        return "waiting"
    unaccepted = board_switches.has_unaccepted(session, row.phase_id, provenance, row.confirmed_at)
    return "waiting" if unaccepted else "ready"


def add_switch_tasks(session: WriteSession, queue: Queue, switch: request_switch.PendingSwitch) -> int:
    """Add some of the tasks that a switch still needs; returns how many, 0 once it has them all.

    Only one worker at a time may do this: two would find the same submissions without a task.
    """
    row = _lock(session, switch)
    if row is None:
        return 0
    added = 0
    for each in request_switch.switch_group(session, row):
        phase, target = session.get_one(Phase, each.phase_id), request_switch.target_of(session, each)
        added += add_target_tasks(session, queue, phase, target)
        if target.scorer_version > phase.scorer_version:
            added += add_first_tasks(session, queue, phase, target.scorer_version)
    target_scores.cancel_superseded(session, row.to_scorer_version, clock.now(session))
    return added


def perform_switch(session: WriteSession, queue: Queue, switch: request_switch.PendingSwitch) -> bool:
    """Switch if everything is ready, so that no board ever mixes two versions; returns whether it was done."""
    row = _lock(session, switch)
    if row is None:
        return False
    target_scores.cancel_superseded(session, row.to_scorer_version, clock.now(session))
    group = request_switch.switch_group(session, row)
    if _add_members(session, row, group) or switch_state(session, row.id) != "ready":
        return False  # it changed before this transaction had the lock
    before = [active_version(session, session.get_one(Phase, each.phase_id)) for each in group]
    _activate_recipe(session, group[0])
    for each, former in zip(group, before, strict=True):
        _switch(session, queue, each, former)
    return True


def _lock(session: WriteSession, switch: request_switch.PendingSwitch) -> BoardSwitch | None:
    """The switch, locked against submissions and changes; None if it has ended, or the challenge was renamed."""
    locks.challenge(session, switch.slug)
    row = session.get(BoardSwitch, switch.id, populate_existing=True)
    if row is None or row.status != "pending":
        return None
    challenge = session.get_one(Phase, row.phase_id, populate_existing=True).challenge
    return row if challenge.slug == switch.slug else None  # renamed: the lock was not its own


def _add_members(session: WriteSession, row: BoardSwitch, group: Sequence[BoardSwitch]) -> bool:
    """Request the switch of phases that came to share the recipe since; returns whether there are any."""
    recipe = session.get_one(Recipe, row.to_recipe_id)
    if recipe.status == "active" or recipe.phase_id is not None:
        return False
    known, added = {each.phase_id for each in group}, False
    for phase in challenges.phases_that_share(session, recipe.challenge_id):
        before = active_version(session, phase)
        if phase.id not in known and before is not None:
            caller = request_switch.caller_of(session, row)
            target = before._replace(recipe=recipe, scorer_version=row.to_scorer_version)
            request_switch.request_switch(session, caller, phase, before, target)
            added = True
    return added


def _activate_recipe(session: WriteSession, row: BoardSwitch) -> None:
    """Put the recipe of a switch into force, for one phase or for all that share it."""
    recipe = session.get_one(Recipe, row.to_recipe_id)
    if recipe.status == "active":
        return
    shared = recipe.phase_id is None
    former = (
        challenges.shared_recipe(session, recipe.challenge_id)
        if shared
        else challenges.own_recipe(session, str(recipe.phase_id))
    )
    if former is not None:
        former.status = "retired"
        session.flush()
    recipe.status = "active"
    session.flush()


def _switch(session: WriteSession, queue: Queue, row: BoardSwitch, before: BoardVersion | None) -> None:
    phase, target = session.get_one(Phase, row.phase_id), request_switch.target_of(session, row)
    now = clock.now(session)
    if target.gold.status != "active":
        former = gold.active(session, phase.id)
        if former is not None:
            former.status = "retired"
            session.flush()
        target.gold.status, target.gold.activated_at = "active", now
    phase.scorer_version = target.scorer_version
    row.status, row.switched_at = "done", now
    row.from_gold_id = None if before is None else before.gold.id
    row.from_recipe_id = None if before is None else before.recipe.id
    row.from_scorer_version = None if before is None else before.scorer_version
    session.flush()
    if before is not None:
        row.errata = compare_boards(session, phase, before, target)
    request_switch.log_switch(session, phase, row, before, target)
    _record(session, phase, row, before, target)
    score_tests_again(session, queue, phase)
    versions = {"gold": target.gold.version, "recipe": target.recipe.version}
    log.info("board_switched", challenge=phase.challenge.slug, phase=phase.slug, number=row.number, **versions)
    if before is not None and before.scorer_version != target.scorer_version:
        log.info(
            "scorer_switched", challenge=phase.challenge.slug, phase=phase.slug, scorer_version=phase.scorer_version
        )


def _record(
    session: WriteSession, phase: Phase, row: BoardSwitch, before: BoardVersion | None, target: BoardVersion
) -> None:
    """An audit entry of the one who requested it; a switch of the service itself is no act of anybody."""
    caller = request_switch.caller_of(session, row)
    if caller is None or before is None:
        return
    changes = {
        "gold": (before.gold.version, target.gold.version),
        "recipe": (before.recipe.version, target.recipe.version),
        "scorer_version": (before.scorer_version, target.scorer_version),
    }
    record(session, caller, "switch.done", challenge=phase.challenge, of=phase, changes=changes)


def count_blockers(session: ReadSession) -> int:
    """Number of submissions that withhold switches, because their scoring failed for good and nobody accepted that."""
    count = 0
    for switch_id, _ in board_switches.all_pending(session):
        row = session.get_one(BoardSwitch, switch_id)
        provenance = target_provenance(session, request_switch.target_of(session, row))
        failed = target_scores.failed_tasks(session, row.phase_id, provenance)
        accepted = row.confirmed_at
        count += sum(accepted is None or (task.finished_at or accepted) > accepted for task in failed)
    return count
