"""How much work waits, for whoever watches the service: read from the database, so that all replicas say the same."""

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
    """What is known of scoring again."""

    behind: int
    upgrade_blocker_count: int
    different: int


def read_backlog(session: ReadSession) -> Backlog:
    """Tasks at work and waiting at this moment."""
    return tasks.backlog(session)


class BacklogCollector:
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
        found, living, again = read
        depth = GaugeMetricFamily("assay_queue_depth", "Tasks at this moment, by status.", labels=("status",))
        depth.add_metric(("queued",), found.queued)
        depth.add_metric(("running",), found.running)
        yield depth
        yield GaugeMetricFamily(
            "assay_queue_oldest_seconds", "Age of the oldest task that could start now.", found.oldest_seconds
        )
        yield GaugeMetricFamily(
            "assay_phases_behind", "Phases that still show the scores of an older scorer version.", again.behind
        )
        yield GaugeMetricFamily(
            "assay_switch_withheld",
            "Submissions that keep them from a newer one, for scoring them failed.",
            again.upgrade_blocker_count,
        )
        yield GaugeMetricFamily(
            "assay_scores_different", "Submissions that gave other values when last scored again.", again.different
        )
        if not self._db.sqlite:  # there the service scores by itself
            yield GaugeMetricFamily("assay_workers", "Workers that gave a sign of life of late.", living)

    def _read(self) -> tuple[Backlog, int, RescoringBacklog] | None:
        try:
            with self._db.read() as session:
                behind = len(outdated_phases(session))
                again = RescoringBacklog(
                    behind, upgrade_blocker_count(session) if behind else 0, rescoring_tasks.count_differing(session)
                )
                return read_backlog(session), workers.count_alive(session, self._silent), again
        except DatabaseUnavailable:
            return None
