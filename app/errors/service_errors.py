"""Errors of the service itself: storage, database, overload."""

from app.errors.branches import Unavailable


class StorageAlmostFull(Unavailable):
    """The disk is almost full, so uploads are refused; nothing was stored."""

    code = "storage_short"


class DatabaseUnavailable(Unavailable):
    """The database did not answer."""

    code = "database_away"


class StoredFileUnavailable(Unavailable):
    """A stored file cannot be read now."""

    code = "file_away"
    remedy = "Try again later; if the problem persists, contact the administrator."


class CommitUncertain(DatabaseUnavailable):
    """The connection to the database failed during the commit; the change may or may not be stored."""

    code = "commit_uncertain"
    remedy = "Check whether the change is stored, or repeat the request with the same Idempotency-Key."
