"""Send a request about stored gold to a scoring process: by the name of the gold and, if needed, with a file of it."""

import threading
from dataclasses import dataclass, replace

from cachetools import LRUCache, cached

from app.actions.challenges.upload_gold import stored_file_kind, stored_gold_file
from app.actions.scoring_tasks.prepared_gold import PreparedGoldStore, prepared_gold_store
from app.files import FileStore
from app.prepared.gold_source import GoldSource
from app.scoring.gold_content_hash import gold_content_hash
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import GoldFileNeeded, GoldRequest, Reply
from app.store.session import Database
from app.store.tables import GoldVersion

MAX_CACHED_GOLD_NAMES = 4096
MAX_PREPARED_FILES = 2  # to try: a damaged copy of a file from the bucket, then the file itself


@dataclass(frozen=True, slots=True)
class GoldReference:
    """A stored version of gold; `name` is a hash of its content, by which scoring processes know it."""

    id: str
    name: str

    @property
    def source(self) -> GoldSource:
        """The gold by its name alone."""
        return GoldSource(self.name)


@cached(
    LRUCache(MAX_CACHED_GOLD_NAMES),
    # Restoring a backup may let the same draft be activated once more with other metadata, so the id is not enough.
    key=lambda version: (version.id, version.activated_at),
    lock=threading.Lock(),
)
def _settled_gold_name(version: GoldVersion) -> str:
    """The name of a version that was active, and so never changes. Its metadata may be large, so it is read once."""
    return _compute_gold_name(version)


def gold_reference(version: GoldVersion) -> GoldReference:
    """The reference to a version; called within the session of the version, as it may read further columns."""
    # The activation of any other version may be cancelled, and its metadata be edited then.
    name_of = _compute_gold_name if version.activated_at is None else _settled_gold_name
    return GoldReference(version.id, name_of(version))


def send_scoring_request(
    db: Database, files: FileStore, processes: ScoringProcesses, gold: GoldReference, request: GoldRequest
) -> Reply:
    """The reply of a process that has this gold in memory, maps its prepared file, or prepares it.

    The file of the gold, which may be on another machine, and its metadata are read only if nobody has prepared it yet.
    Raises ScoringProcessError and FileNotFoundError.
    """
    reply = processes.call(request)
    if not isinstance(reply, GoldFileNeeded):
        return reply
    store = prepared_gold_store(db, files, processes.prepared_gold, gold.id, gold.name)
    if store is None:
        return _send_with_gold_file(db, files, processes, gold.id, request)
    reply = _send_with_prepared_gold(store, processes, request)
    if not isinstance(reply, GoldFileNeeded):
        return reply
    with store.preparation():
        reply = _send_with_prepared_gold(store, processes, request)  # it may have been prepared meanwhile
        if not isinstance(reply, GoldFileNeeded):
            return reply
        return _send_with_gold_file(db, files, processes, gold.id, request)


def _send_with_gold_file(
    db: Database, files: FileStore, processes: ScoringProcesses, gold_id: str, request: GoldRequest
) -> Reply:
    """The reply of a process that reads the gold file; what it prepares is stored for all others."""
    with db.read() as session:
        version = session.get(GoldVersion, gold_id)
        if version is None:
            raise FileNotFoundError(f"gold {gold_id}")  # deleted after the reference was read
        name = _compute_gold_name(version)
    with files.local_path(version.file_key) as path:
        reply = processes.call(replace(request, gold=GoldSource(name, stored_gold_file(path, version))))
    publish_prepared_gold(db, files, processes, GoldReference(version.id, name))
    return reply


def publish_prepared_gold(db: Database, files: FileStore, processes: ScoringProcesses, gold: GoldReference) -> None:
    """Let all processes use the gold that a scoring process has just prepared; if that fails, only a log line says so."""
    store = prepared_gold_store(db, files, processes.prepared_gold, gold.id, gold.name)
    if store is not None:
        store.publish()


def _send_with_prepared_gold(store: PreparedGoldStore, processes: ScoringProcesses, request: GoldRequest) -> Reply:
    """The reply of a process that maps the prepared gold; GoldFileNeeded if there is none that it can use."""
    for _ in range(MAX_PREPARED_FILES):
        found = store.find()
        if found is None:
            break
        reply = processes.call(replace(request, gold=GoldSource(store.name, prepared=found.file)))
        if not isinstance(reply, GoldFileNeeded):
            if found.key is None:
                store.publish()
            return reply
        if reply.damaged:
            store.discard(found)
    return GoldFileNeeded()


def _compute_gold_name(version: GoldVersion) -> str:
    return gold_content_hash(
        sha256=version.sha256,
        kind=stored_file_kind(version).to_dict(),
        task=version.task,
        positive_label=version.positive_label,
        classes=version.classes,
        metadata=version.accessories,
        void_ids=version.void_ids or (),
    )
