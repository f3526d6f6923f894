"""What a relabelling was said to move is what moves when its gold becomes a correction of the same phase."""

from random import Random
from typing import Any

import pytest

from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    require_finished,
    submit_for_teams,
)
from tests.settle import settle

CLASSES = ("a", "b", "c")
DRAWN = Random(20)
GOLD: list[dict[str, Any]] = [{"id": f"i{n:02}", "label": CLASSES[n % 3]} for n in range(48)]
WITH_SPLITS = [row | {"split": ("public", "private")[n % 2], "weight": 1 + n % 4 / 2} for n, row in enumerate(GOLD)]
CHANGES: list[dict[str, Any]] = [
    *({"id": f"i{n:02}", "label": CLASSES[(n + 1) % 3]} for n in range(0, 24, 3)),
    *({"id": f"i{n:02}", "label": None} for n in (1, 2, 30)),
    {"id": "i05", "label": GOLD[5]["label"]},
]


def answers(*, old: float, new: float) -> dict[str, str]:
    """Predictions that follow the gold, or the changes, where these differ, with these probabilities."""
    changed = {change["id"]: change["label"] for change in CHANGES}
    found = {}
    for row in GOLD:
        text = changed.get(row["id"]) or row["label"]
        following = old if text == row["label"] else new
        found[row["id"]] = text if DRAWN.random() < following else DRAWN.choice(CLASSES)
    return found


TEAMS = {f"Old-{n}": answers(old=0.9 - n / 10, new=0.0) for n in range(3)}
TEAMS |= {f"New-{n}": answers(old=0.8 - n / 10, new=1.0) for n in range(3)}
TEAMS["Copy"] = TEAMS["New-1"]
BASELINE = dict.fromkeys(TEAMS["Copy"], "a")
Rows = dict[str, tuple[int | None, dict[str, float | None]]]
"""Rank and values by team."""


def foretold(found: dict[str, Any], when: str) -> Rows:
    names = [system["team"]["name"] for system in found["systems"]]
    return {
        names[row["system"]]: (row["rank"][when], {text: value[when] for text, value in row["values"].items()})
        for row in found["rows"]
    }


def shown(people: People, phase: str, split: str) -> Rows:
    board = people.admin.get(f"{phase}/leaderboard", params={"split": split})
    assert board.status_code == 200, board.text
    return {
        row["team"]["name"]: (row["rank"], {text: score["value"] for text, score in row["scores"].items()})
        for row in board.json()["rows"]
    }


@pytest.mark.parametrize(
    ("gold", "splits"), [(GOLD, ["all"]), (WITH_SPLITS, ["all", "public", "private"])], ids=["plain", "with splits"]
)
def test_ranks_and_values_after_the_correction_are_those_foretold(
    people: People, gold: list[dict[str, Any]], splits: list[str]
) -> None:
    recipe = make_recipe("f1_macro", "accuracy", "cohen_kappa", tie_breakers=["accuracy"])
    slug = create_challenge(people.admin, "foretold", gold, recipe=recipe)
    phase = MAIN_PHASE_PATH.format(slug)
    submit_for_teams(people.admin, slug, TEAMS.items())
    submit_for_teams(people.admin, slug, [("Majority", BASELINE)], baseline="true")
    told = {}
    for split in splits:
        answer = people.admin.post(f"{phase}/items/relabelling", json={"changes": CHANGES}, params={"split": split})
        assert answer.status_code == 200, answer.text
        told[split] = answer.json()
        assert foretold(told[split], "before") == shown(people, phase, split)
    assert told["all"]["changes"] == {"relabelled": 8, "voided": 3, "unchanged": 1}
    assert told["all"]["moved"] > 3

    file = people.admin.post(f"{phase}/items/corrected-gold", json={"changes": CHANGES})
    sent = people.admin.post(f"{phase}/gold", params={"filename": "corrected.jsonl"}, content=file.content)
    assert sent.status_code == 201, sent.text
    counts = sent.json()["difference"]["counts"]
    assert (counts["relabelled"], counts["voided"], counts["reweighted"], counts["moved"]) == (8, 3, 0, 0)
    activated = people.admin.post(f"{phase}/gold/2/activate", json={"reason": "Labels were reviewed."})
    assert activated.status_code == 202, activated.text
    settle(people.live)
    assert people.admin.get(f"{phase}/gold/2").json()["status"] == "active"

    for split in splits:
        assert shown(people, phase, split) == foretold(told[split], "after")


def test_metrics_of_probabilities_have_no_value_for_other_scores_in_either(people: People) -> None:
    """A recipe that came after the file asks for probabilities, which its scores are not."""
    slug = create_challenge(people.admin, "foretold-scores", GOLD, recipe=make_recipe("accuracy"))
    phase = MAIN_PHASE_PATH.format(slug)
    rows = [{"id": row["id"], "scores": {"a": 3.0, "b": 2.0, "c": -1.0}} for row in GOLD]
    sent = people.admin.post(
        f"{phase}/submissions", json=rows, params={"team": "Logits"}, headers={"Prefer": "wait=60"}
    )
    require_finished(sent)
    made = people.admin.put(f"/challenges/{slug}/recipe", json=make_recipe("accuracy", "log_loss"))
    assert made.status_code in {200, 201}, made.text
    activated = people.admin.post(f"/challenges/{slug}/recipe/2/activate", json={"reason": "The loss counts too."})
    assert activated.status_code == 202, activated.text
    settle(people.live)
    assert people.admin.get(f"{phase}/leaderboard").json()["recipe_version"] == 2
    told = people.admin.post(f"{phase}/items/relabelling", json={"changes": CHANGES}).json()
    assert (
        foretold(told, "before")
        == shown(people, phase, "all")
        == {"Logits": (1, {"accuracy": 1 / 3, "log_loss": None})}
    )
