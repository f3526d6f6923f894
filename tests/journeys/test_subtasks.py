"""Phases as subtasks: their own task, labels and recipe; gold and rules that are free until something is submitted."""

from typing import Any

import pytest

from app.store.tables import Submission
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    new_slug,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.settle import settle

IRONY = [{"id": "s1", "label": "irony"}, {"id": "s2", "label": "none"}]
SWAPPED = [{**row, "label": {"a": "b", "b": "a"}[row["label"]]} for row in GOLD]
BINARY = {"name": "binary", "task": "binary", "positive_label": "irony", "recipe": make_recipe("f1", "accuracy")}


def subtasks(people: People, **fields: Any) -> str:
    """A challenge of two subtasks with gold: `binary` with a recipe of its own, and `kinds`."""
    body = {
        "title": "x",
        "task": "multiclass",
        "recipe": make_recipe("f1_macro"),
        "phases": [BINARY, {"name": "kinds"}],
    }
    slug = new_slug("subtasks")
    created = people.admin.post("/challenges", json=body | {"slug": slug} | fields)
    assert created.status_code == 201, created.text
    for phase, gold in (("binary", IRONY), ("kinds", GOLD)):
        answer = people.admin.post(f"/challenges/{slug}/phases/{phase}/gold", params={"activate": "true"}, json=gold)
        assert answer.status_code == 201, answer.text
    return slug


def test_subtasks_are_read_scored_and_ranked_by_rules_of_their_own(people: People) -> None:
    slug = subtasks(people)
    phases = {row["slug"]: row for row in people.visitor.get(f"/challenges/{slug}").json()["phases"]}
    shown = {
        name: [row[key] for key in ("task", "positive_label", "classes", "own_recipe")] for name, row in phases.items()
    }
    assert shown == {
        "binary": ["binary", "irony", ["irony", "none"], True],
        "kinds": ["multiclass", None, ["a", "b"], False],
    }
    blue = people["Blue"].join(slug, "Blue")
    first = require_finished(blue.submit(slug, {"s1": "irony", "s2": "irony"}, phase="binary"))
    second = require_finished(blue.submit(slug, CORRECT_PREDICTIONS, phase="kinds"))
    assert (set(first["scores"]), set(second["scores"])) == ({"f1", "accuracy"}, {"f1_macro"})
    assert first["scores"]["f1"]["value"] == pytest.approx(2 / 3, abs=1e-6)
    boards = [people.visitor.board(slug, phase=name).json() for name in ("binary", "kinds")]
    assert [(board["primary"], len(board["rows"])) for board in boards] == [("f1", 1), ("f1_macro", 1)]
    assert blue.submit(slug, CORRECT_PREDICTIONS, phase="binary", dry_run="true").json()["valid"] is False
    assert people.admin.get(f"/submissions/{first['id']}/report").json()["task"] == "binary"
    recipes = [people.visitor.get(f"/challenges/{slug}/recipe", params={"phase": name}).json() for name in phases]
    assert [(row["phase"], row["primary"]) for row in recipes] == [("binary", "f1"), (None, "f1_macro")]
    assert [[bound["phase"] for bound in row["inference"]] for row in recipes] == [["binary"], ["kinds"]]
    path = f"/challenges/{slug}/phases/binary"
    for change in ({"task": None, "recipe": None}, {"positive_label": "none"}, {"classes": ["irony", "none"]}):
        require_refused(people.admin.patch(path, json=change), 409, "label_rules_in_use")
    require_refused(people.admin.patch(f"/challenges/{slug}", json={"task": "multilabel"}), 409, "label_rules_in_use")
    for method, query in (("PUT", {"phase": "binary"}), ("PUT", {})):
        answer = people.admin.request(method, f"/challenges/{slug}/recipe", params=query, json=make_recipe("accuracy"))
        assert (answer.status_code, answer.json()["status"]) == (200, "draft"), answer.text
    require_refused(people.admin.delete(f"/challenges/{slug}/recipe", params={"phase": "kinds"}), 404, "not_found")


def test_faults_of_the_rules_of_phases_are_named_together(people: People) -> None:
    body = {"slug": new_slug("subtasks-bad"), "title": "x", "task": "multiclass", "classes": ["a", "b"]}
    phases = [
        {"name": "one", "classes": ["x", "y"]},
        {"name": "two", "task": "binary"},
        {"name": "three", "recipe": make_recipe("f1:label=zebra")},
    ]
    answer = people.admin.post("/challenges", json=body | {"recipe": make_recipe("f1_macro"), "phases": phases})
    found = {fault["pointer"] for fault in require_refused(answer, 422, "invalid_request")["errors"]}
    assert {"/phases/0/classes", "/phases/1/positive_label", "/phases/2/recipe/primary"} <= found
    unfit = {
        "recipe": make_recipe("average_precision_samples"),
        "task": "multilabel",
        "classes": None,
        "phases": [{"name": "m", "task": "multiclass"}],
    }
    answer = people.admin.post("/challenges", json=body | unfit)
    fault = require_refused(answer, 422, "invalid_request")["errors"][0]
    assert fault["pointer"] == "/phases/0/recipe"
    assert "needs one of its own" in fault["detail"]


def test_another_gold_replaces_the_first_one_until_something_is_submitted(people: People) -> None:
    slug = create_challenge(people.admin, "gold-replaced", gold=SWAPPED)
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    trial = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="trial"))["id"]
    require_refused(people.admin.post(gold, params={"activate": "true"}, json=GOLD), 422, "reason_required")
    with write_session_of(people.live) as session:
        session.get_one(Submission, trial).test = True
    assert people.admin.get(f"/submissions/{trial}").json()["scores"]["accuracy"]["value"] == 0
    wider = [*GOLD, {"id": "t5", "label": "c"}]
    assert people.admin.post(gold, json=wider).json()["version"] == 2
    assert people.admin.delete(f"{gold}/2").status_code == 204
    require_refused(people.admin.get(f"{gold}/2"), 404, "not_found")
    require_refused(people.admin.delete(f"{gold}/1"), 409, "gold_not_draft")
    replaced = people.admin.post(gold, params={"activate": "true"}, json=GOLD)
    assert (replaced.status_code, replaced.json()["status"]) == (201, "active")
    assert [row["status"] for row in people.admin.get(gold).json()["items"]] == ["active", "retired"]
    settle(people.live)
    assert _accuracy(people, trial) == 1
    changed = people.admin.put(f"/challenges/{slug}/recipe", json=make_recipe("accuracy", "mcc"))
    assert changed.status_code == 200, changed.text
    settle(people.live)
    assert "mcc" in people.admin.get(f"/submissions/{trial}").json()["scores"]
    assert people.admin.post(f"{gold}/1/activate").status_code == 201  # back to the first one
    assert people.admin.post(f"{gold}/{replaced.json()['version']}/activate").status_code == 201
    score = require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))["scores"]["accuracy"]
    assert score["value"] == 1
    refused = require_refused(people.admin.post(f"{gold}/1/activate"), 422, "reason_required")
    assert "submitted" in refused["detail"]


def _accuracy(people: People, submission: str) -> float | None:
    scores = people.admin.get(f"/submissions/{submission}").json()["scores"]
    value: float | None = scores["accuracy"]["value"] if scores else None
    return value


def test_labels_change_before_the_first_submission_and_gold_read_with_others_retires(people: People) -> None:
    slug = create_challenge(people.admin, "labels-changed", recipe=make_recipe("accuracy"))
    phase, gold = MAIN_PHASE_PATH.format(slug), f"{MAIN_PHASE_PATH.format(slug)}/gold"
    assert people.admin.patch(phase, json={"classes": ["c", "b", "a"]}).json()["classes"] == ["c", "b", "a"]
    assert [row["status"] for row in people.admin.get(gold).json()["items"]] == ["retired"]
    require_refused(people.admin.post(f"{gold}/1/activate"), 422, "invalid_gold")
    assert people.admin.post(gold, params={"activate": "true"}, json=GOLD).json()["classes"] == ["c", "b", "a"]
    bound = require_refused(
        people.admin.patch(f"/challenges/{slug}", json={"classes": ["a", "b"]}), 422, "invalid_request"
    )
    assert "main" in bound["errors"][0]["detail"]
    assert people.admin.patch(phase, json={"classes": None}).json()["classes"] is None
    assert people.admin.patch(f"/challenges/{slug}", json={"classes": ["a", "b"]}).json()["phases"][0]["classes"] == [
        "a",
        "b",
    ]
    assert people.admin.patch(phase, json={"classes": None}).status_code == 200
    binary = people.admin.patch(
        phase, json={"task": "binary", "positive_label": "b", "recipe": make_recipe("f1")}
    ).json()
    assert (binary["task"], binary["positive_label"], binary["own_recipe"]) == ("binary", "b", True)
    require_refused(people.admin.patch(phase, json={"task": None, "positive_label": None}), 422, "invalid_request")
    back = people.admin.patch(phase, json={"task": None, "positive_label": None, "recipe": None})
    assert back.status_code == 200, back.text
    shared = back.json()
    assert (shared["task"], shared["own_recipe"]) == ("multiclass", False)
