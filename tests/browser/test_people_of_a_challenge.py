"""Approval by an administrator, organizers with roles, invitations to a team, and a release that is not possible yet."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect

from app.actions.accounts.bootstrap import create_user
from tests.browser.organizer import Organizer
from tests.browser.participant import Participant, sign_up
from tests.browser.person import Person, person
from tests.browser.two_phases import DEVELOPMENT, DEVELOPMENT_NAME, PUBLIC, SLUG, TEST_GOLD, send, table_file
from tests.journeys.support import write_session_of
from tests.live_service import PASSWORD, Live

ADMINISTRATOR, ORGANIZER, HELPER = "administrator@example.org", "olga-organizer@example.org", "hedy-helper@example.org"
ALLOWED = "Organizes for the society."
MISUSE = "Shares the account with others."


def test_people_are_approved_admitted_and_disabled_on_pages(browser: Browser, tmp_path: Path) -> None:
    with ExitStack() as running:

        def enter() -> Person:
            return running.enter_context(person(browser, live.url))

        live = running.enter_context(_service(tmp_path))
        administrator = enter().log_in(ADMINISTRATOR)
        organizer, helper, mia = Organizer(enter(), tmp_path), enter(), enter()
        organizer.sign_up()
        _approve(administrator, organizer)
        organizer.create_the_draft()
        organizer.describe_the_challenge()
        sign_up(helper, "Hedy Helper")
        _help_organize(organizer, helper)
        _reach_the_gold(organizer)
        organizer.publish()
        blue = Participant("Blue", enter(), tmp_path)
        blue.sign_up()
        blue.register_a_team()
        _admit(organizer, "Captain of Blue")
        sign_up(mia, "Mia Member")
        _enter_a_team(blue.browser, mia, stranger=helper)
        _admit(organizer, "Mia Member")
        _submit_as_member(mia, tmp_path)
        _release_after_the_close(organizer)
        _disable(administrator, mia)
        _look_at_workers(administrator)


@contextmanager
def _service(folder: Path) -> Iterator[Live]:
    """A service on which an administrator approves those who may create challenges."""
    live = Live(folder / "data", challenge_creation="approved").start()
    try:
        with write_session_of(live) as session:
            create_user(session, email=ADMINISTRATOR, name="Ada Administrator", password=PASSWORD, admin=True)
        yield live
    finally:
        live.stop()


def _approve(administrator: Person, organizer: Organizer) -> None:
    """Nobody but administrators may create challenges, until one approves the account."""
    organizer.browser.must_go("/new-challenge", status=403)
    administrator.go("/").follow("Administration").sees("accounts that you approve")
    _account(administrator, ORGANIZER, "Olga Organizer")
    administrator.write("Reason", ALLOWED)
    administrator.press("Approve to create challenges")
    administrator.sees("Withdraw the approval to create challenges")
    administrator.follow("What concerned it").sees(ALLOWED)


def _help_organize(organizer: Organizer, helper: Person) -> None:
    """A viewer sees the desk and changes nothing; as an editor the same person can; then the owner removes the role."""
    helper.must_go(f"/challenges/{SLUG}/organize", status=404)
    _set_role(organizer, "Viewer: sees everything, gold included, and changes nothing")
    helper.must_go(f"/challenges/{SLUG}/organize").sees("You are a viewer of this challenge")
    helper.follow("Announcements").sees("Nothing was announced yet.")
    expect(helper.page.get_by_role("button", name="Post")).to_have_count(0)
    _set_role(
        organizer, "Editor: sees everything and changes everything but organizers and the existence of the challenge"
    )
    helper.page.reload()
    helper.write("Title", "We are nearly ready")
    helper.press("Post")
    helper.sees("The announcement is on the page of the challenge and in its feed.")
    organizer.desk("Organizers")
    organizer.browser.press("Remove Hedy Helper")
    organizer.browser.sees("The role was removed.")
    helper.must_go(f"/challenges/{SLUG}/organize", status=404)


def _set_role(organizer: Organizer, role: str) -> None:
    who = organizer.desk("Organizers")
    who.write("E-mail address of the account", HELPER)
    who.mark(role)
    who.press("Set the role")
    who.sees("The role is in force.", HELPER)


def _reach_the_gold(organizer: Organizer) -> None:
    """The release lists what is missing, each with a link to the page for it."""
    who = organizer.desk("Release")
    who.sees("Not yet possible", "The phase has no active gold.", "The phase has not closed.")
    expect(who.page.get_by_role("button", name="Release", exact=True)).to_be_disabled()
    who.follow("Upload and activate the gold")
    organizer.upload(table_file(organizer.files, "gold", TEST_GOLD, PUBLIC))
    expect(who.page.get_by_role("row", name="vowel")).to_have_text("vowel12")
    organizer.activate(1)
    organizer.desk("Release")
    who.does_not_see("The phase has no active gold.")


def _admit(organizer: Organizer, name: str) -> None:
    """Approve everybody who waits."""
    who = organizer.desk("Registrations").follow("Waiting for a decision")
    who.follow("Tick all of this page")
    expect(who.page.get_by_label(f"Tick {name}")).to_be_checked()
    who.press("Approve")
    who.sees("The decision is in force.", "No registration has this status.")


def _enter_a_team(captain: Person, member: Person, *, stranger: Person) -> None:
    """The captain makes an invitation, with which one person enters the team."""
    captain.go(f"/challenges/{SLUG}").follow("Team", menu="Challenge")
    captain.write("Whom it is for", "Mia")
    captain.press("Make an invitation")
    captain.sees("Your invitation", "works once")
    code = captain.page.locator("figure.code", has_text="The code alone").locator("code").inner_text()
    link = captain.page.locator("figure.code", has_text="Link").locator("code").first.inner_text()
    member.go("/").follow("Mia Member").follow("Enter a code")
    member.write("Code or link", code)
    member.press("Continue")
    member.sees("Your code admits you to the team Blue.")
    member.write("Affiliation", "University of Somewhere")
    member.mark("I accept these terms, version 1")
    member.press("Enter the team")
    member.sees("An organizer")
    stranger.go(link).press("Continue")  # the script of the page has filled in the code
    stranger.sees("There is a problem")
    captain.page.reload()
    captain.sees("Mia Member")


def _submit_as_member(member: Person, files: Path) -> None:
    member.go(f"/challenges/{SLUG}").follow("Submit", menu="Challenge")
    send(member, table_file(files, "of-the-member", TEST_GOLD), "by a member")


def _release_after_the_close(organizer: Organizer) -> None:
    """Only the close is missing; after it, the name of the phase has to be typed."""
    who = organizer.desk("Release")
    who.follow("Change its closing time")
    organizer.set_now(DEVELOPMENT_NAME, "Closes")
    organizer.desk("Release").sees("Nothing stands in the way of the release.")
    who.write(f"Type {DEVELOPMENT} to confirm", "yes")
    who.press("Release")
    who.sees("There is a problem", "a release cannot be undone")
    who.write(f"Type {DEVELOPMENT} to confirm", DEVELOPMENT)
    who.press("Release")
    who.sees("The private scores are released.", "What was released")


def _disable(administrator: Person, member: Person) -> None:
    """A disabled account is logged out and cannot log in until an administrator enables it."""
    _account(administrator, "mia-member@example.org", "Mia Member")
    administrator.press("Disable")
    administrator.sees("There is a problem")  # without a reason
    administrator.write("Reason", MISUSE)
    administrator.press("Disable")
    administrator.sees("disabled on", MISUSE)
    member.go("/account").write("E-mail address", "mia-member@example.org")
    member.write("Password", PASSWORD)
    member.press("Log in")
    member.sees("This account is disabled", MISUSE)
    administrator.press("Enable")
    administrator.sees("enabled")
    member.log_in("mia-member@example.org")


def _look_at_workers(administrator: Person) -> None:
    """The queue, the workers and what the doctor says."""
    administrator.follow("Workers and checks", menu="Administration")
    administrator.sees("this service scores by itself", "nothing waits")
    administrator.press("Run the checks")
    administrator.sees("Problems and warnings say what to do", "database.reachable")
    expect(administrator.page.get_by_role("button", name="Run the checks again")).to_be_visible()


def _account(administrator: Person, email: str, name: str) -> None:
    """Find an account and open its page."""
    administrator.go("/administration").follow("Accounts", menu="Administration")
    administrator.write("Name or address contains", email)
    administrator.press("Search")
    administrator.follow(name)
