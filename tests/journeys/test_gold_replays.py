"""Real test sets whose labels were found to be wrong, corrected in public over HTTP: scores before and after."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.support import MAIN_PHASE_PATH, People, metric_values, new_slug
from tests.live_service import Caller
from tests.reference_material import needs_shared, shared
from tests.settle import settle

pytestmark = [needs_shared, pytest.mark.ci]

SYSTEMS = {"cifar10-label-errors": ("cleanlab-cv", "cifar10h-humans"), "imagenet-real": ("cleanlab-cv",)}
CORRECTED = {"cifar10-label-errors": 9964, "imagenet-real": 48512}


def read(name: str, file: str) -> Any:
    return json.loads((shared() / "challenges" / name / file).read_bytes())


def expected(name: str, version: str) -> dict[str, dict[str, float]]:
    """The value that others computed, by metric string and system, on one version of the gold."""
    keys = read("", "keys.json")["hard"]
    names = {key: key for key in keys["same_name"]} | keys["renamed"]
    return {
        system: {text: given[version][key] for key, text in names.items() if key in given[version]}
        for system, given in read(name, "expected.json")["systems"].items()
    }


def create(people: People, name: str, metrics: list[str], **phases: Any) -> str:
    slug = new_slug(name)
    recipe = {
        "primary": "accuracy",
        "metrics": metrics,
        "options": {"zero_division": 0},
        "disclosure": {"digits": "full"},
    }
    body = {"slug": slug, "title": name, "task": "multiclass", "classes": read(name, "classes.json"), "recipe": recipe}
    made = people.admin.post("/challenges", json=body | phases)
    assert made.status_code == 201, made.text
    return slug


def upload(who: Caller, slug: str, name: str, file: str, phase: str = "main", **query: str) -> dict[str, Any]:
    answer = who.post(
        f"/challenges/{slug}/phases/{phase}/gold",
        params={"filename": file, **query},
        content=(shared() / "challenges" / name / file).read_bytes(),
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def submit(people: People, sender: str, phase: str, name: str, system: str) -> dict[str, Any]:
    """A submission of a real system, once it is scored; the phase is named by its path."""
    file = shared() / "challenges" / name / "predictions" / f"{system}.json.gz"
    answer = people[sender].post(
        f"{phase}/submissions",
        params={"filename": file.name, "method": system},
        content=file.read_bytes(),
        headers={"Prefer": "wait=60"},
    )
    assert answer.status_code in {201, 202}, answer.text
    settle(people.live)
    scored: dict[str, Any] = people[sender].get(f"/submissions/{answer.json()['id']}").json()
    assert scored["status"] == "finished", scored
    return scored


def require_values(submission: Mapping[str, Any], wanted: Mapping[str, float]) -> None:
    found = metric_values(submission["scores"])
    assert {text: found[text] for text in wanted} == pytest.approx(wanted, abs=1e-11, rel=0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_correction_gives_every_system_the_values_of_the_corrected_labels(people: People, name: str) -> None:
    before, after = expected(name, "gold"), expected(name, "gold_corrected")
    slug = create(people, name, sorted(before[SYSTEMS[name][0]]))
    gold_path = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    upload(people.admin, slug, name, "gold.jsonl.gz", activate="true")
    sent: dict[str, str] = {}
    for sender, system in zip(("Blue", "Green"), SYSTEMS[name], strict=False):
        people[sender].join(slug, system)
        submission = submit(people, sender, MAIN_PHASE_PATH.format(slug), name, system)
        require_values(submission, before[system])
        sent[system] = submission["id"]

    draft = upload(people.admin, slug, name, "gold_corrected.jsonl.gz")
    assert (draft["version"], draft["status"], draft["instances"]) == (2, "draft", CORRECTED[name])
    for system, submission_id in sent.items():
        require_values(people.admin.get(f"/submissions/{submission_id}").json(), before[system])
    activated = people.admin.post(f"{gold_path}/2/activate", json={"reason": "Labels reviewed by five people each."})
    assert activated.status_code == 202, activated.text
    settle(people.live, shown=True)

    board = people.visitor.board(slug).json()
    assert board["gold_version"] == 2
    assert {row["team"]["name"] for row in board["rows"]} == set(sent)
    for row in board["rows"]:
        require_values(row, after[row["team"]["name"]])
    assert len(people.visitor.get(f"/challenges/{slug}/errata").json()["items"]) == 1

    again = submit(people, "Blue", MAIN_PHASE_PATH.format(slug), name, SYSTEMS[name][0])
    require_values(again, after[SYSTEMS[name][0]])

    back = people.admin.post(f"{gold_path}/1/activate", json={"reason": "The review is being repeated."})
    assert back.status_code == 202, back.text
    settle(people.live, shown=True)
    for row in people.visitor.board(slug).json()["rows"]:
        require_values(row, before[row["team"]["name"]])


def test_sets_of_acceptable_labels_are_the_gold_of_a_second_phase(people: People) -> None:
    name, system = "imagenet-real", "cleanlab-cv"
    phases = {"phases": [{"name": "main"}, {"name": "real"}]}
    slug = create(people, name, ["accuracy"], **phases)
    upload(people.admin, slug, name, "gold.jsonl.gz", activate="true")
    upload(people.admin, slug, name, "gold_real.jsonl.gz", "real", activate="true")
    people["Blue"].join(slug, system)
    values = {
        phase: submit(people, "Blue", f"/challenges/{slug}/phases/{phase}", name, system) for phase in ("main", "real")
    }
    require_values(values["main"], {"accuracy": 0.72732})
    reassessed = read(name, "expected.json")["systems"][system]["gold_real"]["real_accuracy"]
    require_values(values["real"], {"accuracy": reassessed})
