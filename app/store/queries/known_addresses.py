"""Where users have logged in from: a few address blocks for each, for a while."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Insert, delete, select, tuple_
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.store.session import ReadSession, WriteSession
from app.store.tables import KnownAddress

MAX_BLOCKS_PER_USER = 20  # address blocks of one user; the least recent one is forgotten
BLOCK_LIFETIME = timedelta(days=90)  # after the last login from there
INSERTS: dict[str, Any] = {"sqlite": sqlite_insert, "postgresql": postgresql_insert}


def is_known(session: ReadSession, user_id: str, block: str, now: datetime) -> bool:
    """Whether the user logged in from this address block lately."""
    row = session.get(KnownAddress, (user_id, block))
    return row is not None and row.last_at > now - BLOCK_LIFETIME


def remember(session: WriteSession, user_id: str, block: str, now: datetime) -> None:
    """Note a login of a user whose row is locked; forget what is old, of everybody, and beyond the most of this user."""
    insert = INSERTS[session.get_bind().dialect.name](KnownAddress.__table__)
    noted: Insert = insert.values(user_id=user_id, block=block, last_at=now).on_conflict_do_update(
        index_elements=["user_id", "block"], set_={"last_at": now}
    )
    session.execute(noted)
    kept = (
        select(KnownAddress.block)
        .where(KnownAddress.user_id == user_id)
        .order_by(KnownAddress.last_at.desc(), KnownAddress.block)
        .limit(MAX_BLOCKS_PER_USER)
    )
    own = KnownAddress.user_id == user_id
    session.execute(delete(KnownAddress).where(own, KnownAddress.block.not_in(kept)))
    row = (KnownAddress.user_id, KnownAddress.block)
    old = select(*row).where(KnownAddress.last_at <= now - BLOCK_LIFETIME).with_for_update(skip_locked=True)
    session.execute(delete(KnownAddress).where(tuple_(*row).in_(old)))  # passing over what another login holds
