"""What is read of gold for a submission, once it is prepared; and what a service does where there is no room for it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, event, select, update

from app.actions.scoring_tasks.scoring_request import gold_reference
from app.settings import Settings
from app.store.session import Database
from app.store.tables import GoldVersion, Score, ScoreTask
from app.store.types import utcnow
from app.worker.process_settings import create_process_pool
from tests import preloaded_scoring
from tests.api.in_process_app import app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import Caller, open_challenge
from tests.worker.fault_store import Store, score_submission

LARGE = re.compile(r"gold_versions\.(accessories|classes)\b")
WRONG_DOGS = dict.fromkeys(CORRECT_PREDICTIONS, "cat")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    new_store = Store(settings)
    yield new_store
    new_store.db.close()


@contextmanager
def statements(db: Database) -> Iterator[list[str]]:
    """What is asked of the database while the block lasts."""
    executed: list[str] = []
    engines = [db._read, db._write]

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        executed.append(statement)

    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield executed
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


def again(store: Store) -> None:
    """The same submission is to be scored once more."""
    with store.db.write() as session:
        task = session.scalars(select(ScoreTask)).one()
        task.status = "queued"
        session.execute(delete(Score))


def test_the_second_score_reads_neither_the_gold_file_nor_what_stands_beside_it(store: Store, tmp_path: Path) -> None:
    with store.db.read() as session:
        key = session.scalars(select(GoldVersion.file_key)).one()
    for known in (False, True, True):
        # Another pool each time: nothing is in the memory of its children.
        children = create_process_pool(Settings(), 1, tmp_path)
        with preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()), statements(store.db) as queries:
            score_submission(store.bench(children), store.claim())
        children.close()
        assert store.state()[0] == "done"
        assert store.state()[3] == 1
        assert any(map(LARGE.search, queries)) is not known
        assert len([each for each in queries if "gold_versions" in each]) >= 1
        store.files.delete(key)
        again(store)


def test_a_draft_is_named_by_what_it_holds_now_and_gold_in_force_is_read_for_its_name_once(store: Store) -> None:
    def name() -> str:
        with store.db.read() as session:
            version = session.scalars(select(GoldVersion)).one()
            return gold_reference(version).name

    def put(**values: Any) -> None:
        with store.db.write() as session:
            session.execute(update(GoldVersion).values(**values))

    put(status="draft", activated_at=None, accessories={})
    first = name()
    put(accessories={"class_weights": {"cat": 2}})
    second = name()
    assert second != first
    put(status="active", activated_at=utcnow())
    assert name() == second
    with statements(store.db) as queries:
        assert name() == second
    assert not list(filter(LARGE.search, queries))


def weighted(admin: Caller, predictions: Any) -> float:
    """The weighted accuracy of a submission."""
    answer = admin.submit("pets", predictions, team="Blue")
    assert answer.json()["status"] == "finished", answer.text
    return float(answer.json()["scores"]["weighted_accuracy"]["value"])


def drafted(admin: Caller) -> str:
    """A challenge that scores by class weights, and its gold, which is a draft still."""
    recipe = {"primary": "weighted_accuracy", "metrics": ["weighted_accuracy"]}
    admin.post("/challenges", json={"slug": "pets", "title": "pets", "task": "multiclass", "recipe": recipe})
    address = "/challenges/pets/phases/main/gold"
    gold = [{"id": key, "label": label} for key, label in CORRECT_PREDICTIONS.items()]
    assert admin.post(address, json=gold).status_code == 201
    return f"{address}/1"


def test_the_accessories_that_a_draft_had_last_are_those_it_is_scored_with(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data")) as service:
        admin = service.admin()
        draft = drafted(admin)
        for weights in ({"cat": 1, "dog": 1}, {"cat": 1, "dog": 3}):
            assert admin.put(f"{draft}/class-weights", json=weights).status_code == 200
        assert admin.post(f"{draft}/activate").status_code == 201
        assert weighted(admin, WRONG_DOGS) == pytest.approx(0.25)
        assert weighted(admin, CORRECT_PREDICTIONS) == pytest.approx(1)


def test_with_no_room_for_prepared_gold_everything_is_scored_all_the_same(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_app(app_settings(data, prepared_gold=0)) as service:
        open_challenge(service.admin(), "pets", GOLD)
        sent = [service.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue") for _ in range(2)]
        assert [answer.json()["status"] for answer in sent] == ["finished"] * 2
        assert not list((data / "prepared").glob("*"))
        assert not list((data / "files" / "prepared").glob("*"))
