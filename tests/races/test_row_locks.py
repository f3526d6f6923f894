"""What a transaction finds after it has waited for rows that another one has changed or deleted."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.actions.access import Caller
from app.actions.accounts.delete_account import delete_own_account
from app.actions.accounts.manage_users import edit_user, new_reset
from app.actions.accounts.set_password import change_password, spend_reset
from app.actions.audit.record import OPERATOR
from app.actions.challenges.delete_challenge import delete_challenge
from app.actions.challenges.manage_organizers import remove_organizer
from app.actions.scoring_tasks.rescoring_order import order_submission_rescoring
from app.actions.submissions.cancel_submission import cancel_submission
from app.actions.submissions.delete_test_entry import delete_test_entry
from app.actions.submissions.disqualification import disqualify_submission
from app.actions.submissions.select_submission import select_submission
from app.actions.uncertainty.plan_boards import plan_boards
from app.errors import LastAdministrator, LastOwner, NotFound, ResetNotUsable
from app.queue.jobs import JobTable
from app.settings import Settings
from app.store.session import Database, WriteSession
from app.store.tables import AnalysisTask, Challenge, Organizer, Recipe, ScoreTask, Submission, User
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import RowIds, add_row, fill_tables

WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
EVERYTHING = frozenset({"read", "submit", "organize"})


@pytest.fixture
def db(tmp_path: Path, postgres_database: Callable[[], str]) -> Iterator[Database]:
    settings = Settings(data_dir=tmp_path / "data", database_url=postgres_database(), files_shared=True)
    migrate_by_copy(settings)
    database = Database(settings)
    yield database
    database.close()


@pytest.fixture
def row_ids(db: Database) -> RowIds:
    with db.write() as session:
        return fill_tables(session)


Action = Callable[[WriteSession], object]


def fault_of(db: Database, second: Action, *, first: Action, then: Action | None = None) -> BaseException | None:
    """What a transaction raises that waits for the rows of a first one, which may go on while it waits."""

    with ThreadPoolExecutor(1) as pool:
        with db.write() as session:
            first(session)
            session.flush()
            waiting = pool.submit(_run, db, second)
            eventually(lambda: _waiting(db) > 0, "the second transaction waits")
            if then is not None:
                then(session)
        return waiting.exception(MAX_WAIT_SECONDS)


def _run(db: Database, action: Action) -> None:
    with db.write() as session:
        action(session)


def _waiting(db: Database) -> int:
    with db.read() as session:
        return session.scalar(WAITING) or 0


VERBS: dict[str, Callable[[WriteSession, Caller, str], object]] = {
    "cancel": cancel_submission,
    "rerun": lambda session, caller, entry: order_submission_rescoring(session, JobTable(), caller, entry),
    "select": lambda session, caller, entry: select_submission(session, caller, entry, selected=True, reason="A try"),
    "disqualify": lambda session, caller, entry: disqualify_submission(session, caller, entry, reason="A try"),
    "delete": delete_test_entry,
}


@pytest.mark.parametrize("status", ["queued", "finished"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_test_entry_that_was_deleted_meanwhile_is_not_found(
    db: Database, row_ids: RowIds, verb: str, status: str
) -> None:
    owner = Caller(user_id=row_ids.user, scopes=EVERYTHING)
    with db.write() as session:
        entry = session.get_one(Submission, row_ids.submission)
        entry.test, entry.status = True, status
        (task,) = session.query(ScoreTask)
        task.status = {"queued": "queued", "finished": "done"}[status]
    fault = fault_of(
        db,
        lambda session: VERBS[verb](session, owner, row_ids.submission),
        first=lambda session: delete_test_entry(session, owner, row_ids.submission),
    )
    assert isinstance(fault, NotFound), fault


@pytest.mark.parametrize(("first", "second"), [(1, 0), (0, 0), (0, 1)])
def test_two_owners_who_go_at_once_do_not_leave_a_challenge_without_one(
    db: Database, row_ids: RowIds, first: int, second: int
) -> None:
    with db.write() as session:
        other = add_row(session, User(email="bea@example.org", name="Bea", password_hash="x"))
        add_row(session, Organizer(challenge_id=row_ids.challenge, user_id=other, role="owner"))
        session.get_one(User, row_ids.user).password_hash = "x"
    ada, bea = (Caller(user_id=each, scopes=EVERYTHING) for each in (row_ids.user, other))
    ways: list[Callable[[Caller, str], Action]] = [
        lambda who, _: lambda session: delete_own_account(session, who, verified_hash="x"),
        lambda who, email: lambda session: remove_organizer(session, who, "pets", email),
    ]
    fault = fault_of(db, ways[second](bea, "bea@example.org"), first=ways[first](ada, "ada@example.org"))
    assert isinstance(fault, LastOwner), fault


def test_two_administrators_who_disable_each_other_do_not_leave_the_site_without_one(
    db: Database, row_ids: RowIds
) -> None:
    people = [row_ids.user]
    with db.write() as session:
        people.append(add_row(session, User(email="bea@example.org", name="Bea")))
        for each in people:
            user = session.get_one(User, each)
            user.admin, user.password_hash = True, "x"
    ada, bea = (Caller(user_id=each, admin=True, scopes=frozenset({"admin"})) for each in people)

    def disable(session: WriteSession, caller: Caller, user_id: str) -> User:
        return edit_user(session, caller, user_id, approved=None, disabled=True, reason="A quarrel")

    fault = fault_of(
        db, lambda session: disable(session, bea, people[0]), first=lambda session: disable(session, ada, people[1])
    )
    assert isinstance(fault, LastAdministrator), fault


@pytest.mark.parametrize("other", ["copy", "organizer"])
def test_a_challenge_is_deleted_while_its_copy_or_the_account_of_an_organizer_is(
    db: Database, row_ids: RowIds, other: str
) -> None:
    with db.write() as session:
        pets = session.get_one(Challenge, row_ids.challenge)
        texts = {name: getattr(pets, name) for name in ("title", "description", "task", "timezone", "visibility")}
        rules = {"status": "draft", "registration": "open", "lineage_id": pets.id, "created_by": row_ids.user}
        copy = add_row(session, Challenge(slug="copy", **texts, **rules))
        bea = add_row(session, User(email="bea@example.org", name="Bea", password_hash="x"))
        session.add(Organizer(challenge_id=pets.id, user_id=bea, role="owner"))
        cleo = add_row(session, User(email="cleo@example.org", name="Cleo"))
        session.add(Organizer(challenge_id=copy, user_id=cleo, role="owner"))
    admin = Caller(user_id=row_ids.user, admin=True, scopes=EVERYTHING | {"admin"})
    ways: dict[str, Action] = {
        "copy": lambda session: delete_challenge(session, admin, "copy", confirm="copy"),
        "organizer": lambda session: delete_own_account(
            session, Caller(user_id=bea, scopes=EVERYTHING), verified_hash="x"
        ),
    }
    fault = fault_of(db, ways[other], first=lambda session: delete_challenge(session, admin, "pets", confirm="pets"))
    assert fault is None, fault


def test_a_new_password_and_a_reset_at_once_do_not_wait_for_each_other(db: Database, row_ids: RowIds) -> None:
    with db.write() as session:
        session.get_one(User, row_ids.user).password_hash = "x"
        _, secret = new_reset(session, OPERATOR, session.get_one(User, row_ids.user))
    caller = Caller(user_id=row_ids.user, scopes=EVERYTHING)
    fault = fault_of(
        db,
        lambda session: spend_reset(session, secret, new_hash="z"),
        first=lambda session: session.get(User, row_ids.user, with_for_update={"key_share": True}),
        then=lambda session: change_password(session, caller, verified_hash="x", new_hash="y"),
    )
    assert isinstance(fault, ResetNotUsable), fault


def test_a_challenge_is_deleted_while_its_changed_boards_are_planned(db: Database, row_ids: RowIds) -> None:
    """Both lock the tasks of its boards, and planning names them in another order once the primary metric is another."""
    admin = Caller(user_id=row_ids.user, admin=True, scopes=EVERYTHING | {"admin"})
    newest = select(AnalysisTask.id).order_by(AnalysisTask.id.desc()).limit(1).with_for_update()
    metrics = ["accuracy", "f1_macro"]
    for primary in metrics:
        with db.write() as session:
            session.get_one(Submission, row_ids.submission).status = "finished"
            recipe = session.get_one(Recipe, row_ids.recipe)
            recipe.body = recipe.body | {"primary": primary, "metrics": metrics}
        if primary == "accuracy":
            with db.write() as session:
                assert plan_boards(session) > 0
    with ThreadPoolExecutor(2) as pool:
        with db.write() as session:
            session.execute(newest)  # the comparison by the new primary metric, which planning names first
            waiting = [pool.submit(_run, db, plan_boards)]
            eventually(lambda: _waiting(db) == 1, "planning waits")
            waiting.append(pool.submit(_run, db, lambda each: delete_challenge(each, admin, "pets", confirm="pets")))
            eventually(lambda: _waiting(db) == 2, "the deletion waits")
        assert [each.exception(MAX_WAIT_SECONDS) for each in waiting] == [None, None]
