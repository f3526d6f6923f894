"""Gold that is corrected after submissions: compared with the active version, and refused where it cannot follow it."""

from typing import Any

from app.client import Client
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    require_finished,
    require_refused,
)


def corrected(**labels: str | None) -> list[dict[str, Any]]:
    """The gold with other labels for these ids; None leaves the instance out."""
    rows = [row | {"label": labels.get(row["id"], row["label"])} for row in GOLD]
    return [row for row in rows if row["label"] is not None]


def scored_challenge(people: People, stem: str, **fields: Any) -> str:
    """A challenge with gold and one finished submission."""
    slug = create_challenge(people.admin, stem, **fields)
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    return slug


def test_a_correction_is_compared_with_the_active_version(people: People) -> None:
    slug = scored_challenge(people, "later-gold")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    active = people.admin.get(f"{gold}/1").json()
    first, second = GOLD[0]["id"], GOLD[1]["id"]
    other = {"a": "b", "b": "a"}[GOLD[0]["label"]]
    made = people.admin.post(gold, json=corrected(**{first: other, second: None}))
    assert made.status_code == 201, made.text
    draft = made.json()
    assert draft["status"] == "draft"
    assert draft["difference"]["base"] == 1
    assert draft["difference"]["counts"] == {
        "relabelled": 1,
        "reweighted": 0,
        "voided": 1,
        "restored": 0,
        "moved": 0,
    }
    assert (draft["void_instances"], draft["draw_seed"], draft["classes"]) == (1, active["draw_seed"], ["a", "b"])
    with Client(people.live.url, people.live.admin_token) as client:
        found = client.gold_difference(slug, "main", 2)
    assert found["items"] == [
        {"id": first, "before": {"label": GOLD[0]["label"]}, "after": {"label": other}},
        {"id": second, "before": {"label": GOLD[1]["label"]}, "after": None},
    ]
    assert people.admin.get(f"{gold}/1").json()["difference"] is None
    text = people.admin.get(f"{gold}/2/difference?format=csv")
    assert text.headers["content-type"].startswith("text/csv")
    assert f"{first},{GOLD[0]['label']},{other}" in text.text


def test_gold_that_cannot_follow_is_refused_and_nothing_is_stored(people: People) -> None:
    slug = scored_challenge(people, "later-gold-refused")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    added = [*GOLD, {"id": "new", "label": "a"}]
    refused = require_refused(people.admin.post(gold, json=added), 422, "invalid_gold")
    assert refused["total"] == {"unknown_id": 1}
    assert "open a new phase" in refused["problems"][0]["message"]
    unknown = require_refused(people.admin.post(gold, json=corrected(**{GOLD[0]["id"]: "z"})), 422, "invalid_gold")
    assert unknown["total"] == {"unknown_label": 1}
    split = [row | {"split": "public"} for row in GOLD]
    assert "splits" in require_refused(people.admin.post(gold, json=split), 422, "invalid_gold")["detail"]
    twice = require_refused(people.admin.post(gold, json=[*GOLD, GOLD[0]]), 422, "invalid_gold")
    assert twice["total"] == {"duplicate_id": 1}
    require_refused(people.admin.post(gold, json=[]), 422, "invalid_gold")
    assert [row["version"] for row in people.admin.get(gold).json()["items"]] == [1]
