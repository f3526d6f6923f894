"""Queries for which rows refer to stored files."""

from collections.abc import Collection

from sqlalchemy import select, union_all

from app.store.session import ReadSession
from app.store.tables import GoldVersion, Submission


def referenced_keys(session: ReadSession, keys: Collection[str]) -> set[str]:
    """Those of the keys that a submission or a gold version refers to."""
    query = union_all(
        select(Submission.file_key).where(Submission.file_key.in_(keys)),
        select(GoldVersion.file_key).where(GoldVersion.file_key.in_(keys)),
    )
    return set(session.scalars(query))
