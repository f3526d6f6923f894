"""The Tab key completes slugs, phases, teams, versions and ids from a real service; once, in a real shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import root
from tests.journeys.support import CORRECT_PREDICTIONS, People, create_challenge, require_finished
from tests.live_service import Caller, Live, eventually, free_port

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


@pytest.fixture(scope="module")
def people(live: Live) -> People:
    return People(live)


def press_tab_in_bash(line: str, **environment: str) -> list[str]:
    """What bash offers for the last word of a line, with the completion that the command itself prints."""
    command = Path(sys.executable).parent / "assay"
    script = f"""
        source <({command} --show-completion bash)
        COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}
        read -ra COMP_WORDS <<< "$COMP_LINE"
        [[ "$COMP_LINE" == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _assay_completion {command}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert BASH is not None
    variables = os.environ | {"SHELL": BASH} | environment
    done = subprocess.run([BASH, "-c", script], capture_output=True, text=True, check=True, timeout=120, env=variables)
    assert done.stderr == ""
    return done.stdout.split()


def asked_by_a_shell(**variables: str) -> str:
    """What the command answers a shell that asks by these variables."""
    ran = CliRunner().invoke(root, [], prog_name="assay", env=variables)
    assert (ran.exit_code, ran.stderr) == (0, "")
    return ran.stdout


def press_tab(line: str, **environment: str) -> list[str]:
    """What bash is answered when the Tab key is pressed at the end of a line."""
    words = [*line.split(), *([""] if line.endswith(" ") else [])]
    asked = {"_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return asked_by_a_shell(**asked, **environment).split()


def offered_to_zsh(line: str, **environment: str) -> str:
    """What zsh evaluates when the Tab key is pressed at the end of a line."""
    return asked_by_a_shell(_ASSAY_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line, **environment)


def offers(line: str, expected: list[str], among_others: bool = False, /, **environment: str) -> None:
    """Press Tab until the words are offered; a machine may be too busy for the short time that a key may take."""

    def is_offered() -> bool:
        found = press_tab(line, **environment)
        return set(expected) <= set(found) if among_others else sorted(found) == sorted(expected)

    eventually(is_offered, f"{line!r} offers {expected}")


def token_of(who: Caller) -> str:
    return who.headers["Authorization"].removeprefix("Bearer ")


def test_no_name_runs_a_command_in_the_shell_that_completes(people: People) -> None:
    """In a description, zsh runs what stands in `$(…)` after a backslash; what shells run in a word is not offered."""
    slug = create_challenge(people.admin, "tab-hostile")
    hostile = r"x \$(touch pwned) `id` ${HOME} [/b]"
    blue = people["Blue"].join(slug, hostile)
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS, method=hostile))["id"]
    offered = {"name": "$(id).csv", "licence": hostile}
    people.admin.post(f"/challenges/{slug}/files", params=offered, content=b"id\n").raise_for_status()
    as_admin = {"ASSAY_URL": people.live.url, "ASSAY_TOKEN": people.live.admin_token}
    (team,) = people.admin.get(f"/challenges/{slug}/teams").json()["items"]
    teams = f"assay team disqualify {slug} "
    eventually(
        lambda: f'"{team["id"]}":"x (touch pwned) id {{HOME}} /b"' in offered_to_zsh(teams, **as_admin), "the team"
    )
    eventually(lambda: "(touch pwned)" in offered_to_zsh(f"assay disqualify {sent[:8]}", **as_admin), "the file")
    for line in (teams, "assay disqualify ", f"assay file download {slug} "):
        assert not {"$", "`", "\\"} & set(offered_to_zsh(line, **as_admin).replace(r"\\:", ""))


def test_tab_completes_what_the_service_lists(people: People) -> None:
    slug = create_challenge(people.admin, "tab", phases=[{"name": "Development"}, {"name": "Test"}])
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green Team")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS, phase="development"))["id"]
    as_blue = {"ASSAY_URL": people.live.url, "ASSAY_TOKEN": token_of(blue)}
    as_admin = as_blue | {"ASSAY_TOKEN": people.live.admin_token}
    eventually(lambda: slug in press_tab_in_bash("assay leaderboard ta", **as_blue), "a real shell offers it")
    offers("assay leaderboard ta", [slug], True, **as_blue)
    offers(f"assay submit {slug} --phase ", ["development", "test"], **as_blue)
    offers(f"assay submit {slug} --phase d", ["development"], **as_blue)
    offers(f"assay select {sent[:12]}", [sent], **as_blue)
    assert press_tab(f"assay select {sent[:12]}", **as_blue | {"ASSAY_TOKEN": token_of(green)}) == []
    offers(f"assay disqualify {sent[:12]}", [sent], **as_admin)
    other = people.admin.get(f"/challenges/{slug}/teams").json()["items"]
    ids = {team["name"]: team["id"] for team in other}
    offers(f"assay team disqualify {slug} ", ["Blue", ids["Green Team"]], **as_admin)
    for command in ("phase delete", "recipe show", "recipe set", "recipe drop"):
        offers(f"assay {command} {slug} --phase t", ["test"], **as_admin)
    email = blue.email.lower()
    offers(f"assay audit {slug} --user ", [email], True, **as_admin)
    offers(f"assay user disable {email[:10]}", [email], **as_admin)
    offers(f"assay gold show {slug} --phase development ", ["1"], **as_admin)
    assert press_tab("assay audit --phase ", **as_admin) == []  # the challenge is not typed yet
    registered = [row["id"] for row in people.admin.get(f"/challenges/{slug}/registrations").json()["items"]]
    offers(f"assay registration bar {slug} ", registered, **as_admin)
    offers(f"assay team allow {slug} ", registered, **as_admin)
    user = blue.get("/me").json()["id"]
    offers(f"assay team captain {slug} ", [user], **as_blue)
    code = blue.post(f"/challenges/{slug}/teams/{ids['Blue']}/invitations", json={}).json()["id"]
    offers(f"assay team revoke {slug} ", [code], **as_blue)
    code = people.admin.post(f"/challenges/{slug}/invitations", json={}).json()["id"]
    offers(f"assay registration revoke {slug} ", [code], **as_admin)
    code = people.admin.post("/invitations", json={}).json()["id"]
    offers("assay invitation revoke ", [code], True, **as_admin)


def test_tab_completes_nothing_and_says_nothing_without_a_service() -> None:
    away = {"ASSAY_URL": f"http://127.0.0.1:{free_port()}", "ASSAY_TOKEN": "x" * 40}
    for line in ("assay leaderboard ", "assay select ", "assay submit mine --phase "):
        assert press_tab(line, **away) == []
    assert press_tab_in_bash("assay leaderboard ", **away) == []
