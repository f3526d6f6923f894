"""After the scorer version was raised: score everything by it, then put it in force in each phase at once."""

from typing import Literal

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
MAX_TASKS_PER_TRANSACTION = 500  # tasks added in one transaction: others wait for no more than that


def target_scorer_version(in_force: int) -> int:
    """The scorer version for what comes in now: during a change the new one, whoever takes it in."""
    return max(in_force, SCORER_VERSION)


def required_provenance(session: ReadSession, phase: Phase) -> tuple[ScoreProvenance, Recipe] | None:
    """What the scores of this phase have to come from, and the recipe in force; None while there is no gold."""
    version = gold.active(session, phase.id)
    if version is None:
        return None
    recipe = challenges.active_recipe(session, phase.challenge_id)
    return ScoreProvenance(
        version.id, equivalent_recipe_ids(session, recipe), target_scorer_version(phase.scorer_version)
    ), recipe


def outdated_phases(session: ReadSession) -> list[tuple[str, str]]:
    """Phases in force at an older scorer version, each with the slug of its challenge."""
    return [(phase.id, phase.challenge.slug) for phase in scorer_upgrade.outdated_phases(session, SCORER_VERSION)]


def has_superseded_tasks(session: ReadSession) -> bool:
    """Whether tasks of an older version wait that a newer one has taken over."""
    return scorer_upgrade.has_superseded(session, SCORER_VERSION)


def cancel_superseded_tasks(session: WriteSession) -> None:
    """Cancel them."""
    scorer_upgrade.cancel_superseded(session, SCORER_VERSION, clock.now(session))


def upgrade_state(session: ReadSession, phase_id: str) -> ScorerUpgradeState:
    """How far a phase is, without keeping anybody waiting."""
    phase = session.get(Phase, phase_id)
    if phase is None or phase.scorer_version >= SCORER_VERSION:
        return "waiting"  # another worker was quicker
    wanted = required_provenance(session, phase)
    if wanted is None:
        return "ready"
    if scorer_upgrade.submissions_without_task(session, phase_id, wanted[0], 1):
        return "tasks are missing"
    at_work = scorer_upgrade.has_older_running(session, phase_id, SCORER_VERSION)
    return "waiting" if at_work or scorer_upgrade.has_unscored(session, phase_id, wanted[0]) else "ready"


def add_upgrade_tasks(session: WriteSession, queue: Queue, phase_id: str, slug: str) -> int:
    """Some of the tasks that a phase still needs; gives how many, 0 once it has them all.

    What has not been scored yet is scored by the new version alone and at once, the rest when there is time.
    """
    phase = _lock_phase(session, phase_id, slug)
    wanted = None if phase is None else required_provenance(session, phase)
    if wanted is None:
        return 0
    origin, recipe = wanted
    found = scorer_upgrade.submissions_without_task(session, phase_id, origin, MAX_TASKS_PER_TRANSACTION)
    scorer_upgrade.add_tasks(session, [each for each, status in found if status == "finished"], origin, recipe.id)
    for submission_id in [each for each, status in found if status != "finished"]:
        task_id = tasks.add(
            session,
            submission_id=submission_id,
            gold_id=origin.gold_id,
            recipe_id=recipe.id,
            scorer_version=origin.scorer_version,
        )
        if task_id is not None:
            queue.enqueue(session, task_id, scorer_version=origin.scorer_version)
    scorer_upgrade.cancel_superseded(session, SCORER_VERSION, clock.now(session))
    return len(found)


def switch_scorer_version(session: WriteSession, phase_id: str, slug: str) -> bool:
    """Put the new version in force if every row of the board has its scores; a board before and after, none between."""
    phase = _lock_phase(session, phase_id, slug)
    if phase is None or phase.scorer_version >= SCORER_VERSION:
        return False
    scorer_upgrade.cancel_superseded(session, SCORER_VERSION, clock.now(session))
    if upgrade_state(session, phase_id) != "ready":
        return False  # what came between the look and the lock
    phase.scorer_version = SCORER_VERSION
    session.flush()
    log.info("scorer_switched", challenge=slug, phase=phase.slug, scorer_version=SCORER_VERSION)
    return True


def upgrade_blocker_count(session: ReadSession) -> int:
    """How many submissions withhold the switch of their phases, for their scoring failed for good."""
    found = 0
    for phase in scorer_upgrade.outdated_phases(session, SCORER_VERSION):
        wanted = required_provenance(session, phase)
        found += 0 if wanted is None else scorer_upgrade.count_failed(session, phase.id, wanted[0])
    return found


def _lock_phase(session: WriteSession, phase_id: str, slug: str) -> Phase | None:
    """The phase as it is now, while neither submissions nor changes come between; None once it is deleted."""
    locks.challenge(session, slug)
    return session.get(Phase, phase_id, populate_existing=True)
