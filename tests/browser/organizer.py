"""What an organizer does on pages, step by step as in docs/organizers.md."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.browser.participant import sign_up
from tests.browser.person import Person
from tests.browser.two_phases import (
    DEVELOPMENT_NAME,
    GOLD,
    PUBLIC,
    SLUG,
    TERMS,
    TEST,
    TEST_GOLD,
    TEST_NAME,
    TITLE,
    WRONG_GOLD,
    send,
    table_file,
)

ZONE = ZoneInfo("Europe/Vienna")
DESK = "Organizer's desk"
CLOSE = (datetime.now(ZONE) + timedelta(days=9)).date()
PAUSE = "The gold is being checked."


@dataclass
class Organizer:
    """The organizer at a browser, whose files are in a folder."""

    browser: Person
    files: Path

    def sign_up(self) -> None:
        """Make an account, starting from the first page."""
        sign_up(self.browser, "Olga Organizer")

    def create_the_draft(self) -> None:
        """Begin with a title, the first phase, and who may take part."""
        who = self.browser
        link = who.page.get_by_role("link", name="Create the first challenge")
        who.go("/").follow("Create the first challenge" if link.count() else "Create a challenge")
        who.write("Title", TITLE)
        who.write("Address", SLUG)
        who.mark("Multiclass")
        who.write("Name of the first phase", DEVELOPMENT_NAME)
        who.write("Time zone", "Europe/Vienna")
        who.write("Closes", f"{CLOSE} AoE")
        who.write("Rejected files per team and day", "10")
        who.mark("Accounts that an organizer approves")
        who.press("Create the draft")
        who.sees("The challenge is stored as a draft.", "This challenge is a draft.")

    def describe_the_challenge(self) -> None:
        """Say what visitors read, and what people accept and answer at registration."""
        who = self.desk("Settings")
        who.write("Description", "Which kind of **sound** does the recording hold?")
        who.press("Preview the description")
        who.sees("This is a preview.", "Which kind of sound does the recording hold?")
        who.write("Contact", "organizer@example.org")
        who.write("Members of a team, at most", "3")
        who.write("Terms", TERMS)
        who.write("Question 1", "Affiliation")
        who.mark("Question 1 is required")
        who.press("Save the settings")
        who.sees("The settings are saved.")

    def choose_metrics(self) -> None:
        """Rank by accuracy, and look at the equations before the recipe is saved."""
        who = self.desk("Recipe")
        who.mark("Ranks the board (the primary metric)", group="Accuracy accuracy")
        who.press("Preview")
        who.sees("These changes are not saved yet.")
        who.press("Save the recipe")
        who.sees("The recipe is active.")

    def set_up_phases(self) -> None:
        """Score late files of the development as unofficial; add a test phase in which teams select what counts."""
        who = self._phase(DEVELOPMENT_NAME)
        who.mark("Are scored, marked as unofficial and never ranked")
        who.press("Save the phase")
        who.sees("The phase is saved.")
        self.desk("Phases and gold")
        who.open("A further phase")
        who.write("Name", TEST_NAME)
        who.write("Opens", f"{CLOSE + timedelta(days=2)} AoE")
        who.write("Closes", f"{CLOSE + timedelta(days=10)} AoE")
        who.write("Submissions per day", "")
        who.write("Submissions in total", "3")
        who.press("Add the phase")
        who.sees("The phase is added. Next, upload its gold.")
        self.desk("Recipe").follow(TEST_NAME, menu="Recipes")
        who.mark("The ones that the team selects before the close")
        who.write("How many a team may select", "1")
        who.press("Save the recipe")
        who.sees("The recipe is active.", "This phase has a recipe of its own.")

    def upload_the_gold(self) -> None:
        """One file for each phase; the first for the development has a fault, and the second two wrong labels."""
        who = self.gold(DEVELOPMENT_NAME)
        faulty = self.files / "faulty.csv"
        faulty.write_text("id,label\nd1,vowel\nd1,consonant\n", encoding="utf-8")
        self.upload(faulty)
        who.sees("Problems of the file", "Nothing was stored.")
        self.upload(table_file(self.files, "wrong-gold", WRONG_GOLD))
        self.activate(1)
        self.gold(TEST_NAME)
        self.upload(table_file(self.files, "test-gold", TEST_GOLD, PUBLIC))
        who.sees("7, of which 3 public")
        self.activate(1)

    def replace_a_wrong_gold(self) -> None:
        """Upload the right labels, look at them, and activate them."""
        self.gold(DEVELOPMENT_NAME)
        self.upload(table_file(self.files, "gold", GOLD))
        self.browser.sees("The file is read and stored as a draft.")
        self.activate(2)

    def try_the_challenge(self) -> None:
        """Send a test entry and a baseline."""
        who = self.desk("Submissions").follow(TEST_NAME, menu="Phase")
        who.follow("As a test")
        send(who, table_file(self.files, "test-entry", TEST_GOLD), "a test")
        self.desk("Submissions").follow(DEVELOPMENT_NAME, menu="Phase").follow("As a baseline")
        who.write("Name of the baseline", "Majority")
        send(who, table_file(self.files, "baseline", dict.fromkeys(GOLD, "vowel")), "most frequent class")

    def publish(self) -> None:
        """Look at what is left to do, and show the challenge to everybody, with an announcement."""
        who = self.desk("To do")
        who.sees("Nothing keeps participants from taking part.")
        who.press("Publish the challenge")
        who.sees("The challenge is published.")
        self.desk("Announcements")
        who.write("Title", "The challenge is open")
        who.write("Text", "Development closes **soon**.")
        who.press("Preview")
        who.sees("Nothing is posted yet.")
        who.press("Post")
        who.sees("The announcement is on the page of the challenge and in its feed.")

    def admit_participants(self) -> None:
        """Approve those who wait."""
        who = self.desk("To do").follow("2 registrations wait for your approval")
        for name in ("Blue", "Green"):
            who.mark(f"Tick Captain of {name}")
        who.press("Approve")
        who.sees("The decision is in force.")

    def grant_quota(self, team: str) -> None:
        """Give a team one more submission a day."""
        who = self.desk("Quota")
        who.choose("Phase", DEVELOPMENT_NAME)
        who.write("Team", team)
        who.press("Show")
        who.write("A day", "1")
        who.write("Reason", "An outage of ours took one submission.")
        who.press("Grant")
        who.sees("The limits of the team changed.", "+1 a day. An outage of ours took one submission.")

    def pause_a_phase(self) -> None:
        """Pause development."""
        who = self._phase(DEVELOPMENT_NAME)
        who.open("Pause this phase")
        who.write("Reason", PAUSE)
        who.press("Pause the phase")
        who.sees("The phase is paused: it takes no submissions of participants.", PAUSE)

    def resume_it(self) -> None:
        """Let it take files again."""
        who = self._phase(DEVELOPMENT_NAME)
        who.press("Resume the phase")
        who.sees("The phase takes submissions again.")

    def close_a_phase_early_and_open_one(self) -> None:
        """Development ends now, and the test begins."""
        self.set_now(DEVELOPMENT_NAME, "Closes")
        self.set_now(TEST_NAME, "Opens")

    def close_the_test_phase(self) -> None:
        """It ends now."""
        self.set_now(TEST_NAME, "Closes")

    def preview_and_release(self) -> None:
        """Look at the private ranking, then show it to everybody."""
        who = self.desk("Release").follow(TEST_NAME, menu="Phase")
        who.sees("What the release would show", "up one rank", "down one rank")
        who.write(f"Type {TEST} to confirm", TEST)
        who.write("Reason (optional)", "As announced.")
        who.press("Release")
        who.sees("The private scores are released.", "What was released")

    def disqualify(self, method: str, team: str) -> None:
        """Take an entry out of the ranking."""
        who = self.desk("Submissions").follow(TEST_NAME, menu="Phase")
        who.mark(f"Tick {method} of {team}")
        who.write("Reason", "Labelled by hand.")
        who.press("Disqualify")
        who.sees("Done for all ticked submissions.", "disqualified")

    def read_the_audit_trail(self) -> None:
        """Find who released the scores, and why an entry was disqualified."""
        who = self.desk("Audit trail")
        who.sees("As announced.", "Labelled by hand.", PAUSE, "Olga Organizer")
        who.open("Filter")
        who.write("What", "phase.pause")
        who.press("Show")
        who.sees(PAUSE)
        who.does_not_see("Labelled by hand.")

    def archive_and_copy(self) -> None:
        """Make it read-only, and begin the next edition."""
        who = self.desk("Copy, export, archive, delete")
        who.press("Archive")
        who.sees("The challenge is archived: everybody can read it, and nobody can change it.")
        who.write("Address", f"{SLUG}-next")
        who.press("Copy")
        who.sees("This is the copy, a draft that only you see.")

    def desk(self, page: str) -> Person:
        """Open a page of the desk by its links."""
        self.browser.go(f"/challenges/{SLUG}").follow("Organize", menu="Challenge")
        return self.browser.follow(page, menu=DESK)

    def _phase(self, name: str) -> Person:
        return self.desk("Phases and gold").follow(name)

    def gold(self, phase: str) -> Person:
        """Open the gold of a phase."""
        return self._phase(phase).follow("Gold of this phase")

    def upload(self, file: Path) -> None:
        """Upload a file to the page of the gold, which is open."""
        self.browser.attach("Gold file", file)
        self.browser.press("Upload and check")

    def activate(self, version: int) -> None:
        """Activate a version there."""
        self.browser.press(f"Activate version {version}")
        self.browser.sees(f"Version {version} is active")

    def set_now(self, phase: str, time: str) -> None:
        """Let a phase open or close now."""
        who = self._phase(phase)
        who.write(time, datetime.now(ZONE).strftime("%Y-%m-%d %H:%M:%S"))
        who.press("Save the phase")
        who.sees("The phase is saved.")
