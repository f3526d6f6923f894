"""Issue the receipts of scores that have none: those of an installation that is older than receipts, for example."""

from collections.abc import Callable, Mapping
from typing import Any

import structlog

from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.receipts.issue_receipts import NewScores, ReceiptIssuer
from app.actions.scoring_tasks.claim_tasks import LoadedTask
from app.actions.scoring_tasks.score_submission import WorkerContext, compute_task_outcome
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.store import clock
from app.store.locks import try_maintenance
from app.store.queries import receipts
from app.store.queries.receipts import ScoresWithoutReceipt
from app.store.tables import GoldVersion, Recipe, Submission

log = structlog.get_logger()

BATCH = 200


class MissingReceipts:
    """Issues missing receipts, one submission at a time, while new submissions leave a slot free.

    The file is read again for the hash of its content; the stored values are signed, whichever scorer computed them.
    """

    def __init__(self, context: WorkerContext, issuer: ReceiptIssuer, wait_for_turn: Callable[[], bool]) -> None:
        """`wait_for_turn` waits until the next file may be read, and returns False once the worker is to end."""
        self._context = context
        self._issuer = issuer
        self._wait_for_turn = wait_for_turn

    def issue_missing(self) -> None:
        """Issue all that are missing; a file that cannot be read now is tried again in the next round."""
        after, issued = "", 0
        while True:
            with self._context.db.read() as session:
                missing = receipts.scores_without_receipt(session, after=after, limit=BATCH)
            for each in missing:
                if not self._wait_for_turn():
                    return
                issued += self._issue(each)
            if len(missing) < BATCH:
                break
            # The scores of the last submission may go on in the next batch, if they were not all in this one.
            last = missing[-1].submission_id
            after = max((each.submission_id for each in missing if each.submission_id != last), default=last)
        if issued:
            log.info("receipts_issued", count=issued)

    def _issue(self, of: ScoresWithoutReceipt) -> int:
        with self._context.db.read() as session:
            submission = session.get(Submission, of.submission_id)
            gold, recipe = session.get(GoldVersion, of.gold_id), session.get(Recipe, of.recipe_id)
            if submission is None or gold is None or recipe is None:
                return 0
            kind, reference = stored_file_kind(submission), gold_reference(gold)
            # An id that was void at admission may be missing from a file: later gold scores it as accepted.
            accepted = not receipts.is_first_scoring(session, of._asdict())
            job = LoadedTask(submission.id, submission.file_key, kind, reference, recipe.body, accepted=accepted)
        outcome = compute_task_outcome(self._context, job)
        if outcome.result is None or outcome.result.content_sha256 is None:
            log.warning("receipt_not_issued", submission=of.submission_id, gold=of.gold_id)
            return 0
        return self._store(of._asdict(), outcome.result.content_sha256)

    def _store(self, key: Mapping[str, Any], content_sha256: str) -> int:
        with self._context.db.write() as session:
            if not try_maintenance(session):  # another worker may issue the same
                return 0
            submission = session.get(Submission, key["submission_id"])
            if submission is None or submission.status != "finished":
                return 0
            done = receipts.existing_splits(session, key)
            stored = {row.split: row for row in receipts.stored_scores(session, key) if row.split not in done}
            if not stored:
                return 0
            first = receipts.is_first_scoring(session, key)
            time = submission.finished_at if first else next(iter(stored.values())).created_at
            assert time is not None
            scores = {split: row.metrics for split, row in stored.items()}
            self._issuer.issue(session, [NewScores(key, scores, content_sha256, time)], clock.now(session))
            return len(scores)
