"""Organizers upload gold by forms: its problems with their places, metadata, activation and the versions."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.in_process_app import ServedApp
from tests.web.reader import Reader, destination
from tests.web.test_organize_create import organizer, upload

GOLD = b"id,label,split\na,cat,public\nb,dog,public\nc,cat,private\nd,dog,private\ne,dog,private\n"
DESK = "/challenges/{slug}/organize/phases/main/gold"


@pytest.fixture
def owner(app: ServedApp, new_reader: Callable[[], Reader], request: pytest.FixtureRequest) -> tuple[Reader, str]:
    """The browser of an organizer, and the path of the gold of their new challenge."""
    name = request.node.name.replace("_", "-")[:50].strip("-")
    reader = organizer(app, new_reader(), name)
    reader.send("/new-challenge", "/new-challenge", title=name, slug=name)
    return reader, DESK.format(slug=name)


def class_counts(page: str) -> list[list[str]]:
    """The numbers beside each class."""
    return [re.findall(r'<td class="num">(\d+)</td>', row) for row in page.split('<th scope="row">')[1:]]


def test_gold_is_uploaded_checked_and_activated(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    answer = upload(reader, path, path, GOLD)
    checked = f"{path}?checked=1#versions"
    assert destination(answer) == (checked, "gold_uploaded")
    page = reader.get(checked)
    assert "draft: not used yet" in page.text
    assert class_counts(page.text) == [["1", "1"], ["1", "2"]]
    assert "5, of which 2 public" in page.text
    assert class_counts(reader.get(path).text) == []
    assert class_counts(reader.get(f"{path}/1/counts").text) == [["1", "1"], ["1", "2"]]
    activated = reader.send(page, f"{path}/1/activate")
    assert "Version 1 is active" in activated.text
    assert "What its scores give away" in activated.text
    assert ">Next: Description and rules</a>" in activated.text
    assert "what is left to do" not in activated.text
    slug = path.split("/")[2]
    assert app.admin().get(f"/challenges/{slug}/phases/main/gold/1").json()["status"] == "active"
    assert reader.get(f"{path}/1/data").content == GOLD
    trail = app.admin().get(f"/challenges/{slug}/audit").text
    assert "Checked" in trail
    assert "gold.download" in trail


def test_problems_are_shown_with_their_places(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    answer = upload(reader, path, path, b"id,label\na,cat\na,dog\nb,\n")
    assert answer.status_code == 422
    assert "&#34;a&#34; already occurs on line 2." in answer.text
    assert "The label is empty." in answer.text
    assert "line 4, column 2" in answer.text
    assert "There is no gold yet." in reader.get(path).text
    empty = upload(reader, path, path, b"", name="")
    assert empty.status_code == 422
    assert "There is no gold yet." in reader.get(path).text


def test_metadata_is_set_from_a_json_file(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    upload(reader, path, path, GOLD)
    weights = f"{path}/1/metadata/class-weights"
    assert upload(reader, path, weights, b'{"cat": 1, "dog": 3}', "weights.json").status_code == 303
    slug = path.split("/")[2]
    gold = app.admin().get(f"/challenges/{slug}/phases/main/gold/1").json()
    assert gold["class_weights"] == {"cat": 1.0, "dog": 3.0}
    assert "class weights" in reader.get(path).text
    unknown = upload(reader, path, weights, json.dumps({"owl": 1}).encode(), "weights.json")
    assert unknown.status_code == 422
    assert "owl is not among the classes" in unknown.text
    broken = upload(reader, path, weights, b"{", "weights.json")
    assert (broken.status_code, "The file is not JSON" in broken.text) == (400, True)
    assert reader.send(path, f"{path}/1/delete").status_code == 303
    assert "There is no gold yet." in reader.get(path).text


def test_a_file_needs_the_token_and_the_right_to_edit(
    app: ServedApp, owner: tuple[Reader, str], new_reader: Callable[[], Reader]
) -> None:
    reader, path = owner
    foreign: dict[str, Any] = {
        "data": {"csrf": "no"},
        "files": {"file": ("gold.csv", GOLD)},
        "headers": {"Origin": reader.url},
    }
    assert reader.client.post(path, **foreign).status_code == 403
    stranger = organizer(app, new_reader(), "stranger-of-gold")
    token = stranger.get("/new-challenge").text.split('name="csrf" value="')[1].split('"')[0]
    foreign["data"] = {"csrf": token}
    assert stranger.client.post(path, **foreign).status_code == 404
    assert "There is no gold yet." in reader.get(path).text


def test_a_draft_that_is_gone_does_not_hide_the_page(owner: tuple[Reader, str]) -> None:
    reader, path = owner
    upload(reader, path, path, GOLD)
    reader.send(path, f"{path}/1/delete")
    page = reader.get(f"{path}?checked=1")
    assert (page.status_code, "There is no gold yet." in page.text) == (200, True)


def test_a_correction_shows_what_it_changes(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    slug = path.split("/")[2]
    upload(reader, path, path, GOLD)
    reader.send(path, f"{path}/1/activate")
    admin = app.admin()
    sent = admin.submit(slug, {"a": "cat", "b": "dog", "c": "cat", "d": "cat", "e": "dog"}, team="Bench")
    assert sent.json()["status"] == "finished", sent.text
    corrected = GOLD.replace(b"b,dog", b"b,cat").replace(b"e,dog,private\n", b"")
    assert upload(reader, path, path, corrected).status_code == 303
    page = reader.get(path).text
    assert "2 instances since version 1: 1 relabelled, 1 voided, 0 restored." in page
    changes = reader.get(f"{path}/2/difference").text
    assert "Compared with version 1: 2 instances changed." in changes
    assert class_counts(changes)[:2] == [["2", "3"], ["3", "1"]]
    assert re.findall(r'<tr><th scope="row">([be])</th><td>(\w+) *</td>', changes) == [("b", "dog")]
    assert "not scored" in changes
    assert reader.get(f"{path}/2/difference.csv").text.splitlines()[1] == "b,dog,cat,,,,,,"
    added = upload(reader, path, path, GOLD + b"f,cat,public\n")
    assert (added.status_code, "open a new phase" in added.text) == (422, True)
