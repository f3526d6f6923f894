"""What a board shows of comparisons that are missing, are of other rows, or are lost with the process that computes them.

The process for analyses is frozen where a test looks at what is shown before it has answered.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.store import board_invalidation
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    GOLD,
    analysts_of,
    freeze,
    has_unread_request,
    is_idle,
    thaw,
)
from tests.live_service import Caller, eventually, open_challenge
from tests.settle import settle

RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}
WRONG = dict.fromkeys(CORRECT_PREDICTIONS, "dog")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    settings = app_settings(tmp_path_factory.mktemp("analyses") / "data", analysis_seconds=600)
    with serve_app(settings, analyses=True) as service:
        yield service


def rows(service: ServedApp, query: str) -> list[tuple[Any, ...]]:
    with service.app.state.service.db.read() as session:
        return [tuple(row) for row in session.execute(text(query))]


def of(slug: str) -> str:
    return f"phase_id = (SELECT p.id FROM phases p JOIN challenges c ON c.id = challenge_id WHERE c.slug = '{slug}')"


@contextmanager
def held_analyses(service: ServedApp) -> Iterator[int]:
    """Nothing is computed meanwhile; gives the process that is asked in vain."""
    settle(service)
    (analyst,) = analysts_of(os.getpid())
    eventually(lambda: is_idle(analyst), "the process for analyses waits for requests")
    freeze(analyst)
    try:
        yield analyst
    finally:
        thaw(analyst)


def board_of(who: Caller, slug: str) -> dict[str, Any]:
    board: dict[str, Any] = who.board(slug).raise_for_status().json()
    return board


def by_team(board: dict[str, Any]) -> dict[str, Any]:
    return {row["team"]["name"]: row for row in board["rows"]}


def send(who: Caller, slug: str, team: str, predictions: dict[str, str]) -> None:
    answer = who.submit(slug, predictions, team=team)
    assert (answer.status_code, answer.json()["status"]) == (201, "finished"), answer.text


def open_board(service: ServedApp, slug: str) -> Caller:
    """A challenge with two teams whose rows are compared."""
    admin = service.admin()
    open_challenge(admin, slug, GOLD, recipe=RECIPE)
    send(admin, slug, "A", CORRECT_PREDICTIONS)
    send(admin, slug, "B", WRONG)
    settle(service)
    require_complete(admin, slug)
    return admin


def require_complete(who: Caller, slug: str) -> None:
    """All rows are compared, and each has its interval."""
    board = board_of(who, slug)
    assert board["significance"]["status"] == "current"
    for row in board["rows"]:
        assert row["rank_low"] is not None
        assert row["scores"]["accuracy"]["low"] is not None


def test_scores_do_not_wait_and_what_is_lost_with_the_process_is_computed_by_another(site: ServedApp) -> None:
    admin = open_board(site, "pending")
    with held_analyses(site) as analyst:
        send(admin, "pending", "C", CORRECT_PREDICTIONS)
        eventually(lambda: has_unread_request(analyst), "it is asked for an analysis")
        board = board_of(admin, "pending")
        assert (board["significance"]["status"], len(board["rows"])) == ("pending", 3)
        shown = by_team(board)
        assert shown["C"]["rank_low"] is None
        assert shown["C"]["scores"]["accuracy"]["low"] is None
        assert shown["A"]["rank_low"] == 1, "the former comparison is still shown, as pending"
        ((task, attempt),) = rows(site, "SELECT id, attempt FROM analysis_tasks WHERE status = 'running'")
        os.kill(analyst, 9)
    settle(site)
    require_complete(admin, "pending")
    ((status, now, crashes),) = rows(site, f"SELECT status, attempt, crashes FROM analysis_tasks WHERE id = '{task}'")
    assert (status, now > attempt, crashes) == ("done", True, 1)
    once = "SELECT count(*) FROM score_intervals GROUP BY submission_id, gold_id, recipe_id, scorer_version, split"
    assert set(rows(site, once)) == {(1,)}
    assert rows(site, f"SELECT count(*) FROM board_analyses WHERE kind = 'significance' AND {of('pending')}") == [(1,)]


@pytest.mark.ci
def test_another_selection_has_other_rows_compared(site: ServedApp) -> None:
    admin = open_board(site, "selection")
    send(admin, "selection", "A", WRONG)
    settle(site)
    before = by_team(board_of(admin, "selection"))["A"]["submission"]
    with held_analyses(site) as analyst:
        put = admin.put("/challenges/selection/recipe", json=RECIPE | {"selection": "latest"})
        assert put.status_code == 200, put.text
        eventually(lambda: has_unread_request(analyst), "it is asked to compare the rows")
        board = board_of(admin, "selection")
        assert board["significance"]["status"] == "pending"
        assert by_team(board)["A"]["submission"] != before
        assert by_team(board)["A"]["rank_low"] is None
    settle(site)
    board = board_of(admin, "selection")
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in board["rows"]] == [(1, 1, 2)] * 2


@pytest.mark.ci
def test_a_release_shows_no_private_value_of_a_former_row(site: ServedApp) -> None:
    admin = site.admin()
    gold = [
        {"id": f"{split[1]}{row['id']}", "label": row["label"], "split": split}
        for split in ("public", "private")
        for row in GOLD
    ]
    phase = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "reports": ["scores", "significance", "rankings"]}
    open_challenge(admin, "released", gold, recipe=RECIPE, phases=[phase])
    correct, wrong = ({row["id"]: labels[row["id"][1:]] for row in gold} for labels in (CORRECT_PREDICTIONS, WRONG))
    for team, labels in (("A", correct), ("A", wrong), ("B", wrong)):
        send(admin, "released", team, labels)
    former = by_team(board_of(admin, "released"))["A"]["submission"]
    settle(site)
    compared = f"SELECT count(*) FROM board_analyses WHERE split = 'private' AND {of('released')}"
    assert rows(site, compared) == [(2,)]
    with held_analyses(site):
        admin.put("/challenges/released/recipe", json=RECIPE | {"selection": "latest"}).raise_for_status()
        phase_url = "/challenges/released/phases/main"
        admin.patch(phase_url, json={"closes_at": "2020-01-02T00:00:00Z"}).raise_for_status()
        admin.post(f"{phase_url}/release", json={"reason": "done"}).raise_for_status()
        for part in ("significance", "rankings"):
            answer = site.caller().get(f"{phase_url}/leaderboard/{part}").raise_for_status()
            found = answer.json()
            assert (found["split"], found["status"]) == ("private", "pending")
            assert [row["team"]["name"] for row in found["rows"]] == ["B"]
            assert former not in answer.text


SET_OTHER = {
    "gold": "SET gold_id = (SELECT id FROM gold_versions WHERE version = 2 AND {})",
    "scorer": "SET scorer_version = scorer_version + 1",
}


@pytest.mark.parametrize("other", SET_OTHER)
def test_nothing_is_shown_of_another_gold_or_scorer_version(site: ServedApp, other: str) -> None:
    slug = f"other-{other}"
    admin = open_board(site, slug)
    assert admin.post(f"/challenges/{slug}/phases/main/gold", json=GOLD).status_code == 201
    where = {
        "board_analyses": of(slug),
        "score_intervals": f"submission_id IN (SELECT id FROM submissions WHERE {of(slug)})",
    }
    with held_analyses(site), site.app.state.service.db.write() as session:
        for table, mine in where.items():
            statement = text(f"UPDATE {table} {SET_OTHER[other].format(of(slug))} WHERE {mine}")
            assert session.execute(statement).rowcount > 0
        ((phase,),) = session.execute(text(f"SELECT DISTINCT {of(slug).removeprefix('phase_id = ')}"))
        board_invalidation.invalidate(session, board_invalidation.phase_tag(phase))
    board = board_of(admin, slug)
    assert (board["significance"]["status"], board["significance"]["computed_at"]) == ("pending", None)
    assert len(board["rows"]) == 2
    for row in board["rows"]:
        assert (row["rank_low"], row["rank_high"], row["tie_group"]) == (None, None, None)
        assert (row["scores"]["accuracy"]["low"], row["scores"]["accuracy"]["high"]) == (None, None)
    found = admin.get(f"/challenges/{slug}/phases/main/leaderboard/significance").json()
    assert (found["status"], found["rows"], found["pairs"]) == ("pending", [], [])


@pytest.mark.ci
def test_a_board_is_compared_once_in_an_interval_and_after_a_start(tmp_path: Path) -> None:
    settings = app_settings(tmp_path / "data", comparison_interval=3600)
    tasks = "FROM analysis_tasks WHERE kind = 'significance'"
    with serve_app(settings, analyses=True) as service:
        admin = service.admin()
        open_challenge(admin, "pets", GOLD, recipe=RECIPE)
        send(admin, "pets", "A", CORRECT_PREDICTIONS)
        settle(service)
        for team in "BC":
            send(admin, "pets", team, WRONG)
        waits = f"SELECT status, attempt, not_before IS NULL {tasks}"
        eventually(lambda: rows(service, waits) == [("queued", 1, 0)], "the comparison waits for its next start")
        others = "SELECT 1 FROM analysis_tasks WHERE kind = 'intervals' AND status <> 'done'"
        eventually(lambda: not rows(service, others), "intervals do not wait")
        board = board_of(admin, "pets")
        assert all(row["scores"]["accuracy"]["low"] is not None for row in board["rows"])
        assert board["significance"]["status"] == "pending"
        assert rows(service, f"SELECT attempt {tasks}") == [(1,)]
    # The clock that the wait was measured with has ended with the former service.
    with serve_app(settings, analyses=True) as service:
        settle(service)
        assert board_of(service.admin(), "pets")["significance"]["status"] == "current"
        assert rows(service, f"SELECT attempt {tasks}") == [(2,)]
