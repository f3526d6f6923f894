"""Have the test entries of a phase scored again after its gold or recipe was replaced before the first submission."""

from app.actions.versions.target_scores import add_target_tasks, target_provenance, target_scorer_version
from app.queue import Queue
from app.store.queries import challenges, target_scores, tasks
from app.store.queries.board_versions import active_version
from app.store.session import WriteSession
from app.store.tables import Phase


def score_tests_again(session: WriteSession, queue: Queue, phase: Phase) -> None:
    """Queue the test entries that have no score under the active gold and recipe; rejected ones stay rejected.

    The caller holds the lock of the challenge, so that no submission is admitted meanwhile. Once something else was
    submitted, other gold and recipes are put into force by a switch, which scores test entries too.
    """
    version = active_version(session, phase)
    if version is None or challenges.has_submissions(session, phase.id):
        return
    target = version._replace(scorer_version=target_scorer_version(phase.scorer_version))
    provenance = target_provenance(session, target)
    target_scores.drop_other_queued(session, phase.id, provenance)
    for submission_id in target_scores.unsettled_without_provenance(session, phase.id, provenance):
        task_id = tasks.add(
            session,
            submission_id=submission_id,
            gold_id=target.gold.id,
            recipe_id=target.recipe.id,
            scorer_version=target.scorer_version,
        )
        if task_id is not None:
            queue.enqueue(session, task_id, scorer_version=target.scorer_version)
    while add_target_tasks(session, queue, phase, target):
        pass
