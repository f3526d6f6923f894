"""A phase with a history to import: two gold versions, splits, ties, marks, a baseline, and a frozen board."""

from pathlib import Path
from typing import Any

import httpx

from tests.api.in_process_app import ServedApp
from tests.cluster import Cluster
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    create_challenge,
    make_recipe,
    require_finished,
)
from tests.live_service import Caller, Live
from tests.settle import settle

SPLITS = ("public", "private") * 10
LABELS = "aabb" * 5
SENT = (("Blue", 0), ("Green", 3), ("Blue", 5), ("Red", 3), ("Green", 8))
RECIPE = make_recipe("f1_macro", "accuracy", "mcc", tie_breakers=["accuracy"])


def gold(version: int) -> list[dict[str, Any]]:
    """The gold of a version; the second one corrects a label and voids an instance."""
    rows = [
        {"id": f"t{n:02}", "label": label, "split": split}
        for n, (label, split) in enumerate(zip(LABELS, SPLITS, strict=True), 1)
    ]
    if version == 2:
        rows[4] |= {"label": "b"}
        rows.pop(9)
    return rows


def predictions(wrong: int) -> dict[str, str]:
    """Predictions of which so many are wrong by the first gold."""
    other = {"a": "b", "b": "a"}
    return {row["id"]: other[row["label"]] if n < wrong else row["label"] for n, row in enumerate(gold(1))}


def make_source(app: ServedApp) -> str:
    """An open phase with five submissions of three teams, one rejected file, a baseline and a correction; its slug."""
    admin = app.admin()
    slug = create_challenge(admin, "moved", gold(1), recipe=RECIPE, title="Pets")
    path = MAIN_PHASE_PATH.format(slug)
    sent = [require_finished(admin.submit(slug, predictions(wrong), team=team)) for team, wrong in SENT]
    require_finished(admin.submit(slug, predictions(10), team="Chance", baseline=True))
    require_finished(admin.submit(slug, predictions(2), test=True))
    assert admin.submit(slug, {"t01": "a"}, team="Red").json()["status"] == "rejected"
    acts = (
        (f"/submissions/{sent[3]['id']}/disqualify", "copied"),
        (f"/submissions/{sent[0]['id']}/disqualify", "a leak"),
    )
    for address, reason in acts:
        assert admin.post(address, json={"reason": reason}).status_code == 200
    assert admin.post(f"{path}/gold", json=gold(2)).status_code == 201
    done = admin.post(f"{path}/gold/2/activate", json={"reason": "t05 was wrong"})
    assert done.status_code < 300, done.text
    settle(app)
    assert admin.board(slug).json()["gold_version"] == 2
    require_finished(admin.submit(slug, predictions(1), team="Red"))
    settle(app)
    return slug


def release_and_freeze(app: ServedApp, slug: str) -> dict[str, Any]:
    """Close the phase, release the private scores, and freeze the board."""
    admin, path = app.admin(), MAIN_PHASE_PATH.format(slug)
    assert admin.patch(path, json={"closes_at": "2020-01-01T00:00:01Z", "opens_at": "2020-01-01T00:00:00Z"}).is_success
    assert admin.post(f"{path}/release", json={"reason": "agreed"}).is_success
    settle(app)
    return frozen(admin, slug).raise_for_status().json()  # type: ignore[no-any-return]


def frozen(admin: Caller, slug: str) -> httpx.Response:
    """What freezing the board answers."""
    return admin.post(f"{MAIN_PHASE_PATH.format(slug)}/frozen-boards", json={"reason": "agreed"})


def export(admin: Caller, slug: str, target: Path) -> Path:
    """The archive of the phase."""
    answer = admin.get(f"/challenges/{slug}/export", params={"phase": "main"}).raise_for_status()
    target.write_bytes(answer.content)
    return target


def send(admin: Caller, archive: Path | bytes, **query: Any) -> httpx.Response:
    """What the request to import an archive answers."""
    content = archive if isinstance(archive, bytes) else archive.read_bytes()
    return admin.post("/imports", params=query, content=content, headers={"Content-Type": "application/zip"})


def finish(service: Live | ServedApp | Cluster, answer: httpx.Response) -> dict[str, Any]:
    """The import once it has ended."""
    assert answer.status_code == 202, answer.text
    settle(service)
    ended: dict[str, Any] = service.admin().get(f"/imports/{answer.json()['id']}").json()
    assert ended["status"] in {"done", "failed"}, ended
    return ended
