"""The export of a phase: one archive from which anybody can check its scores."""

import gzip
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    make_recipe,
    predictions_with_hits,
    require_finished,
    require_refused,
)
from tests.live_service import Caller

PHASE = "/challenges/{}/phases/main"


def download(who: Caller, slug: str, **query: str) -> bytes:
    answer = who.get(f"/challenges/{slug}/export", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{slug}')
    return answer.content


def archive(who: Caller, slug: str, **query: str) -> zipfile.ZipFile:
    opened = zipfile.ZipFile(io.BytesIO(download(who, slug, **query)))
    assert opened.testzip() is None
    return opened


def lines(opened: zipfile.ZipFile, name: str = "submissions.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in opened.read(name).splitlines()]


def test_an_export_holds_every_file_as_it_was_sent_and_what_is_known_of_it(people: People) -> None:
    slug = create_challenge(people.admin, "export", phases=[{"name": "Development"}, {"name": "Test"}])
    blue = people["Blue"].join(slug, "Blue")
    packed = gzip.compress(b"id,label\nt1,a\nt2,a\nt3,b\nt4,b\n")
    first = require_finished(blue.submit(slug, CORRECT_PREDICTIONS, phase="development", method="=cmd()"))
    path = f"/challenges/{slug}/phases/development/submissions"
    headers = {"Content-Type": "text/csv", "Content-Encoding": "gzip", "Prefer": "wait=60"}
    second = require_finished(blue.post(path, content=packed, headers=headers))
    rejected = blue.submit(slug, {"t1": "a"}, phase="test").json()
    trial = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, phase="test", test="true"))
    baseline = require_finished(
        people.admin.submit(slug, CORRECT_PREDICTIONS, phase="test", team="Majority", baseline="true")
    )
    people.admin.post(f"/submissions/{first['id']}/disqualify", json={"reason": "Copied."}).raise_for_status()
    people.admin.post(f"/submissions/{second['id']}/withdraw", json={"reason": "Wrong file."}).raise_for_status()
    opened = archive(people.admin, slug, phase="development")
    listed = lines(opened)
    assert [(each["id"], each["order"], each["status"]) for each in listed] == [
        (first["id"], 1, "finished"),
        (second["id"], 2, "finished"),
    ]
    assert (listed[0]["team_name"], listed[0]["method"]) == ("Blue", "=cmd()")
    assert (listed[0]["disqualified_reason"], listed[1]["withdrawn_reason"]) == ("Copied.", "Wrong file.")
    assert listed[0]["received_under"] == {"gold_version": 1, "recipe_version": 1, "scorer_version": 2}
    for each in listed:
        content = opened.read(each["file"])
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (each["sha256"], each["size"])
    assert opened.read(f"predictions/{second['id']}.csv.gz") == packed
    of_test = archive(people.admin, slug, phase="test")
    assert [(each["id"], each["status"], each["baseline"], each["test"]) for each in lines(of_test)] == [
        (rejected["id"], "rejected", False, False),
        (trial["id"], "finished", False, True),
        (baseline["id"], "finished", True, False),
    ]
    refused = require_refused(people.admin.get(f"/challenges/{slug}/export"), 400, "bad_request")
    assert "development, test" in refused["remedy"]


def test_the_manifest_is_last_and_has_the_hash_of_every_member(people: People) -> None:
    slug = create_challenge(people.admin, "export-manifest")
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    content = download(people.admin, slug)
    opened = zipfile.ZipFile(io.BytesIO(content))
    assert opened.namelist()[-1] == "manifest.json"
    manifest = json.loads(opened.read("manifest.json"))
    assert (manifest["format"], manifest["version"]) == ("assay-export", 2)
    assert (manifest["challenge"], manifest["phase"]) == (slug, "main")
    found = [
        {"name": name, "size": len(opened.read(name)), "sha256": hashlib.sha256(opened.read(name)).hexdigest()}
        for name in opened.namelist()[:-1]
    ]
    assert manifest["members"] == found
    (gold,) = lines(opened, "gold.jsonl")
    assert re.fullmatch(r"[0-9a-f]{64}", gold["nonce"])
    assert hashlib.sha256(opened.read(gold["file"])).hexdigest() == gold["sha256"]
    (score,) = lines(opened, "scores.jsonl")
    assert (score["submission"], score["split"], score["metrics"]["accuracy"]["value"]) == (sent["id"], "all", 1.0)
    assert json.loads(opened.read("phase.json"))["active"] == {
        "gold_version": 1,
        "recipe_version": 1,
        "scorer_version": manifest["scorer_version"],
    }
    assert blue.email
    assert all(blue.email.encode() not in opened.read(name) for name in opened.namelist())  # it names no person


def test_from_the_instances_of_a_submission_anybody_can_count_its_accuracy(people: People) -> None:
    gold = [
        {"id": f"t{number}", "label": label, "split": split, "weight": number}
        for number, (label, split) in enumerate(
            [("a", "public"), ("a", "private"), ("b", "public"), ("b", "private")], 1
        )
    ]
    slug = create_challenge(people.admin, "export-instances", gold)
    sent = require_finished(people["Blue"].join(slug, "Blue").submit(slug, predictions_with_hits(2)))
    opened = archive(people.admin, slug)
    (listed,) = lines(opened)
    document = json.loads(opened.read(listed["instances"]))
    assert (document["submission"], document["gold_version"], document["classes"]) == (sent["id"], 1, ["a", "b"])
    assert document["instances"][0] == {
        "id": "t1",
        "split": "public",
        "weight": 1.0,
        "predicted": ["a"],
        "actual": ["a"],
    }
    by_split = {each["split"]: each["metrics"]["accuracy"]["value"] for each in lines(opened, "scores.jsonl")}
    for split, value in by_split.items():
        rows = [row for row in document["instances"] if split in {"all", row["split"]}]
        right = sum(row["weight"] for row in rows if row["predicted"] == row["actual"])
        assert value == right / sum(row["weight"] for row in rows)
    assert set(by_split) == {"all", "public", "private"}


def test_scores_for_classes_stand_beside_the_labels_that_follow_from_them(people: People) -> None:
    slug = create_challenge(people.admin, "export-scores", recipe=make_recipe("accuracy", "log_loss"))
    body = {f"t{number}": {"a": 0.75, "b": 0.25} for number in range(1, 5)}
    sent = people["Blue"].join(slug, "Blue").submit(slug, body)
    require_finished(sent)
    opened = archive(people.admin, slug)
    document = json.loads(opened.read(lines(opened)[0]["instances"]))
    assert document["instances"][2] == {"id": "t3", "predicted": ["a"], "actual": ["b"], "scores": [0.75, 0.25]}


def test_a_file_that_is_gone_is_named_as_missing(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "export-missing")
    blue = people["Blue"].join(slug, "Blue")
    uploads = people.live.data_dir / "files" / "uploads"
    before = set(uploads.iterdir())
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    (stored,) = set(uploads.iterdir()) - before
    stored.unlink()
    content = download(people.admin, slug)
    listed = lines(zipfile.ZipFile(io.BytesIO(content)))
    assert [(each["id"], each["file"], each["instances"]) for each in listed] == [(sent["id"], None, None)]
    (tmp_path / "a.zip").write_bytes(content)
    assert "1 file was deleted before the export" in run_assay("archive", "verify", tmp_path / "a.zip").out
    scored = json.loads(run_assay("score", "--archive", tmp_path / "a.zip", "--json").out)
    assert scored["outcomes"] == {"no_file": 1}


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_organizers_of_every_role_export_and_nobody_else(people: People, role: str) -> None:
    slug = create_challenge(people.admin, "export-roles")
    organizer, blue = people[role.title()], people["Blue"].join(slug, "Blue")
    body = {"email": organizer.email, "role": role}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    assert lines(archive(organizer, slug)) == []
    require_refused(blue.get(f"/challenges/{slug}/export"), 403, "forbidden")
    require_refused(organizer.get(f"/challenges/{slug}/export", params={"phase": "absent"}), 404, "not_found")


@pytest.mark.ci
def test_more_submissions_than_a_page_are_exported_once_each_in_their_order(people: People) -> None:
    slug = create_challenge(people.admin, "export-pages")
    blue = people["Blue"].join(slug, "Blue")
    sent = [blue.submit(slug, CORRECT_PREDICTIONS, wait=0).json()["id"] for _ in range(205)]
    listed = lines(archive(people.admin, slug))
    assert [each["id"] for each in listed] == sent
    assert [each["order"] for each in listed] == [*range(1, 206)]
