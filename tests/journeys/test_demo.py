"""The demonstration as `make run` starts it: its last line is the address of a board that is worth reading."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.input.yaml_file import read_yaml
from app.package_data import package_data_folder
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.web.reader import Reader


@pytest.fixture
def demo_output(tmp_path: Path) -> Iterator[Path]:
    """What a demonstration prints while it serves; it ends with status 0 when it is told to."""
    output = tmp_path / "output"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    command = [sys.executable, "-m", "app.cli", "demo", "--port", "0", "--data-dir", str(tmp_path / "data")]
    with output.open("wb") as written:
        demo = subprocess.Popen(
            command, env=environment | {"ASSAY_MIN_FREE": "0"}, stdin=subprocess.DEVNULL, stdout=written, stderr=written
        )
    try:
        eventually(lambda: demo.poll() is not None or _address(output) is not None, "the demonstration serves")
        yield output
        assert demo.poll() is None, output.read_text()
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(MAX_WAIT_SECONDS) == 0, output.read_text()
    finally:
        demo.kill()
        demo.wait(MAX_WAIT_SECONDS)


def _address(output: Path) -> str | None:
    """The last line, if it is complete and an address."""
    lines = output.read_text().splitlines(keepends=True)
    found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/\S+)\n", lines[-1]) if lines else None
    return None if found is None else found[1]


@pytest.mark.ci
def test_the_last_line_is_the_address_of_a_board_with_rows_equations_and_curves(demo_output: Path) -> None:
    """The curves are on the pages of the entries, which the board links for those who may read them."""
    address = _address(demo_output)
    assert address is not None, demo_output.read_text()
    url, slug = re.findall(r"(http://[^/]+)/challenges/([^/]+)/leaderboard", address)[0]
    visitor, organizer = Reader(url), Reader(url)
    with closing(visitor), closing(organizer):
        page = visitor.get(address)
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        rows = re.findall(r"<tr.*?</tr>", page.text.partition("<tbody")[2].partition("</tbody>")[0], re.DOTALL)
        systems = read_yaml(package_data_folder("examples/digits") / "systems.yaml")
        for system in systems:
            assert sum(system["method"] in row for row in rows) == 1
        metrics = visitor.get(f"/api/v1/challenges/{slug}/phases/main/leaderboard").json()["metrics"]
        assert page.text.count("<math") >= len(metrics) > 1
        login = re.search(r"log in at \S+/log-in as (\S+) with the password in (\S+)\.", demo_output.read_text())
        assert login is not None, demo_output.read_text()
        organizer.log_in(login[1], Path(login[2]).read_text().strip())
        entries = set(re.findall(r'href="(/submissions/[0-9a-f]+)"', organizer.get(address).text))
        assert len(entries) == len(systems)
        curves = [path for path in entries if 'class="series series-' in organizer.get(path).text]
        assert curves
