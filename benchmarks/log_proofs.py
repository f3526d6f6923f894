"""Proofs of the transparency log by its number of leaves: made from the stored tiles, and verified."""

import time
from collections.abc import Sequence
from pathlib import Path
from secrets import token_bytes

from sqlalchemy import insert

from app.actions.transparency.add_record import SALT_BYTES, log_entry
from app.actions.transparency.log_key import verifier_key
from app.actions.transparency.read_log import prove_record
from app.actions.transparency.sequence_records import sequence
from app.settings import Settings
from app.store.migrate import upgrade
from app.store.queries import log_trees
from app.store.session import Database
from app.store.tables import LogRecord, SigningKey
from app.store.types import new_id
from app.tlog.proof import parse_proof
from app.tlog.verification import verify_record
from benchmarks.figures import Measured
from benchmarks.sizes import Sizes

FEW, KIND, PROOFS, CHUNK = 1000, "receipt", 200, 50_000
LONGEST_MILLISECONDS = 10.0


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure CPU milliseconds of making and verifying a proof in a log of few and of many leaves."""
    settings = Settings(data_dir=folder / "data")
    settings.data_dir.mkdir()
    upgrade(settings)
    db = Database(settings)
    found, made, verified = Measured(), dict[str, float](), dict[str, float]()
    try:
        for leaves in (min(FEW, sizes.log_leaves // 2), sizes.log_leaves):
            objects = _grow(db, settings, leaves)
            made[_name(leaves)], verified[_name(leaves)] = _proofs(db, objects)
    finally:
        db.close()
    found.ways("a proof made from the tiles of the database", made, "ms")
    found.ways("a proof verified", verified, "ms")
    both = made[_name(sizes.log_leaves)] + verified[_name(sizes.log_leaves)]
    found.at_most(f"a proof at {sizes.log_leaves:,} leaves, made and verified", LONGEST_MILLISECONDS, both, "ms")
    return found


def _name(leaves: int) -> str:
    return f"assay, {leaves:,} leaves"


def _grow(db: Database, settings: Settings, leaves: int) -> Sequence[str]:
    """Grow the log to so many leaves of records, which the sequencer takes; returns ids of objects spread over them."""
    with db.write() as session:
        origin = log_trees.active_origin(session)
        checkpoint = None if origin is None else log_trees.latest_checkpoint(session, origin.id)
        due = leaves - (0 if checkpoint is None else checkpoint.size)
    objects: list[str] = []
    for first in range(0, due, CHUNK):
        rows = [_record() for _ in range(min(CHUNK, due - first))]
        objects += [str(row["object_id"]) for row in rows]
        with db.write(durable=False) as session:
            session.execute(insert(LogRecord), rows)
        while sequence(db, settings):
            pass
    return objects[:: max(1, len(objects) // PROOFS)]


def _record() -> dict[str, str]:
    salt, record = token_bytes(SALT_BYTES), b'{"kind":"receipt"}'
    entry = log_entry(salt, record).hex()
    return {
        "kind": KIND, "object_id": new_id(), "salt": salt.hex(), "record": record.decode(), "entry": entry
    }  # fmt: skip


def _proofs(db: Database, objects: Sequence[str]) -> tuple[float, float]:
    """CPU milliseconds of making and of verifying the proof of one record, on the average."""
    with db.read() as session:
        origin = log_trees.active_origin(session)
        assert origin is not None
        key = verifier_key(origin, session.get_one(SigningKey, origin.key_id))
        began = time.process_time()
        proofs = [prove_record(session, each, KIND) for each in objects]
        made = time.process_time() - began
    began = time.process_time()
    for proof in proofs:
        verify_record(parse_proof(proof), key)
    return 1000 * made / len(objects), 1000 * (time.process_time() - began) / len(objects)
