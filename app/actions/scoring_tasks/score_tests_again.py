"""Have the test entries of a phase scored again after its gold or recipe was replaced before the first submission."""

from app.actions.scoring_tasks.upgrade_scorer import add_missing_tasks, required_scores
from app.queue import Queue
from app.store.queries import challenges, scorer_upgrade
from app.store.session import WriteSession
from app.store.tables import Phase


def score_tests_again(session: WriteSession, queue: Queue, phase: Phase) -> None:
    """Queue the test entries that have no score under the active gold and recipe; rejected ones stay rejected.

    The caller holds the lock of the challenge, so that no submission is admitted meanwhile. Once something else was
    submitted, only changes are possible that need no new scores.
    """
    required = required_scores(session, phase)
    if required is None or challenges.has_submissions(session, phase.id):
        return
    scorer_upgrade.drop_other_queued(session, phase.id, required.provenance)
    while add_missing_tasks(session, queue, phase.id, required):
        pass
