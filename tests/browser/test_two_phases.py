"""The challenge of two phases of docs/organizers.md, as an organizer and two participants see it in their browsers."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.person import WAYS, Way, person
from tests.browser.two_phases import (
    DEVELOPMENT,
    GOLD,
    SLUG,
    TEST,
    TEST_GOLD,
    Organizer,
    Participant,
    require_board,
    wrong_in,
)
from tests.live_service import Live

BASELINE = ("–", "Majority baseline most frequent class", 0.5)


@pytest.mark.parametrize("way", WAYS)
def test_everybody_sees_the_boards_of_two_phases_from_the_draft_to_the_archive(
    browser: Browser, tmp_path: Path, way: Way
) -> None:
    with ExitStack() as running:
        live = Live(tmp_path / "data", challenge_creation="approved").start()
        running.callback(live.stop)
        organizer = live.person("organizer", approved=True)
        at_work = Organizer(organizer, running.enter_context(person(browser, live.url, way)).log_in(organizer.email))
        teams = []
        for name in ("Blue", "Green"):
            captain = live.person(name.lower())
            at_browser = running.enter_context(person(browser, live.url, way)).log_in(captain.email)
            teams.append(Participant(name, captain, at_browser))
        _prepare(at_work, *teams)
        _develop(at_work, *teams)
        _test(at_work, *teams)
        _end(at_work, *teams)


def _prepare(organizer: Organizer, blue: Participant, green: Participant) -> None:
    organizer.describe_the_challenge()
    organizer.upload_the_gold()
    organizer.replace_a_wrong_gold()
    organizer.try_the_challenge()
    require_board(organizer.browser, DEVELOPMENT, BASELINE)
    blue.browser.must_go(f"/challenges/{SLUG}/leaderboard", status=404).sees_heading("There is nothing here")
    organizer.publish()
    for team in (blue, green):
        team.make_an_account_and_register_a_team()
    organizer.admit_participants()


def _develop(organizer: Organizer, blue: Participant, green: Participant) -> None:
    blue.mend_a_rejected_file()
    blue.submit(DEVELOPMENT, wrong_in(GOLD, "d1"), "spectra")
    organizer.grant_quota("Blue")
    organizer.pause_a_phase()
    green.submit(DEVELOPMENT, wrong_in(GOLD, "d1", "d2"), "wavelets")
    organizer.close_a_phase_early_and_open_one()
    green.submit(DEVELOPMENT, GOLD, "late")
    late = ("–", "Green unofficial: sent after the close late", 1.0)
    second = ("2", "Green wavelets", 0.667)
    require_board(blue.browser, DEVELOPMENT, late, ("1", "Blue your team spectra", 0.833), second, BASELINE)
    require_board(organizer.browser, DEVELOPMENT, late, ("1", "Blue spectra", 0.833), second, BASELINE)


def _test(organizer: Organizer, blue: Participant, green: Participant) -> None:
    blue.submit(TEST, wrong_in(TEST_GOLD, "t1", "t4"), "first")
    blue.choose_what_counts("first")
    green.submit(TEST, wrong_in(TEST_GOLD, "t4", "t5", "t6"), "better")
    green.choose_what_counts("better")
    public = [("1", "Green better", 1.0), ("2", "Blue first", 0.667)]
    require_board(organizer.browser, TEST, *public)
    organizer.close_the_test_phase()


def _end(organizer: Organizer, blue: Participant, green: Participant) -> None:
    organizer.preview_and_release()
    require_board(
        green.browser,
        TEST,
        ("1 public 2", "Blue first", 0.75),
        ("2 public 1", "Green your team better", 0.25),
    )
    organizer.disqualify(green.sent["better"])
    left = ("–", "Green disqualified better", 0.25)
    require_board(blue.browser, TEST, ("1 public 1", "Blue your team first", 0.75), left)
    organizer.archive_and_copy()
    blue.browser.go(f"/challenges/{SLUG}/leaderboard?phase={TEST}")
    blue.browser.sees("This challenge was archived")
