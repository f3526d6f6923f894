"""Public and private splits: what everybody sees, what organizers see, and which entry counts."""

import csv
import io
import itertools
from typing import Any

import pytest

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    board_ranks,
    create_challenge,
    make_recipe,
    metric_values,
    require_finished,
    require_refused,
)

SPLITS = {"t1": "public", "t2": "public", "t3": "private", "t4": "private", "t5": "private"}
TRUTH = {"t1": "a", "t2": "b", "t3": "a", "t4": "b", "t5": "b"}
GOLD = [{"id": key, "label": TRUTH[key], "split": SPLITS[key]} for key in TRUTH]


def answers(*right: str) -> dict[str, str]:
    """Predictions that are right for these ids only."""
    return {key: label if key in right else {"a": "b", "b": "a"}[label] for key, label in TRUTH.items()}


PUBLIC_BEST = answers("t1", "t2")  # public 1, private 0, all 0.4
PRIVATE_BEST = answers("t1", "t3", "t4", "t5")  # public 0.5, private 1, all 0.8
OTHER = answers("t2", "t3")  # public 0.5, private 1/3, all 0.4


@pytest.fixture(scope="module")
def split(people: People) -> dict[str, Any]:
    """A challenge with splits: Blue sends its privately best entry first, Green one entry."""
    slug = create_challenge(people.admin, "split", GOLD, recipe=make_recipe("accuracy", "f1_macro"))
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    sent = {
        "private": require_finished(blue.submit(slug, PRIVATE_BEST)),
        "public": require_finished(blue.submit(slug, PUBLIC_BEST)),
        "green": require_finished(green.submit(slug, OTHER)),
    }
    return {"slug": slug} | sent


def test_a_team_sees_only_the_public_values_of_its_submissions(people: People, split: dict[str, Any]) -> None:
    slug, blue = split["slug"], people["Blue"]
    expected = {split["private"]["id"]: 0.5, split["public"]["id"]: 1.0}
    listed = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"]
    for seen in [
        split["private"],
        split["public"],
        *listed,
        *(blue.get(f"/submissions/{key}").json() for key in expected),
    ]:
        assert seen["split"] == "public"
        assert seen["scores"]["accuracy"]["value"] == expected[seen["id"]]
        assert seen["splits"] is None
    assert {seen["id"] for seen in listed} == set(expected)


def test_the_board_of_participants_and_visitors_is_public(people: People, split: dict[str, Any]) -> None:
    for caller in (people.visitor, people["Blue"], people["Stranger"]):
        board = caller.board(split["slug"])
        assert board.json()["split"] == "public"
        assert [(row["team"]["name"], row["scores"]["accuracy"]["value"]) for row in board.json()["rows"]] == [
            ("Blue", 1.0),
            ("Green", 0.5),
        ]
        lines = list(csv.DictReader(io.StringIO(caller.board(split["slug"], format="csv").text)))
        assert [float(line["accuracy"]) for line in lines] == [1.0, 0.5]


def test_other_splits_are_refused_to_all_but_organizers(people: People, split: dict[str, Any]) -> None:
    for asked, form in itertools.product(("private", "all"), ("json", "csv")):
        for caller in (people.visitor, people["Blue"], people["Stranger"]):
            require_refused(caller.board(split["slug"], split=asked, format=form), 403, "split_hidden")
        assert people.admin.board(split["slug"], split=asked, format=form).status_code == 200


def test_an_organizer_sees_every_split(people: People, split: dict[str, Any]) -> None:
    seen = people.admin.get(f"/submissions/{split['private']['id']}").json()
    assert {name: metric_values(part)["accuracy"] for name, part in seen["splits"].items()} == {
        "public": 0.5,
        "private": 1.0,
        "all": 0.8,
    }


def test_the_counted_entry_is_chosen_by_its_public_value_on_every_split(people: People, split: dict[str, Any]) -> None:
    for name, expected in {"public": [1.0, 0.5], "private": [1 / 3, 0.0], "all": [0.4, 0.4]}.items():
        board = people.admin.board(split["slug"], split=name)
        assert [row["scores"]["accuracy"]["value"] for row in board.json()["rows"]] == pytest.approx(expected), name
        counted = {row["team"]["name"]: row["submission"] for row in board.json()["rows"]}
        assert counted["Blue"] == split["public"]["id"], name
    assert board_ranks(people.admin.board(split["slug"], split="private")) == [(1, "Green"), (2, "Blue")]


def test_a_split_on_some_rows_only_is_refused(people: People) -> None:
    slug = create_challenge(people.admin, "half-split", GOLD)
    body = require_refused(
        people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", json=[*GOLD, {"id": "t6", "label": "a"}]),
        422,
        "invalid_gold",
    )
    assert body["total"] == {"wrong_shape": 1}
    assert body["problems"][0]["pointer"].startswith("/5")
