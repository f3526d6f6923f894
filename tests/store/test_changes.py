"""Which boards a transaction concerns, and that it says so once it has ended."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy.orm import Session

from app.actions.scoring_tasks.claim_tasks import claim_tasks
from app.actions.scoring_tasks.score_submission import settle_results
from app.actions.submissions.read_leaderboard import (
    CLOSE_RECHECK_SECONDS,
    VISITOR_AUDIENCE,
    build_cacheable_board,
)
from app.queue.jobs import JobTable
from app.scoring import SCORER_VERSION
from app.scoring_processes.messages import FileResult
from app.settings import Settings
from app.store import board_invalidation, clock, notifications
from app.store.board_invalidation import (
    ALL_BOARDS,
    CHANNEL,
    SettledTag,
    challenge_tag,
    parse_settled_tag,
    phase_tag,
    scores_tag,
    settled_tag,
    waiting_tag,
)
from app.store.queries import tasks
from app.store.queries.board_rows import BoardRow
from app.store.session import Database, WriteSession
from app.store.tables import (
    Challenge,
    GoldVersion,
    Phase,
    Recipe,
    Registration,
    Score,
    Submission,
    Team,
    User,
)
from app.store.types import utcnow
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.postgres import PostgresServer
from tests.store.sample_rows import RowIds, fill_tables, gold_version, submission


@pytest.fixture
def row_ids(db: Database) -> RowIds:
    with db.write() as session:
        found = fill_tables(session)
        session.get_one(Submission, found.submission).status = "finished"
        return found


@pytest.fixture
def invalidations(db: Database, row_ids: RowIds) -> list[set[str]]:
    """What each transaction said, one after the other."""
    found: list[set[str]] = []
    db.on_invalidation(lambda marks: found.append(set(marks)))
    return found


Change = Callable[[Session, RowIds], object]


def on(kind: type[Any], of: str, **values: object) -> Change:
    """Set columns of the row of this kind."""

    def change(session: Session, row_ids: RowIds) -> None:
        row = session.get_one(kind, getattr(row_ids, of))
        for column, value in values.items():
            setattr(row, column, value)

    return change


def on_member(**values: object) -> Change:
    """Set columns of the only registration."""

    def change(session: Session, _row_ids: RowIds) -> None:
        row = session.query(Registration).one()
        for column, value in values.items():
            setattr(row, column, value)

    return change


def score(session: Session, row_ids: RowIds, **columns: object) -> None:
    key = {"submission_id": row_ids.submission, "gold_id": row_ids.gold, "recipe_id": row_ids.recipe}
    values: dict[str, Any] = {"scorer_version": SCORER_VERSION, "split": "public", "metrics": {}}
    session.add(Score(**key | values | columns))


SHOWN: dict[str, tuple[Change, str]] = {
    "title": (on(Challenge, "challenge", title="Other"), "challenge"),
    "visibility": (on(Challenge, "challenge", visibility="private"), "challenge"),
    "recipe": (on(Recipe, "recipe", body={"primary": "f1_macro"}), "challenge"),
    "team name": (on(Team, "team", name="Red"), "challenge"),
    "challenge gone": (
        lambda session, row_ids: session.delete(session.get_one(Challenge, row_ids.challenge)),
        "challenge",
    ),
    "rule of the phase": (on(Phase, "phase", leaderboard="hidden"), "phase"),
    "release": (on(Phase, "phase", released_at=utcnow()), "phase"),
    "gold in force": (on(GoldVersion, "gold", activated_at=utcnow()), "phase"),
    "team disqualified": (on(Team, "team", disqualified_at=utcnow()), "challenge"),
    "member barred": (on_member(status="barred"), "challenge"),
    "member left": (on_member(team_id=None), "challenge"),
    "withdrawn": (on(Submission, "submission", withdrawn_at=utcnow()), "phase"),
    "selected": (on(Submission, "submission", selected_at=utcnow()), "phase"),
    "no longer finished": (on(Submission, "submission", status="failed"), "phase"),
    "finished at once": (
        lambda session, row_ids: session.add(submission(row_ids.phase, row_ids.team, row_ids.user, status="finished")),
        "phase",
    ),
    "score": (score, "scores"),
    "statement": (lambda session, _filled: session.execute(update(Phase).values(anonymous=True)), "all"),
    "statement of the table": (lambda session, _filled: session.execute(delete(Score.__table__)), "all"),
    "rows by statement": (
        lambda session, row_ids: session.execute(
            insert(Team).values(id="t", challenge_id=row_ids.challenge, name="N", name_key="n", created_at=utcnow())
        ),
        "all",
    ),
}
UNSEEN: dict[str, Change] = {
    "another's name": on(User, "user", name="Grace"),
    "a queued submission": lambda session, row_ids: session.add(submission(row_ids.phase, row_ids.team, row_ids.user)),
    "what a submission says of itself": on(Submission, "submission", description="long"),
    "a new team": lambda session, row_ids: session.add(Team(challenge_id=row_ids.challenge, name="N", name_key="n")),
    "the key of a name": on(Team, "team", name_key="x"),
    "a claim": lambda session, _filled: tasks.claim(session, 1, clock.read(session), 1, None),  # type: ignore[arg-type]
    "claims forgotten": lambda session, _filled: tasks.requeue_unfinished(session),  # type: ignore[arg-type]
    "what a member says": on_member(fields={"affiliation": "elsewhere"}),
    "a value set to what it was": on(Phase, "phase", leaderboard="public"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_board_shows_is_said_once_it_is_stored(
    db: Database, row_ids: RowIds, invalidations: list[set[str]], name: str
) -> None:
    change, what = SHOWN[name]
    marks = {
        "challenge": challenge_tag(row_ids.challenge),
        "phase": phase_tag(row_ids.phase),
        "scores": scores_tag(row_ids.gold, SCORER_VERSION),
        "all": ALL_BOARDS,
    }
    with db.write() as session:
        change(session, row_ids)
        session.flush()
        assert invalidations == []
    assert invalidations == [{marks[what]}]


@pytest.mark.parametrize("name", UNSEEN)
def test_what_no_board_shows_is_not_said(
    db: Database, row_ids: RowIds, invalidations: list[set[str]], name: str
) -> None:
    with db.write() as session:
        UNSEEN[name](session, row_ids)
    assert invalidations == []


def test_a_submission_that_is_scored_is_said_when_it_is_finished(
    db: Database, row_ids: RowIds, invalidations: list[set[str]]
) -> None:
    with db.write() as session:
        row = submission(row_ids.phase, row_ids.team, row_ids.user)
        session.add(row)
    for status in ("running", "queued", "running", "rejected", "queued", "failed", "cancelled"):
        with db.write() as session:
            session.get_one(Submission, row.id).status = status
    assert invalidations == []
    with db.write() as session:
        session.get_one(Submission, row.id).status = "finished"
    assert invalidations == [{phase_tag(row_ids.phase)}]


FLAGS = ("baseline", "on_behalf", "test", "unofficial")
TIMES = ("selected_at", "withdrawn_at", "disqualified_at")
COUNTED = sorted({*BoardRow._fields, "team_id", "phase_id", "status", *FLAGS, *TIMES})  # what a board reads of them
OTHER_TABLES = {"metrics", "intervals"}  # columns of scores and of their intervals


@pytest.mark.parametrize("column", [name for name in COUNTED if name not in OTHER_TABLES])
def test_every_column_that_a_board_reads_is_said(
    db: Database, row_ids: RowIds, invalidations: list[set[str]], column: str
) -> None:
    with db.write() as session:
        other = Phase(challenge_id=row_ids.challenge, slug="next", name="next", position=1, opens_at=utcnow(), quota={},
                      leaderboard="public", reports=[], anonymous=False)  # fmt: skip
        session.add_all([other, Team(id="red", challenge_id=row_ids.challenge, name="Red", name_key="red")])
    values: dict[str, Any] = {"team_id": "red", "method": "other", "status": "failed"}
    values |= dict.fromkeys(FLAGS, True)
    values["phase_id"] = other.id
    invalidations.clear()
    with db.write() as session:
        setattr(session.get_one(Submission, row_ids.submission), column, values.get(column, utcnow()))
    assert invalidations == [{phase_tag(other.id if column == "phase_id" else row_ids.phase)}]


ANSWER = FileResult(valid=True, total={}, problems=[], scores={"all": {}})


@pytest.mark.parametrize("valid", [True, False])
def test_what_is_scored_by_statements_past_the_session_is_said(
    db: Database, row_ids: RowIds, invalidations: list[set[str]], *, valid: bool
) -> None:
    with db.write() as session:
        session.get_one(Submission, row_ids.submission).status = "queued"
        session.execute(delete(Score).execution_options(**board_invalidation.NO_BOARD_CHANGE))
        (claim,) = claim_tasks(session, JobTable(), 1)
    invalidations.clear()
    with db.write() as session:
        assert settle_results(session, {claim: replace(ANSWER, valid=valid)}, utcnow()) == {claim: row_ids.submission}
        assert invalidations == []
    tag = (phase_tag if valid else waiting_tag)(row_ids.phase)
    assert invalidations == [{settled_tag(tag, row_ids.team, row_ids.submission)}]


def test_scores_under_gold_that_is_not_in_force_have_a_mark_of_their_own(
    db: Database, row_ids: RowIds, invalidations: list[set[str]]
) -> None:
    with db.write() as session:
        other = gold_version(row_ids.phase)
        other.version, other.status = 2, "draft"
        session.add(other)
        session.flush()
        score(session, row_ids, gold_id=other.id)
    assert invalidations == [{phase_tag(row_ids.phase), scores_tag(other.id, SCORER_VERSION)}]


def test_all_of_a_transaction_is_said_together_even_when_it_is_undone(
    db: Database, row_ids: RowIds, invalidations: list[set[str]]
) -> None:
    """Of a commit that failed nobody knows, so that whatever did not come to be is said too."""

    def change(session: WriteSession) -> None:
        SHOWN["title"][0](session, row_ids)
        session.flush()
        SHOWN["release"][0](session, row_ids)
        session.flush()

    def undone() -> None:
        with db.write() as session:
            change(session)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    with db.write() as session:
        change(session)
    assert invalidations == [{challenge_tag(row_ids.challenge), phase_tag(row_ids.phase)}] * 2


def test_every_replica_is_told_once_it_is_stored_and_only_then(postgres: PostgresServer) -> None:
    with postgres.database() as url:
        settings = Settings(database_url=url, files_shared=True)
        migrate_by_copy(settings)
        db = Database(settings)
        with db.write() as session:
            row_ids = fill_tables(session)
        with postgres.connect(url.rpartition("/")[2]) as listening:
            listening.execute(f"LISTEN {CHANNEL}")
            with suppress(ZeroDivisionError), db.write() as session:
                SHOWN["release"][0](session, row_ids)
                session.flush()
                raise ZeroDivisionError
            with db.write() as session:
                SHOWN["title"][0](session, row_ids)
                session.flush()
                SHOWN["release"][0](session, row_ids)
                session.flush()
                SHOWN["rule of the phase"][0](session, row_ids)
            with db.write() as session:
                for version in range(150):
                    score(session, row_ids, scorer_version=1000 + version)
            many = [settled_tag(phase_tag(row_ids.phase), row_ids.team, f"{number:032x}") for number in range(100)]
            with db.write() as session:
                board_invalidation.invalidate(session, *many)
            found = [notice.payload for notice in listening.notifies(timeout=MAX_WAIT_SECONDS, stop_after=5)]
        db.close()
    assert found[:3] == [challenge_tag(row_ids.challenge), phase_tag(row_ids.phase), ALL_BOARDS]
    assert max(map(len, found)) < 8000
    assert "\n".join(found[3:]).split("\n") == many


def test_the_tag_of_a_settled_submission_names_its_boards_its_team_and_itself() -> None:
    tag = phase_tag("f" * 32)
    assert parse_settled_tag(settled_tag(tag, "a", "b")) == SettledTag(tag, "a", "b")
    assert parse_settled_tag(tag) is parse_settled_tag(ALL_BOARDS) is None


def test_a_board_bears_the_marks_of_all_that_it_was_made_of(db: Database, row_ids: RowIds) -> None:
    def marks() -> set[str]:
        with db.read() as session:
            found = build_cacheable_board(session, VISITOR_AUDIENCE, "pets", "main", split=None, metric=None)
        return set(found.marks)

    always = {challenge_tag(row_ids.challenge), phase_tag(row_ids.phase)}
    assert marks() == always | {scores_tag(row_ids.gold, 1)}
    with db.write() as session:
        session.get_one(Phase, row_ids.phase).leaderboard = "hidden"
    assert marks() == always


def test_a_board_that_waits_for_the_close_is_built_again_every_second(db: Database, row_ids: RowIds) -> None:
    hour = timedelta(hours=1)
    for closes_in, seconds in ((hour, CLOSE_RECHECK_SECONDS), (-hour, math.inf), (None, math.inf)):
        with db.write() as session:
            phase = session.get_one(Phase, row_ids.phase)
            phase.leaderboard, phase.opens_at = "after_close", utcnow() - 2 * hour
            phase.closes_at = None if closes_in is None else utcnow() + closes_in
        with db.read() as session:
            board = build_cacheable_board(session, VISITOR_AUDIENCE, "pets", "main", split=None, metric=None)
        assert board.seconds == seconds
        assert (board.board is None) == (seconds == CLOSE_RECHECK_SECONDS or closes_in is None)


@pytest.fixture
def shared(postgres: PostgresServer) -> Iterator[tuple[Settings, Database, RowIds]]:
    """A database that replicas share."""
    with postgres.database() as url:
        settings = Settings(database_url=url, files_shared=True)
        migrate_by_copy(settings)
        db = Database(settings)
        with db.write() as session:
            row_ids = fill_tables(session)
        yield settings, db, row_ids
        db.close()


def test_boards_are_told_before_those_who_wait_for_the_submission(
    shared: tuple[Settings, Database, RowIds], postgres: PostgresServer
) -> None:
    settings, db, row_ids = shared
    with db.write() as session:
        session.execute(delete(Score).execution_options(**board_invalidation.NO_BOARD_CHANGE))
        (claim,) = claim_tasks(session, JobTable(), 1)
    with postgres.connect(settings.database.rpartition("/")[2]) as listening:
        for channel in (CHANNEL, notifications.CHANNEL):
            listening.execute(f"LISTEN {channel}")
        with db.write() as session:
            settle_results(session, {claim: ANSWER}, utcnow())
        found = [
            (notice.channel, notice.payload) for notice in listening.notifies(timeout=MAX_WAIT_SECONDS, stop_after=2)
        ]
    mark = settled_tag(phase_tag(row_ids.phase), row_ids.team, row_ids.submission)
    assert found == [(CHANNEL, mark), (notifications.CHANNEL, row_ids.submission)]


class Heard:
    """What a listener says of changes, one after the other."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def invalidate(self, marks: frozenset[str]) -> None:
        """Something changed."""
        self.said.extend(marks)

    def confirm(self, at: float) -> None:
        """All was said until now."""
        assert at > 0
        self.said.append("hears")

    def forget(self) -> None:
        """What was made before is not believed."""
        self.said.append("forgets")

    def distrust(self) -> None:
        """Nothing is heard."""
        self.said.append("deaf")


def test_what_was_begun_before_a_listener_listens_is_not_believed(shared: tuple[Settings, Database, RowIds]) -> None:
    """A board that is being made of rows read before would be kept, though nobody heard of what changed since."""
    heard = Heard()
    listener = notifications.NotificationListener(shared[0], lambda _: None, lambda: heard.said.append("look"), heard)
    listener.start()
    eventually(lambda: "hears" in heard.said, "it listens")
    listener.stop()
    assert heard.said[:3] == ["forgets", "look", "hears"]
    assert heard.said[-1] == "deaf"
