"""Gold labels: uploaded, completed, put in force, and kept from everybody who must guess them."""

import json
import os
import signal
from typing import Any

import pytest

from app.client import Client
from tests.faults.inspection import children_of, pid_of
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    SUBMIT_MODES,
    People,
    create_challenge,
    create_without_gold,
    make_recipe,
    metric_values,
    require_finished,
    require_refused,
    submit_for_teams,
)
from tests.live_service import Live, eventually

OTHER_GOLD = [{"id": row["id"], "label": {"a": "b", "b": "a"}[row["label"]]} for row in GOLD]


def test_the_number_of_a_deleted_draft_is_not_given_again(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-numbers")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    for deleted, newest in ((None, 1), (1, 2), (2, 3), (None, 4), (3, 5), (5, 6)):
        if deleted is not None:
            assert people.admin.delete(f"{gold}/{deleted}").status_code == 204
        assert people.admin.post(gold, json=GOLD).json()["version"] == newest
    assert [row["version"] for row in people.admin.get(gold).json()["items"]] == [6, 4]


def test_a_draft_is_completed_and_put_in_force(people: People) -> None:
    agreed = make_recipe("recall_lfb_train", "accuracy", "weighted_accuracy")
    slug = create_without_gold(people.admin, "gold-draft", recipe=agreed)
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    draft = people.admin.post(gold, json=GOLD).json()
    assert (draft["version"], draft["status"], draft["instances"], draft["classes"]) == (1, "draft", 4, ["a", "b"])
    assert people.admin.put(f"{gold}/1/classes", json=["b", "a", "c"]).json()["classes"] == ["b", "a", "c"]
    frequencies, weights = {"a": 30, "b": 10}, {"a": 1.0, "b": 3.0, "c": 1.0}
    assert people.admin.put(f"{gold}/1/train-frequencies", json=frequencies).json()["train_frequencies"] == frequencies
    assert people.admin.put(f"{gold}/1/class-weights", json=weights).json()["class_weights"] == weights
    answer = people.admin.post(f"{gold}/1/activate")
    assert (answer.status_code, answer.json()["status"], answer.json()["remarks"]) == (201, "active", [])
    assert people.visitor.get(MAIN_PHASE_PATH.format(slug)).json()["classes"] == ["b", "a", "c"]
    key = submit_for_teams(people.admin, slug, [("Blue", CORRECT_PREDICTIONS | {"t4": "a"})])[0]
    scores = metric_values(people.admin.get(f"/submissions/{key}").json()["scores"])
    # recall of a 1, of b 1/2: weighted 30 : 10 by the training counts, 1 : 3 by the class weights
    assert scores == {"recall_lfb_train": 0.875, "accuracy": 0.75, "weighted_accuracy": 0.625}
    for name, body in (("classes", ["a", "b"]), ("train-frequencies", {"a": 1}), ("class-weights", {"a": 1})):
        require_refused(people.admin.put(f"{gold}/1/{name}", json=body), 409, "gold_not_draft")


PARENTS = {"parents": {"a": ["r"], "b": ["r"]}}
COSTS = {"a": {"b": 1}, "b": {"a": 5}}
FOLDS = {"t1": "1", "t2": "1", "t3": "2", "t4": 2}


def test_a_hierarchy_costs_and_folds_stand_beside_the_gold(people: People) -> None:
    agreed = make_recipe("hierarchical_f1", "expected_cost", "f1_cv_mean_macro", "accuracy")
    slug = create_without_gold(people.admin, "gold-beside", recipe=agreed)
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    remarks = people.admin.post(gold, json=GOLD).json()["remarks"]
    assert remarks == []
    for name, body in (("hierarchy", PARENTS), ("cost-matrix", COSTS), ("folds", FOLDS), ("groups", FOLDS)):
        answer = people.admin.put(f"{gold}/1/{name}", json=body)
        assert answer.status_code == 200, answer.text
    assert answer.json()["accessories"] == ["cost_matrix", "folds", "groups", "hierarchy"]
    assert people.admin.post(f"{gold}/1/activate").json()["remarks"][1:] == []
    key = submit_for_teams(people.admin, slug, [("Blue", CORRECT_PREDICTIONS | {"t4": "a"})])[0]
    scores = metric_values(people.admin.get(f"/submissions/{key}").json()["scores"])
    # of the four instances the last has the wrong label: half of its two nodes are shared, and it costs 5
    assert scores["hierarchical_f1"] == 0.875
    assert scores["expected_cost"] == 1.25
    assert scores["accuracy"] == 0.75
    assert scores["f1_cv_mean_macro"] is not None


def test_what_is_wrong_beside_the_gold_is_said_with_its_place(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-beside-faults", recipe=make_recipe("hierarchical_f1", "accuracy"))
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    people.admin.post(gold, json=GOLD)
    cycle = require_refused(
        people.admin.put(f"{gold}/1/hierarchy", json={"parents": {"a": ["b"], "b": ["a"]}}), 422, "invalid_content"
    )
    assert "a -> b -> a" in cycle["detail"]
    lost = require_refused(people.admin.put(f"{gold}/1/hierarchy", json={"parent": {"a": "r"}}), 422, "invalid_request")
    assert [fault["pointer"] for fault in lost["errors"]] == ["/parents/b"]
    require_refused(people.admin.put(f"{gold}/1/hierarchy", json={"tree": {}}), 422, "invalid_request")
    require_refused(people.admin.put(f"{gold}/1/cost-matrix", json={"a": {"z": 1}}), 422, "invalid_request")
    short = require_refused(people.admin.put(f"{gold}/1/folds", json={"t1": "1"}), 422, "invalid_gold")
    assert "lack 3 ids" in short["detail"]
    assert people.admin.get(f"{gold}/1").json()["accessories"] == []
    said = people.admin.post(f"{gold}/1/activate").json()["remarks"]
    assert any("hierarchical_f1 will be null: this gold has no hierarchy" in remark for remark in said)


def test_accessories_that_do_not_fit_are_refused(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-accessories")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    people.admin.post(gold, json=GOLD)
    strange = require_refused(
        people.admin.put(f"{gold}/1/train-frequencies", json={"a": 1, "z": 2}), 422, "invalid_request"
    )
    assert [fault["pointer"] for fault in strange["errors"]] == ["/z"]
    require_refused(people.admin.put(f"{gold}/1/classes", json=["a", "a"]), 422, "invalid_request")
    require_refused(people.admin.put(f"{gold}/1/classes", json=[]), 422, "invalid_request")
    lacking = require_refused(people.admin.put(f"{gold}/1/classes", json=["a", "c"]), 422, "invalid_gold")
    assert lacking["total"] == {"unknown_label": 2}
    for counts in ({"a": -1}, {"a": 1.5}, {"a": "many"}):
        require_refused(people.admin.put(f"{gold}/1/train-frequencies", json=counts), 422, "invalid_request")
    for weights in ({"a": 1e300, "b": 1e-300}, {"b": 1e-300}, {"b": -1}):
        wrong = require_refused(people.admin.put(f"{gold}/1/class-weights", json=weights), 422, "invalid_request")
        assert [fault["pointer"] for fault in wrong["errors"]] == [f"/{label}" for label in weights]
    kept = people.admin.get(f"{gold}/1").json()
    assert (kept["train_frequencies"], kept["class_weights"]) == (None, None)


def test_classes_keep_the_labels_that_other_metadata_names(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-classes")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    people.admin.post(gold, json=GOLD)
    people.admin.put(f"{gold}/1/classes", json=["a", "b", "c"]).raise_for_status()
    people.admin.put(f"{gold}/1/class-weights", json={"c": 1}).raise_for_status()
    require_refused(people.admin.put(f"{gold}/1/classes", json=["a", "b"]), 422, "invalid_request")
    assert people.admin.get(f"{gold}/1").json()["classes"] == ["a", "b", "c"]


def test_activation_says_what_follows_from_it(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-remarks", recipe=make_recipe("accuracy", "f1_lfb_train"))
    answer = people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", params={"activate": "true"}, json=GOLD)
    vocabulary, frequencies = answer.json()["remarks"]
    assert "2 labels" in vocabulary
    assert "f1_lfb_train" in frequencies
    key = submit_for_teams(people.admin, slug, [("Blue", CORRECT_PREDICTIONS)])[0]
    score = people.admin.get(f"/submissions/{key}").json()["scores"]["f1_lfb_train"]
    assert score["value"] is None
    assert "training frequencies" in score["reason"]


def test_a_phase_has_one_active_gold(people: People) -> None:
    slug = create_challenge(people.admin, "gold-second")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    require_refused(people.admin.post(gold, params={"activate": "true"}, json=OTHER_GOLD), 422, "reason_required")
    assert [row["version"] for row in people.admin.get(gold).json()["items"]] == [1]
    assert people.admin.post(gold, json=OTHER_GOLD).json()["status"] == "draft"
    require_refused(people.admin.post(f"{gold}/2/activate"), 422, "reason_required")
    assert [(row["version"], row["status"]) for row in people.admin.get(gold).json()["items"]] == [
        (2, "draft"),
        (1, "active"),
    ]
    require_refused(people.admin.post(f"{gold}/3/activate"), 404, "not_found")
    require_refused(people.admin.get(f"{gold}/one"), 400, "bad_request")
    assert (
        require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))["scores"]["accuracy"][
            "value"
        ]
        == 1.0
    )


def test_the_file_comes_back_to_organizers_as_it_was_sent(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-file")
    body = b'\n[{"id":"t1" ,"label": "a"}]\n'
    people.admin.post(
        f"{MAIN_PHASE_PATH.format(slug)}/gold", content=body, headers={"Content-Type": "application/json"}
    )
    assert people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/gold/1/data").content == body


def test_everything_wrong_with_gold_is_said_at_once_and_nothing_is_kept(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-faulty", classes=["a", "b"])
    files = set((people.live.data_dir / "files" / "uploads").iterdir())
    faulty = [{"id": "t1", "label": "a"}, {"id": "t1", "label": "b"}, {"id": "t2", "label": "z"}, {"id": "t3"}]
    problem = require_refused(
        people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", json=faulty), 422, "invalid_gold"
    )
    assert set(problem["total"]) == {"duplicate_id", "unknown_label", "wrong_shape"}
    assert {fault["pointer"] for fault in problem["problems"]} >= {"/1/id", "/2/label"}
    assert people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/gold").json()["items"] == []
    assert set((people.live.data_dir / "files" / "uploads").iterdir()) == files


def test_the_positive_label_must_be_in_the_gold(people: People) -> None:
    fields = {"task": "binary", "positive_label": "yes", "recipe": make_recipe("f1")}
    slug = create_without_gold(people.admin, "gold-positive", **fields)
    for gold in (GOLD, [{"id": "t1", "label": "yes"}], [*GOLD, {"id": "t5", "label": "yes"}]):
        require_refused(people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", json=gold), 422, "invalid_gold")


def test_labels_are_compared_in_one_normal_form(people: People) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    slug = create_without_gold(
        people.admin,
        "gold-unicode",
        task="binary",
        positive_label=apart,
        classes=[apart, "tea"],
        recipe=make_recipe("f1"),
    )
    gold = {"1": composed, "2": "tea"}
    answer = people.admin.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", params={"activate": "true"}, json=gold)
    assert answer.status_code == 201, answer.text
    key = submit_for_teams(people.admin, slug, [("Blue", {"1": apart, "2": "tea"})])[0]
    assert metric_values(people.admin.get(f"/submissions/{key}").json()["scores"]) == {"f1": 1.0}


@pytest.mark.parametrize("query", SUBMIT_MODES)
def test_a_rejection_is_the_same_whatever_the_gold_labels_are(people: People, query: dict[str, Any]) -> None:
    said = []
    for gold in (GOLD, OTHER_GOLD, [{"id": row["id"], "label": "a"} for row in GOLD]):
        slug = create_challenge(people.admin, "gold-secret", gold, classes=["a", "b"])
        blue = people["Blue"].join(slug, "Blue")
        answer = blue.submit(
            slug, [{"id": "t1", "label": "c"}, {"id": "t9", "label": "a"}, {"id": "t2"}], **query
        ).json()
        said.append(json.dumps({name: answer[name] for name in ("total", "problems", "notes")}))
    assert said[0] == said[1] == said[2]
    assert '"unknown_label": 1' in said[0]


def test_a_null_score_does_not_tell_which_classes_the_gold_lacks(people: People) -> None:
    gold = [{"id": row["id"], "label": "a"} for row in GOLD]
    strict = make_recipe("accuracy", "recall_macro", options={"zero_division": "error"})
    slug = create_challenge(people.admin, "gold-reason", gold, classes=["a", "wasp"], recipe=strict)
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS | {"t3": "wasp", "t4": "wasp"}))
    assert sent["scores"]["recall_macro"]["value"] is None
    assert "wasp" not in json.dumps(sent["scores"])
    for caller in (people.visitor, blue):
        assert "wasp" not in json.dumps(caller.board(slug).json()["rows"])
    assert "wasp" in json.dumps(people.admin.get(f"/submissions/{sent['id']}").json()["scores"])


def test_participants_read_nothing_of_the_gold(people: People) -> None:
    slug = create_challenge(people.admin, "gold-hidden")
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    for path in ("", "/1", "/1/data"):
        require_refused(blue.get(f"{MAIN_PHASE_PATH.format(slug)}/gold{path}"), 403, "forbidden")
        require_refused(people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/gold{path}"), 401, "unauthorized")


def test_the_labels_of_a_recipe_are_checked_with_the_gold_of_each_phase(people: People) -> None:
    slug = create_without_gold(
        people.admin, "gold-crossing", phases=[{"name": "one"}, {"name": "two"}], recipe=make_recipe("f1_macro")
    )
    one, two = (f"/challenges/{slug}/phases/{name}/gold" for name in ("one", "two"))
    assert people.admin.post(two, json=GOLD).json()["classes"] == ["a", "b"]
    wider = [*GOLD, {"id": "t5", "label": "c"}]
    assert people.admin.post(one, json=wider, params={"activate": "true"}).status_code == 201
    changed = people.admin.put(f"/challenges/{slug}/recipe", json=make_recipe("f1_macro", "f1:label=c"))
    assert changed.status_code == 200, changed.text
    refused = require_refused(people.admin.post(f"{two}/1/activate"), 422, "invalid_recipe")
    assert "'c'" in refused["errors"][0]["detail"]
    changed = people.admin.put(f"/challenges/{slug}/recipe", json=make_recipe("f1_macro"))
    active = people.admin.post(f"{two}/1/activate").json()
    assert active["classes"] == ["a", "b"]
    assert "The classes differ from those of the phase 'one': 'c' only there." in active["remarks"]


def test_rights_come_before_what_is_wrong_with_the_body(people: People) -> None:
    slug = create_challenge(people.admin, "gold-rights")
    blue = people["Blue"].join(slug, "Blue")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold/1"
    for method, path in (
        ("PUT", f"{gold}/classes"),
        ("PUT", f"{gold}/train-frequencies"),
        ("PUT", f"{gold}/class-weights"),
        ("PATCH", MAIN_PHASE_PATH.format(slug)),
        ("POST", f"/challenges/{slug}/phases"),
        ("PUT", f"/challenges/{slug}/recipe"),
        ("POST", f"/challenges/{slug}/organizers"),
        ("PATCH", f"/challenges/{slug}"),
        ("PATCH", f"/challenges/{slug}/registrations/x"),
        ("POST", "/challenges"),
    ):
        answer = blue.request(method, path, json={"no such": [{}]})
        assert answer.status_code == 403, (method, path, answer.text)
        if path != "/challenges":
            hidden = blue.request(method, path.replace(slug, "no-such-challenge"), json={"no such": [{}]})
            require_refused(hidden, 404, "not_found")


def test_a_flood_of_invalid_labels_is_one_fault(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-flood")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    people.admin.post(gold, json=GOLD)
    floods: tuple[tuple[str, Any], ...] = (
        ("classes", [""] * 300_000),
        ("classes", ["\u0001"] * 100_000),
        ("classes", [False] * 100_000),
        ("train-frequencies", {f"k{n}": -1 for n in range(50_000)}),
        ("class-weights", {f"k\u0000{n}": 1 for n in range(50_000)}),
    )
    for name, body in floods:
        answer = require_refused(people.admin.put(f"{gold}/1/{name}", json=body), 422, "invalid_request")
        assert len(answer["errors"]) == 1, name


def forget_prepared(live: Live) -> None:
    """Leave the service no gold but the files that were uploaded; its scoring programs start again when they are asked."""
    for path in (live.data_dir / "files" / "prepared").iterdir():
        path.unlink()
    for child in children_of(pid_of(live)):
        os.kill(child, signal.SIGKILL)
    eventually(lambda: not children_of(pid_of(live)), "they have ended")


def test_a_file_of_ours_that_cannot_be_read_is_not_the_callers_fault(people: People) -> None:
    uploads = people.live.data_dir / "files" / "uploads"
    before = set(uploads.iterdir())
    slug = create_challenge(people.admin, "gold-away")
    (file,) = set(uploads.iterdir()) - before
    away = file.rename(uploads.parent / "away")
    assert (
        people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench", dry_run="true").json()["valid"] is True
    )  # gold is prepared
    forget_prepared(people.live)
    answer = people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench", dry_run="true")
    away.rename(file)
    require_refused(answer, 503, "file_away")
    assert answer.headers["Retry-After"]
    assert people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench", dry_run="true").json()["valid"] is True


def test_organizers_count_the_instances_of_each_class(people: People) -> None:
    slug = create_without_gold(people.admin, "gold-counts")
    rows = [{"id": f"t{at}", "label": "ab"[at % 2], "split": "public" if at < 3 else "private"} for at in range(7)]
    people.admin.post(f"/challenges/{slug}/phases/main/gold", json=rows).raise_for_status()
    with Client(people.live.url, people.live.admin_token) as client:
        counted = client.class_counts(slug, "main", 1)
    assert (counted["classes"], counted["counts"]["public"], counted["counts"]["private"]) == (
        ["a", "b"],
        [2, 1],
        [2, 2],
    )
    require_refused(people["Blue"].get(f"/challenges/{slug}/phases/main/gold/1/counts"), 403, "forbidden")
