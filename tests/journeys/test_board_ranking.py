"""The order of a board: selection, ties, what cannot be ranked, and the direction of the metric."""

from typing import Any

import pytest

from tests.faults.inspection import frozen_scoring
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    board_ranks,
    board_values,
    create_challenge,
    make_recipe,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)
from tests.settle import settle


def put_recipe(people: People, slug: str, body: dict[str, Any]) -> None:
    answer = people.admin.put(f"/challenges/{slug}/recipe", json=body)
    assert answer.status_code == 200, answer.text


def test_the_board_follows_a_change_of_selection_at_once_and_for_all_entries(people: People) -> None:
    agreed = make_recipe("accuracy", "f1_macro")
    slug = create_challenge(people.admin, "selection", recipe=agreed)
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    sent = [require_finished(blue.submit(slug, predictions_with_hits(count)))["id"] for count in (2, 4, 1)]
    require_finished(green.submit(slug, predictions_with_hits(3)))
    assert board_values(people.visitor.board(slug), "accuracy") == [1.0, 0.75]
    put_recipe(people, slug, agreed | {"selection": "latest"})
    assert board_ranks(people.visitor.board(slug)) == [(1, "Green"), (2, "Blue")]
    assert board_values(people.visitor.board(slug), "accuracy") == [0.75, 0.25]
    put_recipe(people, slug, agreed | {"selection": "selected"})
    assert board_values(people.visitor.board(slug), "accuracy") == [1.0, 0.75]  # nothing selected: the best counts
    assert blue.post(f"/submissions/{sent[0]}/select").json()["selected"] is True
    assert board_values(people.visitor.board(slug), "accuracy") == [0.75, 0.5]
    assert blue.post(f"/submissions/{sent[0]}/unselect").json()["selected"] is False
    board = people.visitor.board(slug).json()
    assert board_values(people.visitor.board(slug), "accuracy") == [1.0, 0.75]
    assert [row["entries"] for row in board["rows"]] == [3, 1]
    assert {people.admin.get(f"/submissions/{key}").json()["rerun"] for key in sent} == {
        None
    }  # nothing was scored again


@pytest.mark.parametrize("digits", [6, "full"])
def test_of_equal_entries_of_a_team_the_tie_breakers_decide_which_counts(people: People, digits: int | str) -> None:
    low, high = {"t1": "b", "t2": "a", "t3": "b", "t4": "b"}, {"t1": "a", "t2": "a", "t3": "b", "t4": "a"}
    agreed = make_recipe("accuracy", "f1:label=a", disclosure={"digits": digits})
    slug = create_challenge(people.admin, "own-ties", recipe=agreed)
    blue = people["Blue"].join(slug, "Blue")
    first, second, third = (require_finished(blue.submit(slug, predictions))["id"] for predictions in (low, high, high))

    def counts(**params: Any) -> str:
        (row,) = people.visitor.board(slug, **params).json()["rows"]
        return str(row["submission"])

    assert counts() == first
    put_recipe(people, slug, agreed | {"tie_breakers": ["f1:label=a"]})
    assert counts() == counts(metric="f1:label=a") == second  # the earlier of those that are still equal
    assert blue.post(f"/submissions/{second}/withdraw", json={}).status_code == 200
    (own, gone) = people.visitor.board(slug).json()["rows"]
    assert ((own["submission"], own["mark"]), (gone["submission"], gone["mark"])) == (
        (third, None),
        (second, "withdrawn"),
    )
    put_recipe(people, slug, agreed | {"tie_breakers": ["f1:label=a"], "selection": "selected"})
    for each in (first, third):
        assert blue.post(f"/submissions/{each}/select").json()["selected"] is True
    assert people.visitor.board(slug).json()["rows"][0]["submission"] == third
    assert "tie-breakers" in people.visitor.board(slug).json()["selection"]["meaning"]


def test_only_a_finished_submission_can_be_selected(people: People) -> None:
    slug = create_challenge(people.admin, "select-rejected")
    blue = people["Blue"].join(slug, "Blue")
    bad = blue.submit(slug, {"nobody": "a"}).json()
    assert bad["status"] == "rejected"
    require_refused(blue.post(f"/submissions/{bad['id']}/select"), 409, "not_finished")


def test_equal_values_share_a_rank_and_tie_breakers_part_them(people: People) -> None:
    agreed = make_recipe("accuracy", "f1:label=a")
    slug = create_challenge(people.admin, "ties", recipe=agreed)
    low, high = {"t1": "b", "t2": "a", "t3": "b", "t4": "b"}, {"t1": "a", "t2": "a", "t3": "b", "t4": "a"}
    submit_for_teams(
        people.admin,
        slug,
        [("Low", low), ("High", high), ("Last", predictions_with_hits(1)), ("First", predictions_with_hits(4))],
    )
    board = people.visitor.board(slug).json()
    assert [row["rank"] for row in board["rows"]] == [1, 2, 2, 4]
    assert [row["tied"] for row in board["rows"]] == [1, 2, 2, 1]
    assert [row["team"]["name"] for row in board["rows"]] == [
        "First",
        "Low",
        "High",
        "Last",
    ]  # the earlier stands first
    put_recipe(people, slug, agreed | {"tie_breakers": ["f1:label=a"]})
    assert board_ranks(people.visitor.board(slug)) == [(1, "First"), (2, "High"), (3, "Low"), (4, "Last")]


def test_what_has_no_value_stands_last_without_a_rank(people: People) -> None:
    gold = [{"id": f"t{number}", "label": "a"} for number in range(1, 5)]
    slug = create_challenge(
        people.admin, "null", gold, classes=["a", "b"], recipe=make_recipe("cohen_kappa", "accuracy")
    )
    constant = dict.fromkeys(("t1", "t2", "t3", "t4"), "a")
    submit_for_teams(people.admin, slug, [("Constant", constant), ("Mixed", constant | {"t1": "b"})])
    board = people.visitor.board(slug)
    assert board_ranks(board) == [(1, "Mixed"), (None, "Constant")]
    assert board_values(board, "cohen_kappa") == [0.0, None]
    last = board.json()["rows"][1]
    assert (last["rank_low"], last["rank_high"], last["tie_group"]) == (None, None, None)
    assert last["scores"]["cohen_kappa"]["reason"]
    lines = people.visitor.board(slug, format="csv").text.splitlines()
    assert lines[2].startswith(",Constant,")
    assert ",,1.0," in lines[2]
    assert board_ranks(people.visitor.board(slug, metric="accuracy")) == [(1, "Constant"), (2, "Mixed")]


def test_the_least_loss_is_first(people: People) -> None:
    metric = "hamming_loss"
    slug = create_challenge(people.admin, "loss", recipe=make_recipe(metric, "accuracy"))
    submit_for_teams(
        people.admin,
        slug,
        [("Middle", predictions_with_hits(2)), ("Best", predictions_with_hits(4)), ("Worst", predictions_with_hits(0))],
    )
    board = people.visitor.board(slug)
    assert board_ranks(board) == [(1, "Best"), (2, "Middle"), (3, "Worst")]
    assert board_values(board, metric) == [0.0, 0.5, 1.0]
    assert board.json()["direction"] == "lower"
    best = submit_for_teams(
        people.admin, slug, [("Worst", predictions_with_hits(3)), ("Worst", predictions_with_hits(1))]
    )[0]
    shown = people.admin.board(slug).json()["rows"]  # organizers see new scores at once
    assert {row["team"]["name"]: row["submission"] for row in shown}["Worst"] == best


def test_baselines_stand_where_their_value_falls_without_a_rank(people: People) -> None:
    slug = create_challenge(people.admin, "baseline", recipe=make_recipe("accuracy"))
    submit_for_teams(people.admin, slug, [("Middle", predictions_with_hits(2)), ("Best", predictions_with_hits(4))])
    submit_for_teams(
        people.admin,
        slug,
        [
            ("Majority", predictions_with_hits(3)),
            ("Majority", predictions_with_hits(2)),
            ("Random", predictions_with_hits(0)),
        ],
        baseline="true",
    )
    board = people.visitor.board(slug)
    expected = [(1, "Best"), (None, "Majority"), (2, "Middle"), (None, "Majority"), (None, "Random")]
    assert board_ranks(board) == expected
    assert [row["baseline"] for row in board.json()["rows"]] == [rank is None for rank, _ in expected]


def test_the_same_rows_can_be_ranked_by_another_metric_of_the_recipe(people: People) -> None:
    slug = create_challenge(people.admin, "metric", recipe=make_recipe("accuracy", "recall:label=a", "error_rate"))
    timid, bold = {"t1": "b", "t2": "b", "t3": "b", "t4": "b"}, {"t1": "a", "t2": "a", "t3": "a", "t4": "b"}
    submit_for_teams(people.admin, slug, [("Timid", timid), ("Bold", bold)])
    board = people.visitor.board(slug, metric="recall:label=a")
    assert board.json()["primary"] == "recall:label=a"
    assert board_ranks(board) == [(1, "Bold"), (2, "Timid")]
    assert people.visitor.board(slug, metric="error_rate").json()["direction"] == "lower"
    for nonsense in ("f1_macro", "nonsense", "accuracy:beta=2", ""):
        require_refused(people.visitor.board(slug, metric=nonsense), 400, "bad_request")


def test_every_number_of_a_board_says_what_it_is(people: People) -> None:
    slug = create_challenge(
        people.admin, "said", recipe=make_recipe("f1_macro", "accuracy", options={"zero_division": "1"})
    )
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(3))])
    board = people.visitor.board(slug).json()
    assert {key: board[key] for key in ("challenge", "phase", "split", "gold_version", "recipe_version")} == {
        "challenge": slug,
        "phase": "main",
        "split": "all",
        "gold_version": 1,
        "recipe_version": 1,
    }
    assert (
        [metric["key"] for metric in board["metrics"]] == list(board["rows"][0]["scores"]) == ["f1_macro", "accuracy"]
    )
    for metric in board["metrics"]:
        assert metric["equation"]
        assert metric["direction"] == "higher"
    assert board["metrics"][0]["options"]["zero_division"] == "1"


def test_a_refused_file_has_no_row_on_the_board(people: People) -> None:
    slug = create_challenge(people.admin, "unscored", recipe=make_recipe("error_rate"))
    blue = people["Blue"].join(slug, "Blue")
    assert blue.submit(slug, {"t1": "a"}).json()["status"] == "rejected"
    assert people.visitor.board(slug).json()["rows"] == []
    require_refused(people.visitor.get(f"{MAIN_PHASE_PATH.format('never-was')}/leaderboard"), 404, "not_found")


def test_one_that_waits_for_its_scores_may_be_selected(people: People) -> None:
    """How long scoring takes must not decide what a team may choose."""
    slug = create_challenge(people.admin, "select-early", recipe=make_recipe("accuracy", selection="selected"))
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, predictions_with_hits(4)))
    with frozen_scoring(people.live):
        waiting = blue.submit(slug, predictions_with_hits(1), wait=0).json()["id"]
        answer = blue.post(f"/submissions/{waiting}/select")
        assert (answer.status_code, answer.json()["selected"]) == (200, True)
        assert answer.json()["status"] in {"queued", "running"}
        assert board_values(people.visitor.board(slug), "accuracy") == [1.0]  # it has no value yet
    settle(people.live)
    assert board_values(blue.board(slug), "accuracy") == [0.25]  # its team sees it at once
