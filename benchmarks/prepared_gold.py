"""The first score on another worker, which uses the gold that the first worker prepared, beside its later scores."""

import hashlib
import logging
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import structlog
from sqlalchemy import update

from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.files import FileStore
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.runtime.data_folder import open_file_store
from app.scoring_processes.messages import FileResult, GoldRequest, ScorePredictions
from app.settings import Settings
from app.store.session import Database
from app.store.tables import GoldVersion
from app.worker.process_pool import ScoringProcessPool
from app.worker.process_settings import create_process_pool
from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes
from tests.migrated_databases import migrate_by_copy
from tests.s3_servers import rclone
from tests.store.sample_rows import fill_tables

LATER, READS = "a later score", "the first score of all, which reads the gold file"
ELSEWHERE = "the first score on another worker"
TARGET = 2.0
FEW = 500  # records of another gold, so that the costs of the first score of a process do not count

Spent = dict[str, list[float]]
"""CPU milliseconds by way."""


class Installation:
    """A database with one gold version, and a file store; each worker has a folder and a scoring process of its own."""

    def __init__(self, settings: Settings, folder: Path, sizes: Sizes) -> None:
        migrate_by_copy(settings)
        self.db = Database(settings)
        self._settings = settings
        self._folder = folder
        self._workers = 0
        of, few = records.drawn(sizes.records, sizes.classes), records.drawn(FEW, sizes.classes)
        self._sent = records.as_records(folder / "sent.json", of)
        self._few_sent = records.as_records(folder / "few.json", few)
        source = records.as_columns(folder / "few-gold.json", few, gold=True)
        self._few_gold = GoldFile(source, "multiclass", classes=few.names)
        self.gold = self._store_gold(records.as_columns(folder / "gold.json", of, gold=True), of.names)

    def _store_gold(self, source: SourceFile, classes: list[str]) -> GoldReference:
        content = source.path.read_bytes()
        upload = open_file_store(self._settings, self._folder / "upload").begin()
        upload.write(content)
        key, sha256 = upload.finish().key, hashlib.sha256(content).hexdigest()
        with self.db.write() as session:
            gold_id = fill_tables(session).gold
            stored = {"file_key": key, "sha256": sha256, "size": len(content), "format": source.kind.format}
            session.execute(update(GoldVersion).values(classes=classes, **stored))
        with self.db.read() as session:
            version = session.get_one(GoldVersion, gold_id)
            return gold_reference(version)

    def worker(self) -> list[float]:
        """CPU milliseconds of the first score of a new worker, and of the next one."""
        self._workers += 1
        work = self._folder / f"worker-{self._workers}"
        work.mkdir()
        pool, files = create_process_pool(self._settings, 1, work), open_file_store(self._settings, work)
        try:
            pool.call(ScorePredictions(GoldSource(file=self._few_gold), self._few_sent, RECIPE))
            request = ScorePredictions(self.gold.source, self._sent, RECIPE)
            return [self._score(pool, files, request) for _ in range(2)]
        finally:
            pool.close()

    def _score(self, pool: ScoringProcessPool, files: FileStore, request: GoldRequest) -> float:
        began = _processor_milliseconds(pool)
        reply = send_scoring_request(self.db, files, pool, self.gold, request)
        assert isinstance(reply, FileResult)
        assert reply.valid, reply.problems
        return _processor_milliseconds(pool) - began


def _processor_milliseconds(pool: ScoringProcessPool) -> float:
    """CPU time of the worker and of its scoring processes; finer than the ticks of /proc/<pid>/stat."""
    # The clock of another process, as clock_getcpuclockid(3) gives it.
    return 1000 * (time.process_time() + sum(time.clock_gettime((~pid << 3) | 2) for pid in pool.pids()))


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure with uploads in a folder and in a bucket; the server of the bucket does not count."""
    found = Measured()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with ExitStack() as exits:
        server = rclone(Path(exits.enter_context(tempfile.TemporaryDirectory())))
        exits.callback(server.stop)
        kinds = {
            "folder": Settings(data_dir=folder / "folder", min_free=0),
            "bucket": server.settings(folder / "bucket"),
        }
        for kind, settings in kinds.items():
            settings.data_dir.mkdir()
            _measure_store(found, kind, Installation(settings, settings.data_dir, sizes), sizes)
    return found


def _measure_store(found: Measured, kind: str, installation: Installation, sizes: Sizes) -> None:
    spent: Spent = {LATER: [], ELSEWHERE: [], READS: []}
    try:
        for turn in range(sizes.repetitions + 1):
            first, later = installation.worker()
            spent[ELSEWHERE if turn else READS].append(first)
            spent[LATER].append(later)
    finally:
        installation.db.close()
    ways = {name: statistics.median(times) for name, times in spent.items()}
    found.ways(f"{sizes.records:,} records, uploads in a {kind}", ways, "ms")
    found.at_most(f"{ELSEWHERE} / a later one, {kind}", TARGET, ways[ELSEWHERE] / ways[LATER])
