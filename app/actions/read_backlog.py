"""How much work waits, for whoever watches the service: read from the database, so that all replicas say the same."""

from collections.abc import Iterator
from datetime import timedelta

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from app.errors import DatabaseAway
from app.store import tasks, workers
from app.store.session import Database, ReadSession
from app.store.tasks import Backlog


def read_backlog(session: ReadSession) -> Backlog:
    """Tasks at work and waiting at this moment."""
    return tasks.backlog(session)


class SharedFigures:
    """What the database says at the moment of a scrape; registered beside a process's own figures."""

    def __init__(self, db: Database, silent: timedelta) -> None:
        """A worker that was not heard of for `silent` does not count as alive."""
        self._db = db
        self._silent = silent

    def collect(self) -> Iterator[Metric]:
        """The figures; only `assay_database_up 0` while the database is away."""
        read = self._read()
        yield GaugeMetricFamily("assay_database_up", "Whether the database answers.", float(read is not None))
        if read is None:
            return
        found, living = read
        depth = GaugeMetricFamily("assay_queue_depth", "Tasks at this moment, by status.", labels=("status",))
        depth.add_metric(("queued",), found.queued)
        depth.add_metric(("running",), found.running)
        yield depth
        yield GaugeMetricFamily(
            "assay_queue_oldest_seconds", "Age of the oldest task that could start now.", found.oldest_seconds
        )
        if not self._db.sqlite:  # there the service scores by itself
            yield GaugeMetricFamily("assay_workers", "Workers that gave a sign of life of late.", living)

    def _read(self) -> tuple[Backlog, int] | None:
        try:
            with self._db.read() as session:
                return read_backlog(session), workers.alive(session, self._silent)
        except DatabaseAway:
            return None
