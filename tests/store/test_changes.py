"""Which boards a transaction concerns, and that it says so once it has ended."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION
from app.settings import Settings
from app.store import tasks
from app.store.changes import CHANNEL, EVERYTHING, of_challenge, of_phase, of_scores
from app.store.migrate import upgrade
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
from tests.live import LONG
from tests.postgres import Server
from tests.store.rows import Filled, fill, gold_version, submission


@pytest.fixture
def filled(db: Database) -> Filled:
    with db.write() as session:
        found = fill(session)
        session.get_one(Submission, found.submission).status = "finished"
        return found


@pytest.fixture
def told(db: Database, filled: Filled) -> list[set[str]]:
    """What each transaction said, one after the other."""
    found: list[set[str]] = []
    db.tell(lambda marks: found.append(set(marks)))
    return found


Change = Callable[[Session, Filled], object]


def on(kind: type[Any], of: str, **values: object) -> Change:
    """Set columns of the row of this kind."""

    def change(session: Session, filled: Filled) -> None:
        row = session.get_one(kind, getattr(filled, of))
        for column, value in values.items():
            setattr(row, column, value)

    return change


def score(session: Session, filled: Filled, **given: object) -> None:
    key = {"submission_id": filled.submission, "gold_id": filled.gold, "recipe_id": filled.recipe}
    values: dict[str, Any] = {"scorer_version": SCORER_VERSION, "split": "public", "metrics": {}}
    session.add(Score(**key | values | given))


SHOWN: dict[str, tuple[Change, str]] = {
    "title": (on(Challenge, "challenge", title="Other"), "challenge"),
    "visibility": (on(Challenge, "challenge", visibility="private"), "challenge"),
    "recipe": (on(Recipe, "recipe", body={"primary": "f1_macro"}), "challenge"),
    "team name": (on(Team, "team", name="Red"), "challenge"),
    "challenge gone": (
        lambda session, filled: session.delete(session.get_one(Challenge, filled.challenge)),
        "challenge",
    ),
    "rule of the phase": (on(Phase, "phase", leaderboard="hidden"), "phase"),
    "release": (on(Phase, "phase", released_at=utcnow()), "phase"),
    "gold in force": (on(GoldVersion, "gold", activated_at=utcnow()), "phase"),
    "withdrawn": (on(Submission, "submission", withdrawn_at=utcnow()), "phase"),
    "selected": (on(Submission, "submission", selected_at=utcnow()), "phase"),
    "no longer finished": (on(Submission, "submission", status="failed"), "phase"),
    "finished at once": (
        lambda session, filled: session.add(submission(filled.phase, filled.team, filled.user, status="finished")),
        "phase",
    ),
    "score": (score, "scores"),
    "statement": (lambda session, _filled: session.execute(update(Phase).values(anonymous=True)), "all"),
    "statement of the table": (lambda session, _filled: session.execute(delete(Score.__table__)), "all"),
    "rows by statement": (
        lambda session, filled: session.execute(
            insert(Team).values(id="t", challenge_id=filled.challenge, name="N", name_key="n", created_at=utcnow())
        ),
        "all",
    ),
}
UNSEEN: dict[str, Change] = {
    "another's name": on(User, "user", name="Grace"),
    "a queued submission": lambda session, filled: session.add(submission(filled.phase, filled.team, filled.user)),
    "what a submission says of itself": on(Submission, "submission", description="long"),
    "a new team": lambda session, filled: session.add(Team(challenge_id=filled.challenge, name="N", name_key="n")),
    "the key of a name": on(Team, "team", name_key="x"),
    "a claim": lambda session, _filled: tasks.claim(session, 1, 1),  # type: ignore[arg-type]
    "claims forgotten": lambda session, _filled: tasks.forget_claims(session),  # type: ignore[arg-type]
    "a member": lambda session, _filled: session.execute(update(Registration).values(status="barred")),
    "a value set to what it was": on(Phase, "phase", leaderboard="public"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_board_shows_is_said_once_it_is_stored(
    db: Database, filled: Filled, told: list[set[str]], name: str
) -> None:
    change, what = SHOWN[name]
    marks = {
        "challenge": of_challenge(filled.challenge),
        "phase": of_phase(filled.phase),
        "scores": of_scores(filled.gold, SCORER_VERSION),
        "all": EVERYTHING,
    }
    with db.write() as session:
        change(session, filled)
        session.flush()
        assert told == []
    assert told == [{marks[what]}]


@pytest.mark.parametrize("name", UNSEEN)
def test_what_no_board_shows_is_not_said(db: Database, filled: Filled, told: list[set[str]], name: str) -> None:
    with db.write() as session:
        UNSEEN[name](session, filled)
    assert told == []


def test_a_submission_that_is_scored_is_said_when_it_is_finished(
    db: Database, filled: Filled, told: list[set[str]]
) -> None:
    with db.write() as session:
        row = submission(filled.phase, filled.team, filled.user)
        session.add(row)
    for status in ("running", "queued", "running", "rejected", "queued", "failed", "cancelled"):
        with db.write() as session:
            session.get_one(Submission, row.id).status = status
    assert told == []
    with db.write() as session:
        session.get_one(Submission, row.id).status = "finished"
    assert told == [{of_phase(filled.phase)}]


def test_scores_under_gold_that_is_not_in_force_have_a_mark_of_their_own(
    db: Database, filled: Filled, told: list[set[str]]
) -> None:
    with db.write() as session:
        other = gold_version(filled.phase)
        other.version, other.status = 2, "draft"
        session.add(other)
        session.flush()
        score(session, filled, gold_id=other.id)
    assert told == [{of_phase(filled.phase), of_scores(other.id, SCORER_VERSION)}]


def test_all_of_a_transaction_is_said_together_even_when_it_is_undone(
    db: Database, filled: Filled, told: list[set[str]]
) -> None:
    """Of a commit that failed nobody knows, so that whatever did not come to be is said too."""

    def change(session: WriteSession) -> None:
        SHOWN["title"][0](session, filled)
        session.flush()
        SHOWN["release"][0](session, filled)
        session.flush()

    def undone() -> None:
        with db.write() as session:
            change(session)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    with db.write() as session:
        change(session)
    assert told == [{of_challenge(filled.challenge), of_phase(filled.phase)}] * 2


def test_every_replica_is_told_once_it_is_stored_and_only_then(postgres: Server) -> None:
    with postgres.database() as url:
        given = Settings(database_url=url, files_shared=True)
        upgrade(given)
        db = Database(given)
        with db.write() as session:
            filled = fill(session)
        with postgres.connect(url.rpartition("/")[2]) as listening:
            listening.execute(f"LISTEN {CHANNEL}")
            with suppress(ZeroDivisionError), db.write() as session:
                SHOWN["release"][0](session, filled)
                session.flush()
                raise ZeroDivisionError
            with db.write() as session:
                SHOWN["title"][0](session, filled)
                session.flush()
                SHOWN["release"][0](session, filled)
                session.flush()
                SHOWN["rule of the phase"][0](session, filled)
            with db.write() as session:
                for version in range(150):
                    score(session, filled, scorer_version=1000 + version)
            found = [notice.payload for notice in listening.notifies(timeout=LONG, stop_after=3)]
        db.close()
    assert found == [of_challenge(filled.challenge), of_phase(filled.phase), EVERYTHING]
