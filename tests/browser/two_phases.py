"""The challenge of the guide for organizers, step by step: what is sent in each, and what the boards then show.

Steps are named as the headings of docs/organizers.md and docs/participants.md. A step for which there is no page yet is
taken by the API, as the same person; what people then see, they see on pages.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.browser.person import Person
from tests.journeys.support import require_finished
from tests.live_service import Caller, eventually

SLUG, DEVELOPMENT, TEST = "sounds", "development", "test"
PHASES = f"/challenges/{SLUG}/phases"
WRONG_GOLD = dict.fromkeys(("d1", "d2", "d3"), "vowel") | {"d4": "consonant", "d5": "vowel", "d6": "vowel"}
GOLD = WRONG_GOLD | {"d5": "consonant", "d6": "consonant"}
TEST_LABELS = ("vowel", "consonant", "noise", "vowel", "consonant", "noise", "vowel")
TEST_GOLD = {f"t{number}": label for number, label in enumerate(TEST_LABELS, 1)}
PUBLIC = ("t1", "t2", "t3")
TERMS = "Do not label the recordings of the test phase by hand. Describe your method."
BoardRow = tuple[str, str, float]
"""Rank, team with its marks, and accuracy, as a reader sees them."""


def _rows(gold: dict[str, str]) -> list[dict[str, str]]:
    return [{"id": each, "label": label} for each, label in gold.items()]


def wrong_in(gold: dict[str, str], *ids: str) -> dict[str, str]:
    """Predictions that are wrong for these ids."""
    return gold | {each: "vowel" if gold[each] != "vowel" else "consonant" for each in ids}


def shown_rows(reader: Person, phase: str) -> list[BoardRow]:
    """The rows of the board that is open in a browser, from the top down."""
    reader.go(f"/challenges/{SLUG}/leaderboard?phase={phase}")
    rows = reader.page.locator("table.board tbody tr").all()
    return [
        (
            " ".join(row.locator("td.rank").inner_text().split()),
            " ".join(row.locator("th").inner_text().split()),
            round(float(row.locator("td.main").inner_text()), 3),
        )
        for row in rows
    ]


def require_board(reader: Person, phase: str, *expected: BoardRow) -> None:
    """Wait until a reader sees these rows; a board that only new scores change is built at most once a second."""
    seen: list[list[BoardRow]] = []

    def shows() -> bool:
        seen[:] = [shown_rows(reader, phase)]
        return seen[0] == list(expected)

    try:
        eventually(shows, "the board", seconds=10)
    except AssertionError:
        raise AssertionError(seen[0]) from None


@dataclass
class Participant:
    """A captain, with the browser and the team."""

    team: str
    sender: Caller
    browser: Person
    sent: dict[str, str] = field(default_factory=dict)

    def make_an_account_and_register_a_team(self) -> None:
        """Accept the terms, say where one works, and found a team, which waits for approval."""
        body = {"team": self.team, "terms": 1, "fields": {"affiliation": "University of Somewhere"}}
        made = self.sender.post(f"/challenges/{SLUG}/registrations", json=body).raise_for_status()
        assert made.json()["status"] == "pending"

    def submit(self, phase: str, predictions: dict[str, str], method: str) -> None:
        """Send a file and wait for its scores."""
        answer = require_finished(self.sender.submit(SLUG, predictions, phase=phase, method=method))
        self.sent[method] = answer["id"]

    def mend_a_rejected_file(self) -> None:
        """Send a file with a misspelt label, which is rejected and says where."""
        answer = self.sender.submit(SLUG, GOLD | {"d2": "vovel"}, phase=DEVELOPMENT, method="typing").json()
        assert answer["status"] == "rejected", answer

    def choose_what_counts(self, method: str) -> None:
        """Select the submission that counts in the test phase."""
        self.sender.post(f"/submissions/{self.sent[method]}/select", json={}).raise_for_status()


@dataclass
class Organizer:
    """The organizer, with the browser."""

    sender: Caller
    browser: Person

    def describe_the_challenge(self) -> None:
        """Make the draft with its two phases."""
        recipe: dict[str, Any] = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro"]}
        closes = (datetime.now(UTC) + timedelta(days=9)).date()
        development = {
            "name": "Development",
            "closes_at": f"{closes} AoE",
            "late": "unofficial",
            "quota": {"per_day": 5, "invalid_per_day": 10},
        }
        test = {
            "name": "Test",
            "opens_at": f"{closes + timedelta(days=2)} AoE",
            "closes_at": f"{closes + timedelta(days=10)} AoE",
            "quota": {"total": 3},
            "recipe": recipe | {"selection": "selected", "selection_max": 1},
        }
        body = {
            "slug": SLUG,
            "title": "Vowels and consonants",
            "description": "Which kind of sound does the recording hold?",
            "contact": "organizer@example.org",
            "task": "multiclass",
            "timezone": "Europe/Vienna",
            "recipe": recipe,
            "registration": "approval",
            "team_size_limit": 3,
            "terms": TERMS,
            "registration_fields": [{"name": "affiliation", "label": "Affiliation", "required": True}],
            "phases": [development, test],
            "draft": True,
        }
        self.sender.post("/challenges", json=body).raise_for_status()

    def upload_the_gold(self) -> None:
        """One file for each phase; the development's has two wrong labels."""
        split = [row | {"split": "public" if row["id"] in PUBLIC else "private"} for row in _rows(TEST_GOLD)]
        for phase, gold in ((DEVELOPMENT, _rows(WRONG_GOLD)), (TEST, split)):
            path = f"{PHASES}/{phase}/gold"
            self.sender.post(path, params={"activate": "true"}, json=gold).raise_for_status()

    def replace_a_wrong_gold(self) -> None:
        """Upload the right labels, look at them, and activate them."""
        self.sender.post(f"{PHASES}/{DEVELOPMENT}/gold", json=_rows(GOLD)).raise_for_status()
        self.sender.post(f"{PHASES}/{DEVELOPMENT}/gold/2/activate").raise_for_status()

    def try_the_challenge(self) -> None:
        """Send a test entry and a baseline."""
        require_finished(self.sender.submit(SLUG, TEST_GOLD, phase=TEST, test="true"))
        baseline: dict[str, Any] = {"team": "Majority", "baseline": "true", "method": "most frequent class"}
        require_finished(self.sender.submit(SLUG, dict.fromkeys(GOLD, "vowel"), phase=DEVELOPMENT, **baseline))

    def publish(self) -> None:
        """Show the challenge to everybody, with an announcement."""
        self.sender.patch(f"/challenges/{SLUG}", json={"draft": False}).raise_for_status()
        news = {"title": "The challenge is open", "body": "Development closes soon."}
        self.sender.post(f"/challenges/{SLUG}/announcements", json=news).raise_for_status()

    def admit_participants(self) -> None:
        """Approve all who wait."""
        path = f"/challenges/{SLUG}/registrations"
        for row in self.sender.get(path).raise_for_status().json()["items"]:
            self.sender.patch(f"{path}/{row['id']}", json={"status": "approved"}).raise_for_status()

    def grant_quota(self, team: str) -> None:
        """Give a team one more submission a day."""
        grant = {"team": team, "per_day": 1, "reason": "An outage of ours took one submission."}
        self.sender.post(f"{PHASES}/{DEVELOPMENT}/quota/grants", json=grant).raise_for_status()

    def pause_a_phase(self) -> None:
        """Pause development, and resume it."""
        reason = {"reason": "The gold is being checked."}
        self.sender.post(f"{PHASES}/{DEVELOPMENT}/pause", json=reason).raise_for_status()
        self.sender.post(f"{PHASES}/{DEVELOPMENT}/resume").raise_for_status()

    def close_a_phase_early_and_open_one(self) -> None:
        """Development ends now, and the test begins."""
        now = datetime.now(UTC).isoformat()
        self.sender.patch(f"{PHASES}/{DEVELOPMENT}", json={"closes_at": now}).raise_for_status()
        self.sender.patch(f"{PHASES}/{TEST}", json={"opens_at": now}).raise_for_status()

    def disqualify(self, submission: str) -> None:
        """Take an entry out of the ranking."""
        reason = {"reason": "Labelled by hand."}
        self.sender.post(f"/submissions/{submission}/disqualify", json=reason).raise_for_status()

    def close_the_test_phase(self) -> None:
        """It ends now."""
        now = datetime.now(UTC).isoformat()
        self.sender.patch(f"{PHASES}/{TEST}", json={"closes_at": now}).raise_for_status()

    def preview_and_release(self) -> None:
        """Look at the private ranking, then show it to everybody."""
        self.sender.get(f"{PHASES}/{TEST}/release").raise_for_status()
        self.sender.post(f"{PHASES}/{TEST}/release", json={"reason": "As announced."}).raise_for_status()

    def archive_and_copy(self) -> None:
        """Make it read-only, and begin the next edition."""
        self.sender.post(f"/challenges/{SLUG}/archive", json={}).raise_for_status()
        self.sender.post(f"/challenges/{SLUG}/copy", json={"slug": f"{SLUG}-next"}).raise_for_status()
