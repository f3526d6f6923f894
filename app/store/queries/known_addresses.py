"""The address blocks that users have logged in from: a few per user, for a limited time."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Insert, delete, select, tuple_
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.store.session import ReadSession, WriteSession
from app.store.tables import KnownAddress

MAX_BLOCKS_PER_USER = 20  # the least recently used block is deleted first
BLOCK_LIFETIME = timedelta(days=90)  # since the last login from there
INSERTS: dict[str, Any] = {"sqlite": sqlite_insert, "postgresql": postgresql_insert}


def is_known(session: ReadSession, user_id: str, block: str, now: datetime) -> bool:
    """Whether the user has recently logged in from this address block."""
    row = session.get(KnownAddress, (user_id, block))
    return row is not None and row.last_at > now - BLOCK_LIFETIME


def remember(session: WriteSession, user_id: str, block: str, now: datetime) -> None:
    """Record a login, and delete old blocks of all users and surplus blocks of this one.

    The caller has locked the user's row, so that two logins of one user do not insert the same block. SKIP LOCKED
    passes over old blocks that another login is deleting.
    """
    insert = INSERTS[session.get_bind().dialect.name](KnownAddress.__table__)
    upsert: Insert = insert.values(user_id=user_id, block=block, last_at=now).on_conflict_do_update(
        index_elements=["user_id", "block"], set_={"last_at": now}
    )
    session.execute(upsert)
    own = KnownAddress.user_id == user_id
    newest_first = (KnownAddress.last_at.desc(), KnownAddress.block)
    retained = select(KnownAddress.block).where(own).order_by(*newest_first).limit(MAX_BLOCKS_PER_USER)
    session.execute(delete(KnownAddress).where(own, KnownAddress.block.not_in(retained)))
    key = (KnownAddress.user_id, KnownAddress.block)
    old = select(*key).where(KnownAddress.last_at <= now - BLOCK_LIFETIME).with_for_update(skip_locked=True)
    session.execute(delete(KnownAddress).where(tuple_(*key).in_(old)))
