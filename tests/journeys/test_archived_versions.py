"""A phase with a history in one archive: splits, ties, marks, two gold versions, and a frozen board."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.archives.building import Members, json_lines, pack
from tests.cli.run_command import run_assay
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    predictions_with_hits,
    require_finished,
)
from tests.settle import settle

SPLITS = ("public", "private", "public", "private")
LABELS = {1: ("a", "a", "b", "b"), 2: ("a", "b", "b", "b")}


def gold(version: int) -> list[dict[str, Any]]:
    rows = zip(LABELS[version], SPLITS, strict=True)
    return [{"id": f"t{n}", "label": label, "split": split} for n, (label, split) in enumerate(rows, 1)]


@pytest.fixture(scope="module")
def archive(people: People, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a phase whose gold was corrected after four submissions, of which one is withdrawn."""
    recipe = make_recipe("accuracy", "f1_macro", tie_breakers=["f1_micro"])
    slug = create_challenge(people.admin, "archived-versions", gold(1), recipe=recipe)
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    for who, hits in ((blue, 3), (green, 3), (blue, 4)):
        last = require_finished(who.submit(slug, predictions_with_hits(hits)))["id"]
    assert blue.post(f"/submissions/{last}/withdraw", json={"reason": "a bug"}).status_code == 200
    path = MAIN_PHASE_PATH.format(slug)
    assert people.admin.post(f"{path}/gold", json=gold(2)).status_code == 201
    activated = people.admin.post(f"{path}/gold/2/activate", json={"reason": "t2 was wrong"})
    assert activated.status_code < 300, activated.text
    settle(people.live)
    assert people.admin.board(slug).json()["gold_version"] == 2
    require_finished(green.submit(slug, predictions_with_hits(2)))
    answer = people.admin.get(f"/challenges/{slug}/export")
    target = tmp_path_factory.mktemp("versions") / "archive.zip"
    target.write_bytes(answer.raise_for_status().content)
    return target


def rows_of(archive: Path, name: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(archive) as opened:
        return [json.loads(line) for line in opened.read(name).splitlines()]


def test_scores_of_every_gold_version_are_computed_again_to_the_same_digits(archive: Path) -> None:
    report = json.loads(run_assay("score", "--archive", archive, "--json").out)
    assert set(report["outcomes"]) == {"same"}
    scored = {(row["submission"], row["gold_version"], row["split"]) for row in report["scores"]}
    submissions = [row["id"] for row in rows_of(archive, "submissions.jsonl")]
    assert len(submissions) == 4
    assert report["instances"] == {"same": 4}
    assert {each for each in scored if each[1] == 2} == {
        (name, 2, split) for name in submissions for split in ("all", "public", "private")
    }
    assert {each[0] for each in scored if each[1] == 1} == set(submissions[:3])
    found = json.loads(run_assay("archive", "verify", archive, "--json").out)
    assert (found["faults"], found["gold_versions"]) == ([], 2)


def test_the_switch_and_what_it_changed_are_in_the_archive(archive: Path) -> None:
    last = rows_of(archive, "switches.jsonl")[-1]
    assert (last["status"], last["reason"]) == ("done", "t2 was wrong")
    assert (last["from"]["gold_version"], last["to"]["gold_version"]) == (1, 2)
    assert [row["status"] for row in rows_of(archive, "gold.jsonl")] == ["retired", "active"]
    withdrawn = [row["withdrawn_reason"] for row in rows_of(archive, "submissions.jsonl")]
    assert withdrawn == [None, None, "a bug", None]
    received = [row["received_under"]["gold_version"] for row in rows_of(archive, "submissions.jsonl")]
    assert received == [1, 1, 1, 2]


def test_the_instances_are_those_of_the_gold_in_force(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        for row in rows_of(archive, "submissions.jsonl"):
            document = json.loads(opened.read(row["instances"]))
            assert document["gold_version"] == 2
            assert [each["actual"] for each in document["instances"]] == [[label] for label in LABELS[2]]


def test_a_frozen_board_in_an_archive_has_the_hash_by_which_it_is_cited(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        members: Members = {name: opened.read(name) for name in opened.namelist() if name != "manifest.json"}
    content = b'{"rows":[]}'
    row = {"number": 1, "sha256": hashlib.sha256(content).hexdigest(), "file": "frozen/1.json"}
    for held, faults in ((content, []), (b'{"rows":[1]}', ["Frozen board 1 is not the one that its hash cites."])):
        target = tmp_path / "frozen.zip"
        target.write_bytes(pack(members | {"frozen/1.json": held, "frozen_boards.jsonl": json_lines([row])}))
        found = json.loads(run_assay("archive", "verify", target, "--json").out)
        assert (found["frozen_boards"], found["faults"]) == (1, faults)
