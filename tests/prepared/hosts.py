"""Hosts that share a database and a file store, each with a scoring process in the process of the tests."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import delete, select, update

from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.files import PREPARED_GOLD, FileStore, StoredFile
from app.formats import FileKind, Limits
from app.pipeline import SourceFile
from app.prepared.gold_cache import GoldCache
from app.prepared.gold_folder import PreparedGoldFolder
from app.runtime.data_folder import PREPARED_GOLD_FOLDER, open_file_store
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import (
    FileResult,
    ProcessFailure,
    Reply,
    Request,
    ScorePredictions,
    decode_request,
    encode,
)
from app.settings import Settings
from app.store.session import Database
from app.store.tables import GoldVersion, PreparedGold
from app.worker.scoring_process import StageCpuTimer, _handle_request
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import fill_tables

log = structlog.get_logger()

KIND = FileKind("json")
SENT = "sent"
RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}


class NoCpuLimit(StageCpuTimer):
    """Sets no timer, which would end the tests."""

    def __init__(self) -> None:
        """There is nothing to set."""

    def begin(self) -> None:
        """Begin a stage without a limit."""

    begin_reading = begin_scoring = begin


class ScoringInThisProcess:
    """The program of a scoring process without a process: it starts at once, and has no gold in memory."""

    def __init__(self, folder: PreparedGoldFolder) -> None:
        self.prepared_gold = folder
        remarking = replace(folder, log=lambda remark: log.warning("child_remark", remark=remark))
        self._golds = GoldCache(Limits(), 1 << 30, remarking)

    def call(self, request: Request) -> Reply:
        request = decode_request(encode(request))
        envelope = _handle_request(self._golds, request, NoCpuLimit())
        if isinstance(envelope.reply, ProcessFailure):
            raise FileNotFoundError(envelope.reply.detail)
        return envelope.reply

    def close(self) -> None:
        """There is nothing to end."""


@dataclass
class Host:
    """A process of the service on a machine of its own: its view of the file store, and a scoring process."""

    db: Database
    files: FileStore
    pool: ScoringInThisProcess
    work: Path

    def restarted(self) -> "Host":
        """The same host with another scoring process."""
        return replace(self, pool=ScoringInThisProcess(self.pool.prepared_gold))

    def score(self, gold: GoldReference, processes: ScoringProcesses | None = None) -> float:
        """The accuracy of correct predictions."""
        request = ScorePredictions(gold.source, SourceFile(self.work / SENT, KIND), RECIPE)
        reply = send_scoring_request(self.db, self.files, processes or self.pool, gold, request)
        assert isinstance(reply, FileResult)
        return float(reply.scores["all"]["accuracy"]["value"])

    def local_files(self) -> list[Path]:
        """The prepared gold in the folder of this process."""
        return sorted((self.work / PREPARED_GOLD_FOLDER).glob("*"))


class Site:
    """A database with one gold version, a file store, and hosts that use both."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self._folder = folder
        self._hosts = 0
        migrate_by_copy(settings)
        self.db = Database(settings)
        self.files = open_file_store(settings, folder / "of-the-test")
        stored = self.store(json.dumps(GOLD).encode())
        with self.db.write() as session:
            self.gold_id = fill_tables(session).gold
            session.execute(delete(PreparedGold))
            session.execute(update(GoldVersion).values(file_key=stored.key, sha256=stored.sha256, size=stored.size))

    def store(self, content: bytes) -> StoredFile:
        """Upload these bytes."""
        upload = self.files.begin()
        upload.write(content)
        return upload.finish()

    def host(self, **settings: Any) -> Host:
        """Another host."""
        self._hosts += 1
        work = self._folder / f"host-{self._hosts}"
        work.mkdir()
        (work / SENT).write_text(json.dumps(CORRECT_PREDICTIONS))  # once: several threads score it at the same time
        own = self.settings.model_copy(update=settings)
        folder = PreparedGoldFolder(work / PREPARED_GOLD_FOLDER, own.prepared_gold, own.min_free)
        return Host(self.db, open_file_store(own, work), ScoringInThisProcess(folder), work)

    def reference(self) -> GoldReference:
        """The gold as it is now."""
        with self.db.read() as session:
            version = session.get_one(GoldVersion, self.gold_id)
            return gold_reference(version)

    def rows(self) -> list[PreparedGold]:
        """What the database says of prepared gold."""
        with self.db.read() as session:
            return list(session.scalars(select(PreparedGold).order_by(PreparedGold.program)))

    def prepared_keys(self) -> list[str]:
        """The files of prepared gold in the store."""
        return [key for key in self.files.keys(older=-60) if key.startswith(PREPARED_GOLD)]

    def content(self, key: str) -> bytes:
        """The bytes of a stored file."""
        with self.files.local_path(key) as path:
            return path.read_bytes()

    def overwrite(self, key: str, content: bytes) -> None:
        """Put other bytes in the place of a stored file."""
        path = self._folder / "other"
        path.write_bytes(content)
        self.files.delete(key)
        self.files.put(key, path, len(content))

    def lose_gold_file(self) -> None:
        """From now on nobody can read the gold as it was uploaded."""
        with self.db.read() as session:
            self.files.delete(session.get_one(GoldVersion, self.gold_id).file_key)
