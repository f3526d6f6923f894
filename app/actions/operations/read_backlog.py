"""Metrics of the backlog, read from the database, so that all replicas report the same values."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from app.actions.scoring_tasks.upgrade_scorer import outdated_phases, upgrade_blocker_count
from app.errors import DatabaseUnavailable
from app.store.queries import rescoring_tasks, tasks, workers
from app.store.queries.tasks import Backlog
from app.store.session import Database, ReadSession


@dataclass(frozen=True, slots=True)
class RescoringBacklog:
    """The state of rescoring."""

    behind: int
    blockers: int
    different: int


def read_backlog(session: ReadSession) -> Backlog:
    """The tasks that run and wait now."""
    return tasks.backlog(session)


class BacklogCollector:
    """Collects metrics from the database at each scrape; registered in addition to the metrics of the process."""

    def __init__(self, db: Database, silent: timedelta) -> None:
        """A worker counts as alive if its last heartbeat is no older than `silent`."""
        self._db = db
        self._silent = silent

    def collect(self) -> Iterator[Metric]:
        """The metrics; only `assay_database_up 0` while the database is unavailable."""
        read = self._read()
        yield GaugeMetricFamily("assay_database_up", "Whether the database answers.", float(read is not None))
        if read is None:
            return
        backlog, living, rescoring = read
        depth = GaugeMetricFamily("assay_queue_depth", "Tasks at this moment, by status.", labels=("status",))
        depth.add_metric(("queued",), backlog.queued)
        depth.add_metric(("running",), backlog.running)
        yield depth
        gauges = {
            "assay_queue_oldest_seconds": ("Age of the oldest task that could start now.", backlog.oldest_seconds),
            "assay_phases_behind": ("Phases that still show the scores of an older scorer version.", rescoring.behind),
            "assay_switch_withheld": ("Failed submissions that block the upgrade of a phase.", rescoring.blockers),
            "assay_scores_different": ("Submissions whose last rescoring gave other values.", rescoring.different),
        }
        if not self._db.sqlite:  # on SQLite, the service scores by itself
            gauges["assay_workers"] = ("Workers with a recent heartbeat.", living)
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(name, text, value)

    def _read(self) -> tuple[Backlog, int, RescoringBacklog] | None:
        try:
            with self._db.read() as session:
                behind = len(outdated_phases(session))
                blockers = upgrade_blocker_count(session) if behind else 0
                rescoring = RescoringBacklog(behind, blockers, rescoring_tasks.count_differing(session))
                return read_backlog(session), workers.count_alive(session, self._silent), rescoring
        except DatabaseUnavailable:
            return None
