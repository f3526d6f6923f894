"""Recipes: what may change when, and that everything wrong with one is said at once."""

from typing import Any

from app.client import Client
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    board_values,
    create_challenge,
    make_recipe,
    new_slug,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)

AGREED = make_recipe("f1_macro", "accuracy", "error_rate", tie_breakers=["accuracy"])


def put(people: People, slug: str, body: dict[str, Any]) -> Any:
    return people.admin.put(f"/challenges/{slug}/recipe", json=body)


def test_before_the_first_submission_everything_may_change(people: People) -> None:
    slug = create_challenge(people.admin, "recipe-free", recipe=AGREED)
    changed = make_recipe("hamming_loss", "recall_macro", options={"zero_division": "1"}, selection="latest")
    answer = put(people, slug, changed)
    assert (answer.status_code, answer.json()["version"], answer.json()["primary"]) == (200, 2, "hamming_loss")
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(3))])
    board = people.visitor.board(slug).json()
    assert (board["primary"], board["recipe_version"]) == ("hamming_loss", 2)
    assert set(board["rows"][0]["scores"]) == {"hamming_loss", "recall_macro"}


OTHER_VALUES: list[dict[str, Any]] = [
    {"primary": "accuracy", "tie_breakers": []},
    {"metrics": ["f1_macro", "accuracy", "error_rate", "mcc"]},
    {"metrics": ["f1_macro", "accuracy"]},
    {"metrics": ["f1_macro:zero_division=1", "accuracy", "error_rate"]},
    {"options": {"zero_division": "1"}},
    {"tie_breakers": ["recall_macro"]},
    {"decision": "argmax"},
]
OTHER_RANKS: list[dict[str, Any]] = [
    {"selection": "latest"},
    {"tie_breakers": []},
    {"tie_breakers": ["error_rate", "accuracy"]},
    {"disclosure": {"digits": "full"}},
    {"metrics": [{"key": "f1_macro", "name": "Official F"}, "accuracy", "error_rate"]},
]


def test_with_submissions_a_recipe_that_makes_other_values_is_a_draft(people: People) -> None:
    slug = create_challenge(people.admin, "recipe-used", recipe=AGREED)
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(3))])
    before = people.visitor.get(f"/challenges/{slug}/recipe").content
    for change in OTHER_VALUES:
        answer = put(people, slug, AGREED | change)
        assert (answer.status_code, answer.json()["status"]) == (200, "draft"), (change, answer.text)
        assert people.visitor.get(f"/challenges/{slug}/recipe").content == before
        drafted = people.visitor.get(f"/challenges/{slug}/recipe/{answer.json()['version']}")
        require_refused(drafted, 401, "unauthorized")


def test_with_submissions_the_rules_of_ranking_may_still_change(people: People) -> None:
    slug = create_challenge(people.admin, "recipe-rules", recipe=AGREED)
    sent = submit_for_teams(
        people.admin, slug, [("Blue", predictions_with_hits(3)), ("Green", predictions_with_hits(2))]
    )
    for version, change in enumerate(OTHER_RANKS, 2):
        answer = put(people, slug, AGREED | change)
        assert (answer.status_code, answer.json()["version"]) == (200, version), answer.text
        board = people.visitor.board(slug).json()
        assert board["recipe_version"] == version
        assert [row["submission"] for row in board["rows"]] == sent
        assert people.admin.get(f"/submissions/{sent[0]}").json()["rerun"] is None


def test_the_same_recipe_again_makes_no_new_version(people: People) -> None:
    slug = create_challenge(people.admin, "recipe-same", recipe=AGREED)
    assert put(people, slug, AGREED).json()["version"] == 1


def test_every_fault_of_a_recipe_is_said_at_once(people: People) -> None:
    body = {
        "primary": "f1_makro",
        "metrics": ["accuracy", "accuracy", "f_beta_macro:beta=x", "f1"],
        "tie_breakers": ["nope"],
        "options": {"zero_divison": "1"},
    }
    made = {"slug": new_slug("faulty"), "title": "x", "task": "multiclass", "recipe": body}
    slug = create_challenge(people.admin, "recipe-faulty")
    for answer, root in ((people.admin.post("/challenges", json=made), "/recipe"), (put(people, slug, body), "")):
        faults = require_refused(answer, 422, "invalid_recipe")["errors"]
        details = {fault["pointer"]: fault["detail"] for fault in faults}
        expected = ("primary", "metrics/1", "metrics/2", "metrics/3", "tie_breakers/0")
        assert {f"{root}/{place}" for place in expected} <= set(details)
        assert any(pointer.startswith(f"{root}/options") for pointer in details)
        assert "did you mean f1_macro" in details[f"{root}/primary"]
    with_others = people.admin.post("/challenges", json={**made, "timezone": "Europe/Wien"})
    assert "?);" in require_refused(with_others, 422, "invalid_request")["detail"]
    require_refused(people.admin.get(f"/challenges/{made['slug']}"), 404, "not_found")


def test_misspelt_fields_are_refused_not_ignored(people: People) -> None:
    made = {"slug": new_slug("misspelt"), "title": "x", "task": "multiclass", "recipe": make_recipe("accuracy")}
    for extra, pointer in (
        ({"regstration": "open"}, "/regstration"),
        ({"recipe": make_recipe("accuracy") | {"primry": 1}}, "/recipe/primry"),
    ):
        problem = require_refused(people.admin.post("/challenges", json=made | extra), 422, "invalid_request")
        assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


def test_a_metric_may_be_an_object_and_shows_under_its_canonical_string(people: People) -> None:
    asked = {"key": "f_beta_macro", "params": {"beta": 0.50}, "options": {"zero_division": "1"}}
    slug = create_challenge(people.admin, "canonical", recipe={"primary": asked, "metrics": [asked, "accuracy"]})
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(4))])
    text = "f_beta_macro:beta=0.5,zero_division=1"
    board = people.visitor.board(slug)
    assert board.json()["primary"] == text
    assert board_values(board, text) == [1.0]
    assert board_values(people.visitor.board(slug, metric=text), text) == [1.0]


def test_a_recipe_is_kept_by_the_strings_that_key_the_scores(people: People) -> None:
    agreed = {
        "primary": "f_beta_macro:beta=0.50",
        "metrics": [
            "f_beta_macro:beta=5e-1",
            {"key": "f_beta_micro", "params": {"beta": 2.0}},
            {"key": "accuracy", "name": "Hits"},
        ],
        "tie_breakers": ["f_beta_micro:beta=2.00"],
    }
    slug = create_challenge(people.admin, "canonical", recipe=agreed)
    kept = people.visitor.get(f"/challenges/{slug}").json()["recipe"]
    assert kept["primary"] == "f_beta_macro:beta=0.5"
    assert kept["metrics"] == ["f_beta_macro:beta=0.5", "f_beta_micro:beta=2", {"key": "accuracy", "name": "Hits"}]
    assert kept["tie_breakers"] == ["f_beta_micro:beta=2"]
    sent = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    board = people.visitor.board(slug).json()
    assert board["primary"] == kept["primary"]
    assert {kept["primary"], *kept["tie_breakers"]} <= sent["scores"].keys() & board["rows"][0]["scores"].keys()


def test_a_recipe_is_checked_before_it_is_activated(people: People) -> None:
    phases = [{"name": "main", "reports": ["scores"]}]
    slug = create_challenge(people.admin, "recipe-checked", recipe=AGREED, phases=phases)
    before = people.admin.get(f"/challenges/{slug}/recipe").json()
    path = f"/challenges/{slug}/recipe/check"
    same = people.admin.post(path, json=AGREED).json()
    board = people.visitor.board(slug).json()
    assert (same["metrics"], same["primary"], same["selection"]) == (board["metrics"], "f1_macro", board["selection"])
    assert same["inference"] == before["inference"]
    other = people.admin.post(path, json=make_recipe("accuracy")).json()
    assert other["inference"][0]["bits_per_submission"] < same["inference"][0]["bits_per_submission"]
    faulty = make_recipe("f1_macro", "no_such_metric", tie_breakers=["mcc"])
    refused = require_refused(people.admin.post(path, json=faulty), 422, "invalid_recipe")
    assert refused["errors"] == require_refused(put(people, slug, faulty), 422, "invalid_recipe")["errors"]
    require_refused(people["Blue"].post(path, json=faulty), 403, "forbidden")
    assert people.admin.get(f"/challenges/{slug}/recipe").json() == before
    with Client(people.live.url, people.live.admin_token) as client:
        assert client.check_recipe(slug, AGREED, "main") == same


def test_organizers_read_how_a_challenge_stands(people: People) -> None:
    slug = create_challenge(people.admin, "facts", registration="approval")
    with Client(people.live.url, people.live.admin_token) as client:
        empty = {"teams": 0, "pending_registrations": 0, "submissions": 0, "today": 0, "waiting": 0, "failed": 0}
        assert client.challenge_facts(slug) == empty
        people["Blue"].join(slug, "Blue")
        require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Red"))
        assert client.challenge_facts(slug) == empty | {
            "teams": 2,
            "pending_registrations": 1,
            "submissions": 1,
            "today": 1,
        }
    require_refused(people["Blue"].get(f"/challenges/{slug}/facts"), 403, "forbidden")
