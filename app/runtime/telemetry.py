"""Prometheus metrics of one process; no label names a challenge, team or person."""

from functools import partial

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector

from app import __version__

MEDIA_TYPE = prometheus_client.CONTENT_TYPE_PLAIN_0_0_4
OTHER_METHOD = "other"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REQUEST_SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # Prefer: wait ends at 60
SCORING_SECONDS_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
REFUSED_LOGIN_CODES = ("wrong_password", "rate_limited", "unavailable")

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # creation times show only the restart


class Telemetry:
    """The counters of one service or worker, in a registry of their own: one process may run several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        Info("assay_build", "The version that runs.", registry=self.registry).info({"version": __version__})
        counter, histogram = partial(Counter, registry=self.registry), partial(Histogram, registry=self.registry)
        self._requests = counter(
            "assay_http_requests",
            "Requests answered; status 0 broke off before the reply.",
            ("method", "route", "status"),
        )
        self._request_seconds = histogram(
            "assay_http_request_seconds",
            "Time to answer a request, waits and uploads included.",
            ("method", "route"),
            buckets=REQUEST_SECONDS_BUCKETS,
        )
        self._request_series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._refused = counter("assay_refused", "Requests refused, by the code of the problem.", ("code",))
        self._refused_logins = counter("assay_refused_logins", "Refused logins, by the code of the problem.", ("code",))
        self._settled = counter("assay_settled", "Submissions that reached this status here.", ("status",))
        self._rejected = counter("assay_rejected_files", "Rejected files that had a problem of this code.", ("code",))
        self._retries = counter("assay_retries", "Scorings to be retried, by reason.", ("reason",))
        self.reaped = counter("assay_reaped", "Tasks requeued because their lease had expired.")
        self._rescored = counter("assay_rescored", "Submissions scored again here.")
        self._differences = counter(
            "assay_score_differences", "Rescored submissions whose values differ from the stored ones."
        )
        self.scoring_seconds = histogram(
            "assay_scoring_seconds", "Time of a scoring process for one scoring.", buckets=SCORING_SECONDS_BUCKETS
        )
        self.queued_seconds = histogram(
            "assay_queued_seconds",
            "Time from submission to the first start of scoring.",
            buckets=SCORING_SECONDS_BUCKETS,
        )
        self.board_build_seconds = histogram(
            "assay_board_build_seconds", "Time to build a leaderboard.", buckets=REQUEST_SECONDS_BUCKETS
        )
        self.board_age_seconds = histogram(
            "assay_board_age_seconds",
            "Age of a leaderboard when it was built again, at most 60 s.",
            buckets=REQUEST_SECONDS_BUCKETS,
        )
        # Every series exists from the start, with 0, so that rates are defined before the first event.
        for code in REFUSED_LOGIN_CODES:
            self._refused_logins.labels(code)
        for status in ("finished", "rejected", "failed"):
            self._settled.labels(status)
        for reason in ("crashed", "interrupted", "file_lost"):
            self._retries.labels(reason)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request by its route template; a request that broke off before the reply began has status 0."""
        key = (method if method in METHODS else OTHER_METHOD, route, status)
        series = self._request_series.get(key)
        if series is None:  # cached: looking a series up by its labels takes longer than counting, and there are few
            counter = self._requests.labels(key[0], route, str(status))
            series = self._request_series[key] = (counter, self._request_seconds.labels(key[0], route))
        series[0].inc()
        series[1].observe(seconds)

    def count_refusal(self, code: str) -> None:
        """Count a request that was refused with a problem."""
        self._refused.labels(code).inc()

    def count_refused_login(self, code: str) -> None:
        """Count a login that was refused with a problem of REFUSED_LOGIN_CODES."""
        self._refused_logins.labels(code).inc()

    def count_settlement(self, status: str, problems: tuple[str, ...] = ()) -> None:
        """Count a submission with its final status, and each problem code once per file."""
        self._settled.labels(status).inc()
        for code in problems:
            self._rejected.labels(code).inc()

    def count_rescored(self, count: int, different: int) -> None:
        """Count submissions that were scored again, and those with different values."""
        self._rescored.inc(count)
        self._differences.inc(different)

    def count_retry(self, reason: str) -> None:
        """Count a scoring that will be retried."""
        self._retries.labels(reason).inc()


def prometheus_text(registry: CollectorRegistry) -> bytes:
    """All metrics of a registry in the text format of Prometheus."""
    return prometheus_client.generate_latest(registry)
