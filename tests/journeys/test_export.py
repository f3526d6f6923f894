"""The export of a challenge: all files of predictions in one archive, with a list of the submissions."""

import gzip
import hashlib
import io
import json
import zipfile
from typing import Any

import pytest

from tests.journeys.support import CORRECT_PREDICTIONS, People, create_challenge, require_finished, require_refused
from tests.live_service import Caller


def archive(who: Caller, slug: str, **query: str) -> zipfile.ZipFile:
    answer = who.get(f"/challenges/{slug}/export", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{slug}')
    opened = zipfile.ZipFile(io.BytesIO(answer.content))
    assert opened.testzip() is None
    return opened


def lines(opened: zipfile.ZipFile) -> list[dict[str, Any]]:
    return [json.loads(line) for line in opened.read("submissions.jsonl").splitlines()]


def test_an_export_holds_every_file_as_it_was_sent_and_what_is_known_of_it(people: People) -> None:
    slug = create_challenge(people.admin, "export", phases=[{"name": "Development"}, {"name": "Test"}])
    blue = people["Blue"].join(slug, "Blue")
    packed = gzip.compress(b"id,label\nt1,a\nt2,a\nt3,b\nt4,b\n")
    first = require_finished(blue.submit(slug, CORRECT_PREDICTIONS, phase="development", method="=cmd()"))
    path = f"/challenges/{slug}/phases/development/submissions"
    headers = {"Content-Type": "text/csv", "Content-Encoding": "gzip", "Prefer": "wait=60"}
    second = require_finished(blue.post(path, content=packed, headers=headers))
    rejected = blue.submit(slug, {"t1": "a"}, phase="test").json()
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, phase="test", test="true"))
    baseline = require_finished(
        people.admin.submit(slug, CORRECT_PREDICTIONS, phase="test", team="Majority", baseline="true")
    )
    people.admin.post(f"/submissions/{first['id']}/disqualify", json={"reason": "r"}).raise_for_status()
    opened = archive(people.admin, slug)
    listed = lines(opened)
    assert [(each["id"], each["phase"], each["status"], each["baseline"]) for each in listed] == [
        (first["id"], "development", "finished", False),
        (second["id"], "development", "finished", False),
        (rejected["id"], "test", "rejected", False),
        (baseline["id"], "test", "finished", True),
    ]
    assert (listed[0]["team"]["name"], listed[0]["method"]) == ("Blue", "=cmd()")
    assert listed[0]["disqualified_at"] is not None
    for each in listed:
        content = opened.read(each["file"])
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (each["sha256"], each["size"])
    assert opened.read(f"predictions/development/{second['id']}.csv.gz") == packed
    assert set(opened.namelist()) == {each["file"] for each in listed} | {"submissions.jsonl", "manifest.json"}
    manifest = json.loads(opened.read("manifest.json"))
    assert (manifest["format"], manifest["version"]) == ("assay-export", 1)
    assert [phase["slug"] for phase in manifest["phases"]] == ["development", "test"]
    assert [each["id"] for each in lines(archive(people.admin, slug, phase="test"))] == [rejected["id"], baseline["id"]]


def test_a_file_that_is_gone_is_named_as_missing(people: People) -> None:
    slug = create_challenge(people.admin, "export-missing")
    blue = people["Blue"].join(slug, "Blue")
    uploads = people.live.data_dir / "files" / "uploads"
    before = set(uploads.iterdir())
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    (stored,) = set(uploads.iterdir()) - before
    stored.unlink()
    opened = archive(people.admin, slug)
    assert [(each["id"], each["file"]) for each in lines(opened)] == [(sent["id"], None)]
    assert opened.namelist() == ["submissions.jsonl", "manifest.json"]


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_organizers_of_every_role_export_and_nobody_else(people: People, role: str) -> None:
    slug = create_challenge(people.admin, "export-roles")
    organizer, blue = people[role.title()], people["Blue"].join(slug, "Blue")
    body = {"email": organizer.email, "role": role}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    assert lines(archive(organizer, slug)) == []
    require_refused(blue.get(f"/challenges/{slug}/export"), 403, "forbidden")
    require_refused(organizer.get(f"/challenges/{slug}/export", params={"phase": "absent"}), 404, "not_found")


def test_more_submissions_than_a_page_are_exported_once_each(people: People) -> None:
    slug = create_challenge(people.admin, "export-pages")
    blue = people["Blue"].join(slug, "Blue")
    sent = [blue.submit(slug, CORRECT_PREDICTIONS, wait=0).json()["id"] for _ in range(205)]
    assert [each["id"] for each in lines(archive(people.admin, slug))] == sent
