"""Real challenges with real systems, whole, over HTTP: the numbers of their organizers, in the order of their metric."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.support import MAIN_PHASE_PATH, People, metric_values, new_slug, require_finished
from tests.live_service import Caller
from tests.reference_material import needs_shared, shared

pytestmark = [needs_shared, pytest.mark.ci]

TASKS = {
    "germeval2018-coarse": "multiclass",
    "germeval2019-blurbs-a": "multilabel",
    "tweeteval-emoji": "multiclass",
}
COMPARED = {"germeval2018-coarse": 42, "germeval2019-blurbs-a": 56, "tweeteval-emoji": 14}


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def agreed(name: str) -> tuple[str, dict[str, dict[str, float]]]:
    """The official metric, and the expected value of each metric string by system."""
    keys = read(shared() / "challenges" / "keys.json")
    hard, official = keys["hard"], keys["official"][name]
    expected: dict[str, dict[str, float]] = {}
    for system, given in read(shared() / "challenges" / name / "expected.json")["systems"].items():
        names = {key: key for key in hard["same_name"]} | hard["renamed"]
        expected[system] = {text: given[key] for key, text in names.items() if key in given}
        if "official_score" in given:
            assert expected[system][official] == pytest.approx(given["official_score"], abs=1e-11, rel=0)
    return official, expected


def create(admin: Caller, name: str, official: str, metrics: list[str]) -> str:
    """The challenge as its organizers would set it up, with the gold file as it is."""
    slug = new_slug(name)
    folder = shared() / "challenges" / name
    body = {
        "slug": slug,
        "title": name,
        "task": TASKS[name],
        "classes": read(folder / "classes.json"),
        "recipe": {
            "primary": official,
            "metrics": metrics,
            "options": {"zero_division": 0, "both_empty": 0},
            "disclosure": {"digits": "full"},
        },
    }
    made = admin.post("/challenges", json=body)
    assert made.status_code == 201, made.text
    gold = admin.post(
        f"{MAIN_PHASE_PATH.format(slug)}/gold",
        params={"activate": "true", "filename": "gold.jsonl.gz"},
        content=(folder / "gold.jsonl.gz").read_bytes(),
    )
    assert gold.status_code == 201, gold.text
    return slug


@pytest.mark.parametrize("name", TASKS)
def test_published_systems_get_their_published_values_and_order(people: People, name: str) -> None:
    official, expected = agreed(name)
    slug = create(people.admin, name, official, sorted(set().union(*expected.values())))
    compared = 0
    for sender, (system, wanted) in zip(("Blue", "Green", "Stranger", "Olga"), expected.items(), strict=False):
        file = shared() / "challenges" / name / "predictions" / f"{system}.json.gz"
        answer = (
            people[sender]
            .join(slug, system)
            .post(
                f"{MAIN_PHASE_PATH.format(slug)}/submissions",
                params={"filename": file.name, "method": system},
                content=file.read_bytes(),
                headers={"Prefer": "wait=60"},
            )
        )
        found = metric_values(require_finished(answer)["scores"])
        for text, value in wanted.items():
            assert found[text] == pytest.approx(value, abs=1e-11, rel=0), (system, text)
            compared += 1
    assert compared >= COMPARED[name]
    rows = people.visitor.board(slug).json()["rows"]
    ranked = sorted(expected, key=lambda system: -expected[system][official])
    assert [row["team"]["name"] for row in rows] == ranked
    assert [row["rank"] for row in rows] == list(range(1, len(ranked) + 1))
    assert [row["scores"][official]["value"] for row in rows] == pytest.approx(
        [expected[system][official] for system in ranked], abs=1e-11, rel=0
    )
