"""Gold that is corrected after submissions: compared with the active version, and refused where it cannot follow it."""

from pathlib import Path
from typing import Any

from app.client import Client
from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    metric_values,
    require_finished,
    require_refused,
)
from tests.settle import settle


def corrected(**labels: str | None) -> list[dict[str, Any]]:
    """The gold with other labels for these ids; None leaves the instance out."""
    rows: list[dict[str, Any]] = [{**row, "label": labels.get(row["id"], row["label"])} for row in GOLD]
    return [row for row in rows if row["label"] is not None]


def scored_challenge(people: People, stem: str, **fields: Any) -> str:
    """A challenge with gold and one finished submission."""
    slug = create_challenge(people.admin, stem, **fields)
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    return slug


def activate(people: People, version: str) -> None:
    """Activate a version, and wait until the board has switched to it."""
    answer = people.admin.post(f"{version}/activate", json={"reason": "A correction"})
    assert answer.status_code in {201, 202}, answer.text
    settle(people.live)
    assert people.admin.get(version).json()["status"] == "active"


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


def test_the_command_line_shows_what_a_correction_changes(people: People, tmp_path: Path) -> None:
    slug = scored_challenge(people, "later-gold-cli")
    rows = corrected(**{GOLD[0]["id"]: "b", GOLD[3]["id"]: None})
    file = write_file(tmp_path / "gold.json", rows)
    connection = ("--url", people.live.url, "--token", people.live.admin_token)
    sent = run_assay("gold", "upload", slug, "-f", file, "--draft", *connection)
    assert "compared with version 1: 1 relabelled, 1 voided" in sent.out
    shown = run_assay("gold", "show", slug, "2", *connection)
    assert "compared with version 1: 1 relabelled, 1 voided" in shown.out
    assert [line.split() for line in shown.out.splitlines() if line.startswith("a ")] == [["a", "2", "1"]]


def test_metadata_and_seed_are_taken_over_and_may_be_put_anew(people: People) -> None:
    slug = create_challenge(people.admin, "later-gold-metadata")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    people.admin.post(gold, json=GOLD).raise_for_status()
    people.admin.put(f"{gold}/2/class-weights", json={"a": 1, "b": 3}).raise_for_status()
    people.admin.post(f"{gold}/2/activate").raise_for_status()
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    draft = people.admin.post(gold, json=corrected(**{GOLD[0]["id"]: "b"})).json()
    assert draft["class_weights"] == {"a": 1, "b": 3}
    assert (draft["difference"]["base"], draft["difference"]["metadata"]) == (2, [])
    assert draft["notes"] == ["taken over from version 2: classes, seed of draws, class-weights"]
    changed = people.admin.put(f"{gold}/3/class-weights", json={"a": 2, "b": 3}).json()
    assert (changed["difference"]["metadata"], changed["difference"]["counts"]["relabelled"]) == (["class-weights"], 1)
    require_refused(people.admin.put(f"{gold}/3/classes", json=["a", "b", "c"]), 422, "invalid_gold")


def test_folds_that_lack_a_restored_instance_are_left_out_and_put_anew(people: People) -> None:
    """An instance that was never scored has no fold; once it is, the folds of the active version do not fit."""
    rows = [{"id": row["id"], "labels": [row["label"]]} for row in GOLD]
    slug = create_challenge(people.admin, "later-gold-folds")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    people.admin.post(gold, json=[*rows[:3], rows[3] | {"labels": []}]).raise_for_status()
    people.admin.put(f"{gold}/2/folds", json={"t1": "x", "t2": "x", "t3": "y"}).raise_for_status()
    people.admin.post(f"{gold}/2/activate").raise_for_status()
    require_finished(people.admin.submit(slug, {"t1": "a", "t2": "a", "t3": "b"}, team="Bench"))
    draft = people.admin.post(gold, json=rows).json()
    assert (draft["accessories"], draft["difference"]["counts"]["restored"]) == ([], 1)
    assert draft["difference"]["metadata"] == ["folds"]
    assert any(note.startswith("not taken over") and "folds" in note for note in draft["notes"])
    whole = {"t1": "x", "t2": "x", "t3": "y", "t4": "y"}
    assert people.admin.put(f"{gold}/3/folds", json=whole).json()["accessories"] == ["folds"]


def test_what_a_finished_submission_lacks_counts_as_an_empty_prediction(people: People) -> None:
    """Its file lacked an instance that was void, and that is scored after the correction; the file stays valid."""
    slug = create_challenge(people.admin, "later-gold-empty")
    gold = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    sent = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Bench"))
    people.admin.post(gold, json=GOLD[:3]).raise_for_status()
    activate(people, f"{gold}/2")
    short = require_finished(people.admin.submit(slug, {"t1": "a", "t2": "a", "t3": "b"}, team="Short"))
    people.admin.post(gold, json=GOLD).raise_for_status()
    activate(people, f"{gold}/3")
    for body, accuracy in ((sent, 1.0), (short, 0.75)):
        found = people.admin.get(f"/submissions/{body['id']}").json()
        assert found["status"] == "finished"
        assert metric_values(found["scores"])["accuracy"] == accuracy
    notes = people.admin.get(f"/submissions/{short['id']}").json()["scores"]["accuracy"]["notes"]
    assert "1 instance without a prediction counts as empty" in notes
