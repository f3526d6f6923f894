"""Two golds that differ in the order of their rows alone give participants and visitors the same bytes everywhere."""

import csv
import io
import json
import random
from typing import Any

import numpy as np
import pytest

from app.formats.templates.build_template import TEMPLATES
from tests.journeys.support import SUBMIT_MODES, People, create_challenge, make_recipe
from tests.live_service import Caller

ANALYSES = True

IDS = [f"i{number}" for number in range(1, 131)]  # code points put i10 before i2
CLASSES = ["b", "a", "c", "Z"]
METRICS = {
    "multiclass": (
        "f1_macro",
        "log_loss",
        "mcc",
        "brier_multiclass_sum",
        "auc_ovo_macro",
        "ece",
        "average_precision_macro",
        "gwet_ac1",
    ),
    "multilabel": (
        "f1_samples",
        "map_at_k:k=2",
        "hamming_loss",
        "alpha_score:alpha=1,beta=0.5,gamma=1",
        "jaccard_macro",
    ),
}
IN_EARNEST = ("missing.json", "labels.json", "arrays.npz")  # broken files that are submitted, too
ALL_REPORTS = ["scores", "per_class", "confusion", "curves"]


def rows_of(task: str, *, splits: bool) -> list[dict[str, Any]]:
    """Gold with random labels, weights and splits."""
    draw = random.Random(7)
    made: list[dict[str, Any]] = []
    for name in IDS:
        labels = draw.sample(CLASSES, draw.randint(0, 3))
        label = {"labels": labels} if task == "multilabel" else {"label": draw.choice(CLASSES)}
        split = {"split": draw.choice(["public", "private"])} if splits else {}
        made.append({"id": name, **label, **split, "weight": draw.choice([1, 2, 0.5])})
    return made


def two_orders(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows by split and label, as an export has them, and the other way round with the ids shuffled among equals."""

    def told(row: dict[str, Any]) -> Any:
        return row.get("split", ""), row.get("label") or sorted(row["labels"])

    exported = sorted(rows, key=told)
    shuffled = rows[:]
    random.Random(11).shuffle(shuffled)
    return [exported, sorted(shuffled, key=told, reverse=True)]


def predicted(task: str, seed: int = 3) -> dict[str, Any]:
    draw = random.Random(seed)
    if task == "multilabel":
        return {name: draw.sample(CLASSES, draw.randint(0, 3)) for name in IDS}
    return {name: draw.choice(CLASSES) for name in IDS}


def scored(seed: int = 5) -> dict[str, Any]:
    """Probabilities, many of them tied."""
    draw = random.Random(seed)
    weights = {name: [draw.randint(1, 4) for _ in CLASSES] for name in IDS}
    return {name: {label: w / sum(ws) for label, w in zip(CLASSES, ws, strict=True)} for name, ws in weights.items()}


def as_csv(body: dict[str, str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([["id", "label"], *body.items()])
    return text.getvalue().encode()


def broken(sound: dict[str, Any]) -> dict[str, bytes]:
    """Files with every kind of fault that concerns ids, by name."""
    some = dict(list(sound.items())[40:])
    near = {name.replace("i", "I-0"): value for name, value in some.items()}
    wrong = {name: ["b", "none"] if isinstance(value, list) else "none" for name, value in sound.items()}
    columns = {"ids": [*some, "i1", "i1"], "labels": [*some.values(), *list(sound.values())[:2]]}
    return {
        "nothing.json": b"[]",
        "missing.json": json.dumps(some).encode(),
        "near.json": json.dumps(near).encode(),
        "strange.json": json.dumps(some | {"x1": sound["i1"], "i0131": sound["i1"]}).encode(),
        "labels.json": json.dumps(wrong).encode(),
        "twice.json": json.dumps(columns).encode(),
        "cut.json": json.dumps(sound).encode()[:-300],
        "lines.jsonl": "\n".join(json.dumps({"id": name, "label": "b"}) for name in IDS[3:90]).encode(),
        "table.csv": as_csv(dict.fromkeys(IDS[::2], "q")),
    }


def arrays() -> bytes:
    """Scores as arrays, without the last ids."""
    body = io.BytesIO()
    scores = np.full((100, len(CLASSES)), 1 / len(CLASSES))
    np.savez(body, ids=np.array(IDS[:100]), classes=np.array(CLASSES), scores=scores)
    return body.getvalue()


class Readings:
    """All that somebody reads of one challenge, without what names it or tells the time."""

    def __init__(self, slug: str) -> None:
        self._slug = slug
        self.found: dict[str, Any] = {}

    def note(self, what: str, content: bytes, *names: str) -> None:
        """Keep what was read, with the names of this challenge's own things replaced."""
        for name in (self._slug, *names):
            content = content.replace(name.encode(), b"-")
        self.found[what] = content

    def submission(self, what: str, body: dict[str, Any]) -> None:
        """Keep what a submission tells."""
        own = {"id", "challenge", "team", "timings", "sha256", "queue_position"}
        self.found[what] = json.dumps({name: value for name, value in body.items() if name not in own})


def read_all(people: People, who: Caller, slug: str, task: str) -> dict[str, Any]:
    """What a participant and a visitor can read after many submissions."""
    readings = Readings(slug)
    path = f"/challenges/{slug}/phases/main"
    for name in TEMPLATES:
        for values in ("labels", "scores"):
            answer = people.visitor.get(f"{path}/template", params={"format": name, "values": values})
            assert answer.status_code == (400 if (name, values) == ("npz", "labels") else 200), answer.text
            readings.note(f"template {name} {values}", answer.content)
    sound = predicted(task)
    files = broken(sound) | {"arrays.npz": arrays()}
    for name, content in files.items():
        for query in SUBMIT_MODES if name in IN_EARNEST else ({"dry_run": "true"},):
            asked = {**query, "filename": name}
            answer = who.post(f"{path}/submissions", params=asked, content=content, headers={"Prefer": "wait=60"})
            if query:
                assert answer.status_code == 200, (name, answer.text)
                readings.note(f"dry run {name}", answer.content)
            else:
                assert answer.json()["status"] == "rejected", (name, answer.text)
                readings.submission(name, answer.json())
    sent = [who.submit(slug, body).json() for body in ([scored()] if task == "multiclass" else []) + [sound]]
    for number, body in enumerate(sent):
        assert body["status"] == "finished", body
        readings.submission(f"sound {number}", body)
        report = who.get(f"/submissions/{body['id']}/report")
        assert report.status_code == 200, report.text
        readings.note(f"report {number}", report.content, body["id"])
    for what in ("", "/phases", "/phases/main", "/recipe"):
        answer = people.visitor.get(f"/challenges/{slug}{what}").json()
        readings.found[what] = json.dumps(answer, sort_keys=True).replace(slug, "-")
    board = people.visitor.board(slug).json()
    readings.found["board"] = json.dumps([[row["rank"], row["entries"], row["scores"]] for row in board["rows"]])
    return readings.found


@pytest.mark.ci
@pytest.mark.parametrize(("task", "splits"), [("multiclass", True), ("multilabel", False)])
def test_nothing_that_can_be_read_depends_on_the_order_of_the_gold(people: People, task: str, splits: bool) -> None:
    readings = []
    for number, gold in enumerate(two_orders(rows_of(task, splits=splits))):
        primary, *others = METRICS[task]
        phase = {"name": "main", "reports": ALL_REPORTS, "opens_at": "2026-01-01T00:00:00Z"}
        slug = create_challenge(
            people.admin,
            f"order-{task}",
            gold,
            task=task,
            recipe=make_recipe(primary, *others, disclosure={"digits": "full"}),
            phases=[phase],
            title="order",
        )
        readings.append(read_all(people, people[f"Order{number}"].join(slug, "Blue"), slug, task))
    first, second = readings
    assert first.keys() == second.keys()
    assert len(first) > 30
    moments = ("created_at",)
    for what in first:
        assert _timeless(first[what], moments) == _timeless(second[what], moments), what


def _timeless(content: Any, names: tuple[str, ...]) -> Any:
    """Without the moments at which the two challenges were made."""
    if not isinstance(content, str):
        return content
    found = json.loads(content)
    return {key: value for key, value in found.items() if key not in names} if isinstance(found, dict) else found
