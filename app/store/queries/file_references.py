"""Queries for which rows refer to stored files."""

from collections.abc import Collection

from sqlalchemy import select, union_all

from app.store.session import ReadSession
from app.store.tables import GoldVersion, PreparedGold, Submission


def referenced_keys(session: ReadSession, keys: Collection[str]) -> set[str]:
    """Those of the keys that a submission, a gold version or prepared gold refers to."""
    query = union_all(
        *(select(row.file_key).where(row.file_key.in_(keys)) for row in (Submission, GoldVersion, PreparedGold))
    )
    return set(session.scalars(query))
