"""The Tab key completes slugs, phases, teams, versions and ids in a real shell, from a real service."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.support import CORRECT_PREDICTIONS, People, create_challenge, require_finished
from tests.live_service import Caller, Live, free_port

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


@pytest.fixture(scope="module")
def people(live: Live) -> People:
    return People(live)


def press_tab(line: str, **environment: str) -> list[str]:
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


def offered_to_zsh(line: str, **environment: str) -> str:
    """What zsh evaluates when the Tab key is pressed at the end of a line."""
    variables = {"_ASSAY_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line} | environment
    command = Path(sys.executable).parent / "assay"
    done = subprocess.run(
        [command], capture_output=True, text=True, check=True, timeout=120, env=os.environ | variables
    )
    assert done.stderr == ""
    return done.stdout


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
    shown = offered_to_zsh(f"assay team disqualify {slug} ", **as_admin)
    assert f'"{team["id"]}":"x (touch pwned) id {{HOME}} /b"' in shown
    assert "(touch pwned)" in offered_to_zsh(f"assay disqualify {sent[:8]}", **as_admin)
    for line in (f"assay team disqualify {slug} ", "assay disqualify ", f"assay file download {slug} "):
        assert not {"$", "`", "\\"} & set(offered_to_zsh(line, **as_admin).replace(r"\\:", ""))


def test_tab_completes_what_the_service_lists(people: People) -> None:
    slug = create_challenge(people.admin, "tab", phases=[{"name": "Development"}, {"name": "Test"}])
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green Team")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS, phase="development"))["id"]
    as_blue = {"ASSAY_URL": people.live.url, "ASSAY_TOKEN": token_of(blue)}
    as_admin = as_blue | {"ASSAY_TOKEN": people.live.admin_token}
    assert press_tab("assay leaderboard ta", **as_blue) == [slug]
    assert press_tab(f"assay submit {slug} --phase ", **as_blue) == ["development", "test"]
    assert press_tab(f"assay submit {slug} --phase d", **as_blue) == ["development"]
    assert press_tab(f"assay select {sent[:8]}", **as_blue) == [sent]
    assert press_tab(f"assay select {sent[:8]}", **as_blue | {"ASSAY_TOKEN": token_of(green)}) == []
    assert press_tab(f"assay disqualify {sent[:8]}", **as_admin) == [sent]
    other = people.admin.get(f"/challenges/{slug}/teams").json()["items"]
    ids = {team["name"]: team["id"] for team in other}
    assert set(press_tab(f"assay team disqualify {slug} ", **as_admin)) == {"Blue", ids["Green Team"]}
    for command in ("phase delete", "recipe show", "recipe set", "recipe drop"):
        assert press_tab(f"assay {command} {slug} --phase t", **as_admin) == ["test"]
    email = blue.email.lower()
    assert email in press_tab(f"assay audit {slug} --user ", **as_admin)
    assert press_tab(f"assay user disable {email[:10]}", **as_admin) == [email]
    assert press_tab(f"assay gold show {slug} --phase development ", **as_admin) == ["1"]
    assert press_tab("assay audit --phase ", **as_admin) == []  # the challenge is not typed yet
    registered = [row["id"] for row in people.admin.get(f"/challenges/{slug}/registrations").json()["items"]]
    assert sorted(press_tab(f"assay registration bar {slug} ", **as_admin)) == sorted(registered)
    assert sorted(press_tab(f"assay team allow {slug} ", **as_admin)) == sorted(registered)
    user = blue.get("/me").json()["id"]
    assert press_tab(f"assay team captain {slug} ", **as_blue) == [user]
    code = blue.post(f"/challenges/{slug}/teams/{ids['Blue']}/invitations", json={}).json()["id"]
    assert press_tab(f"assay team revoke {slug} ", **as_blue) == [code]
    code = people.admin.post(f"/challenges/{slug}/invitations", json={}).json()["id"]
    assert press_tab(f"assay registration revoke {slug} ", **as_admin) == [code]
    code = people.admin.post("/invitations", json={}).json()["id"]
    assert code in press_tab("assay invitation revoke ", **as_admin)


def test_tab_completes_nothing_and_says_nothing_without_a_service() -> None:
    away = {"ASSAY_URL": f"http://127.0.0.1:{free_port()}", "ASSAY_TOKEN": "x" * 40}
    for line in ("assay leaderboard ", "assay select ", "assay submit mine --phase "):
        assert press_tab(line, **away) == []
