"""Tasks that finish together are settled together, and none of them costs another its result."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, event, select, text

from app.actions.scoring_tasks.claim_tasks import ClaimedTask, claim_tasks
from app.actions.scoring_tasks.score_submission import RetryLimits, TaskOutcome, WorkerContext, release_task
from app.actions.scoring_tasks.settle_in_groups import GroupSettlement, Settlement
from app.files.folder import FolderFileStore
from app.queue import Queue, TaskClaim
from app.queue.jobs import JobTable
from app.queue.local import LocalQueue
from app.scoring import SCORER_VERSION
from app.scoring_processes import ScoringProcessCrashed
from app.scoring_processes.messages import FileResult, Reply, Request
from app.settings import Settings
from app.store import notifications
from app.store.clock import ClockReading
from app.store.queries import tasks
from app.store.session import Database, WriteSession
from app.store.tables import QuotaEntry, Score, ScoreTask, Submission
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.postgres import PostgresServer
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import add_row, fill_tables, submission

SCORED = FileResult(valid=True, total={}, problems=[], scores={"all": {}})
Claim = Callable[[WriteSession, int, ClockReading], list[ClaimedTask]]


class Unused:
    """Scoring processes that nothing asks."""

    prepared_gold = None

    def call(self, request: Request) -> Reply:
        raise AssertionError(request)

    def close(self) -> None:
        """There is nothing to end."""


class Desk:
    """Claimed tasks of submissions that their team has paid for."""

    def __init__(self, settings: Settings) -> None:
        migrate_by_copy(settings)
        self.db = Database(settings)
        self.queue: Queue = LocalQueue(lambda _count, _woken: [], slots=1) if self.db.sqlite else JobTable()
        self.unsettled: list[TaskClaim] = []
        self.context = WorkerContext(self.db, FolderFileStore(settings), Unused(), self.queue, RetryLimits(2, 2))
        with self.db.write() as session:
            self._ids = fill_tables(session)
            session.execute(delete(Score))
            session.execute(delete(ScoreTask))

    def settlement(self, claim: Claim) -> GroupSettlement:
        return GroupSettlement(self.context, claim, self.unsettled.append)

    def queued(self, count: int) -> None:
        ids = self._ids
        for _ in range(count):
            with self.db.write() as session:
                sent = add_row(session, submission(ids.phase, ids.team, ids.user))
                paid = {"phase_id": ids.phase, "team_id": ids.team, "submission_id": sent, "day": "2026-01-01"}
                add_row(session, QuotaEntry(kind="reserve", reason="admitted", **paid))
                key = {"gold_id": ids.gold, "recipe_id": ids.recipe, "scorer_version": SCORER_VERSION}
                task_id = tasks.add(session, submission_id=sent, **key)  # type: ignore[arg-type]
                assert task_id is not None
                self.queue.enqueue(session, task_id)

    def claimed(self, count: int) -> list[ClaimedTask]:
        self.queued(count)
        with self.db.write() as session:
            claims = claim_tasks(session, self.queue, count, lease=timedelta(minutes=1))
        assert len(claims) == count
        return claims

    def state(self, claim: ClaimedTask) -> tuple[str, str, list[str], int]:
        """Statuses of the task and its submission, the ledger, and how many scores there are."""
        sent = claim.job.submission_id
        with self.db.read() as session:
            task = session.get_one(ScoreTask, claim.task_id)
            ledger = session.scalars(select(QuotaEntry.kind).where(QuotaEntry.submission_id == sent))
            scores = session.scalars(select(Score.id).where(Score.submission_id == sent)).all()
            return task.status, session.get_one(Submission, sent).status, sorted(ledger), len(scores)


SETTLED = ("done", "finished", ["charge", "reserve"], 1)


@pytest.fixture
def desk(settings: Settings) -> Iterator[Desk]:
    made = Desk(settings)
    yield made
    made.db.close()


def settled_together(
    group: GroupSettlement,
    first: tuple[ClaimedTask, TaskOutcome],
    others: list[tuple[ClaimedTask, TaskOutcome]],
    entered: threading.Event,
    go_on: threading.Event,
) -> list["Future[Settlement]"]:
    """Settle the first; those that end while its transaction is open wait for it, and then go together."""
    with ThreadPoolExecutor(1 + len(others)) as slots:
        futures = [slots.submit(group.settle, *first, lambda: True)]
        assert entered.wait(MAX_WAIT_SECONDS)
        futures += [slots.submit(group.settle, *each, lambda: True) for each in others]
        eventually(lambda: len(group._scored) == len(others), "the others wait")
        go_on.set()
    return futures


class Held:
    """Claims nothing; the first transaction stays open until `go_on`."""

    def __init__(self, then: Callable[[WriteSession, int], list[ClaimedTask]] = lambda _session, _count: []) -> None:
        self.entered, self.go_on, self.counts = threading.Event(), threading.Event(), list[int]()
        self._then = then

    def __call__(self, session: WriteSession, count: int, _moment: ClockReading) -> list[ClaimedTask]:
        self.counts.append(count)
        if len(self.counts) == 1:
            self.entered.set()
            assert self.go_on.wait(MAX_WAIT_SECONDS)
            return []
        return self._then(session, count)

    def settle(self, desk: Desk, claims: list[ClaimedTask], **results: Any) -> list["Future[Settlement]"]:
        """The first of the claims alone, then the others together; `results` replace some by their position."""
        outcomes = [TaskOutcome(results.get(f"at_{number}", SCORED)) for number in range(len(claims))]
        pairs = list(zip(claims, outcomes, strict=True))
        return settled_together(desk.settlement(self), pairs[0], pairs[1:], self.entered, self.go_on)


@pytest.mark.both_databases
def test_tasks_that_finish_while_one_is_settled_share_a_transaction_that_claims_for_all(desk: Desk) -> None:
    claims = desk.claimed(4)
    desk.queued(2)
    held = Held(lambda session, count: claim_tasks(session, desk.queue, count, lease=timedelta(minutes=1)))
    ends = [future.result() for future in held.settle(desk, claims)]
    assert held.counts == [1, 3]
    assert [end.submission_id for end in ends] == [each.job.submission_id for each in claims]
    assert {desk.state(each)[1] for each in claims} == {"finished"}
    assert [desk.state(each) for each in claims] == [SETTLED] * 4
    following = [end.next_claim for end in ends if end.next_claim is not None]
    assert len(set(following)) == 2, "two tasks were due, and each went to one slot"
    assert [desk.state(each)[:2] for each in following] == [("running", "running")] * 2


@pytest.mark.both_databases
def test_a_busy_slot_needs_few_statements_for_a_task(desk: Desk) -> None:
    """Counted without BEGIN and COMMIT on PostgreSQL: the driver adds them."""
    (claim,) = desk.claimed(1)
    desk.queued(2)
    group = desk.settlement(lambda session, count, moment: claim_tasks(session, desk.queue, count, moment=moment))
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(desk.db.engine(), "before_cursor_execute", note)
    end = group.settle(claim, TaskOutcome(SCORED), lambda: True)
    event.remove(desk.db.engine(), "before_cursor_execute", note)
    assert end.next_claim is not None
    # Finished, scores, status, quota and the claim; on SQLite BEGIN and two updates of the claim, on PostgreSQL the
    # clock, two notifications and the look for a waiting job. What measures the first submission is loaded once. Ranked
    # values add three: the lock of the submission, the values and the number of entries. Uncertainty adds two: the
    # intervals are queued, and the change of the board is stored, so that its rows are compared.
    assert len([each for each in statements if "recipes" not in each and "phases" not in each]) <= 14, statements


def test_a_slot_that_may_not_go_on_gets_no_further_task(desk: Desk) -> None:
    (claim,) = desk.claimed(1)
    desk.queued(1)

    def never(_session: WriteSession, _count: int, _moment: ClockReading) -> list[ClaimedTask]:
        raise AssertionError

    end = desk.settlement(never).settle(claim, TaskOutcome(SCORED), lambda: False)
    assert end == Settlement(claim.job.submission_id)


@pytest.mark.both_databases
def test_a_result_that_cannot_be_stored_costs_the_others_of_its_group_nothing(desk: Desk) -> None:
    claims = desk.claimed(4)
    unstorable = replace(SCORED, scores={"all": {"accuracy": {"value": object()}}})
    first, second, broken, last = Held().settle(desk, claims, at_2=unstorable)
    with pytest.raises(Exception, match="not JSON serializable"):
        broken.result()
    assert [end.result().submission_id is not None for end in (first, second, last)] == [True] * 3
    assert [desk.state(each) for each in (claims[0], claims[1], claims[3])] == [SETTLED] * 3
    assert desk.state(claims[2]) == ("running", "running", ["reserve"], 0)


@pytest.mark.both_databases
def test_a_claim_that_fails_costs_no_task_its_result(desk: Desk) -> None:
    claims = desk.claimed(3)

    def fail(_session: WriteSession, _count: int) -> list[ClaimedTask]:
        raise ZeroDivisionError

    ends = Held(fail).settle(desk, claims)
    assert [end.result().submission_id for end in ends] == [each.job.submission_id for each in claims]
    assert [desk.state(each) for each in claims] == [SETTLED] * 3


def test_a_task_of_the_group_that_was_lost_meanwhile_is_left_alone(desk: Desk) -> None:
    claims = desk.claimed(3)
    with desk.db.write() as session:
        session.get_one(ScoreTask, claims[1].task_id).attempt += 1
    ends = Held().settle(desk, claims)
    assert [end.result().submission_id is None for end in ends] == [False, True, False]
    assert desk.state(claims[1]) == ("running", "running", ["reserve"], 0)
    assert [desk.state(claims[0]), desk.state(claims[2])] == [SETTLED] * 2


def test_a_crashed_task_is_queued_again_without_waiting_for_a_group(desk: Desk) -> None:
    (claim,) = desk.claimed(1)
    end = desk.settlement(Held()).settle(claim, TaskOutcome(crash=ScoringProcessCrashed("gone")), lambda: True)
    assert end == Settlement()
    assert desk.state(claim)[:2] == ("queued", "queued")


def test_a_claim_that_could_not_be_settled_is_queued_again(desk: Desk) -> None:
    (claim,) = desk.claimed(1)
    with desk.db.write() as session:
        release_task(session, desk.context, claim)
    assert desk.state(claim)[:2] == ("queued", "queued")


def settled_without_its_connection(desk: Desk, claim: ClaimedTask) -> tuple[Settlement, TaskClaim]:
    """Settle this in a transaction that claims another task and loses its connection; returns that claim too."""

    def cut_off(session: WriteSession, count: int, _moment: ClockReading) -> list[ClaimedTask]:
        claims = claim_tasks(session, desk.queue, count, lease=timedelta(minutes=1))
        number = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with desk.db.write() as other:
            other.execute(text("SELECT pg_terminate_backend(:number, 5000)"), {"number": number})
        return claims

    end = desk.settlement(cut_off).settle(claim, TaskOutcome(SCORED), lambda: True)
    (given_back,) = desk.unsettled
    return end, given_back


@only_postgresql
def test_claims_of_a_commit_that_failed_are_given_back_and_the_results_are_stored_after_all(desk: Desk) -> None:
    (claim,) = desk.claimed(1)
    desk.queued(1)
    end, given_back = settled_without_its_connection(desk, claim)
    assert end == Settlement(claim.job.submission_id)
    assert desk.state(claim) == SETTLED
    assert given_back.task_id != claim.task_id


@only_postgresql
def test_a_claim_that_was_rolled_back_is_not_taken_from_whoever_claimed_the_task_since(desk: Desk) -> None:
    (claim,) = desk.claimed(1)
    desk.queued(1)
    _, given_back = settled_without_its_connection(desk, claim)
    with desk.db.write() as session:
        (since,) = claim_tasks(session, desk.queue, 1, lease=timedelta(minutes=1))
    assert (since.task_id, since.attempt) == (given_back.task_id, given_back.attempt)
    with desk.db.write() as session:
        release_task(session, desk.context, given_back)
    assert desk.state(since)[:2] == ("running", "running")


def test_one_notification_names_all_submissions_of_a_transaction(postgres: PostgresServer) -> None:
    with postgres.database() as url:
        desk = Desk(Settings(database_url=url, files_shared=True))
        claims = desk.claimed(4)
        with postgres.connect(url.rpartition("/")[2]) as listening:
            listening.execute(f"LISTEN {notifications.CHANNEL}")
            for end in Held().settle(desk, claims):
                end.result()
            heard = [each.payload for each in listening.notifies(timeout=MAX_WAIT_SECONDS, stop_after=2)]
        desk.db.close()
    ids = [each.job.submission_id for each in claims]
    assert [heard[0], sorted(heard[1].split("\n"))] == [ids[0], sorted(ids[1:])]
