"""The pages with worked commands show what the commands print."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.preloaded_commands import preloaded_program
from tests.live_service import MAX_WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"what-if.md": 5, "convert.md": 4, "pairs.md": 3, "item-analysis.md": 3}
"""The pages, and how many worked commands each has at least."""
pytestmark = pytest.mark.ci  # a process for each command; tests/cli runs the same commands in one
BLOCKS = re.compile(r"```sh\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def assay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The program, which the test of the README runs as an installation does."""
    path = tmp_path_factory.mktemp("bin") / "assay"
    with preloaded_program(path):
        yield path


def printed(script: str, assay: Path, folder: Path) -> str:
    """Standard output of the commands of a page, run in a folder where the examples are."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    command = script.replace(".venv/bin/assay", str(assay))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-uc", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(name: str, assay: Path, tmp_path: Path) -> None:
    shown = BLOCKS.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
    assert len(shown) >= PAGES[name]
    for script, output in shown:
        assert printed(script, assay, tmp_path) == output
