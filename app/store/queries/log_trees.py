"""Queries for the origins, tiles and checkpoints of the transparency log."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select, text
from sqlalchemy.dialects import postgresql, sqlite

from app.store.session import ReadSession, WriteSession
from app.store.tables import LogCheckpoint, LogOrigin, LogTile, SigningKey
from app.tlog.tiles import Tile

LOG_KEYS = "log"
"""The purpose of the keys that sign checkpoints."""


def active_origin(session: ReadSession) -> LogOrigin | None:
    """The log that grows."""
    return session.scalar(select(LogOrigin).where(LogOrigin.ended_at.is_(None)))


def origins(session: ReadSession) -> list[LogOrigin]:
    """All logs of this installation, the newest first."""
    return list(session.scalars(select(LogOrigin).order_by(LogOrigin.id.desc())))


def origin_named(session: ReadSession, name: str) -> LogOrigin | None:
    """The log with this origin line."""
    return session.scalar(select(LogOrigin).where(LogOrigin.name == name))


def log_key(session: ReadSession, key_id: str) -> SigningKey | None:
    """A public key."""
    return session.get(SigningKey, key_id)


def latest_checkpoint(session: ReadSession, origin_id: str) -> LogCheckpoint | None:
    """The last checkpoint of a log."""
    found = select(LogCheckpoint).where(LogCheckpoint.origin_id == origin_id)
    return session.scalar(found.order_by(LogCheckpoint.size.desc()).limit(1))


def checkpoint_of_size(session: ReadSession, origin_id: str, size: int) -> LogCheckpoint | None:
    """The checkpoint of a log at this size."""
    return session.get(LogCheckpoint, (origin_id, size))


def read_tiles(session: ReadSession, origin_id: str, tiles: Sequence[Tile]) -> list[bytes]:
    """The bytes of tiles; a partial tile is the beginning of the stored one. Of a missing one nothing."""
    # Levels and numbers apart, because SQLite finds pairs of them only by reading all tiles. What is found besides, such
    # as the tile of one level with the number of another, are a few.
    levels, numbers = ({getattr(tile, name) for tile in tiles} for name in ("level", "number"))
    query = select(LogTile.level, LogTile.number, LogTile.hashes).where(
        LogTile.origin_id == origin_id, LogTile.level.in_(sorted(levels)), LogTile.number.in_(sorted(numbers))
    )
    found = {(row[0], row[1]): row[2] for row in session.execute(query)}
    return [found.get((tile.level, tile.number), b"")[: tile.width * 32] for tile in tiles]


def store_tiles(session: WriteSession, origin_id: str, tiles: Mapping[Tile, bytes]) -> None:
    """Store tiles that are new or have grown."""
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    insert = dialect.insert(LogTile)
    keys = ["origin_id", "level", "number"]
    upsert = insert.on_conflict_do_update(index_elements=keys, set_={"hashes": insert.excluded.hashes})
    rows = [
        {"origin_id": origin_id, "level": tile.level, "number": tile.number, "hashes": content}
        for tile, content in tiles.items()
    ]
    session.execute(upsert, rows)


def database_identity(session: ReadSession) -> str | None:
    """What tells this PostgreSQL database from a restored copy of it; None if the server does not say it."""
    may_ask = "SELECT has_function_privilege('pg_control_system()', 'execute')"
    if not session.scalar(text(may_ask)):
        return None
    query = "SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database WHERE datname = current_database()"
    return f"postgresql:{session.scalar(text(query))}"
