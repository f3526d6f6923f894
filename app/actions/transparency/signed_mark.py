"""The last checkpoint that this machine knows to be signed, kept beside the database: it tells when that was put back.

A database that an older copy replaces in place looks like the one before: same place, same key. The sequencer would give
positions that it signed before to other records. The mark is on disk before the checkpoint is committed, and so before
anybody can read that.
"""

from pathlib import Path

from app.actions.operations.backup_folder import replace_private_file
from app.actions.transparency.log_key import LogKeyUnusable
from app.settings import Settings
from app.store.queries import log_records, log_trees
from app.store.session import ReadSession
from app.store.tables import LogOrigin
from app.tlog.checkpoint import Checkpoint, read_checkpoint
from app.tlog.merkle import ProofRefused, root_hash
from app.tlog.note import Note, NoteRefused
from app.tlog.tiles import TileNodes

MARK_PATH = "keys/log.checkpoint"
"""The file in the data folder."""


def mark_path(settings: Settings) -> Path:
    """The file of the mark."""
    return settings.data_dir / MARK_PATH


def write_mark(settings: Settings, note: Note) -> None:
    """Replace the mark, durably."""
    replace_private_file(mark_path(settings), str(note).encode())


def read_mark(settings: Settings, origin: LogOrigin) -> tuple[Note, Checkpoint] | None:
    """The mark of this log; None if there is none. Raises LogKeyUnusable for a file that is no checkpoint."""
    path = mark_path(settings)
    try:
        note, checkpoint = read_checkpoint(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, NoteRefused) as error:
        remedy = "Begin a new log with 'assay log renew', or, if the database was never put back, delete the file."
        raise LogKeyUnusable(f"{path}, the checkpoint that was signed last, cannot be read.", remedy=remedy) from error
    return (note, checkpoint) if checkpoint.origin == origin.name else None


def follows_mark(session: ReadSession, settings: Settings, origin: LogOrigin) -> bool:
    """Whether the stored log continues what was signed last; not if the database is older, or an older one went on."""
    marked = read_mark(settings, origin)
    if marked is None:
        return True
    row, mark = log_trees.latest_checkpoint(session, origin.id), marked[1]
    if row is not None and row.size == mark.size:
        return read_checkpoint(row.note)[1].root == mark.root
    if log_records.end_position(session, origin.id) < mark.size:
        return False
    nodes = TileNodes(mark.size, lambda tiles: log_trees.read_tiles(session, origin.id, tiles))
    try:
        return root_hash(mark.size, nodes) == mark.root
    except ProofRefused:
        return False


def raise_mark(session: ReadSession, settings: Settings, origin: LogOrigin) -> None:
    """Let the mark be the last stored checkpoint, which another machine may have signed; the log follows the mark."""
    row, marked = log_trees.latest_checkpoint(session, origin.id), read_mark(settings, origin)
    if row is not None and (marked is None or row.size > marked[1].size):
        write_mark(settings, read_checkpoint(row.note)[0])
