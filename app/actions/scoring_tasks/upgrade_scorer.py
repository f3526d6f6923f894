"""Upgrade to a newer scorer version: score everything with it, then activate it for each phase in one transaction."""

from typing import Any, Literal, NamedTuple

import structlog

from app.actions.challenges.change_recipe import equivalent_recipe_ids
from app.queue import Queue
from app.scoring import SCORER_VERSION
from app.store import clock, locks
from app.store.queries import challenges, gold, scorer_upgrade, tasks
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Recipe

log = structlog.get_logger()

ScorerUpgradeState = Literal["tasks are missing", "waiting", "ready"]
MAX_TASKS_PER_TRANSACTION = 500  # so that other transactions need not wait long for the lock


def target_scorer_version(active: int) -> int:
    """The scorer version of new tasks: during an upgrade the new one, even in a process that runs the old one."""
    return max(active, SCORER_VERSION)


class RequiredScores(NamedTuple):
    """The provenance that the scores of a phase must have, and its active recipe."""

    provenance: ScoreProvenance
    recipe: Recipe


def required_scores(session: ReadSession, phase: Phase) -> RequiredScores | None:
    """The provenance that the scores of this phase must have, and its active recipe; None while there is no gold."""
    version = gold.active(session, phase.id)
    if version is None:
        return None
    recipe = challenges.active_recipe(session, phase)
    recipe_ids, scorer_version = equivalent_recipe_ids(session, recipe), target_scorer_version(phase.scorer_version)
    return RequiredScores(ScoreProvenance(version.id, recipe_ids, scorer_version), recipe)


def outdated_phases(session: ReadSession) -> list[tuple[str, str]]:
    """Phases whose active scorer version is older, each with the slug of its challenge."""
    return [(phase.id, phase.challenge.slug) for phase in scorer_upgrade.outdated_phases(session, SCORER_VERSION)]


def has_superseded_tasks(session: ReadSession) -> bool:
    """Whether tasks of an older version wait that a task of a newer version has superseded."""
    return scorer_upgrade.has_superseded(session, SCORER_VERSION)


def cancel_superseded_tasks(session: WriteSession) -> None:
    """Cancel the tasks that newer ones have superseded."""
    scorer_upgrade.cancel_superseded(session, SCORER_VERSION, clock.now(session))


def upgrade_state(session: ReadSession, phase_id: str) -> ScorerUpgradeState:
    """The state of the upgrade of a phase, read without a lock."""
    phase = session.get(Phase, phase_id)
    if phase is None or phase.scorer_version >= SCORER_VERSION:
        return "waiting"  # deleted, or another worker has switched it
    required = required_scores(session, phase)
    if required is None:
        return "ready"
    if scorer_upgrade.submissions_without_task(session, phase_id, required.provenance, 1):
        return "tasks are missing"
    at_work = scorer_upgrade.has_older_running(session, phase_id, SCORER_VERSION)
    return "waiting" if at_work or scorer_upgrade.has_unscored(session, phase_id, required.provenance) else "ready"


def add_upgrade_tasks(session: WriteSession, queue: Queue, phase_id: str, slug: str) -> int:
    """Add some of the tasks that a phase still needs; returns how many, 0 once it has them all.

    Submissions without a score are scored by the new version only, with the priority of submissions. Finished ones are
    rescored with low priority.
    """
    phase = _lock_phase(session, phase_id, slug)
    required = None if phase is None else required_scores(session, phase)
    if required is None:
        return 0
    added = add_missing_tasks(session, queue, phase_id, required)
    scorer_upgrade.cancel_superseded(session, SCORER_VERSION, clock.now(session))
    return added


def add_missing_tasks(session: WriteSession, queue: Queue, phase_id: str, required: RequiredScores) -> int:
    """Add some of the tasks with which the scores of a phase get this provenance; returns how many."""
    origin, recipe = required
    missing = scorer_upgrade.submissions_without_task(session, phase_id, origin, MAX_TASKS_PER_TRANSACTION)
    finished = [submission_id for submission_id, status in missing if status == "finished"]
    scorer_upgrade.add_tasks(session, finished, origin, recipe.id)
    for submission_id in [submission_id for submission_id, status in missing if status != "finished"]:
        keys: dict[str, Any] = {"gold_id": origin.gold_id, "scorer_version": origin.scorer_version}
        task_id = tasks.add(session, submission_id=submission_id, recipe_id=recipe.id, **keys)
        if task_id is not None:
            queue.enqueue(session, task_id, scorer_version=origin.scorer_version)
    return len(missing)


def switch_scorer_version(session: WriteSession, phase_id: str, slug: str) -> bool:
    """Activate the new version if every row of the board has its scores, so that no board ever mixes two versions."""
    phase = _lock_phase(session, phase_id, slug)
    if phase is None or phase.scorer_version >= SCORER_VERSION:
        return False
    scorer_upgrade.cancel_superseded(session, SCORER_VERSION, clock.now(session))
    if upgrade_state(session, phase_id) != "ready":
        return False  # it changed before this transaction had the lock
    phase.scorer_version = SCORER_VERSION
    session.flush()
    log.info("scorer_switched", challenge=slug, phase=phase.slug, scorer_version=SCORER_VERSION)
    return True


def upgrade_blocker_count(session: ReadSession) -> int:
    """Number of submissions that prevent the switch of their phases, because their scoring failed permanently."""
    count = 0
    for phase in scorer_upgrade.outdated_phases(session, SCORER_VERSION):
        required = required_scores(session, phase)
        count += 0 if required is None else scorer_upgrade.count_failed(session, phase.id, required.provenance)
    return count


def _lock_phase(session: WriteSession, phase_id: str, slug: str) -> Phase | None:
    """The current phase, locked against submissions and changes; None if it was deleted or renamed."""
    locks.challenge(session, slug)
    phase = session.get(Phase, phase_id, populate_existing=True)
    return phase if phase is not None and phase.challenge.slug == slug else None  # renamed: the lock was not its own
