"""An import on several machines whose worker is killed or held up: another worker finishes it, and it is stored once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import cluster
from tests.faults.inspection import freeze_children, has_unread_request, thaw
from tests.imports.source_phase import finish, send
from tests.live_service import eventually

pytestmark = pytest.mark.ci

EXPIRED = "UPDATE imports SET lease_until = lease_until - interval '1 hour' WHERE status = 'running' RETURNING attempt"


@pytest.mark.parametrize("how", ["killed", "held up"])
def test_another_worker_finishes_an_import_once(
    archive: Path, tmp_path: Path, postgres_database: Callable[[], str], how: str
) -> None:
    """A worker that was held up finds that it has lost the import, and stores nothing."""
    with cluster(tmp_path, postgres_database(), scoring_seconds="600") as machines:
        machines.start(apis=1, workers=1)
        (first,) = machines.workers
        children = freeze_children(first.pid)
        admin = machines.admin()
        answer = send(admin, archive)
        eventually(lambda: any(map(has_unread_request, children)), "a file of the archive is to be read")
        if how == "killed":
            first.kill(group=True)
        assert admin.get("/challenges").json()["items"] == []
        machines.part("worker").start().wait_ready()
        assert machines.rows(EXPIRED) == [(1,)]  # nobody waits for the lease, which outlasts the scoring of a file
        done = finish(machines, answer)
        assert (done["status"], done["total"]) == ("done", 9)
        if how == "held up":
            for child in children:
                thaw(child)
            eventually(lambda: '"import_lost"' in first.log(), "the first worker knows")
        (challenge,) = admin.get("/challenges").json()["items"]
        path = f"/challenges/{challenge['slug']}/phases/main/submissions"
        assert len(admin.get(path, params={"limit": 100}).json()["items"]) == 9
        counts = "SELECT count(*), count(DISTINCT (submission_id, gold_id, recipe_id, scorer_version, split)) FROM "
        for table in ("scores", "receipts"):
            ((found, distinct),) = machines.rows(counts + table)
            assert found == distinct != 0
        assert machines.rows("SELECT count(*) FROM audit_entries WHERE action = 'phase.import'") == [(1,)]
        assert machines.rows("SELECT status, attempt FROM imports") == [("done", 2)]
