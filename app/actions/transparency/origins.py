"""Begin and end logs: a restored or copied installation goes on with a new origin and key, never with the old ones.

Two installations with one key could sign two histories of the same log. So a log belongs to its key and to the place
where it began; whoever finds itself elsewhere begins a new log, whose first leaf names the last checkpoint it knows.
"""

from pathlib import Path
from urllib.parse import urlsplit

from app.actions.transparency.add_record import add_record
from app.actions.transparency.log_key import (
    LogKey,
    LogKeyUnusable,
    is_managed,
    log_key_path,
    read_log_key,
    replace_log_key,
)
from app.actions.transparency.signed_mark import follows_mark, read_mark
from app.settings import Settings
from app.store import clock
from app.store.queries import log_records, log_trees
from app.store.session import ReadSession, WriteSession
from app.store.tables import LogOrigin, SigningKey
from app.store.types import new_id

ORIGIN_KIND = "origin"
NEW_KEY_REMEDY = (
    "If nobody else signs with this key and nothing was published since, run 'assay log continue'. Otherwise let "
    "ASSAY_LOG_KEY_FILE name a new key: openssl genpkey -algorithm ed25519 -out FILE; then run 'assay log renew'."
)


def place_of(session: ReadSession, settings: Settings) -> str | None:
    """Where this installation is; a copy of its files or database is elsewhere. None if that cannot be told.

    Of files it is their numbers in the file system, which a copy does not share.
    """
    if session.get_bind().dialect.name != "sqlite":
        return log_trees.database_identity(session)
    files = [Path(settings.database.removeprefix("sqlite:///"))]
    if is_managed(settings):
        files.append(log_key_path(settings))
    try:
        return "files:" + "/".join(str(each.stat().st_ino) for each in files)
    except OSError:
        return None


def key_and_origin(session: WriteSession, settings: Settings) -> tuple[LogKey, LogOrigin]:
    """The key of this process and the log that it continues, begun now if there is none; raises LogKeyUnusable.

    Where the service makes its key itself, a log that cannot be continued is followed by one with a new key.
    """
    path, active = log_key_path(settings), log_trees.active_origin(session)
    key = read_log_key(path) if path.exists() or not is_managed(settings) else None
    if active is not None and key is not None and _is_continued(session, settings, active, key):
        if active.place is None:
            active.place = place_of(session, settings)
        return key, active
    is_known = key is not None and log_trees.log_key(session, key.id) is not None
    if key is None or (is_managed(settings) and is_known):
        key = replace_log_key(path)  # the key of a log that ended is never used again
    elif not is_managed(settings) and active is not None:
        detail = (
            f"The log {active.name} has another key than {path}, or this is a copy of it, or its database was put back."
        )
        raise LogKeyUnusable(detail, remedy=NEW_KEY_REMEDY)
    elif is_known:
        raise LogKeyUnusable("The key signed a log that has ended, or signs receipts.", remedy=NEW_KEY_REMEDY)
    return key, begin_origin(session, settings, key)


def _is_continued(session: ReadSession, settings: Settings, origin: LogOrigin, key: LogKey) -> bool:
    """Whether this is the log of this key and this place, and goes on where the last signature was."""
    if origin.key_id != key.id:
        return False
    here = place_of(session, settings)
    same_place = origin.place is None or here is None or origin.place == here
    return same_place and follows_mark(session, settings, origin)


def begin_origin(session: WriteSession, settings: Settings, key: LogKey) -> LogOrigin:
    """Begin a log with this key; its first leaf names the last checkpoint of the one before, which ends."""
    earlier = log_trees.origins(session)
    end_origin(session)
    previous = _last_checkpoint(session, settings, earlier[0]) if earlier else None
    now = clock.now(session)
    session.add(SigningKey(id=key.id, purpose=log_trees.LOG_KEYS, public_key=key.public_key, created_at=now))
    session.flush()
    name = origin_name(settings) if not earlier else f"{origin_name(settings)}/{key.id[:8].lower().replace('_', '-')}"
    origin = LogOrigin(id=new_id(), name=name, key_id=key.id, started_at=now, previous=previous)
    origin.place = place_of(session, settings)
    session.add(origin)
    add_record(session, ORIGIN_KIND, {"origin": name, "previous": previous}, challenge_id=None, object_id=origin.id)
    session.flush()
    return origin


def _last_checkpoint(session: ReadSession, settings: Settings, origin: LogOrigin) -> str | None:
    """The last one that is known of a log: the stored one, or a later one that is missing because that was put back."""
    row = log_trees.latest_checkpoint(session, origin.id)
    try:
        marked = read_mark(settings, origin)
    except LogKeyUnusable:  # the operator renews the log because of that
        marked = None
    if marked is not None and (row is None or not follows_mark(session, settings, origin)):
        return str(marked[0])
    return None if row is None else row.note


def end_origin(session: WriteSession) -> None:
    """End the log that grows, if there is one; what its last checkpoint does not cover goes to the next log."""
    active = log_trees.active_origin(session)
    if active is None:
        return
    checkpoint = log_trees.latest_checkpoint(session, active.id)
    log_records.clear_positions(session, active.id, 0 if checkpoint is None else checkpoint.size)
    active.ended_at = clock.now(session)
    session.flush()


def origin_name(settings: Settings) -> str:
    """The name of the first log: its address without the scheme; without a public address, one of this machine."""
    if not settings.public_url:
        return f"localhost:{settings.port}/log" if settings.port else "localhost/log"
    address = urlsplit(settings.public_url)
    return f"{address.netloc}{address.path.rstrip('/')}/log"
