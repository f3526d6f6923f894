"""Scores of the versions that a board is to be computed from: add the tasks that are missing, and count what is there."""

from typing import NamedTuple

from app.actions.challenges.change_recipe import normalize_recipe
from app.queue import Queue
from app.scoring import SCORER_VERSION
from app.store.queries import challenges, label_rules, target_scores, tasks
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Recipe

MAX_TASKS_PER_TRANSACTION = 500  # so that other transactions need not wait long for the lock


class TargetProgress(NamedTuple):
    """How many finished submissions of a phase have scores of a target."""

    total: int
    scored: int
    failed: list[str]
    """Ids of the submissions whose scoring by the target failed for good."""


class RequiredScores(NamedTuple):
    """The provenance that the scores of a phase must have, and its active recipe."""

    provenance: ScoreProvenance
    recipe: Recipe


def target_scorer_version(active: int) -> int:
    """The scorer version of new tasks: during an upgrade the new one, even in a process that runs the old one."""
    return max(active, SCORER_VERSION)


def required_scores(session: ReadSession, phase: Phase) -> RequiredScores | None:
    """The scores that a submission of this phase must have for its board; None while there is no gold."""
    version = active_version(session, phase)
    if version is None:
        return None
    target = version._replace(scorer_version=target_scorer_version(phase.scorer_version))
    return RequiredScores(target_provenance(session, target), version.recipe)


def target_provenance(session: ReadSession, target: BoardVersion) -> ScoreProvenance:
    """The provenance of the scores that a board of these versions shows."""
    return ScoreProvenance(target.gold.id, interchangeable_recipe_ids(session, target), target.scorer_version)


def interchangeable_recipe_ids(session: ReadSession, target: BoardVersion) -> list[str]:
    """Ids of the recipes whose scores may be on the board of a target.

    They compute the same values, and have the same primary metric: the index of a board's entries follows that.
    """
    rules, recipe = label_rules.of_gold(target.gold), target.recipe
    primary = normalize_recipe(recipe.body, rules, stored=True)[1].primary
    return [
        row.id
        for row in challenges.recipes_of(session, recipe.challenge_id)
        if row.id == recipe.id
        or (
            row.fingerprint == recipe.fingerprint
            and normalize_recipe(row.body, rules, stored=True)[1].primary == primary
        )
    ]


def add_target_tasks(session: WriteSession, _queue: Queue, phase: Phase, target: BoardVersion) -> int:
    """Add some of the rescoring tasks that finished submissions lack; returns how many, 0 once all have one.

    Two transactions that do this at once for one phase would collide: the caller makes sure that there is one.
    """
    provenance = target_provenance(session, target)
    missing = target_scores.without_task(session, phase.id, provenance, MAX_TASKS_PER_TRANSACTION)
    target_scores.add_tasks(session, missing, provenance, target.recipe.id)
    return len(missing)


def target_progress(session: ReadSession, phase: Phase, target: BoardVersion) -> TargetProgress:
    """How far the scoring of the finished submissions by a target has come."""
    provenance = target_provenance(session, target)
    total, lacking = target_scores.counts(session, phase.id, provenance)
    failed = [task.submission_id for task in target_scores.failed_tasks(session, phase.id, provenance)]
    return TargetProgress(total, total - lacking, failed)


def add_first_tasks(session: WriteSession, queue: Queue, phase: Phase, scorer_version: int) -> int:
    """Add tasks for submissions that wait for their first scoring, but only by an older scorer; returns how many.

    The gold of the first task stays, because it decides whether the file is valid.
    """
    missing = target_scores.unsettled_without_task(session, phase.id, scorer_version, MAX_TASKS_PER_TRANSACTION)
    for submission_id, gold_id, recipe_id in missing:
        task_id = tasks.add(
            session,
            submission_id=submission_id,
            gold_id=gold_id,
            recipe_id=recipe_id,
            scorer_version=scorer_version,
        )
        if task_id is not None:
            queue.enqueue(session, task_id, scorer_version=scorer_version)
    return len(missing)
