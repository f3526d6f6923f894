"""What an operator decides after a restore or a move: to go on with the log as it is, or to begin another one."""

from app.actions.audit.record import OPERATOR, created_fields, record
from app.actions.transparency.log_key import (
    LogKeyUnusable,
    is_managed,
    log_key_path,
    read_log_key,
    replace_log_key,
)
from app.actions.transparency.origins import begin_origin, end_origin
from app.actions.transparency.signed_mark import follows_mark, mark_path
from app.errors import AssayError
from app.settings import Settings
from app.store import locks
from app.store.queries import log_trees
from app.store.session import WriteSession
from app.store.tables import LogOrigin
from app.tlog.checkpoint import read_checkpoint


class LogNotContinued(AssayError):
    """This installation may not go on with the log that it has."""

    code = "log_not_continued"
    remedy = (
        "Give the checkpoint that the service served last ('assay log checkpoint'), and put the key of the log where it "
        "was. "
        "Without them a new log begins by itself, whose first leaf names the last checkpoint known here."
    )


def continue_log(session: WriteSession, settings: Settings, served: str) -> LogOrigin:
    """Go on with the last log although this is another place; the operator vouches that only this one goes on.

    `served` is the checkpoint that was served last, by any installation: it has to be the last one stored here, so
    nothing was published since. Raises LogNotContinued, LogKeyUnusable and NoteRefused.
    """
    locks.sequencer(session)
    origin = next(iter(log_trees.origins(session)), None)
    if origin is None:
        raise LogNotContinued("There is no log yet.")
    require_continuable(session, settings, origin, served)
    origin.ended_at, origin.place = None, None
    record(session, OPERATOR, "log.continue", challenge=None, of=None, changes=created_fields({"origin": origin.name}))
    return origin


def require_continuable(session: WriteSession, settings: Settings, origin: LogOrigin, served: str) -> None:
    """Raise LogNotContinued unless this was the last checkpoint and the key is there."""
    row, given = log_trees.latest_checkpoint(session, origin.id), read_checkpoint(served)[1]
    known = None if row is None else read_checkpoint(row.note)[1]
    if known is None or given != known:
        size = "none" if known is None else f"{known.size} entries of {known.origin}"
        raise LogNotContinued(f"The given checkpoint has {given.size} entries, the last one stored here {size}.")
    if not follows_mark(session, settings, origin):
        raise LogNotContinued(f"{mark_path(settings)} is a later checkpoint: the database was put back since.")
    path = log_key_path(settings)
    if not path.exists() or read_log_key(path).id != origin.key_id:
        raise LogNotContinued(f"{path} is not the key of {origin.name}.")


def renew_log(session: WriteSession, settings: Settings) -> LogOrigin:
    """End the log and begin another one with a new key and the present public address.

    Raises LogKeyUnusable if the settings name a key that was used before.
    """
    locks.sequencer(session)
    end_origin(session)
    path = log_key_path(settings)
    key = replace_log_key(path) if is_managed(settings) else read_log_key(path)
    if log_trees.log_key(session, key.id) is not None:
        detail = f"The key {path} has signed a log before, or signs receipts."
        raise LogKeyUnusable(detail, remedy=f"Write a new one: openssl genpkey -algorithm ed25519 -out {path}")
    origin = begin_origin(session, settings, key)
    mark_path(settings).unlink(missing_ok=True)  # it is of the log that ended, or cannot be read
    record(session, OPERATOR, "log.renew", challenge=None, of=None, changes=created_fields({"origin": origin.name}))
    return origin
