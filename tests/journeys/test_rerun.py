"""Scoring again over HTTP: what differs from what is stored is told to organizers, and nothing else changes."""

from typing import Any

from sqlalchemy import select

from app.store.tables import Phase, Score
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
    write_session_of,
)
from tests.live_service import eventually
from tests.settle import settle


def ended(people: People, slug: str) -> dict[str, Any]:
    """The order of the phase, once it has ended."""
    settle(people.live)
    found: dict[str, Any] = people.admin.get(MAIN_PHASE_PATH.format(slug) + "/rerun").json()
    assert found["status"] != "running"
    return found


def settled(people: People, submission: str) -> dict[str, Any]:
    """A submission, once it has been scored again."""
    settle(people.live)
    found: dict[str, Any] = people.admin.get(f"/submissions/{submission}").json()
    assert found["rerun"]["status"] in {"done", "failed"}
    return found


def shown_values(board: Any) -> list[Any]:
    """Ranks and values."""
    return [
        (row["rank"], row["submission"], [each["value"] for each in row["scores"].values()]) for row in board["rows"]
    ]


def test_a_difference_raises_an_alarm_and_changes_nothing_else(people: People) -> None:
    owner = people.admin
    slug = create_challenge(owner, "rerun")
    blue = people["Blue"].join(slug, "Blue")
    mine = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    submit_for_teams(owner, slug, [(f"T{number}", predictions_with_hits(number)) for number in range(4)])
    path = MAIN_PHASE_PATH.format(slug) + "/rerun"
    before = owner.get(path).json()
    assert (before["status"], before["id"], before["next"]["total"]) == ("none", None, 5)
    assert before["next"]["seconds"] > 0
    with write_session_of(people.live) as session:
        score = session.scalars(select(Score).where(Score.submission_id == mine)).one()
        score.metrics = score.metrics | {"accuracy": score.metrics["accuracy"] | {"value": 0.5}}
    board = owner.board(slug).json()
    assert owner.post(path).status_code == 202
    order = ended(people, slug)
    assert (order["total"], order["done"], order["failed"], order["different"]) == (5, 5, 0, 1)
    (found,) = order["differences"]
    value = {"split": "all", "metric": "accuracy", "stored": 0.5, "computed": 1.0}
    assert (found["submission"], found["count"], found["values"]) == (mine, 1, [value])
    assert shown_values(owner.board(slug).json()) == shown_values(board)
    seen = owner.get(f"/submissions/{mine}").json()
    assert (seen["rerun"]["status"], seen["rerun"]["difference"]["values"]) == ("done", [value])
    assert seen["scores"]["accuracy"]["value"] == 0.5
    theirs = blue.get(f"/submissions/{mine}").json()
    assert (theirs["rerun"], theirs["status"], theirs["queue_position"]) == (None, "finished", None)
    eventually(lambda: '"event": "score_differs"' in people.live.log(), "the operator reads it in the log")
    for figure in ("assay_score_differences_total 1.0", "assay_scores_different 1.0"):
        eventually(lambda text=figure: text in owner.get(f"{people.live.url}/metrics").text, figure)  # type: ignore[misc]
    # Mended, it is told so, by scoring that one again.
    with write_session_of(people.live) as session:
        score = session.scalars(select(Score).where(Score.submission_id == mine)).one()
        score.metrics = score.metrics | {"accuracy": score.metrics["accuracy"] | {"value": 1.0}}
    assert owner.post(f"/submissions/{mine}/rerun").status_code == 202
    assert settled(people, mine)["rerun"]["difference"] is None
    assert owner.get(path).json()["different"] == 1  # as it was found then


def test_what_never_was_scored_is_not_scored_again(people: People) -> None:
    slug = create_challenge(people.admin, "rerun")
    sent = people.admin.submit(slug, {"t1": "a"}, team="Short").json()
    assert sent["status"] == "rejected"
    said = require_refused(people.admin.post(f"/submissions/{sent['id']}/rerun"), 409, "not_rescorable")
    assert "rejected" in said["detail"]
    made = people.admin.post(MAIN_PHASE_PATH.format(slug) + "/rerun").json()
    assert (made["status"], made["total"]) == ("finished", 0)


def test_a_phase_without_gold_has_nothing_to_score_again(people: People) -> None:
    slug = create_challenge(people.admin, "rerun", phases=[{"name": "main"}])
    people.admin.post(f"/challenges/{slug}/phases", json={"name": "later"}).raise_for_status()
    path = f"/challenges/{slug}/phases/later/rerun"
    require_refused(people.admin.post(path), 409, "no_gold")
    assert people.admin.get(path).json()["next"] == {"total": 0, "seconds": None}


def test_scoring_again_charges_nothing_and_needs_no_open_phase(people: People) -> None:
    slug = create_challenge(people.admin, "rerun", phases=[{"name": "main", "quota": {"total": 1}}])
    blue = people["Blue"].join(slug, "Blue")
    mine = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    closing = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2021-01-01T00:00:00Z"}
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json=closing).raise_for_status()
    quota = blue.get(MAIN_PHASE_PATH.format(slug) + "/quota").json()
    assert people.admin.post(f"/submissions/{mine}/rerun").status_code == 202
    seen = settled(people, mine)
    assert (seen["status"], seen["rerun"]["status"], seen["rerun"]["difference"]) == ("finished", "done", None)
    assert blue.get(MAIN_PHASE_PATH.format(slug) + "/quota").json()["used"] == quota["used"]


def test_a_new_phase_is_in_force_at_the_scorer_that_runs(people: People) -> None:
    slug = create_challenge(people.admin, "rerun")
    board = people.admin.board(slug).json()
    with write_session_of(people.live) as session:
        versions = set(session.scalars(select(Phase.scorer_version)))
    assert versions == {board["scorer_version"]}


def test_scoring_again_leaves_no_trace_in_what_its_team_reads(people: People) -> None:
    owner = people.admin
    slug = create_challenge(owner, "rerun-unseen", phases=[{"name": "main", "reports": ["scores"]}])
    blue = people["Blue"].join(slug, "Blue")
    mine = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    paths = [
        f"/submissions/{mine}",
        f"{MAIN_PHASE_PATH.format(slug)}/submissions",
        f"{MAIN_PHASE_PATH.format(slug)}/leaderboard",
    ]
    paths += [f"/submissions/{mine}/report", f"{MAIN_PHASE_PATH.format(slug)}/quota", f"/challenges/{slug}"]
    settle(people.live)
    before = [blue.get(path) for path in paths]
    assert before[0].json()["attempt"] == 1
    for _ in range(2):
        assert owner.post(f"/submissions/{mine}/rerun").status_code == 202
        assert settled(people, mine)["rerun"]["status"] == "done"
    assert owner.post(MAIN_PHASE_PATH.format(slug) + "/rerun").status_code == 202
    assert ended(people, slug)["done"] == 1
    settle(people.live)
    for path, read in zip(paths, before, strict=True):
        assert read.status_code == 200, read.text
        assert blue.get(path).content == read.content, path
        assert blue.get(path, headers={"If-None-Match": read.headers["etag"]}).status_code == 304, path
