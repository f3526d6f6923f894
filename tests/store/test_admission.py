"""What admission reads and stores: every fact as it is now, all rows or none, and keys for their lifetime only."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from app.scoring import SCORER_VERSION
from app.store import clock, locks
from app.store.queries import admission, fair_scheduling, quota, submission_details, tasks
from app.store.queries.admission import FORGET_BATCH_SIZE, IDEMPOTENCY_KEY_LIFETIME
from app.store.session import Database, WriteSession
from app.store.tables import (
    GoldVersion,
    IdempotencyKey,
    Organizer,
    Phase,
    QuotaEntry,
    Registration,
    Score,
    ScoreTask,
    Submission,
    Token,
)
from app.store.types import new_id
from tests.live_service import MAX_WAIT_SECONDS
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import RowIds, fill_tables, submission

SECOND = timedelta(seconds=1)


@pytest.fixture
def ids(db: Database) -> RowIds:
    with db.write() as session:
        return fill_tables(session)


def set_age(db: Database, age: timedelta, key: str = "k") -> None:
    with db.write() as session:
        moment = clock.steady(session) - age
        session.execute(update(IdempotencyKey).where(IdempotencyKey.key == key).values(created_at=moment))


def store_submission(session: WriteSession, ids: RowIds, key: str | None, *, charged: bool = True) -> Submission:
    lane = fair_scheduling.Lane.of_participant(ids.user, ids.team)
    moment = locks.team_and_lane(session, ids.phase, ids.team, lane.name)
    new = submission(ids.phase, ids.team, ids.user, id=new_id(), attempt=0, baseline=False, submitted_at=moment.now)
    provenance = {"gold_id": ids.gold, "recipe_id": ids.recipe, "scorer_version": SCORER_VERSION}
    turn = fair_scheduling.next_turn(session, lane)
    row = {"user_id": ids.user, "key": key, "fingerprint": "new", "submission_id": new.id}
    admission.store(
        session,
        new,
        task=tasks.new_values({"submission_id": new.id} | provenance, lane, turn, moment.steady),
        reservation=quota.reservation(new, "2026-01-02") if charged else None,
        key=None if key is None else row | {"created_at": moment.steady},
    )
    return new


@pytest.mark.both_databases
def test_the_facts_are_those_of_the_rows(db: Database, ids: RowIds) -> None:
    with db.read_one() as session:
        facts = admission.load_facts(session, ids.user, "pets", "main", "k")
    with db.read() as session:
        phase, gold = session.get_one(Phase, ids.phase), session.get_one(GoldVersion, ids.gold)
        key = session.get_one(IdempotencyKey, (ids.user, "k"))
        role = session.get_one(Organizer, (ids.challenge, ids.user)).role
        registration = session.scalars(select(Registration)).one()
    assert facts.context is not None
    expected = {"opens_at": phase.opens_at, "quota": phase.quota, "gold_id": gold.id, "team_id": registration.team_id}
    expected |= {"role": role, "registration": registration.status, "recipe_id": ids.recipe, "team": "Blue"}
    found = asdict(facts.context)
    assert {name: found[name] for name in expected} == expected
    assert facts.key == admission.StoredKey(key.fingerprint, key.submission_id, key.created_at)
    with db.write() as session:
        assert abs(clock.read(session).steady - facts.read_at.steady) < timedelta(minutes=5)


def test_facts_lack_rows_that_do_not_exist(db: Database, ids: RowIds) -> None:
    with db.read_one() as session:
        for challenge, phase in (("pets", "other"), ("other", "main"), ("pets", "")):
            facts = admission.load_facts(session, ids.user, challenge, phase, "k")
            assert facts.context is None
            assert facts.key is not None  # a key belongs to a user, not to a phase
        stranger = admission.load_facts(session, new_id(), "pets", "main", "k")
        assert stranger.key is None
        assert stranger.context is not None
        assert (stranger.context.role, stranger.context.registration, stranger.context.team) == (None, None, None)
        assert admission.load_facts(session, ids.user, "pets", "main", None).key is None


@pytest.mark.both_databases
def test_a_token_brings_the_facts_of_its_user_while_it_lives(db: Database, ids: RowIds) -> None:
    def load() -> Any:
        with db.read_one() as session:
            return admission.load_token_and_facts(session, token, "pets", "main", "k")

    with db.read() as session:
        token = session.scalars(select(Token.id)).one()
    found = load()
    assert found is not None
    assert found[0].user_id == ids.user
    with db.read_one() as session:
        facts = admission.load_facts(session, ids.user, "pets", "main", "k")
    assert (found[1].context, found[1].key) == (facts.context, facts.key)
    for name, by in (("expires_at", -SECOND), ("revoked_at", timedelta())):
        with db.write() as session:
            before = session.get_one(Token, token).expires_at
            session.execute(update(Token).values({name: clock.steady(session) + by}))
        assert load() is None
        with db.write() as session:
            session.execute(update(Token).values(expires_at=before, revoked_at=None))
    assert load() is not None


@pytest.mark.both_databases
def test_a_key_is_honoured_until_its_lifetime_ends(db: Database, ids: RowIds) -> None:
    minute = timedelta(minutes=1)
    for age, known in ((IDEMPOTENCY_KEY_LIFETIME - minute, True), (IDEMPOTENCY_KEY_LIFETIME, False)):
        set_age(db, age)
        with db.read_one() as session:
            assert (admission.load_facts(session, ids.user, "pets", "main", "k").key is not None) is known


@pytest.mark.both_databases
@pytest.mark.parametrize(("key", "charged"), [(None, False), ("k", True), ("another", False)])
def test_all_rows_are_stored_and_an_expired_key_is_replaced(
    db: Database, ids: RowIds, key: str | None, *, charged: bool
) -> None:
    set_age(db, IDEMPOTENCY_KEY_LIFETIME)
    with db.write() as session:
        sent = store_submission(session, ids, key, charged=charged)
    with db.read() as session:
        row = session.get_one(Submission, sent.id)
        assert (row.status, row.team_id, row.problems, row.failure) == ("queued", ids.team, [], None)
        stored = session.scalars(select(ScoreTask).where(ScoreTask.submission_id == sent.id)).one()
        assert (stored.status, stored.lane, stored.ticket, stored.attempt) == ("queued", ids.user, stored.id, 0)
        entries = list(session.scalars(select(QuotaEntry.kind).where(QuotaEntry.submission_id == sent.id)))
        assert entries == ["reserve"] * charged
        named = select(IdempotencyKey.key, IdempotencyKey.fingerprint).where(IdempotencyKey.submission_id == sent.id)
        assert [tuple(each) for each in session.execute(named)] == ([] if key is None else [(key, "new")])


@pytest.mark.both_databases
def test_a_statement_that_fails_stores_no_row(db: Database, ids: RowIds) -> None:
    def store_twice() -> None:
        with db.write() as session:
            sent = store_submission(session, ids, "another")
            quota_row = quota.reservation(sent, "2026-01-02")
            task = {"id": "not a task", "submission_id": new_id()}  # of a submission that does not exist
            admission.store(
                session, submission(ids.phase, ids.team, ids.user), task=task, reservation=quota_row, key=None
            )

    with pytest.raises(Exception, match=r"(?i)constraint|column|overtaken|stored the same"):
        store_twice()
    with db.read() as session:
        assert list(session.scalars(select(Submission.id))) == [ids.submission]
        assert list(session.scalars(select(IdempotencyKey.key))) == ["k"]


@pytest.mark.both_databases
def test_expired_keys_are_forgotten_and_no_others(db: Database, ids: RowIds) -> None:
    with db.write() as session:
        now = clock.steady(session)
        for number in range(FORGET_BATCH_SIZE + 5):
            age = IDEMPOTENCY_KEY_LIFETIME if number % 5 else IDEMPOTENCY_KEY_LIFETIME - timedelta(hours=1)
            row = {"user_id": ids.user, "fingerprint": "f", "submission_id": ids.submission}
            session.add(IdempotencyKey(key=f"old {number}", created_at=now - age, **row))
    counts: list[int] = []
    while not counts or counts[-1]:
        with db.write() as session:
            counts.append(admission.forget_expired_keys(session))
    assert sum(counts) == (FORGET_BATCH_SIZE + 5) * 4 // 5
    assert max(counts) <= FORGET_BATCH_SIZE
    with db.read() as session:
        assert len(list(session.scalars(select(IdempotencyKey.key)))) == (FORGET_BATCH_SIZE + 5) // 5 + 1


@only_postgresql
def test_deleting_expired_keys_does_not_wait_for_locked_ones(db: Database, ids: RowIds) -> None:
    set_age(db, IDEMPOTENCY_KEY_LIFETIME)
    with db.write() as holder:
        holder.get_one(IdempotencyKey, (ids.user, "k"), with_for_update=True)
        with db.write() as session:
            assert admission.forget_expired_keys(session) == 0
    with db.write() as session:
        assert admission.forget_expired_keys(session) == 1


@contextmanager
def locked_meanwhile(db: Database, take: Any) -> Iterator[threading.Event]:
    """Another transaction holds what `take` locks until the event is set."""
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        with db.write() as session:
            take(session)
            taken.set()
            assert release.wait(MAX_WAIT_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert taken.wait(MAX_WAIT_SECONDS)
        yield release
    finally:
        release.set()
        holder.join(MAX_WAIT_SECONDS)


@only_postgresql
@pytest.mark.parametrize("held", ["team", "lane"])
def test_the_time_of_a_submission_is_read_after_its_waits(db: Database, ids: RowIds, held: str) -> None:
    """Otherwise a submission that waited would seem older than the one that it waited for."""

    def take(session: WriteSession) -> None:
        if held == "team":
            locks.team(session, ids.phase, ids.team)
        else:
            locks.lane(session, "user")

    released_at = []
    with locked_meanwhile(db, take) as release:

        def let_go() -> None:
            with db.read() as session:
                released_at.append(clock.steady(session))
            release.set()

        timer = threading.Timer(0.3, let_go)
        timer.start()
        with db.write() as session:
            moment = locks.team_and_lane(session, ids.phase, ids.team, "user")
        timer.join()
    assert moment.steady >= released_at[0]


@only_postgresql
def test_a_key_that_another_request_holds_is_not_waited_for(db: Database, ids: RowIds) -> None:
    with (
        locked_meanwhile(db, lambda session: locks.try_submission(session, "pets", ids.user, "k")),
        db.write() as session,
    ):
        assert not locks.try_submission(session, "pets", ids.user, "k")
    for key in ("k", "another", None):
        with db.write() as session:
            assert locks.try_submission(session, "pets", ids.user, key)


@pytest.mark.both_databases
def test_a_finished_submission_is_read_by_one_statement_as_by_two(db: Database, ids: RowIds) -> None:
    with db.write() as session:
        key = {"submission_id": ids.submission, "gold_id": ids.gold, "recipe_id": ids.recipe}
        version = session.get_one(Phase, ids.phase).scorer_version
        for split in ("public", "private"):
            session.add(Score(split=split, metrics={"accuracy": {"value": 0.5}}, scorer_version=version, **key))
        session.add(Score(split="public", metrics={}, scorer_version=version + 1, **key))  # not current
    for status in ("queued", "rejected", "finished"):
        with db.write() as session:
            session.execute(update(Submission).values(status=status))
        with db.read() as session:
            details = submission_details.load_submission_details(session, [ids.submission], ids.user)[ids.submission]
        with db.read_one() as session:
            found = submission_details.load_finished(session, ids.submission, ids.user)
            assert submission_details.load_finished(session, new_id(), ids.user) is None
        assert (found is None) == (status != "finished")
    assert found is not None
    assert (found.context, found.task, found.scores) == (details.context, details.task, details.scores)
    assert set(found.scores) >= {"public", "private"}
    columns = Submission.__table__.c.keys()
    assert [getattr(found.submission, name) for name in columns] == [
        getattr(details.submission, name) for name in columns
    ]
    assert found.submission.team.name == details.submission.team.name == "Blue"
