"""Prepared gold of a service at work: what is read for a submission, and what becomes of it when files are away or damaged."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, event, select, update

from app.actions.scoring_tasks.scoring_request import gold_reference
from app.runtime.data_folder import open_file_store
from app.settings import Settings
from app.store.session import Database
from app.store.tables import GoldVersion, Score, ScoreTask
from app.store.types import utcnow
from app.worker.process_settings import create_process_pool
from tests.cluster import Cluster, cluster
from tests.faults.challenge_cluster import SHORT_TIMEOUTS, ChallengeCluster
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, children_of, has_unread_request, open_pets_challenge
from tests.faults.test_fence import Store, score_submission
from tests.live_service import Caller, Live, eventually, open_challenge
from tests.s3_servers import S3Server

LARGE = re.compile(r"gold_versions\.(accessories|classes)\b")
WRONG_DOGS = dict.fromkeys(CORRECT_PREDICTIONS, "cat")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    new_store = Store(settings)
    yield new_store
    new_store.db.close()


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_workers_on_other_hosts_score_with_gold_that_the_upload_prepared(
    kind: str, request: pytest.FixtureRequest, postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    files: dict[str, str] = {}
    if kind == "bucket":
        server: S3Server = request.getfixturevalue("rclone")
        files = {"files_url": f"s3://{server.new_bucket()}/assay", "s3_endpoint": server.url}
        files |= {"s3_access_key": server.access_key, "s3_secret_key": server.secret_key}
    with cluster(tmp_path, postgres_database(), **files) as parts:
        parts.start(workers=0)
        open_challenge(parts.admin(), "pets", GOLD)
        blue = parts.person("Blue").join("pets", "Blue")
        before = parts.rows("SELECT gold_id, file_key, sha256 FROM prepared_golds")
        assert len(before) == 1
        delete_gold_file(parts)
        for host in range(2):
            own = {"data_dir": str(tmp_path / f"host-{host}")} if kind == "bucket" else {}
            worker = parts.part("worker", **own).start().wait_ready()
            assert blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"
            assert "prepared_gold" not in worker.log()
            worker.kill()
        assert parts.rows("SELECT gold_id, file_key, sha256 FROM prepared_golds") == before


def test_two_workers_that_prepare_at_once_store_one_file(postgres_database: Callable[[], str], tmp_path: Path) -> None:
    with cluster(tmp_path, postgres_database(), **SHORT_TIMEOUTS) as parts:
        site = ChallengeCluster(parts.start(workers=2))
        site.hold(*parts.workers)
        sent = [site.send("Together") for _ in parts.workers]
        children = [child for part in parts.workers for child in children_of(part.pid)]
        eventually(lambda: all(map(has_unread_request, children)), "each worker has asked its child")
        for path in (tmp_path / "data" / "files" / "prepared").iterdir():
            path.unlink()
        assert len(parts.rows("DELETE FROM prepared_golds RETURNING gold_id")) == 1
        site.release()
        site.wait_until_finished(*sent)
        ((key,),) = parts.rows("SELECT file_key FROM prepared_golds")
        assert [path.name for path in (tmp_path / "data" / "files" / "prepared").iterdir()] == [
            str(key).removeprefix("prepared/")
        ]
        stored = "prepared_gold_stored"
        eventually(lambda: sum(part.log().count(stored) for part in parts.workers) == 1, "one has stored its own")


def delete_gold_file(parts: Cluster) -> None:
    """Delete the gold as it was uploaded, which nobody can read any longer."""
    ((key,),) = parts.rows("SELECT file_key FROM gold_versions")
    own = {name.removeprefix("ASSAY_").lower(): value for name, value in parts.settings.items()}
    settings = Settings.model_validate(own)
    open_file_store(settings, settings.data_dir / "of-the-test").delete(str(key))


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
        try:
            with statements(store.db) as queries:
                score_submission(store.bench(children), store.claim())
        finally:
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


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "data").start()
    yield service
    service.kill()


def weighted(caller: Caller, predictions: Any) -> float:
    """The weighted accuracy of a submission."""
    answer = caller.submit("pets", predictions)
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


def test_the_accessories_that_a_draft_had_last_are_those_it_is_scored_with(live: Live) -> None:
    admin = live.admin()
    draft = drafted(admin)
    for weights in ({"cat": 1, "dog": 1}, {"cat": 1, "dog": 3}):
        assert admin.put(f"{draft}/class-weights", json=weights).status_code == 200
    assert admin.post(f"{draft}/activate").status_code == 201
    blue = live.person("Blue").join("pets", "Blue")
    assert weighted(blue, WRONG_DOGS) == pytest.approx(0.25)
    assert weighted(blue, CORRECT_PREDICTIONS) == pytest.approx(1)


def test_damaged_gold_is_made_anew_without_anybody_but_the_operator_noticing(live: Live) -> None:
    blue = open_pets_challenge(live)
    assert blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"
    live.kill()
    folder = live.data_dir / "files" / "prepared"
    (path,) = folder.iterdir()  # the upload has prepared it
    os.truncate(path, path.stat().st_size - 1)
    live.start()
    answer = blue_again(live, blue).submit("pets", CORRECT_PREDICTIONS)
    assert answer.json()["status"] == "finished"
    assert answer.json()["notes"] == []
    for wanted in ("child_remark", "prepared_gold_discarded"):
        eventually(lambda name=wanted: name in live.log(), f"{wanted} is in the log")  # type: ignore[misc]
    assert len(list(folder.iterdir())) == 2  # the sweep deletes the damaged one
    live.kill()
    for upload in (live.data_dir / "files" / "uploads").iterdir():
        upload.unlink()  # the gold among them: what was made anew is whole
    live.start()
    assert blue_again(live, blue).submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"


def blue_again(live: Live, blue: Caller) -> Caller:
    """The same person at the service's next life."""
    return live.caller(blue.headers["Authorization"].removeprefix("Bearer "), email=blue.email)


def test_with_no_room_for_prepared_gold_everything_is_scored_all_the_same(tmp_path: Path) -> None:
    service = Live(tmp_path / "data", prepared_gold="0").start()
    try:
        blue = open_pets_challenge(service)
        assert [blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] for _ in range(2)] == ["finished"] * 2
        assert not list((service.data_dir / "prepared").glob("*"))
        assert not list((service.data_dir / "files" / "prepared").glob("*"))
    finally:
        service.kill()
