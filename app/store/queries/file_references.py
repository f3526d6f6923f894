"""Queries for which rows refer to stored files."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, select, true, union_all

from app.store.session import ReadSession
from app.store.tables import ChallengeFile, GoldVersion, PhaseImport, PreparedGold, Submission


def referenced_keys(session: ReadSession, keys: Collection[str]) -> set[str]:
    """Those of the keys that a row refers to: submissions, gold, prepared gold, files of challenges, and imports.

    A submission whose file was removed still names its key, but refers to nothing.
    """
    query = union_all(
        *(
            select(row.file_key).where(row.file_key.in_(keys), has_file(row))
            for row in (Submission, GoldVersion, PreparedGold, ChallengeFile, PhaseImport)
        )
    )
    return set(session.scalars(query))


def has_file(row: type[Submission | GoldVersion | PreparedGold | ChallengeFile | PhaseImport]) -> ColumnElement[bool]:
    """Whether the file of a row still exists."""
    if row is PhaseImport:
        return PhaseImport.file_key.is_not(None)
    return Submission.file_removed_at.is_(None) if row is Submission else true()
