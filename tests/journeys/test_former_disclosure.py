"""What former versions tell to others than organizers: what was on a board, with no more digits than are shown now."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    predictions_with_hits,
    require_finished,
    require_refused,
)
from tests.live_service import Caller
from tests.settle import settle

SWAPPED = [{"id": f"t{number}", "label": label} for number, label in enumerate(("b", "b", "a", "a"), 1)]
PRECISE = make_recipe("f1_macro", disclosure={"digits": "full"})
ROUNDED = make_recipe("f1_macro", disclosure={"digits": 2})


def values_of(who: Caller, submission: str, **query: Any) -> dict[str, str]:
    """The values that a receipt states, by metric."""
    answer = who.get(f"/submissions/{submission}/receipt", params=query)
    assert answer.status_code == 200, answer.text
    statement = json.loads(base64.b64decode(answer.json()["payload"]))
    return {each["metric"]: each["value"] for each in statement["predicate"]["claims"]}


def correct(people: People, slug: str, *, shown: bool = True) -> None:
    """Have all labels swapped by a second version of the gold."""
    path = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    assert people.admin.post(path, json=SWAPPED).status_code == 201
    answer = people.admin.post(f"{path}/2/activate", json={"reason": "all labels were swapped"})
    assert answer.status_code < 300, answer.text
    reader = people.visitor if shown else people.admin
    settle(people.live, shown=shown)
    assert reader.board(slug).json()["gold_version"] == 2


def teams_on(who: Caller, slug: str, **query: Any) -> list[str]:
    return [row["team"]["name"] for row in who.board(slug, **query).raise_for_status().json()["rows"]]


def test_scores_of_a_preview_of_former_gold_are_for_organizers_alone(people: People) -> None:
    slug = create_challenge(people.admin, "previewed")
    first = require_finished(people.admin.submit(slug, predictions_with_hits(3), team="Blue"))["id"]
    correct(people, slug)
    people["Green"].join(slug, "Green")
    later = require_finished(people["Green"].submit(slug, predictions_with_hits(2)))["id"]
    preview = f"{MAIN_PHASE_PATH.format(slug)}/gold/1/preview"
    assert people.admin.post(preview).status_code < 300
    settle(people.live)
    assert people.admin.get(preview).json()["status"] == "done"

    assert values_of(people.visitor, first, gold_version=1).keys() == {"f1_macro", "accuracy"}
    for who in (people.visitor, people["Green"]):
        require_refused(who.get(f"/submissions/{later}/receipt", params={"gold_version": 1}), 404, "no_receipt")
        assert teams_on(who, slug, gold_version=1) == ["Blue"]
    assert values_of(people.admin, later, gold_version=1)
    assert teams_on(people.admin, slug, gold_version=1) == ["Blue", "Green"]
    assert values_of(people["Green"], later).keys() == {"f1_macro", "accuracy"}


def test_no_former_value_has_more_digits_than_the_board_shows_now(people: People) -> None:
    phase = {"name": "main", "leaderboard": "hidden", "opens_at": "2020-01-01T00:00:00Z"}
    slug = create_challenge(people.admin, "digits", recipe=PRECISE, phases=[phase])
    people["Blue"].join(slug, "Blue")
    sent = require_finished(people["Blue"].submit(slug, predictions_with_hits(3)))["id"]
    value = people.admin.board(slug).json()["rows"][0]["scores"]["f1_macro"]["value"]
    precise = datetime.now(UTC).isoformat()
    correct(people, slug, shown=False)
    path = f"/challenges/{slug}/recipe"
    people.admin.put(path, json=ROUNDED).raise_for_status()
    people.admin.post(f"{path}/2/activate", json={"reason": "Two digits are enough."}).raise_for_status()
    settle(people.live)
    assert people.admin.board(slug).json()["recipe_version"] == 2
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"leaderboard": "public"}).raise_for_status()

    def shown_to(who: Caller) -> dict[str, float]:
        former = who.board(slug, as_of=precise).raise_for_status().json()
        moved = who.get(f"/challenges/{slug}/errata").raise_for_status().json()["items"][-1]["boards"]["all"]["rows"]
        values = {"as_of": former["rows"][0], "errata": moved[0]["before"] if moved else None}
        return {name: row["scores"]["f1_macro"]["value"] for name, row in values.items() if row is not None}

    assert round(value, 2) != value
    assert shown_to(people.admin) == {"as_of": value, "errata": value}
    assert set(shown_to(people.visitor).values()) == {round(value, 2)}
    require_refused(people.visitor.get(f"/submissions/{sent}/receipt"), 403, "receipt_hidden")
    assert people["Blue"].get(f"/submissions/{sent}/receipt").status_code == 200  # was shown these digits before


def test_a_token_that_may_not_read_sees_what_a_visitor_sees(people: People) -> None:
    slug = create_challenge(people.admin, "scoped")
    people["Blue"].join(slug, "Blue")
    sent = require_finished(people["Blue"].submit(slug, predictions_with_hits(3)))["id"]
    for who in (people.visitor, people.with_scopes(people["Blue"], "submit")):
        assert who.get(f"/submissions/{sent}/receipt").status_code == 200


def test_the_receipt_of_a_former_recipe_stays_readable_with_its_proof(people: People) -> None:
    slug = create_challenge(people.admin, "former-recipe")
    sent = require_finished(people.admin.submit(slug, predictions_with_hits(3), team="Blue"))["id"]
    receipt = f"/submissions/{sent}/receipt"
    settle(people.live)
    assert people.visitor.get(f"{receipt}/proof").status_code == 200
    before = people.visitor.get(receipt).content
    path = f"/challenges/{slug}/recipe"
    people.admin.put(path, json=make_recipe("cohen_kappa")).raise_for_status()
    people.admin.post(f"{path}/2/preview").raise_for_status()
    settle(people.live)
    assert people.admin.get(f"{path}/2/preview").json()["status"] == "done"
    require_refused(people.visitor.get(receipt, params={"recipe_version": 2}), 404, "no_receipt")
    people.admin.post(f"{path}/2/activate", json={"reason": "Agreement counts."}).raise_for_status()
    settle(people.live, shown=True)
    assert people.visitor.board(slug).json()["recipe_version"] == 2
    assert values_of(people.visitor, sent).keys() == {"cohen_kappa"}
    for who in (people.visitor, people.admin):
        assert who.get(receipt, params={"recipe_version": 1}).content == before
        proof = who.get(f"{receipt}/proof", params={"recipe_version": 1})
        assert proof.status_code == 200, proof.text
