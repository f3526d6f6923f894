"""Give positions to waiting records, store the tiles of the tree, and sign its checkpoint: the sequencer's rounds.

Positions and tiles are committed, and so on disk, before the checkpoint is signed in a transaction of its own. Each
transaction holds the lock of the sequencer and reads the log again under it; the unique keys of positions and
checkpoints would refuse a second sequencer even without the lock. A process killed at any point leaves positions that
the next round signs, or a log as it was.
"""

from dataclasses import dataclass

import structlog

from app.actions.transparency.log_key import LogKey, LogKeyUnusable
from app.actions.transparency.origins import key_and_origin
from app.actions.transparency.signed_mark import raise_mark, write_mark
from app.errors import AssayError
from app.settings import Settings
from app.store import clock, locks
from app.store.queries import log_records, log_trees
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import LogCheckpoint, LogOrigin
from app.tlog.checkpoint import Checkpoint, read_checkpoint
from app.tlog.merkle import EMPTY_ROOT, ProofRefused, consistency_proof, root_hash, verify_consistency
from app.tlog.note import Note, sign_text
from app.tlog.tiles import WIDTH, Tile, TileNodes, grow_tiles

log = structlog.get_logger()

MAX_BATCH = 5000  # records that get their positions in one transaction


class LogDamaged(AssayError):
    """The stored tiles of the transparency log do not give its last checkpoint; nothing more is signed."""

    code = "log_damaged"
    remedy = "Run 'assay doctor --deep', which names what differs; then restore the last backup: 'assay restore'."


@dataclass(frozen=True, slots=True)
class LogState:
    """A log as its last checkpoint describes it, and how many records have positions."""

    origin: LogOrigin
    signed: Checkpoint
    end: int


def is_up_to_date(session: ReadSession) -> bool:
    """Whether no record waits and a checkpoint covers all positions: then a round has nothing to write."""
    origin = log_trees.active_origin(session)
    if origin is None or log_records.is_any_waiting(session):
        return False
    return _last_signed(session, origin).size == log_records.end_position(session, origin.id)


def sequence(db: Database, settings: Settings, *, first: bool = False) -> bool:
    """One round, if this process is the one to do it now; whether records are left over.

    The `first` round of a process finds out whether this is a copy of another installation, even if nothing waits. Raises LogDamaged, LogKeyUnusable, and errors of the database.
    """
    if not first:
        with db.read() as session:
            if is_up_to_date(session):
                return False
    with db.write() as session:
        if not locks.try_sequencer(session):
            return False
        key, origin = key_and_origin(session, settings)
        raise_mark(session, settings, origin)
        count = _append_waiting(session, origin)
    with db.write() as session:
        if locks.try_sequencer(session):
            _sign_checkpoint(session, settings, key)
    return count == MAX_BATCH


def verify_stored(session: ReadSession, origin: LogOrigin) -> int:
    """Compare all entries, tiles and the checkpoint of a log; returns its size, raises LogDamaged."""
    signed = _last_signed(session, origin)
    tiles = dict[Tile, bytes]()
    for first in range(0, signed.size, MAX_BATCH):
        end = min(signed.size, first + MAX_BATCH)
        found = log_records.entries(session, origin.id, first, end)
        if len(found) != end - first:
            raise LogDamaged(f"Of the positions {first} to {end - 1} only {len(found)} have a record.")
        known = {(tile.level, tile.number): content for tile, content in tiles.items()}
        tiles = {tile: content for tile, content in tiles.items() if tile.width < WIDTH}
        grown = grow_tiles(first, found, lambda level, number: known[level, number])  # noqa: B023 - called now
        for tile, content in grown.items():
            stored = log_trees.read_tiles(session, origin.id, [tile])[0]
            if stored != content:
                raise LogDamaged(f"{tile.path} does not contain the hashes of its entries.")
        tiles |= grown
    checked_state(session, origin)
    return signed.size


def _append_waiting(session: WriteSession, origin: LogOrigin) -> int:
    """Give positions to waiting records and store the tiles that change; returns the number of records."""
    state = checked_state(session, origin)
    found = log_records.waiting(session, MAX_BATCH, first=None if state.end else origin.id)
    if not found:
        return 0
    entries = [bytes.fromhex(each.entry) for each in found]

    def last(level: int, number: int) -> bytes:
        return log_trees.read_tiles(session, origin.id, [Tile(level, number)])[0]

    try:
        grown = grow_tiles(state.end, entries, last)
    except ProofRefused as error:
        raise LogDamaged(error.detail) from error
    log_records.set_positions(session, origin.id, state.end, [each.id for each in found])
    log_trees.store_tiles(session, origin.id, grown)
    return len(found)


def _sign_checkpoint(session: WriteSession, settings: Settings, key: LogKey) -> None:
    """Sign the tree of all positions, unless a checkpoint covers it; raises LogDamaged and LogKeyUnusable."""
    origin = log_trees.active_origin(session)
    if origin is None or origin.key_id != key.id:
        raise LogKeyUnusable("The log began anew with another key.", remedy="Nothing: the next round reads it.")
    state = checked_state(session, origin)
    if state.end == state.signed.size:
        return
    nodes = stored_nodes(session, origin.id, state.end)
    try:
        new = Checkpoint(origin.name, state.end, root_hash(state.end, nodes))
        proof = consistency_proof(state.signed.size, new.size, nodes)
        verify_consistency(state.signed.size, state.signed.root, new.size, new.root, proof)
    except ProofRefused as error:
        raise LogDamaged(error.detail) from error
    note = Note(new.text, (sign_text(new.text, origin.name, key.private_key),))
    write_mark(settings, note)
    session.add(LogCheckpoint(origin_id=origin.id, size=new.size, note=str(note), created_at=clock.now(session)))
    log.debug("log_checkpoint_signed", size=new.size)


def checked_state(session: ReadSession, origin: LogOrigin) -> LogState:
    """The state of a log whose tiles give the root of its last checkpoint; raises LogDamaged for another one."""
    signed, end = _last_signed(session, origin), log_records.end_position(session, origin.id)
    if end < signed.size:
        raise LogDamaged(f"The log has {end} records, and its last checkpoint {signed.size}.")
    try:
        root = root_hash(signed.size, stored_nodes(session, origin.id, signed.size))
    except ProofRefused as error:
        raise LogDamaged(error.detail) from error
    if root != signed.root:
        raise LogDamaged(f"The tiles do not give the root of the checkpoint of {signed.size} entries.")
    return LogState(origin, signed, end)


def stored_nodes(session: ReadSession, origin_id: str, size: int) -> TileNodes:
    """The nodes of a tree of this size, read from the stored tiles."""
    return TileNodes(size, lambda tiles: log_trees.read_tiles(session, origin_id, tiles))


def _last_signed(session: ReadSession, origin: LogOrigin) -> Checkpoint:
    row = log_trees.latest_checkpoint(session, origin.id)
    return Checkpoint(origin.name, 0, EMPTY_ROOT) if row is None else read_checkpoint(row.note)[1]
