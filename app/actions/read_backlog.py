"""How much work waits, for whoever watches the service: read from the database, so that all replicas say the same."""

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from app.errors import DatabaseAway
from app.store import tasks
from app.store.session import Database, ReadSession
from app.store.tasks import Backlog


def read_backlog(session: ReadSession) -> Backlog:
    """Tasks at work and waiting at this moment."""
    return tasks.backlog(session)


class SharedFigures:
    """What the database says at the moment of a scrape; registered beside a process's own figures."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def collect(self) -> Iterator[Metric]:
        """The figures; only `assay_database_up 0` while the database is away."""
        found = self._read()
        yield GaugeMetricFamily("assay_database_up", "Whether the database answers.", float(found is not None))
        if found is None:
            return
        depth = GaugeMetricFamily("assay_queue_depth", "Tasks at this moment, by status.", labels=("status",))
        depth.add_metric(("queued",), found.queued)
        depth.add_metric(("running",), found.running)
        yield depth
        yield GaugeMetricFamily(
            "assay_queue_oldest_seconds", "Age of the oldest task that could start now.", found.oldest_seconds
        )
        # assay_workers, the live rows of the table of workers, belongs here: it joins Backlog with that table.

    def _read(self) -> Backlog | None:
        try:
            with self._db.read() as session:
                return read_backlog(session)
        except DatabaseAway:
            return None
