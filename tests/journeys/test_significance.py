"""Intervals and rank sets on the service: after the scores, pending until computed, never of something else."""

from typing import Any

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)
from tests.live_service import Caller
from tests.settle import settle

ANALYSES = True

RANK_SET = ("rank_low", "rank_high", "tie_group")


def board_of(who: Caller, slug: str, **query: Any) -> dict[str, Any]:
    answer = who.board(slug, **query)
    assert answer.status_code == 200, answer.text
    board: dict[str, Any] = answer.json()
    return board


def significance_of(who: Caller, slug: str, **query: Any) -> dict[str, Any]:
    answer = who.get(MAIN_PHASE_PATH.format(slug) + "/leaderboard/significance", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def settled_board(people: People, who: Caller, slug: str, **query: Any) -> dict[str, Any]:
    """The board once its rows are compared and have their intervals."""
    settle(people.live, shown=who is not people.admin)
    board = board_of(who, slug, **query)
    assert board["significance"]["status"] == "current", board["significance"]
    return board


def test_rank_sets_and_intervals_follow_the_scores(people: People) -> None:
    slug = create_challenge(people.admin, "sure", recipe=make_recipe("accuracy", "f1_macro"))
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(4)), ("B", predictions_with_hits(2))])
    board = settled_board(people, people.visitor, slug)
    assert [(row["rank"], row["rank_low"], row["rank_high"], row["tie_group"]) for row in board["rows"]] == [
        (1, 1, 2, 1),
        (2, 1, 2, 1),
    ]
    assert all(row["scores"]["accuracy"]["low"] is not None for row in board["rows"])
    found = significance_of(people.visitor, slug)
    assert found["status"] == "current"
    assert [row["team"]["name"] for row in found["rows"]] == ["A", "B"]
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [(0, 1)]
    assert found["draw_seed"] == board["draw_seed"]
    submit_for_teams(people.admin, slug, [("C", predictions_with_hits(3))])

    def consistent() -> dict[str, Any]:
        found = significance_of(people.visitor, slug)
        assert (found["conclusion"] is None) == (found["status"] != "current")
        return found

    consistent()
    settle(people.live, shown=True)
    found = consistent()
    assert (len(found["rows"]), found["status"]) == (3, "current")
    assert found["conclusion"] == "No two of the 3 ranked rows are shown to differ at 5 %."


def test_rows_come_by_rank_whatever_was_sent_first(people: People) -> None:
    slug = create_challenge(people.admin, "by-rank", recipe=make_recipe("accuracy"))
    sent = [("Low", predictions_with_hits(1)), ("High", predictions_with_hits(4)), ("Mid", predictions_with_hits(2))]
    submit_for_teams(people.admin, slug, sent)
    settled_board(people, people.visitor, slug)
    rows = significance_of(people.visitor, slug)["rows"]
    assert [(row["row"], row["team"]["name"]) for row in rows] == [(0, "High"), (1, "Mid"), (2, "Low")]
    assert all(row["better_than"] == [] for row in rows)  # four instances tell nothing apart


def test_a_metric_without_resampling_has_a_board_and_the_reason(people: People) -> None:
    slug = create_challenge(people.admin, "no-draws", recipe=make_recipe("ece", "accuracy"))
    for team, sure in (("A", 0.9), ("B", 0.6)):
        scored = [{"id": f"t{number}", "scores": {"a": sure, "b": 1 - sure}} for number in range(1, 5)]
        require_finished(people.admin.submit(slug, scored, team=team))
    board = settled_board(people, people.visitor, slug)
    assert [[row[name] for name in RANK_SET] for row in board["rows"]] == [[None] * 3] * 2
    found = significance_of(people.visitor, slug)
    assert found["conclusion"]
    assert found["pairs"] == []


def test_a_phase_that_does_not_show_it_says_so(people: People) -> None:
    phases = [{"name": "main", "reports": ["scores"]}]
    slug = create_challenge(people.admin, "unsaid", recipe=make_recipe("accuracy"), phases=phases)
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(4)), ("B", predictions_with_hits(2))])
    assert settled_board(people, people.admin, slug)["rows"][0]["rank_low"] == 1
    board = board_of(people.visitor, slug)
    assert board["significance"]["status"] == "none"
    assert [[row[name] for name in RANK_SET] for row in board["rows"]] == [[None] * 3] * 2
    assert "low" not in board["rows"][0]["scores"]["accuracy"]
    for end in ("significance", "rankings"):
        require_refused(people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/leaderboard/{end}"), 403, "forbidden")


def test_a_running_board_follows_a_withdrawal(people: People) -> None:
    slug = create_challenge(people.admin, "left", recipe=make_recipe("accuracy"))
    blue = people["Blue"].join(slug, "Blue")
    own = require_finished(blue.submit(slug, predictions_with_hits(3)))["id"]
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(4))])
    assert len(settled_board(people, people.visitor, slug)["rows"]) == 2
    assert blue.post(f"/submissions/{own}/withdraw", json={}).status_code == 200
    first = settled_board(people, people.visitor, slug)["rows"][0]
    assert [first[name] for name in RANK_SET] == [1, 1, 1]
    assert len(significance_of(people.visitor, slug)["rows"]) == 1
