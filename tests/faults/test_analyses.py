"""Comparisons of a board outlive the kill of the service; what a service in the test's process shows is tested there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    GOLD,
    analysts_of,
    freeze,
    has_unread_request,
    is_alive,
    is_idle,
    pid_of,
    query_rows,
    thaw,
)
from tests.live_service import Live, eventually, open_challenge
from tests.settle import settle

RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "data").with_analyses().start()
    yield service
    service.kill()


def test_a_comparison_survives_the_kill_of_the_service(own: Live) -> None:
    admin = own.admin()
    open_challenge(admin, "pets", GOLD, recipe=RECIPE)
    assert admin.submit("pets", CORRECT_PREDICTIONS, team="A").json()["status"] == "finished"
    settle(own)
    (analyst,) = analysts_of(pid_of(own))
    eventually(lambda: is_idle(analyst), "the process for analyses waits for requests")
    freeze(analyst)
    try:
        assert admin.submit("pets", CORRECT_PREDICTIONS, team="B").json()["status"] == "finished"
        # An interval or a comparison: whichever the frozen process holds is lost with it.
        eventually(lambda: has_unread_request(analyst), "it is asked for an analysis")
        ((task, attempt),) = query_rows(own, "SELECT id, attempt FROM analysis_tasks WHERE status = 'running'")
        own.kill()
    finally:
        thaw(analyst)  # a stopped process does not see that the service is gone
    eventually(lambda: not is_alive(analyst), "the child of the dead service is gone")
    own.start()
    settle(own)
    board = own.admin().board("pets").json()
    assert board["significance"]["status"] == "current"
    assert all(row["rank_low"] is not None and row["scores"]["accuracy"]["low"] is not None for row in board["rows"])
    ((status, now),) = query_rows(own, f"SELECT status, attempt FROM analysis_tasks WHERE id = '{task}'")
    assert (status, now > attempt) == ("done", True)
    once = "SELECT count(*) FROM score_intervals GROUP BY submission_id, gold_id, recipe_id, scorer_version, split"
    assert set(query_rows(own, once)) == {(1,)}
    assert query_rows(own, "SELECT count(*) FROM board_analyses WHERE kind = 'significance'") == [(1,)]
