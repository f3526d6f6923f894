"""Forget Idempotency-Keys after their lifetime; until then an expired key is ignored wherever keys are read."""

from app.store import clock
from app.store.queries.account_access import forget_ended
from app.store.queries.admission import forget_expired_keys
from app.store.session import Database


class ExpiredKeys:
    """The expired keys of a database; several workers may forget them at the same time."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def forget_keys(self) -> None:
        """Delete them, a batch per transaction, so that submissions do not wait for long.

        Sessions and password resets that ended long ago are deleted with them.
        """
        with self._db.write(durable=False) as session:
            forget_ended(session, clock.steady(session))
        deleted = True
        while deleted:
            with self._db.write(durable=False) as session:
                deleted = forget_expired_keys(session) > 0
