"""The two-phase challenge of docs/organizers.md, clicked through by an organizer and two participants."""

from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.organizer import PAUSE, Organizer
from tests.browser.participant import Participant
from tests.browser.person import Way, person
from tests.browser.two_phases import (
    DEVELOPMENT,
    DEVELOPMENT_NAME,
    GOLD,
    SLUG,
    TEST,
    TEST_GOLD,
    TEST_NAME,
    require_board,
    wrong_in,
)
from tests.live_service import Live

BASELINE = ("–", "Majority baseline most frequent class", 0.5)


WAYS: dict[str, Way] = {"Blue": "keyboard", "Green": "mouse"}
"""How the captains use the pages; the organizer has no scripts."""


def test_a_challenge_of_two_phases_is_run_on_pages_from_the_sign_up_to_the_archive(
    browser: Browser, tmp_path: Path
) -> None:
    with ExitStack() as running:
        live = Live(tmp_path / "data", challenge_creation="any").start()
        running.callback(live.stop)
        at_work = Organizer(running.enter_context(person(browser, live.url, "no scripts")), tmp_path)
        teams = []
        for name, way in WAYS.items():
            files = tmp_path / name
            files.mkdir()
            teams.append(Participant(name, running.enter_context(person(browser, live.url, way)), files))
        _prepare(at_work, *teams)
        _develop(at_work, *teams)
        _test(at_work, *teams)
        _end(at_work, *teams)


def _prepare(organizer: Organizer, blue: Participant, green: Participant) -> None:
    for who in (organizer, blue, green):
        who.sign_up()
    organizer.create_the_draft()
    organizer.describe_the_challenge()
    organizer.choose_metrics()
    organizer.set_up_phases()
    organizer.upload_the_gold()
    organizer.replace_a_wrong_gold()
    organizer.try_the_challenge()
    require_board(organizer.browser, DEVELOPMENT, BASELINE)
    blue.cannot_see_the_draft()
    organizer.publish()
    for team in (blue, green):
        team.register_a_team()
    organizer.admit_participants()


def _develop(organizer: Organizer, blue: Participant, green: Participant) -> None:
    blue.mend_a_rejected_file(DEVELOPMENT_NAME)
    blue.submit(DEVELOPMENT_NAME, wrong_in(GOLD, "d1"), "spectra")
    organizer.grant_quota("Blue")
    organizer.pause_a_phase()
    green.sees_the_pause(DEVELOPMENT_NAME, PAUSE)
    organizer.resume_it()
    green.submit(DEVELOPMENT_NAME, GOLD, "copied")
    require_board(
        blue.browser,
        DEVELOPMENT,
        ("1", "Green copied", 1.0),
        ("2", "Blue your team spectra", 0.833),
        BASELINE,
    )
    green.withdraw(DEVELOPMENT_NAME, "copied")
    green.submit(DEVELOPMENT_NAME, wrong_in(GOLD, "d1", "d2"), "wavelets")
    organizer.close_a_phase_early_and_open_one()
    green.submit(DEVELOPMENT_NAME, GOLD, "late")
    unranked = [("–", "Green withdrawn copied", 1.0), ("–", "Green unofficial: sent after the close late", 1.0)]
    below = [("2", "Green wavelets", 0.667), BASELINE]
    require_board(blue.browser, DEVELOPMENT, *unranked, ("1", "Blue your team spectra", 0.833), *below)
    require_board(organizer.browser, DEVELOPMENT, *unranked, ("1", "Blue spectra", 0.833), *below)


def _test(organizer: Organizer, blue: Participant, green: Participant) -> None:
    blue.submit(TEST_NAME, wrong_in(TEST_GOLD, "t1", "t4"), "first")
    blue.choose_what_counts(TEST_NAME, "first")
    green.submit(TEST_NAME, wrong_in(TEST_GOLD, "t4", "t5", "t6"), "better")
    green.choose_what_counts(TEST_NAME, "better")
    require_board(organizer.browser, TEST, ("1", "Green better", 1.0), ("2", "Blue first", 0.667))
    organizer.close_the_test_phase()


def _end(organizer: Organizer, blue: Participant, green: Participant) -> None:
    organizer.preview_and_release()
    require_board(
        green.browser,
        TEST,
        ("1 public 2", "Blue first", 0.75),
        ("2 public 1", "Green your team better", 0.25),
    )
    organizer.disqualify("better", "Green")
    left = ("–", "Green disqualified better", 0.25)
    require_board(blue.browser, TEST, ("1 public 1", "Blue your team first", 0.75), left)
    organizer.read_the_audit_trail()
    organizer.archive_and_copy()
    blue.browser.go(f"/challenges/{SLUG}/leaderboard?phase={TEST}")
    blue.browser.sees("This challenge was archived")
