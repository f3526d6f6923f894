"""Metrics of the backlog, read from the database, so that all replicas report the same values."""

from collections.abc import Iterator
from datetime import timedelta

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from app.actions.versions.perform_switch import count_blockers
from app.actions.versions.raise_scorer import outdated_phases
from app.errors import DatabaseUnavailable
from app.runtime.single_flight import SingleFlight
from app.store.queries import rescoring_tasks, scoring_pace, tasks, workers
from app.store.session import Database

DATABASE_UP_HELP = "Whether the database answers in time."
MAX_WAIT_SECONDS = 1.0  # of a scrape for the database


class BacklogCollector:
    """Collects metrics from the database at each scrape; registered in addition to the metrics of the process."""

    def __init__(self, db: Database, silent: timedelta) -> None:
        """A worker counts as alive if its last heartbeat is no older than `silent`."""
        self._db = db
        self._silent = silent
        self._reading = SingleFlight(self._read)

    def collect(self) -> Iterator[Metric]:
        """The metrics; only `assay_database_up 0` while the database does not answer in time."""
        try:
            metrics = self._reading.begin().result(MAX_WAIT_SECONDS)
        except (DatabaseUnavailable, TimeoutError):
            yield GaugeMetricFamily("assay_database_up", DATABASE_UP_HELP, 0.0)
            return
        yield GaugeMetricFamily("assay_database_up", DATABASE_UP_HELP, 1.0)
        yield from metrics

    def _read(self) -> list[Metric]:
        with self._db.read() as session:
            backlog, living = tasks.backlog(session), workers.count_alive(session, self._silent)
            behind, different = len(outdated_phases(session)), rescoring_tasks.count_differing(session)
            blockers = count_blockers(session)
            pace = scoring_pace.recent(session) if backlog.waiting else None
        depth = GaugeMetricFamily("assay_queue_depth", "Tasks at this moment, by status.", labels=("status",))
        depth.add_metric(("queued",), backlog.queued)
        depth.add_metric(("running",), backlog.running)
        gauges = {
            "assay_queue_oldest_seconds": ("Age of the oldest task that could start now.", backlog.oldest_seconds),
            "assay_phases_behind": ("Phases that still show the scores of an older scorer version.", behind),
            "assay_switch_withheld": (
                "Failed submissions that withhold the switch of a board to other versions.",
                blockers,
            ),
            "assay_scores_different": ("Submissions whose last rescoring gave other values.", different),
        }
        if pace is not None or not backlog.waiting:  # unknown before the first scoring, and without a worker
            seconds = pace.seconds_until_scored(backlog.waiting) if pace is not None else 0.0
            gauges["assay_queue_eta_seconds"] = ("Time until all waiting submissions are scored, estimated.", seconds)
        if not self._db.sqlite:  # on SQLite, the service scores by itself
            gauges["assay_workers"] = ("Workers with a recent heartbeat.", living)
        return [depth, *(GaugeMetricFamily(name, text, value) for name, (text, value) in gauges.items())]
