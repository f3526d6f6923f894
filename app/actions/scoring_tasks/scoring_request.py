"""Ask a scoring child something for which it needs stored gold: by name alone, and with the file where none has it ready."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachetools import LRUCache, cached

from app.actions.challenges.upload_gold import stored_gold_payload
from app.files import FileStore
from app.scoring.gold_content_hash import gold_content_hash
from app.scoring_processes import ScoringProcesses
from app.store.session import Database, ReadSession
from app.store.tables import Challenge, GoldVersion, Phase

MAX_CACHED_GOLD_NAMES = 4096


@dataclass(frozen=True, slots=True)
class GoldReference:
    """A stored version as children know it: `name` tells its content."""

    id: str
    name: str


@cached(
    LRUCache(MAX_CACHED_GOLD_NAMES),
    # Restoring a backup may let the same draft be activated once more with other metadata, so the id is not enough.
    key=lambda version, _challenge: (version.id, version.status, version.activated_at),
    lock=threading.Lock(),
)
def _settled_gold_name(version: GoldVersion, challenge: Challenge) -> str:
    """The name of a version that no longer changes. Its classes and metadata may be large, so they are read once."""
    return _compute_gold_name(version, challenge)


def gold_reference(version: GoldVersion, challenge: Challenge) -> GoldReference:
    """What children know a version by; asked within its session."""
    name_of = _compute_gold_name if version.status == "draft" else _settled_gold_name
    return GoldReference(version.id, name_of(version, challenge))


def send_scoring_request(
    db: Database, files: FileStore, children: ScoringProcesses, gold: GoldReference, request: Mapping[str, Any]
) -> dict[str, Any]:
    """The answer of a child that has this gold ready, or makes it ready; raises ChildError, FileNotFoundError.

    The gold's file, which may be far away, and what stands beside it are fetched only where they are needed.
    """
    answer = children.ask({**request, "gold": {"name": gold.name}})
    if not answer.get("unprepared"):
        return answer
    with db.read() as session:
        key, whole = _full_gold_payload(session, gold)
    with files.local_path(key) as path:
        return children.ask({**request, "gold": whole | {"path": str(path)}})


def _full_gold_payload(session: ReadSession, gold: GoldReference) -> tuple[str, dict[str, Any]]:
    """The key of the gold's file, and all else that reading it takes."""
    version = session.get(GoldVersion, gold.id)
    if version is None:
        raise FileNotFoundError(f"gold {gold.id}")  # deleted since it was named
    challenge = session.get_one(Phase, version.phase_id).challenge
    return version.file_key, stored_gold_payload(Path(), version, challenge) | {
        "name": _compute_gold_name(version, challenge)
    }


def _compute_gold_name(version: GoldVersion, challenge: Challenge) -> str:
    return gold_content_hash(
        sha256=version.sha256,
        kind={"format": version.format, "encoding": version.encoding, "layout": version.layout},
        task=challenge.task,
        positive_label=challenge.positive_label,
        classes=version.classes,
        beside=version.accessories,
    )
