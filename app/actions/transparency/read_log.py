"""Read the transparency log: its checkpoint, tiles, entries, and proofs of single records."""

from dataclasses import dataclass
from datetime import datetime

from app.actions.transparency.log_key import verifier_key
from app.errors import Conflict, Gone, NotFound
from app.store.queries import log_records, log_trees
from app.store.session import ReadSession
from app.store.tables import LogOrigin, LogRecord
from app.tlog.checkpoint import Checkpoint, read_checkpoint
from app.tlog.merkle import inclusion_proof
from app.tlog.note import Note
from app.tlog.proof import LogProof
from app.tlog.tiles import WIDTH, Tile, TileNodes, encode_bundle, tile_width


class LogPending(Conflict):
    """The record has no position in the transparency log yet."""

    code = "log_pending"
    remedy = "Repeat the request in some seconds; if that does not help, the administrator should run 'assay doctor'."


class NotLogged(NotFound):
    """The transparency log has no record of this."""

    code = "not_logged"
    remedy = "Receipts get their records when their scores are public: those of a private split at the final release."


class LogRecordErased(Gone):
    """What this entry of the log stands for was deleted with an account; the entry stays."""

    code = "log_record_erased"
    remedy = "Nothing can be proved about it any more; the log itself can still be verified."


@dataclass(frozen=True, slots=True)
class LogDescription:
    """A log: its name, key and last checkpoint, and the record of its first leaf."""

    origin: str
    vkey: str
    started_at: datetime
    ended_at: datetime | None
    checkpoint: str | None
    size: int
    signed_at: datetime | None
    previous: str | None
    first_salt: str | None
    first_record: str | None


def describe_logs(session: ReadSession) -> list[LogDescription]:
    """The logs of this installation, the one that grows first."""
    return [_describe(session, origin) for origin in log_trees.origins(session)]


def _describe(session: ReadSession, origin: LogOrigin) -> LogDescription:
    key, row = log_trees.log_key(session, origin.key_id), log_trees.latest_checkpoint(session, origin.id)
    first = log_records.of_object(session, origin.id, "origin")
    assert key is not None
    return LogDescription(
        origin=origin.name,
        vkey=str(verifier_key(origin, key)),
        started_at=origin.started_at,
        ended_at=origin.ended_at,
        checkpoint=None if row is None else row.note,
        size=0 if row is None else row.size,
        signed_at=None if row is None else row.created_at,
        previous=origin.previous,
        first_salt=None if first is None else first.salt,
        first_record=None if first is None else first.record,
    )


def find_origin(session: ReadSession, label: str | None) -> LogOrigin:
    """The first log, or the one whose name ends with this label; raises NotFound.

    A log keeps its address when another one follows it, because readers keep its tiles.
    """
    known = log_trees.origins(session)[::-1]
    found = (
        next(iter(known), None) if label is None else next((o for o in known if o.name.endswith(f"/log/{label}")), None)
    )
    if found is None:
        raise NotFound("There is no such log.")
    return found


def read_log_checkpoint(session: ReadSession, label: str | None) -> str:
    """The last checkpoint, as it is served; raises NotFound before the first one."""
    row = log_trees.latest_checkpoint(session, find_origin(session, label).id)
    if row is None:
        raise NotFound("The log has no checkpoint yet.")
    return row.note


def read_tile(session: ReadSession, label: str | None, tile: Tile) -> bytes:
    """The hashes of a tile; raises NotFound for one that the last checkpoint does not need."""
    origin = find_origin(session, label)
    _require_covered(session, origin, tile)
    content = log_trees.read_tiles(session, origin.id, [tile])[0]
    if len(content) != tile.width * 32:
        raise NotFound("The tile is not stored.")
    return content


def read_bundle(session: ReadSession, label: str | None, number: int, width: int) -> bytes:
    """A bundle of entries; raises NotFound for one that the last checkpoint does not need."""
    origin = find_origin(session, label)
    _require_covered(session, origin, Tile(0, number, width))
    first = number * WIDTH
    return encode_bundle(log_records.entries(session, origin.id, first, first + width))


def _require_covered(session: ReadSession, origin: LogOrigin, tile: Tile) -> None:
    row = log_trees.latest_checkpoint(session, origin.id)
    if row is None or tile.width > tile_width(tile.level, tile.number, row.size):
        raise NotFound("The log has no such tile.")


def prove_record(session: ReadSession, object_id: str, kind: str) -> str:
    """The proof that the record about an object is in the log, with salt and record beside it.

    The caller may read the record. Raises NotLogged, LogPending and LogRecordErased.
    """
    record = log_records.of_object(session, object_id, kind)
    if record is None:
        raise NotLogged
    return prove(session, record)


def prove(session: ReadSession, record: LogRecord) -> str:
    """The proof of a record that the caller may read; raises LogPending and LogRecordErased."""
    if record.salt is None or record.record is None:
        raise LogRecordErased
    found = _covering_checkpoint(session, record)
    if found is None:
        raise LogPending
    (note, checkpoint), index = found, record.position
    assert index is not None
    nodes = TileNodes(checkpoint.size, lambda tiles: log_trees.read_tiles(session, record.origin_id or "", tiles))
    hashes = tuple(inclusion_proof(index, checkpoint.size, nodes))
    extra = bytes.fromhex(record.salt) + record.record.encode()
    return str(LogProof(index, hashes, note, checkpoint, extra))


def _covering_checkpoint(session: ReadSession, record: LogRecord) -> tuple[Note, Checkpoint] | None:
    """The last checkpoint of the log that has the record; None if it does not cover the record yet."""
    if record.origin_id is None or record.position is None:
        return None
    row = log_trees.latest_checkpoint(session, record.origin_id)
    return None if row is None or row.size <= record.position else read_checkpoint(row.note)
