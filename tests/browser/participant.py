"""What a participant does on pages, step by step as in docs/participants.md."""

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.person import Person
from tests.browser.two_phases import GOLD, SLUG, TITLE, send, table_file
from tests.live_service import PASSWORD


@dataclass
class Participant:
    """A captain at a browser, whose files are in a folder."""

    team: str
    browser: Person
    files: Path

    def sign_up(self) -> None:
        """Make an account, starting from the first page."""
        sign_up(self.browser, f"Captain of {self.team}")

    def cannot_see_the_draft(self) -> None:
        """The challenge is neither in the list nor at its address."""
        self.browser.go("/").does_not_see(TITLE)
        self.browser.must_go(f"/challenges/{SLUG}/leaderboard", status=404).sees_heading("Page not found")

    def register_a_team(self) -> None:
        """Read the announcement, answer, accept the terms, and found a team, which waits for approval."""
        who = self.browser
        who.go("/").follow(TITLE)
        who.sees("The challenge is open", "Development closes soon.")
        who.follow("Take part", menu="Challenge")
        who.sees("Do not label the recordings of the test phase by hand.")
        who.write("Name of your team", self.team)
        who.write("Affiliation", "University of Somewhere")
        who.press("Take part")
        who.sees("There is a problem")  # the terms are not accepted
        who.mark("I accept these terms, version 1")
        who.press("Take part")
        who.sees("An organizer decides on it.")

    def submit(self, phase: str, predictions: dict[str, str], method: str) -> None:
        """Send a file, and read its scores."""
        self._open_form(phase)
        send(self.browser, table_file(self.files, method, predictions), method)
        self.browser.sees("Scores", "accuracy")

    def mend_a_rejected_file(self, phase: str) -> None:
        """Send a file with a misspelt label and read the problem; the page to check says that the mended one is valid."""
        who = self.browser
        self._open_form(phase)
        send(who, table_file(self.files, "typing", GOLD | {"d2": "vovel"}), "typing", status="Rejected")
        who.sees("There is 1 problem.", "line 3", "d2,vovel")
        self._open_form(phase)
        who.attach("File with predictions", table_file(self.files, "mended", GOLD))
        who.press("Check only")
        who.sees("The file is valid")

    def sees_the_pause(self, phase: str, reason: str) -> None:
        """The page to submit says why it takes no files."""
        self._open_form(phase)
        self.browser.sees("This phase is paused", reason)

    def withdraw(self, phase: str, method: str) -> None:
        """Take back a submission."""
        who = self.browser
        self._list(phase).follow(method)
        who.open("Withdraw this submission")
        who.write("Reason (optional)", "Sent by mistake.")
        who.press("Withdraw this submission")
        who.sees("The submission is withdrawn.", "Sent by mistake.")

    def choose_what_counts(self, phase: str, method: str) -> None:
        """Select the submission that counts in the test phase."""
        who = self._list(phase)
        who.sees("0 submissions are selected")
        who.press(f"Select {method}")
        who.sees("1 submission is selected of at most 1")
        expect(who.page.get_by_role("button", name=f"Unselect {method}")).to_be_visible()

    def _open_form(self, phase: str) -> None:
        """Open the page to submit, which offers a choice of the phase while several take files."""
        who = self._challenge().follow("Submit", menu="Challenge")
        who.sees_heading("Submit predictions")
        if who.page.get_by_role("navigation", name="Phase", exact=True).count():
            who.follow(phase, menu="Phase")
        who.sees(f"phase {phase}")

    def _list(self, phase: str) -> Person:
        return self._challenge().follow("My submissions", menu="Challenge").follow(phase, menu="Phase")

    def _challenge(self) -> Person:
        return self.browser.go(f"/challenges/{SLUG}")


def sign_up(who: Person, name: str) -> None:
    """Make an account, starting from the first page."""
    who.go("/").follow("Sign up")
    who.write("E-mail address", f"{name.replace(' ', '-').lower()}@example.org")
    who.write("Name", name)
    who.write("Password", PASSWORD)
    who.press("Sign up")
    who.sees("Your account is ready, and you are logged in.")
