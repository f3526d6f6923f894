"""The guides for organizers and participants are followed word by word, once by command line and once by curl.

Nine people share a new service, each at a terminal (a shell of their own). They replace what the guides tell readers to
replace: names, addresses, codes, ids, the year of the dates, and the password that the command line asks for.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.store.tables import Phase
from tests.journeys.preloaded_commands import preloaded_program
from tests.journeys.support import write_session_of
from tests.live_service import MAX_WAIT_SECONDS, Live
from tests.settle import settle

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"organizers": "organizers.md", "participants": "participants.md"}
PASSWORD = "a long password"
BLUE, GREEN, ORANGE, PURPLE, MIRROR = "Blue", "Green", "Orange", "Purple", "Mirror"
TEAMS = (BLUE, GREEN, ORANGE, PURPLE, MIRROR)


def guide_blocks(page: str, tool: str) -> dict[str, list[str]]:
    """The commands under each heading of a guide that belong to one tool or to both; what precedes the first is ''."""
    text = (ROOT / "docs" / PAGES[page]).read_text(encoding="utf-8")
    sections = re.split(r"^## (.+)$", "## \n" + text, flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    for heading, body in zip(["", *sections[1::2]], sections[0::2], strict=False):
        blocks = re.findall(r"```sh\n(.*?)```", body, re.DOTALL)
        if blocks:
            found[heading] = [block for block in blocks if _tool_of(block) in {tool, "both"}]
    return found


def _tool_of(block: str) -> str:
    if re.search(r"^(assay |export ASSAY_URL)", block, re.MULTILINE):
        return "assay"
    return "curl" if re.search(r"curl|^(api|json) |\$\(api|\$\(json", block, re.MULTILINE) else "both"


class Terminal:
    """A shell in which one person types the commands of the guides."""

    def __init__(self, folder: Path, programs: Path, live: Live, name: str, team: str) -> None:
        """A shell in a new folder, with the programs of another."""
        folder.mkdir()
        (folder / "assay-data").mkdir()
        (folder / "assay-data" / "admin-token").write_text(live.admin_token)
        environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder)}
        self.address, self.team, self.codes, self.ids = f"{name}@example.org", team, "", ""
        self._replaced = {
            "http://127.0.0.1:8000": live.url,
            "captain@example.org": self.address,
            '"Captain"': f'"{name}"',
            "--name Captain": f"--name {name}",
            "--team Blue": f"--team {team}",
            '"team": "Blue"': f'"team": "{team}"',
            "wait=20": "wait=60",  # a machine may be busy
        }
        self._shell = subprocess.Popen(
            ["bash", "-eu"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def types(self, block: str) -> str:
        """Run commands; returns what they print, and fails if one of them fails."""
        for words, instead in self._replaced.items():
            block = block.replace(words, instead)
        block = re.sub(r"\b2027-", f"{datetime.now(UTC).year + 1}-", block)
        block = re.sub(
            r"^(assay (?:signup|account delete) .*)$", rf"\1 --password - <<< '{PASSWORD}'", block, flags=re.MULTILINE
        )
        block = block.replace("CODE", self.codes).replace("assay select ID", f"assay select {self.ids}")
        verbs = "disqualify|withdraw|receipt get|log proof"
        block = re.sub(rf"^assay ({verbs}) ID", rf"assay \1 {self.ids}", block, flags=re.MULTILINE)
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(block + "\necho; echo --- done ---\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line == "--- done ---\n":
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"these commands failed:\n{block}\n{''.join(lines)}")

    def close(self) -> None:
        """End the shell."""
        self._shell.communicate(timeout=MAX_WAIT_SECONDS)


class Walk:
    """The people of one walk through the guides."""

    def __init__(self, live: Live, folder: Path, tool: str) -> None:
        self.live, self.folder, self.tool = live, folder, tool
        self.blocks = {page: guide_blocks(page, tool) for page in PAGES}
        self.followed: set[tuple[str, str]] = set()
        self.terminals: dict[str, Terminal] = {}
        self.admin = live.caller(live.admin_token)

    def organizer(self, heading: str, person: str = "organizer") -> str:
        """The organizer, or somebody else, follows a section of the guide for organizers."""
        return self._follow("organizers", heading, person, BLUE)

    def participant(self, heading: str, person: str, team: str) -> str:
        """A participant of this team follows a section of the guide for participants."""
        return self._follow("participants", heading, person, team)

    def _follow(self, page: str, heading: str, person: str, team: str) -> str:
        if person not in self.terminals:
            self.terminals[person] = Terminal(self.folder / person, self.folder / "bin", self.live, person, team)
            self._follow(page, "", person, team)
        self.followed.add((page, heading))
        return "".join(self.terminals[person].types(block) for block in self.blocks[page][heading])

    def board(self, phase: str) -> list[tuple[Any, ...]]:
        """Rank, team, mark and accuracy of each row, as everybody sees them."""
        reply = self.live.caller().get(f"/challenges/sounds/phases/{phase}/leaderboard").raise_for_status().json()
        return [
            (row["rank"], row["team"]["name"], row["mark"], round(row["scores"]["accuracy"]["value"], 3))
            for row in reply["rows"]
        ]

    def newest(self, phase: str, team: str, method: str) -> str:
        """The id of the newest submission of a team with this method."""
        rows = self.admin.get(f"/challenges/sounds/phases/{phase}/submissions?limit=200").raise_for_status().json()
        return next(str(row["id"]) for row in rows["items"] if row["team"]["name"] == team and row["method"] == method)


@pytest.fixture(params=["assay", "curl"])
def walk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Walk]:
    """A new service for one walk."""
    if request.param == "curl" and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    live = Live(tmp_path / "data", challenge_creation="approved", comparison_interval="600").with_analyses().start()
    people = Walk(live, tmp_path / "people", request.param)
    (people.folder / "bin").mkdir(parents=True)
    program = people.folder / "bin" / "assay"
    with preloaded_program(program) if people.tool == "assay" else nullcontext():
        yield people
        for terminal in people.terminals.values():
            terminal.close()
    live.stop()


@pytest.mark.ci
def test_the_guides_run_a_challenge_from_the_first_registration_to_the_archive(walk: Walk) -> None:
    _prepare(walk)
    _register(walk)
    _run_development(walk)
    _run_test(walk)
    _end(walk)
    sections = {(page, heading) for page, found in walk.blocks.items() for heading in found}
    assert walk.followed == sections, "sections that this test does not follow"


def _prepare(walk: Walk) -> None:
    walk.organizer("Get an account")
    walk.organizer("Allow an organizer", "administrator")
    walk.organizer("Describe the challenge")
    assert "vowel" in walk.organizer("Upload the gold")
    walk.organizer("Replace a wrong gold")
    walk.organizer("Try the challenge")
    assert walk.live.caller().get("/challenges/sounds").status_code == 404
    walk.organizer("Publish")
    assert walk.live.caller().get("/challenges/sounds").status_code == 200
    assert "The challenge is open" in walk.live.caller().get("/challenges/sounds/announcements.atom").text


def _captain(team: str) -> str:
    return "rival" if team == MIRROR else f"{team.lower()}-captain"


def _register(walk: Walk) -> None:
    for team in TEAMS:
        walk.participant("Make an account", _captain(team), team)
        assert "pending" in walk.participant("Register a team", _captain(team), team)
    for team in (BLUE, GREEN):
        code = walk.participant("Invite team members", _captain(team), team).split()[-1]
        member = f"{team.lower()}-member"
        walk.participant("Make an account", member, team)
        walk.terminals[member].codes = code
        assert team in walk.participant("Join a team", member, team)
    walk.organizer("Admit participants")
    rows = walk.admin.get("/challenges/sounds/registrations").raise_for_status().json()["items"]
    statuses = {row["user"]["email"]: row["status"] for row in rows}
    assert statuses.pop("rival@example.org") == "barred"
    assert len(statuses) == 6
    assert set(statuses.values()) == {"approved"}


def _run_development(walk: Walk) -> None:
    for team in (BLUE, GREEN, ORANGE, PURPLE):
        walk.participant("Check a file", _captain(team), team)
        assert "finished" in walk.participant("Submit", _captain(team), team)
    refused = walk.participant("Mend a rejected file", _captain(BLUE), BLUE)
    assert "unknown_label" in refused or "vovel" in refused
    walk.organizer("Grant quota")
    walk.participant("Merge two teams", _captain(ORANGE), ORANGE)
    walk.participant("Agree to a merge", _captain(PURPLE), PURPLE)
    walk.organizer("Pause a phase")
    walk.organizer("Close a phase early, or open one")
    walk.participant("Submit late", _captain(GREEN), GREEN)
    ranked = [(1, team, None, 0.5) for team in (BLUE, GREEN, ORANGE)]
    board = walk.board("development")
    assert sorted(row for row in board if row[0] is not None) == ranked
    assert (None, GREEN, "unofficial", 0.5) in board
    assert (None, "Majority", None, 0.5) in board


def _run_test(walk: Walk) -> None:
    for team in (BLUE, GREEN, ORANGE):
        walk.terminals[
            _captain(team)
        ].ids = "$(assay submissions sounds --phase test --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0][\"id\"])')"
        walk.participant("Choose what counts", _captain(team), team)
    assert [row[3] for row in walk.board("test")] == [0.667] * 3
    walk.terminals[_captain(ORANGE)].ids = walk.newest("test", ORANGE, "better")
    walk.participant("Withdraw", _captain(ORANGE), ORANGE)
    walk.terminals["organizer"].ids = walk.newest("test", GREEN, "better")
    walk.terminals["organizer"].types(f"ID={walk.terminals['organizer'].ids}")
    walk.organizer("Disqualify")
    # The guide writes whole seconds, and a phase closes after it opens: let it have opened a while ago.
    with write_session_of(walk.live) as session:
        session.scalars(select(Phase).where(Phase.slug == "test")).one().opens_at = datetime(2020, 1, 1, tzinfo=UTC)
    walk.organizer("Close the test phase")


def _end(walk: Walk) -> None:
    before = walk.board("test")
    walk.organizer("Preview and release")
    after = walk.board("test")
    assert before != after
    assert [row for row in after if row[0] is not None] == [
        (1, BLUE, None, 0.75),
        (2, GREEN, None, 0.5),
        (2, ORANGE, None, 0.5),
    ]
    assert BLUE in walk.participant("Read the result", _captain(BLUE), BLUE)
    walk.terminals[_captain(BLUE)].ids = newest = walk.newest("test", BLUE, "better")
    proof = f"/submissions/{newest}/receipt/proof"
    settle(walk.live)
    walk.participant("Keep the receipt", _captain(BLUE), BLUE)
    kept = walk.folder / _captain(BLUE)
    assert json.loads((kept / "receipt.json").read_text())["payloadType"] == "application/vnd.in-toto+json"
    assert (kept / "receipt.proof").read_text() == walk.admin.get(proof).text
    shown = walk.organizer("Keep, archive, copy")
    assert "phase.release" in shown
    assert (walk.folder / "organizer" / "sounds-test.zip").stat().st_size > 0
    walk.participant("Your data", "green-member", GREEN)
    assert "green-member@example.org" in (walk.folder / "green-member" / "my-data.json").read_text()
