"""A file is sent in a browser: with progress and scores on the same page, and without scripts."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.person import Way, person
from tests.journeys.support import CORRECT_PREDICTIONS, GOLD
from tests.live_service import Live, open_challenge

VALID = "id,label\n" + "".join(f"{key},{label}\n" for key, label in CORRECT_PREDICTIONS.items())
SLUG = "uploads"


@pytest.fixture(scope="module")
def service(live: Live) -> Live:
    open_challenge(live.admin(), SLUG, GOLD, title="Uploads")
    return live


def test_faults_and_then_scores_appear_on_the_same_page(service: Live, browser: Browser, tmp_path: Path) -> None:
    faulty, valid = tmp_path / "faulty.csv", tmp_path / "valid.csv"
    faulty.write_text(VALID.replace("t1,a", "t1,zebra"), encoding="utf-8")
    valid.write_text(VALID, encoding="utf-8")
    ada = service.person("ada").join(SLUG, "Ada's team")
    with person(browser, service.url) as who:
        page = who.log_in(ada.email).go(f"/challenges/{SLUG}/submit").page
        page.evaluate("document.reloaded = false")
        who.attach("File with predictions", faulty)
        who.press("Check only")
        expect(page.locator("#outcome")).to_contain_text("t1,zebra")
        assert ada.get(f"/challenges/{SLUG}/phases/main/submissions").json()["items"] == []
        who.attach("File with predictions", valid)
        page.get_by_role("button", name="Submit", exact=True).dblclick()
        expect(page.locator("#outcome .status.good")).to_have_text("Finished")
        expect(page.locator("#outcome")).to_contain_text("f1_macro")
        assert page.evaluate("document.reloaded") is False
        (only,) = ada.get(f"/challenges/{SLUG}/phases/main/submissions").json()["items"]
        expect(page.get_by_role("link", name="Your submission")).to_have_attribute("href", f"/submissions/{only['id']}")
        who.attach("File with predictions", valid)  # the next file is another submission
        who.press("Submit")
        expect(page.get_by_role("link", name="Your submission")).not_to_have_attribute(
            "href", f"/submissions/{only['id']}"
        )


def test_a_file_that_is_dropped_is_chosen(service: Live, browser: Browser) -> None:
    bea = service.person("bea").join(SLUG, "Bea's team")
    with person(browser, service.url) as who:
        page = who.log_in(bea.email).go(f"/challenges/{SLUG}/submit").page
        data = page.evaluate_handle(
            "text => { const data = new DataTransfer(); data.items.add(new File([text], 'mine.csv')); return data; }",
            VALID,
        )
        page.dispatch_event("#drop", "drop", {"dataTransfer": data})
        assert page.evaluate("document.getElementById('field-file').files[0].name") == "mine.csv"
        who.press("Submit")
        expect(page.locator("#outcome .status.good")).to_have_text("Finished")


@pytest.mark.parametrize("way", ["no scripts", "keyboard"])
def test_other_ways_send_it_too(service: Live, browser: Browser, tmp_path: Path, way: Way) -> None:
    valid = tmp_path / "valid.csv"
    valid.write_text(VALID, encoding="utf-8")
    name = way.replace(" ", "-")
    eve = service.person(name).join(SLUG, f"Team {name}")
    with person(browser, service.url, way) as who:
        who.log_in(eve.email).go(f"/challenges/{SLUG}/submit")
        who.write("Method (optional)", "Forest")
        who.attach("File with predictions", valid)
        who.press("Submit")
        expect(who.page.locator("main .status")).to_be_visible()
        (only,) = eve.get(f"/challenges/{SLUG}/phases/main/submissions").json()["items"]
        assert only["method"] == "Forest"
