"""The organizer's page about items: from the suspects over the form to a corrected file."""

import json
from collections.abc import Callable

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.desk import organizer, person
from tests.web.reader import Reader

SLUG = "suspects"
PAGE = f"/challenges/{SLUG}/organize/items"
GOLD = [{"id": f"i{n:02}", "label": ("cat", "dog")[n % 2]} for n in range(20)]
TRUTH = {row["id"]: row["label"] for row in GOLD} | {"i04": "dog"}
"""What the systems say, which contradicts the gold once."""


@pytest.fixture(scope="module")
def sent(app: ServedApp) -> None:
    """Two teams, one of which has an error of its own."""
    open_challenge(app.admin(), SLUG, GOLD)
    for name, file in (("Blue", TRUTH), ("Green", TRUTH | {"i07": "cat"})):
        assert person(app, f"{name}Suspects").join(SLUG, name).submit(SLUG, file).status_code == 201


@pytest.fixture
def owner(app: ServedApp, new_reader: Callable[[], Reader], sent: None) -> Reader:
    """The browser of an owner."""
    reader = new_reader()
    organizer(app, reader, "owner", slug=SLUG)
    return reader


def test_suspects_become_a_corrected_file(owner: Reader) -> None:
    page = owner.get(f"{PAGE}?select=suspect&fill=true")
    assert '<th scope="row">i04</th><td>cat</td><td class="num">0 of 2</td><td>dog&nbsp;×&nbsp;2</td>' in page.text
    assert '<th scope="row">i07</th>' not in page.text
    assert "i04,dog</textarea>" in page.text
    moves = owner.send(page, PAGE, act="moves")
    assert "1 instance relabelled, 0 void" in moves.text
    assert moves.text.index(">Blue</a>") < moves.text.index(">Green</a>")
    file = owner.send(page, PAGE, act="gold", changes="i04,dog\ni05")
    rows = {row["id"]: row["label"] for row in map(json.loads, file.text.splitlines())}
    assert rows == {name: label for name, label in TRUTH.items() if name != "i05"}
    table = owner.send(page, PAGE, act="csv", changes="i04,dog")
    assert table.text.splitlines() == ["id,old,new,void", "i04,cat,dog,false"]


def test_the_page_shows_agreement_and_pairs(owner: Reader) -> None:
    page = owner.get(PAGE).text
    assert "No pair of different teams is suspiciously alike." in page
    assert "Overlap of errors in percent" in page
    assert "<svg" in page


def test_faults_of_changes_stand_beside_the_field(owner: Reader) -> None:
    page = owner.get(PAGE)
    refused = owner.send(page, PAGE, act="moves", changes="i04,bird")
    assert refused.status_code == 422
    assert "would get the label &#39;bird&#39;, which is none of the classes" in refused.text
    assert "i04,bird</textarea>" in refused.text
    assert owner.send(page, PAGE, act="moves", changes="").status_code == 422


def test_a_phase_without_scores_says_so(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    open_challenge(app.admin(), "no-suspects", GOLD)
    reader = new_reader()
    organizer(app, reader, "viewer", slug="no-suspects")
    page = reader.get("/challenges/no-suspects/organize/items").text
    assert "No submission of this phase has scores yet" in page
