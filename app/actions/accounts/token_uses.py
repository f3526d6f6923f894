"""When tokens were last used, stored now and then, so that it costs no request anything."""

import threading
from datetime import datetime

from app.runtime.periodic_jobs import PeriodicJobs
from app.store.queries.account_access import note_uses
from app.store.session import Database
from app.store.types import utcnow

STORE_SECONDS = 60.0


class TokenUses:
    """The uses of tokens since they were last stored. Its methods are safe from any thread."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._jobs = PeriodicJobs()
        self._lock = threading.Lock()
        self._uses: dict[str, datetime] = {}

    def start(self) -> None:
        """Store the uses now and then."""
        self._jobs.every(STORE_SECONDS, self.store_token_uses)

    def stop(self) -> None:
        """Store no more."""
        self._jobs.stop.set()
        self._jobs.join(1.0)

    def note(self, token_id: str | None) -> None:
        """Remember that a token was used now; None stands for the administrator's token, which is not stored."""
        if token_id is not None:
            with self._lock:
                self._uses[token_id] = utcnow()

    def store_token_uses(self) -> None:
        """Store what was noted; after a failure it is stored the next time."""
        with self._lock:
            uses, self._uses = self._uses, {}
        if not uses:
            return
        try:
            with self._db.write(durable=False) as session:
                note_uses(session, uses)
        except Exception:
            with self._lock:
                self._uses = uses | self._uses
            raise
