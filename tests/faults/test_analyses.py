"""Comparisons of boards outlive kills, never show another gold or scorer version, and keep to their interval."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.worker.process_settings import ANALYSIS_NICENESS
from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    GOLD,
    all_children_of,
    freeze,
    has_unread_request,
    is_alive,
    is_idle,
    niceness,
    pid_of,
    query_rows,
    thaw,
)
from tests.live_service import Caller, Live, eventually, open_challenge

RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}
WRONG = dict.fromkeys(CORRECT_PREDICTIONS, "dog")
BOARD_TASKS = "FROM analysis_tasks WHERE kind = 'significance'"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "data").start()
    yield service
    service.kill()


def analyst_of(service: Live) -> int:
    """The process that computes intervals and compares boards: the one child that lets the others go first."""
    found: list[int] = []

    def has_started() -> bool:
        found[:] = [child for child in all_children_of(pid_of(service)) if niceness(child) >= ANALYSIS_NICENESS]
        return len(found) == 1 and is_idle(found[0])

    eventually(has_started, "the process for analyses waits for requests")
    return found[0]


def board_of(who: Caller) -> dict[str, Any]:
    answer = who.board("pets")
    assert answer.status_code == 200, answer.text
    board: dict[str, Any] = answer.json()
    return board


def status_of(who: Caller) -> str:
    return str(board_of(who)["significance"]["status"])


def is_complete(who: Caller) -> bool:
    """Whether the rows are compared and each has its interval."""
    board = board_of(who)
    return board["significance"]["status"] == "current" and all(
        row["scores"]["accuracy"]["low"] is not None for row in board["rows"]
    )


def open_board(service: Live) -> Caller:
    """A challenge with two teams whose rows are compared."""
    admin = service.admin()
    open_challenge(admin, "pets", GOLD, recipe=RECIPE)
    send(admin, "A", CORRECT_PREDICTIONS)
    send(admin, "B", WRONG)
    eventually(lambda: is_complete(admin), "the rows are compared")
    return admin


def send(who: Caller, team: str, predictions: dict[str, str]) -> None:
    answer = who.submit("pets", predictions, team=team)
    assert (answer.status_code, answer.json()["status"]) == (201, "finished"), answer.text


def test_scores_do_not_wait_and_what_is_not_computed_is_pending(own: Live) -> None:
    admin = open_board(own)
    analyst = analyst_of(own)
    freeze(analyst)
    try:
        send(admin, "C", CORRECT_PREDICTIONS)
        eventually(lambda: has_unread_request(analyst), "it is asked for an analysis")
        board = board_of(admin)
        assert (board["significance"]["status"], len(board["rows"])) == ("pending", 3)
        by_team = {row["team"]["name"]: row for row in board["rows"]}
        assert by_team["C"]["rank_low"] is None
        assert by_team["C"]["scores"]["accuracy"]["low"] is None
        assert by_team["A"]["rank_low"] == 1, "the former comparison is still shown, as pending"
    finally:
        thaw(analyst)
    eventually(lambda: is_complete(admin), "the rows are compared again")
    assert all(row["rank_low"] is not None for row in board_of(admin)["rows"])


@pytest.mark.parametrize("victim", ["service", "child"])
def test_a_comparison_survives_a_kill(own: Live, victim: str) -> None:
    admin = open_board(own)
    analyst = analyst_of(own)
    freeze(analyst)
    try:
        send(admin, "C", CORRECT_PREDICTIONS)
        # An interval or a comparison: whichever the frozen process holds is lost with it.
        eventually(lambda: has_unread_request(analyst), "it is asked for an analysis")
        before = query_rows(own, "SELECT id, attempt FROM analysis_tasks WHERE status = 'running'")
        assert len(before) == 1
        if victim == "child":
            os.kill(analyst, 9)
        else:
            own.kill()
    finally:
        thaw(analyst)  # a stopped process does not see that the service is gone
    if victim == "service":
        eventually(lambda: not is_alive(analyst), "the child of the dead service is gone")
        own.start()
        admin = own.admin()
    eventually(lambda: is_complete(admin), "the rows are compared again")
    task, attempt = before[0]
    eventually(
        lambda: query_rows(own, f"SELECT status FROM analysis_tasks WHERE id = '{task}'") == [("done",)],
        "the lost task is done",
    )
    assert query_rows(own, f"SELECT attempt FROM analysis_tasks WHERE id = '{task}'")[0][0] > attempt
    once = "SELECT count(*) FROM score_intervals GROUP BY submission_id, gold_id, recipe_id, scorer_version, split"
    assert set(query_rows(own, once)) == {(1,)}
    assert query_rows(own, "SELECT count(*) FROM board_analyses WHERE kind = 'significance'") == [(1,)]
    eventually(
        lambda: query_rows(own, "SELECT count(*) FROM analysis_tasks WHERE status != 'done'") == [(0,)],
        "nothing is left",
    )


def test_another_selection_has_other_rows_compared(own: Live) -> None:
    admin = open_board(own)
    send(admin, "A", WRONG)
    eventually(lambda: is_complete(admin), "the rows are compared")
    before = {row["team"]["name"]: row["submission"] for row in board_of(admin)["rows"]}
    analyst = analyst_of(own)
    freeze(analyst)
    try:
        put = admin.put("/challenges/pets/recipe", json=RECIPE | {"selection": "latest"})
        assert put.status_code == 200, put.text
        eventually(lambda: has_unread_request(analyst), "it is asked to compare the rows")
        board = board_of(admin)
        assert board["significance"]["status"] == "pending"
        by_team = {row["team"]["name"]: row for row in board["rows"]}
        assert by_team["A"]["submission"] != before["A"]
        assert by_team["A"]["rank_low"] is None
    finally:
        thaw(analyst)
    eventually(lambda: is_complete(admin), "the other rows are compared")
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in board_of(admin)["rows"]] == [(1, 1, 2)] * 2


def test_a_release_shows_no_private_value_of_a_former_row(own: Live) -> None:
    admin = own.admin()
    gold = [
        {"id": f"{split[1]}{row['id']}", "label": row["label"], "split": split}
        for split in ("public", "private")
        for row in GOLD
    ]
    phase = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "reports": ["scores", "significance", "rankings"]}
    open_challenge(admin, "pets", gold, recipe=RECIPE, phases=[phase])
    correct, wrong = ({row["id"]: labels[row["id"][1:]] for row in gold} for labels in (CORRECT_PREDICTIONS, WRONG))
    for team, labels in (("A", correct), ("A", wrong), ("B", wrong)):
        send(admin, team, labels)
    former = next(row["submission"] for row in board_of(admin)["rows"] if row["team"]["name"] == "A")
    eventually(
        lambda: (
            query_rows(own, "SELECT count(*) FROM board_analyses WHERE split = 'private'") == [(2,)]
            and query_rows(own, "SELECT count(*) FROM board_changes") == [(0,)]
            and query_rows(own, "SELECT count(*) FROM analysis_tasks WHERE status != 'done'") == [(0,)]
        ),
        "the rows of the private split are compared",
    )
    analyst = analyst_of(own)
    freeze(analyst)
    try:
        admin.put("/challenges/pets/recipe", json=RECIPE | {"selection": "latest"}).raise_for_status()
        admin.patch("/challenges/pets/phases/main", json={"closes_at": "2020-01-02T00:00:00Z"}).raise_for_status()
        admin.post("/challenges/pets/phases/main/release", json={"reason": "done"}).raise_for_status()
        for part in ("significance", "rankings"):
            answer = own.caller().get(f"/challenges/pets/phases/main/leaderboard/{part}").raise_for_status()
            found = answer.json()
            assert (found["split"], found["status"]) == ("private", "pending")
            assert [row["team"]["name"] for row in found["rows"]] == ["B"]
            assert former not in answer.text
    finally:
        thaw(analyst)


SET_OTHER = {
    "gold": "SET gold_id = (SELECT id FROM gold_versions WHERE version = 2)",
    "scorer": "SET scorer_version = scorer_version + 1",
}


@pytest.mark.parametrize("other", SET_OTHER)
def test_nothing_is_shown_of_another_gold_or_scorer_version(own: Live, other: str) -> None:
    admin = open_board(own)
    assert admin.post("/challenges/pets/phases/main/gold", json=GOLD).status_code == 201
    own.stop()
    with closing(sqlite3.connect(own.data_dir / "assay.sqlite3")) as database:
        for table in ("board_analyses", "score_intervals"):
            assert database.execute(f"UPDATE {table} {SET_OTHER[other]}").rowcount > 0
        database.commit()
    own.start()
    require_nothing_shown(own.admin())


def require_nothing_shown(who: Caller) -> None:
    """The board has its rows, but neither intervals nor rank sets."""
    board = board_of(who)
    assert (board["significance"]["status"], board["significance"]["computed_at"]) == ("pending", None)
    assert len(board["rows"]) == 2
    for row in board["rows"]:
        assert (row["rank_low"], row["rank_high"], row["tie_group"]) == (None, None, None)
        assert (row["scores"]["accuracy"]["low"], row["scores"]["accuracy"]["high"]) == (None, None)
    found = who.get("/challenges/pets/phases/main/leaderboard/significance").json()
    assert (found["status"], found["rows"], found["pairs"]) == ("pending", [], [])


def test_a_board_is_compared_once_in_an_interval(tmp_path: Path) -> None:
    own = Live(tmp_path / "data", comparison_interval="3600").start()
    try:
        admin = own.admin()
        open_challenge(admin, "pets", GOLD, recipe=RECIPE)
        send(admin, "A", CORRECT_PREDICTIONS)
        eventually(lambda: status_of(admin) == "current", "the one row is compared")
        for team in "BCD":
            send(admin, team, WRONG)
        eventually(
            lambda: query_rows(own, f"SELECT status, attempt, not_before IS NULL {BOARD_TASKS}") == [("queued", 1, 0)],
            "the comparison waits for its next start",
        )
        eventually(
            lambda: all(row["scores"]["accuracy"]["low"] is not None for row in board_of(admin)["rows"]),
            "intervals do not wait",
        )
        assert query_rows(own, f"SELECT attempt {BOARD_TASKS}") == [(1,)]
        assert status_of(admin) == "pending"
        own.stop()
        own.start()  # the clock that the wait was measured with has ended with the process
        admin = own.admin()
        eventually(lambda: status_of(admin) == "current", "all rows are compared")
        assert query_rows(own, f"SELECT attempt {BOARD_TASKS}") == [(2,)]
    finally:
        own.kill()
