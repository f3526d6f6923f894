"""Waits until a service has done all its background work: the only way in which tests wait for it.

Scores, intervals, comparisons, switches, previews, imports and positions in the transparency log follow a request by
themselves, each with entries of the audit trail or the log of its own. Whoever compares what was before with what is
after settles the service first.
"""

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import psycopg
from sqlalchemy.engine import make_url

from tests.live_service import ANALYSIS_SECONDS, MAX_WAIT_SECONDS

LOOK_SECONDS = 0.05
BUILD_SECONDS = 1.0
"""For so long a board without the newest score may be shown to others than its team and organizers."""
SOON_SECONDS = 10.0
"""What is tried again only later than that waits for something that does not happen by itself, such as a lost file."""

# Nobody computes the intervals that an older scorer left undone once boards have switched to the newer one.
WORK = {
    "submissions to be scored": "SELECT count(*) FROM score_tasks WHERE status IN ('queued', 'running') AND {soon}",
    "changed boards": "SELECT count(*) FROM board_changes",
    "intervals and comparisons": "SELECT count(*) FROM analysis_tasks WHERE status IN ('queued', 'running') AND {soon} "
    "AND (scorer_version IS NULL OR scorer_version >= (SELECT max(scorer_version) FROM phases))",
    "previews": "SELECT count(*) FROM board_previews WHERE status = 'scoring'",
    "imports": "SELECT count(*) FROM imports WHERE status IN ('queued', 'running')",
    "switches": "SELECT count(*) FROM board_switches WHERE status = 'pending'",
    "log records without a position": "SELECT count(*) FROM log_records WHERE position IS NULL AND EXISTS "
    "(SELECT 1 FROM log_origins WHERE ended_at IS NULL)",
    "log records without a checkpoint": "SELECT count(*) FROM log_origins o WHERE ended_at IS NULL AND "
    "(SELECT max(position) FROM log_records WHERE origin_id = o.id) >= "
    "(SELECT coalesce(max(size), 0) FROM log_checkpoints WHERE origin_id = o.id)",
}
ANALYSES = {"changed boards", "intervals and comparisons"}


class Service(Protocol):
    """A service of tests: Live, ServedApp or Cluster."""

    @property
    def database_address(self) -> str:
        """The URL of its database, as Settings.database gives it."""

    @property
    def analyses(self) -> bool:
        """Whether it computes intervals and comparisons."""


def settle(service: Service, *, withheld: bool = False, shown: bool = False, seconds: float = ANALYSIS_SECONDS) -> None:
    """Wait until nothing is left to do in the background; fail after `seconds`, naming what is left.

    `withheld`: switches may stay pending, because a submission cannot be scored by the new version.
    `shown`: wait also until nobody is shown a board without the newest scores any more.
    """
    left_undone = ({"switches"} if withheld else set()) | (set() if service.analyses else ANALYSES)
    work = {name: query for name, query in WORK.items() if name not in left_undone}
    deadline = time.monotonic() + seconds
    while left := _left(service.database_address, work):
        assert time.monotonic() < deadline, f"still to be done: {left}"
        time.sleep(LOOK_SECONDS)
    if shown:
        time.sleep(BUILD_SECONDS)


def _left(address: str, work: dict[str, str]) -> dict[str, int]:
    """What is left to do, by what it is."""
    url = make_url(address)
    zone = "" if url.get_backend_name() == "sqlite" else "+00"
    moment = (datetime.now(UTC) + timedelta(seconds=SOON_SECONDS)).strftime("%Y-%m-%d %H:%M:%S.%f") + zone
    soon = f"(not_before IS NULL OR not_before <= '{moment}')"
    query = "SELECT " + ", ".join(f"({each.format(soon=soon)})" for each in work.values())
    if url.get_backend_name() == "sqlite":
        file = Path(str(url.database)).resolve()
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=MAX_WAIT_SECONDS)
        try:
            row = connection.execute(query).fetchone()
        finally:
            connection.close()
    else:
        with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as server:
            row = server.execute(query.encode()).fetchone()
    assert row is not None
    return {name: int(count) for name, count in zip(work, row, strict=True) if count}
