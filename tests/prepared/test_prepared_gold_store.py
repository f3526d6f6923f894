"""Hosts share prepared gold through the file store, in a folder or a bucket."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update
from structlog.testing import capture_logs

from app.actions.operations import sweep_files
from app.actions.operations.sweep_files import OrphanFileSweeper
from app.actions.scoring_tasks.scoring_request import (
    GoldReference,
    publish_prepared_gold,
)
from app.errors import DatabaseUnavailable
from app.files import PREPARED_GOLD, new_key
from app.pipeline import SourceFile
from app.prepared.gold_arrays import PROGRAM
from app.prepared.gold_source import GoldFile, GoldSource
from app.runtime.data_folder import open_file_store
from app.scoring_processes.messages import (
    CheckGold,
    GoldSummary,
    ReadExcerpts,
    Reply,
    Request,
)
from app.settings import Settings
from app.store.session import Database
from app.store.tables import GoldVersion, PreparedGold
from app.store.types import utcnow
from tests.faults.inspection import GOLD
from tests.live_service import MAX_WAIT_SECONDS
from tests.prepared.hosts import KIND, Host, ScoringInThisProcess, Site
from tests.s3_servers import S3Server


@pytest.fixture(params=["folder", "moto", "rclone"])
def site(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Iterator[Site]:
    if request.param != "folder":
        server: S3Server = request.getfixturevalue(request.param)
        settings = server.settings(settings.data_dir, database_url=settings.database_url)
    site = Site(settings, tmp_path)
    yield site
    site.db.close()


def events(logs: list[Any]) -> list[str]:
    """The names of events, in order."""
    return [entry["event"] for entry in logs]


def test_another_host_scores_without_the_gold_file(site: Site) -> None:
    first, second, gold = site.host(), site.host(), site.reference()
    assert first.score(gold) == 1
    (row,) = site.rows()
    assert (row.gold_id, row.program, row.name) == (site.gold_id, PROGRAM, gold.name)
    assert site.prepared_keys() == [row.file_key]
    assert row.size == len(site.content(row.file_key))
    site.lose_gold_file()
    with capture_logs() as logs:
        assert second.score(gold) == 1
    assert logs == []
    stored = site.files.stored_path(row.file_key)
    if stored is None:
        for host in (first, second):
            (copy,) = host.local_files()
            assert copy.read_bytes() == site.content(row.file_key)
            assert copy.stat().st_mode & 0o777 == 0o600
            assert copy.parent.stat().st_mode & 0o777 == 0o700
    else:
        assert first.local_files() == second.local_files() == []
        assert stored.stat().st_mode & 0o777 == 0o600
        assert stored.parent.stat().st_mode & 0o777 == 0o700


class Together:
    """Scoring processes of a host that go on, once they have prepared the gold, when those of another host have too."""

    def __init__(self, pool: ScoringInThisProcess, barrier: threading.Barrier) -> None:
        self._pool = pool
        self._barrier = barrier
        self.prepared_gold = pool.prepared_gold

    def call(self, request: Request) -> Reply:
        reply = self._pool.call(request)
        assert not isinstance(request, ReadExcerpts)
        if request.gold.file is not None:
            self._barrier.wait(MAX_WAIT_SECONDS)
        return reply

    def close(self) -> None:
        """The pool belongs to the host."""


@pytest.mark.both_databases
def test_of_two_hosts_that_prepare_at_once_the_first_one_stores_its_file(site: Site) -> None:
    hosts, gold, barrier = [site.host(), site.host()], site.reference(), threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(host.score, gold, Together(host.pool, barrier)) for host in hosts]
        assert [each.result(MAX_WAIT_SECONDS) for each in asked] == [1, 1]
    (row,) = site.rows()
    assert site.prepared_keys() == [row.file_key]
    site.lose_gold_file()
    with capture_logs() as logs:
        assert site.host().score(gold) == 1
    assert logs == []
    for host in hosts:
        assert all(path.read_bytes() == site.content(row.file_key) for path in host.local_files())


class Preparing:
    """A scoring process of a host with several; `during` is called after it has read the gold file."""

    def __init__(self, host: Host, during: Callable[[], object]) -> None:
        self.prepared_gold = host.pool.prepared_gold
        self._pool = ScoringInThisProcess(host.pool.prepared_gold)
        self._during = during

    def call(self, request: Request) -> Reply:
        reply = self._pool.call(request)
        assert not isinstance(request, ReadExcerpts)
        if request.gold.file is not None:
            self._during()
        return reply

    def close(self) -> None:
        """There is nothing to end."""


@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_of_the_scoring_processes_of_a_host_one_reads_the_gold_file(site: Site) -> None:
    host, gold, reads, several = site.host(), site.reference(), list[int](), threading.Event()

    def read() -> None:
        reads.append(1)
        if len(reads) > 1:
            several.set()
        several.wait(0.3)  # in which the others would have read it too

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(host.score, gold, Preparing(host, read)) for _ in range(4)]
        assert [each.result(MAX_WAIT_SECONDS) for each in asked] == [1] * 4
    assert len(reads) == 1


@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_prepared_gold_is_usable_before_the_request_that_prepared_it_is_scored(site: Site) -> None:
    host, gold, prepared, scored = site.host(), site.reference(), threading.Event(), threading.Event()

    def score_slowly() -> None:
        prepared.set()
        assert scored.wait(MAX_WAIT_SECONDS)

    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(host.score, gold, Preparing(host, score_slowly))
        assert prepared.wait(MAX_WAIT_SECONDS)
        assert host.restarted().score(gold) == 1
        scored.set()
        assert slow.result(MAX_WAIT_SECONDS) == 1


def flip_a_bit(content: bytes, _foreign: bytes) -> bytes:
    """The last bytes are padding, and belong to the checksum too."""
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    "harm",
    [
        flip_a_bit,
        lambda content, _foreign: content[: len(content) // 2],
        lambda _content, _foreign: b"",
        lambda _content, foreign: foreign,
    ],
    ids=["flipped bit", "truncated", "empty", "prepared from other gold"],
)
def test_a_damaged_or_foreign_file_is_prepared_again(site: Site, harm: Callable[[bytes, bytes], bytes]) -> None:
    gold = site.reference()
    assert site.host().score(gold) == 1
    (row,) = site.rows()
    site.overwrite(row.file_key, harm(site.content(row.file_key), foreign_prepared_gold(site)))
    with capture_logs() as logs:
        assert site.host().score(gold) == 1
    assert events(logs) == ["child_remark", "prepared_gold_discarded", "prepared_gold_stored"]
    (anew,) = site.rows()
    assert anew.file_key != row.file_key
    assert sorted(site.prepared_keys()) == sorted([row.file_key, anew.file_key])  # a host may have mapped the old file
    site.lose_gold_file()
    assert site.host().score(gold) == 1


def foreign_prepared_gold(site: Site) -> bytes:
    """A whole file of prepared gold with other labels."""
    host = site.host()
    path = host.work / "gold"
    path.write_text(json.dumps([row | {"label": "dog"} for row in GOLD]))
    file = GoldFile(SourceFile(path, KIND), "multiclass", None, ["cat", "dog"], sha256="1" * 64)
    assert isinstance(host.pool.call(CheckGold(GoldSource(file=file))), GoldSummary)
    (made,) = host.local_files()
    return made.read_bytes()


def test_a_stored_file_that_is_missing_is_prepared_again(site: Site) -> None:
    gold = site.reference()
    assert site.host().score(gold) == 1
    (row,) = site.rows()
    site.files.delete(row.file_key)
    with capture_logs() as logs:
        assert site.host().score(gold) == 1
    assert events(logs) == ["prepared_gold_discarded", "prepared_gold_stored"]
    assert site.prepared_keys() == [each.file_key for each in site.rows()] != [row.file_key]


@pytest.mark.parametrize("site", ["rclone"], indirect=True)
def test_a_damaged_or_foreign_copy_is_fetched_again(site: Site) -> None:
    gold, host = site.reference(), site.host()
    assert host.score(gold) == 1
    site.lose_gold_file()
    (row,), (copy,) = site.rows(), host.local_files()
    for content in (flip_a_bit(copy.read_bytes(), b""), foreign_prepared_gold(site)):
        copy.write_bytes(content)
        with capture_logs() as logs:
            assert host.restarted().score(gold) == 1
        assert events(logs) == ["child_remark"]
        assert site.rows()[0].file_key == row.file_key
        assert copy.read_bytes() == site.content(row.file_key)


@pytest.mark.parametrize("site", ["rclone"], indirect=True)
def test_a_copy_needs_no_bucket_and_one_above_the_limit_is_not_made(site: Site) -> None:
    gold, host, small = site.reference(), site.host(), site.host(prepared_gold=100)
    assert host.score(gold) == 1
    assert small.score(gold) == 1
    assert small.local_files() == []
    assert len(site.rows()) == 1
    site.files.delete(site.rows()[0].file_key)
    assert host.restarted().score(gold) == 1


@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_while_the_store_is_full_gold_is_prepared_for_this_process_alone(site: Site) -> None:
    gold, host = site.reference(), site.host()
    full = open_file_store(site.settings.model_copy(update={"min_free": 1 << 62}), host.work)
    with capture_logs() as logs:
        assert replace(host, files=full).score(gold) == 1
    assert events(logs) == ["prepared_gold_not_stored"]
    assert site.rows() == []
    assert site.prepared_keys() == []
    assert len(host.local_files()) == 1
    site.lose_gold_file()
    # The next scoring process that needs it uses the file, and stores it now.
    assert host.restarted().score(gold) == 1
    assert host.local_files() == []
    assert site.prepared_keys() == [row.file_key for row in site.rows()]


class Unwritable(Database):
    """A database that goes away before it is written."""

    def write(self, **_options: Any) -> Any:
        """The moment at which it is away."""
        raise DatabaseUnavailable


@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_a_database_that_goes_away_costs_the_prepared_file_and_nothing_else(site: Site) -> None:
    gold, host, away = site.reference(), site.host(), Unwritable(site.settings)
    try:
        with capture_logs() as logs:
            assert replace(host, db=away).score(gold) == 1
            assert events(logs) == ["prepared_gold_not_stored"]
            assert host.restarted().score(gold) == 1
            (row,) = site.rows()
            site.files.delete(row.file_key)
            logs.clear()
            assert replace(site.host(), db=away).score(gold) == 1
        assert set(events(logs)) == {"prepared_gold_discarded", "prepared_gold_away", "prepared_gold_not_stored"}
    finally:
        away.close()


@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_two_versions_of_the_program_have_files_of_their_own(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = site.reference()

    def score_with(program: str) -> list[Any]:
        with monkeypatch.context() as version, capture_logs() as logs:
            for module in ("app.prepared.gold_arrays", "app.actions.scoring_tasks.prepared_gold"):
                version.setattr(f"{module}.PROGRAM", program)
            assert site.host().score(gold) == 1
        return events(logs)

    for program in ("older", "newer"):
        assert score_with(program) == ["prepared_gold_stored"]
    site.lose_gold_file()
    for program in ("older", "newer"):
        assert score_with(program) == []
    assert sorted(site.prepared_keys()) == sorted(row.file_key for row in site.rows())
    assert len(site.rows()) == 2


@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_without_room_for_prepared_gold_every_scoring_process_reads_the_gold_file(site: Site) -> None:
    gold = site.reference()
    assert site.host(prepared_gold=0).score(gold) == 1
    assert site.rows() == []
    assert site.host().score(gold) == 1
    site.lose_gold_file()
    with pytest.raises(FileNotFoundError):
        site.host(prepared_gold=0).score(gold)


@pytest.mark.both_databases
@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_the_row_of_a_changed_draft_names_its_new_file_and_goes_with_the_gold(site: Site) -> None:
    host, old = site.host(), site.reference()
    assert host.score(old) == 1
    (before,) = site.rows()
    with site.db.write() as session:
        changed = {"status": "draft", "activated_at": None, "accessories": {"class_weights": {"cat": 2}}}
        session.execute(update(GoldVersion).values(changed))
    new = site.reference()
    assert new.name != old.name
    assert host.score(new) == 1
    (after,) = site.rows()
    assert (after.name, before.name) == (new.name, old.name)
    assert after.file_key != before.file_key
    with site.db.write() as session:
        session.execute(delete(GoldVersion))
    assert site.rows() == []
    host.pool.call(CheckGold(GoldSource(file=gold_file(host))))
    with capture_logs() as logs:
        publish_prepared_gold(site.db, site.files, host.pool, GoldReference(site.gold_id, host.local_files()[0].stem))
    assert events(logs) == ["prepared_gold_not_stored"]  # deleted in the meantime


def gold_file(host: Host) -> GoldFile:
    """The file of the gold, on the host."""
    path = host.work / "gold"
    path.write_text(json.dumps(GOLD))
    return GoldFile(SourceFile(path, KIND), "multiclass", sha256="1" * 64)


@pytest.mark.both_databases
@pytest.mark.parametrize("site", ["folder"], indirect=True)
def test_the_sweep_deletes_what_no_gold_version_and_no_program_uses(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert site.host().score(site.reference()) == 1
    (own,) = site.rows()
    keys = {program: new_key(PREPARED_GOLD) for program in ("older", "newer", "no row")}
    path = tmp_path / "file"
    path.write_bytes(b"prepared gold")
    for key in keys.values():
        site.files.put(key, path, path.stat().st_size)
    long_ago = utcnow() - timedelta(seconds=sweep_files.MIN_ORPHAN_AGE_SECONDS + 60)
    with site.db.write() as session:
        file = {"gold_id": site.gold_id, "name": own.name, "sha256": own.sha256, "size": own.size}
        session.add(PreparedGold(program="older", file_key=keys["older"], created_at=long_ago, **file))
        session.add(PreparedGold(program="newer", file_key=keys["newer"], **file))
        session.execute(update(PreparedGold).where(PreparedGold.program == PROGRAM).values(created_at=long_ago))
    sweeper = OrphanFileSweeper(site.db, site.files)
    assert sweeper.sweep_at_start() == 0  # all files are young: somebody may be about to use them
    assert [row.program for row in site.rows()] == sorted([PROGRAM, "newer"])
    monkeypatch.setattr(sweep_files, "MIN_ORPHAN_AGE_SECONDS", -60.0)
    with monkeypatch.context() as rows_stay:
        rows_stay.setattr(OrphanFileSweeper, "_remove_outdated_rows", lambda _self: None)
        assert sweeper.sweep_at_start() == 2
    assert sorted(site.prepared_keys()) == sorted([own.file_key, keys["newer"]])
    assert site.host().score(site.reference()) == 1
