"""The README's commands do what it says: its curl walk is run, word for word, against a real service."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_service import MAX_WAIT_SECONDS, Live

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.ci  # dozens of processes; tests/cli runs the same commands in one


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_walk_ends_with_the_board_it_promises(live: Live) -> None:
    walk = next(block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "curl" in block)
    assert "http://127.0.0.1:8000" in walk
    script = walk.replace("http://127.0.0.1:8000", live.url).replace("$(cat assay-data/admin-token)", live.admin_token)
    script = script.replace("wait=20", "wait=60")  # a machine may be busy
    done = subprocess.run(
        ["bash", "-euc", script], capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    board = done.stdout.rsplit("rank,team,", 1)[1].splitlines()
    names = ["rank", "team", *board[0].split(",")]
    row = dict(zip(names, board[1].split(","), strict=True))
    expected = {"rank": "1", "team": "Blue", "method": "guess", "f1_macro": "0.666667", "accuracy": "0.666667"}
    assert row | expected == row


def test_the_command_line_walk_ends_with_the_board_it_promises(live: Live, tmp_path: Path) -> None:
    walk = next(block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "assay signup" in block)
    token = tmp_path / "admin-token"
    token.write_text(live.admin_token)
    replaced = {
        "http://127.0.0.1:8000": live.url,
        ".venv/bin/assay": f"{sys.executable} -m app.cli",
        "assay-data/admin-token": str(token),
        "--name Grace": "--name Grace --password - <<< 'a long password'",
    }
    for words, instead in replaced.items():
        assert words in walk
        walk = walk.replace(words, instead)
    keep = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environment = keep | {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = subprocess.run(
        ["bash", "-euc", walk],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=10 * MAX_WAIT_SECONDS,  # for a dozen commands
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    board = done.stdout.rsplit("birds / main, ranked by f1_macro", 1)[1]
    assert re.search(r"^ *1 +Green +all owls +0\.4 +0\.666667 +1$", board, re.MULTILINE), board


def test_the_offline_example_runs() -> None:
    line = next(line for line in README.splitlines() if line.startswith(".venv/bin/assay score"))
    command = line.replace(".venv/bin/assay", f"{sys.executable} -m app.cli")
    done = subprocess.run(
        ["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "f1_macro" in done.stdout


def test_the_walk_through_the_catalogue_runs() -> None:
    block = next(block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "assay metrics" in block)
    command = block.replace(".venv/bin/assay", f"{sys.executable} -m app.cli")
    done = subprocess.run(
        ["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "∑_{j∈L}" in done.stdout


def test_the_offline_check_runs() -> None:
    block = next(
        block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "assay validate -f $D" in block
    )
    command = block.replace(".venv/bin/assay", f"{sys.executable} -m app.cli")
    done = subprocess.run(
        ["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "nearest_neighbours.csv.gz is valid." in done.stdout
