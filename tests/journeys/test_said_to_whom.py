"""What activation remarks on costs, which reasons participants read, and how a refused hierarchy is mended."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from app.actions.challenges.activate_gold import _missing_cost_remarks
from app.actions.submissions.score_visibility import HIDDEN_REASON
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
)


def draft(people: People, stem: str, *metrics: str) -> str:
    """The address of a version of gold that is not in force yet."""
    slug = new_slug(stem)
    body = {"slug": slug, "title": slug, "task": "multiclass", "recipe": make_recipe(*metrics)}
    assert people.admin.post("/challenges", json=body).status_code == 201
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    assert people.admin.post(gold, json=GOLD).status_code == 201
    return f"{gold}/1"


# ---- costs


@pytest.mark.parametrize(
    ("costs", "lacking"),
    [
        ({"a": {"b": 1}}, "b predicted as a"),
        ({"b": {"a": 5}}, "a predicted as b"),
        ({"a": {"a": 0}, "b": {"a": 5}}, "a predicted as b"),
        ({"a": {"b": 1}, "b": {"a": 5}}, None),
    ],
)
def test_activation_says_which_errors_cost_nothing_yet(people: People, costs: Any, lacking: str | None) -> None:
    gold = draft(people, "costs-remark", "accuracy", "expected_cost")
    assert people.admin.put(f"{gold}/cost-matrix", json=costs).status_code == 200
    said = [remark for remark in people.admin.post(f"{gold}/activate").json()["remarks"] if "expected_cost" in remark]
    assert len(said) == (lacking is not None)
    assert lacking is None or f"will be null: the cost matrix has no cost for some errors, such as {lacking}" in said[0]


def test_a_complete_matrix_of_very_many_classes_is_seen_to_be_at_once() -> None:
    classes = [f"c{at}" for at in range(34_000)]
    row = dict.fromkeys(classes, 1.0)
    costs = dict.fromkeys(classes, row)  # all 1.2 thousand million cells; looking at each would take minutes
    version: Any = SimpleNamespace(classes=classes, accessories={"cost_matrix": costs})
    assert _missing_cost_remarks(version, ["expected_cost"]) == []
    last = {label: cost for label, cost in row.items() if label not in {"c7", "c33999"}}
    version = SimpleNamespace(classes=classes, accessories={"cost_matrix": costs | {"c33999": last}})
    (said,) = _missing_cost_remarks(version, ["expected_cost"])
    assert "such as c33999 predicted as c7" in said


# ---- reasons


def test_participants_read_that_they_sent_no_scores_but_nothing_of_the_gold(people: People) -> None:
    slug = create_challenge(
        people.admin,
        "reason-open",
        [{"id": row["id"], "label": "a"} for row in GOLD],
        classes=["a", "bee"],
        recipe=make_recipe("accuracy", "auc_ovr_macro", "recall_macro", options={"zero_division": "error"}),
    )
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS | {"t3": "bee", "t4": "bee"}))
    reasons = {key: score.get("reason") for key, score in sent["scores"].items()}
    assert reasons["auc_ovr_macro"] == "the predictions have no scores"
    assert reasons["recall_macro"] == HIDDEN_REASON
    mine = [
        {"id": key, "label": label, "scores": {"a": 0.75, "bee": 0.25}}
        for key, label in dict.fromkeys(CORRECT_PREDICTIONS, "a").items()
    ]
    scored = require_finished(blue.submit(slug, mine))["scores"]
    assert scored["auc_ovr_macro"]["reason"] == HIDDEN_REASON  # that gold has one class only is not told
    assert "bee" not in json.dumps(scored)


# ---- a hierarchy


@pytest.mark.parametrize(
    ("form", "given", "root"), [("parents", {"a": ["r"]}, []), ("parent", {"a": "r"}, None)], ids=["parents", "parent"]
)
def test_the_remedy_for_a_missing_node_is_taken_when_followed(people: People, form: str, given: Any, root: Any) -> None:
    gold = draft(people, "tree-mended", "accuracy", "hierarchical_f1")
    lost = require_refused(people.admin.put(f"{gold}/hierarchy", json={form: given}), 422, "invalid_request")
    assert '"b": [], "r": []' in lost["remedy"]
    mended = {form: given | {"b": root, "r": root}}
    assert people.admin.put(f"{gold}/hierarchy", json=mended).status_code == 200
    both = {"parents": {"a": ["r"], "b": ["r"]}, "parent": {"a": "r", "b": "r"}}
    assert "both" in require_refused(people.admin.put(f"{gold}/hierarchy", json=both), 422, "invalid_request")["detail"]
