"""Item analysis by organizers: suspects, agreement, near-duplicates, and a relabelling from the suspects to a draft."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    require_refused,
    submit_for_teams,
)

CLASSES = ("a", "b", "c")
GOLD = [{"id": f"i{n:02}", "label": CLASSES[n % 3]} for n in range(100)]
TRUTH = {row["id"]: row["label"] for row in GOLD}
SUSPECTS = {"i03": "c", "i06": "b"}
"""Instances on which all systems but the copycats' last differ from the gold in the same way."""


def system(*errors: tuple[int, str]) -> dict[str, str]:
    """Predictions that contradict the suspects, with these errors besides."""
    return TRUTH | SUSPECTS | {f"i{n:02}": label for n, label in errors}


BLUE = system((10, "a"), (9, "b"), (30, "b"))
GREEN = system((11, "b"), (8, "b"))
OWN_ERRORS = tuple((n, CLASSES[(n + 1) % 3]) for n in range(12, 29))
COPIED, COPY = system(*OWN_ERRORS), system(*OWN_ERRORS[:-1])


@pytest.fixture(scope="module")
def analysed(people: People) -> str:
    """The path of the items of a phase with four teams."""
    slug = create_challenge(people.admin, "items", GOLD, recipe=make_recipe("accuracy", "f1_macro"))
    submit_for_teams(people.admin, slug, [("Blue", BLUE), ("Green", GREEN), ("Copied", COPIED), ("Copy", COPY)])
    return MAIN_PHASE_PATH.format(slug) + "/items"


def read(people: People, path: str, **params: Any) -> Any:
    answer = people.admin.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_instances_that_all_systems_contradict_come_first(people: People, analysed: str) -> None:
    found = read(people, analysed, limit=3)
    first, second, third = found["items"]
    assert [first["id"], second["id"]] == sorted(SUSPECTS)
    assert (first["gold"], first["right"], first["suspicion"], first["error_agreement"]) == (["a"], 0, 1.0, 1.0)
    assert first["answers"] == [{"labels": ["c"], "votes": 4, "right": False}]
    assert first["discrimination"] is None
    assert (third["right"], third["suspicion"]) == (2, 0.0)
    assert found["counts"] == {"all": 100, "suspect": 2, "none_right": 2, "all_right": 76, "negative": 5}
    assert [each["team"]["name"] for each in found["systems"]] == ["Green", "Blue", "Copy", "Copied"]


def test_pages_follow_each_other_and_a_table_has_all(people: People, analysed: str) -> None:
    names, cursor = [], None
    while True:
        page = read(people, analysed, sort="id", select="all_right", limit=30, **({"cursor": cursor} if cursor else {}))
        names += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert (len(names), names) == (76, sorted(names))
    table = people.admin.get(analysed, params={"format": "csv", "sort": "id", "select": "all_right"})
    assert [row["id"] for row in csv.DictReader(io.StringIO(table.text))] == names
    require_refused(people.admin.get(analysed, params={"cursor": "101"}), 400, "bad_cursor")
    require_refused(people.admin.get(analysed, params={"cursor": "x"}), 400, "bad_cursor")


def test_agreement_is_that_of_the_pairs(people: People, analysed: str) -> None:
    found = read(people, analysed + "/agreement")
    pair = next(each for each in found["pairs"] if (each["a"], each["b"]) == (0, 1))
    assert pair["agreement"] == 95 / 100
    assert (pair["both_wrong"], pair["same_wrong"], pair["error_overlap"]) == (2, 2, 2 / 7)
    assert found["wrong"] == [4, 5, 18, 19]


def test_a_copy_is_reported_and_accurate_systems_are_not(people: People, analysed: str) -> None:
    found = read(people, analysed + "/near-duplicates")
    assert (found["compared"], found["reported"]) == (6, 1)
    pair = found["pairs"][0]
    assert [found["systems"][pair[side]]["team"]["name"] for side in ("a", "b")] == ["Copy", "Copied"]
    assert (pair["same_wrong"], pair["either_wrong"], pair["identical"]) == (18, 19, False)
    assert pair["deviations"] > 5


def changes_of(labels: Mapping[str, str | None]) -> dict[str, Any]:
    return {"changes": [{"id": name, "label": label} for name, label in labels.items()]}


def test_a_relabelling_shows_what_it_would_move(people: People, analysed: str) -> None:
    body = changes_of({"i11": "b", "i08": "b", "i10": None, "i00": "a"})
    answer = people.admin.post(analysed + "/relabelling", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["changes"] == {"relabelled": 2, "voided": 1, "unchanged": 1}
    assert found["instances"] == {"before": 100, "after": 99}
    names = [found["systems"][row["system"]]["team"]["name"] for row in found["rows"]]
    assert names[0] == "Green"
    row = found["rows"][0]
    assert row["rank"] == {"before": 1, "after": 1}
    assert row["values"]["accuracy"] == {"before": 96 / 100, "after": 97 / 99}
    assert people.admin.get(analysed.removesuffix("/items") + "/gold").json()["items"][0]["version"] == 1


def test_corrected_gold_gives_the_scores_that_were_announced(people: People, analysed: str) -> None:
    body = changes_of({**SUSPECTS, "i10": None})
    announced = people.admin.post(analysed + "/relabelling", json=body).json()
    file = people.admin.post(analysed + "/corrected-gold", json=body)
    assert file.status_code == 200, file.text
    rows = [json.loads(line) for line in file.text.splitlines()]
    assert len(rows) == 99
    slug = create_challenge(people.admin, "items-next", rows, recipe=make_recipe("accuracy", "f1_macro"))
    sent = {"Blue": BLUE, "Green": GREEN}
    accepted = [{key: label for key, label in each.items() if key != "i10"} for each in sent.values()]
    submit_for_teams(people.admin, slug, list(zip(sent, accepted, strict=True)))
    board = people.admin.get(MAIN_PHASE_PATH.format(slug) + "/leaderboard").json()
    scored = {row["team"]["name"]: row["scores"] for row in board["rows"]}
    for row in announced["rows"]:
        name = announced["systems"][row["system"]]["team"]["name"]
        for metric, value in row["values"].items() if name in scored else ():
            assert value["after"] == scored[name][metric]["value"], (name, metric)
    changes = people.admin.post(analysed + "/corrected-gold", json=body, params={"format": "csv"}).text
    assert changes.splitlines() == ["id,old,new,void", "i03,a,c,false", "i06,a,b,false", "i10,b,,true"]


def test_faulty_changes_are_all_named(people: People, analysed: str) -> None:
    body = {"changes": [{"id": "i01", "label": "x"}, {"id": "no", "label": "a"}, {"id": "i02", "labels": []}]}
    refused = people.admin.post(analysed + "/relabelling", json=body)
    problem = require_refused(refused, 422, "invalid_content")
    assert [fault["pointer"] for fault in problem["errors"]] == ["/changes/0", "/changes/1", "/changes/2"]
    everything = changes_of(dict.fromkeys(TRUTH))
    require_refused(people.admin.post(analysed + "/relabelling", json=everything), 422, "invalid_content")
    both = {"changes": [{"id": "i01", "label": "a", "labels": ["a"]}]}
    require_refused(people.admin.post(analysed + "/relabelling", json=both), 422, "invalid_request")


def test_who_read_the_labels_is_in_the_trail(people: People, analysed: str) -> None:
    read(people, analysed)
    slug = analysed.split("/")[2]
    trail = people.admin.get(f"/challenges/{slug}/audit", params={"action": "gold"}).json()["items"]
    assert trail[0]["action"] == "gold.read_items"
    assert trail[0]["changes"]["gold"] == {"from": None, "to": 1}
    people["Blue"].join(slug, "Curious")
    require_refused(people["Blue"].get(analysed), 403, "forbidden")


def test_without_scores_there_is_nothing_to_analyse(people: People) -> None:
    slug = create_challenge(people.admin, "items-none")
    require_refused(people.admin.get(MAIN_PHASE_PATH.format(slug) + "/items"), 409, "nothing_to_analyze")
