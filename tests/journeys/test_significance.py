"""Intervals and rank sets on the service: after the scores, pending until computed, never of something else."""

from typing import Any

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    predictions_with_hits,
    submit_for_teams,
)
from tests.live_service import Caller, eventually

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


def wait_current(who: Caller, slug: str, **query: Any) -> dict[str, Any]:
    """The board once the comparison of its rows is current."""
    eventually(lambda: board_of(who, slug, **query)["significance"]["status"] == "current", "the board is compared")
    return board_of(who, slug, **query)


def test_rank_sets_and_intervals_follow_the_scores(people: People) -> None:
    slug = create_challenge(people.admin, "sure", recipe=make_recipe("accuracy", "f1_macro"))
    submit_for_teams(people.admin, slug, [("A", predictions_with_hits(4)), ("B", predictions_with_hits(2))])
    board = wait_current(people.visitor, slug)
    assert [(row["rank"], row["rank_low"], row["rank_high"], row["tie_group"]) for row in board["rows"]] == [
        (1, 1, 2, 1),
        (2, 1, 2, 1),
    ]
    eventually(
        lambda: all(row["scores"]["accuracy"]["low"] is not None for row in board_of(people.visitor, slug)["rows"]),
        "every score has its interval",
    )
    found = significance_of(people.visitor, slug)
    assert found["status"] == "current"
    assert [row["team"]["name"] for row in found["rows"]] == ["A", "B"]
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [(0, 1)]
    assert found["draw_seed"] == board["draw_seed"]
