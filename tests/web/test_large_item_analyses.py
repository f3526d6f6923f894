"""An item analysis of which one part exceeds the limits: the page and the command show the others."""

import os
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.in_process_app import ADMIN_TOKEN, ServedApp
from tests.cli.run_command import run_assay
from tests.faults.inspection import is_alive
from tests.live_service import eventually, open_challenge
from tests.web.desk import organizer, person
from tests.web.reader import Reader

pytestmark = pytest.mark.ci  # analyses of 10,000 instances, and processes that are killed
SLUG, SMALL = "many-instances", "few-instances"
ITEMS, AGREEMENT, ALIKE = "", "/agreement", "/near-duplicates"
TRUTH = {f"i{n:05}": ("cat", "dog")[n % 2] for n in range(10_000)}
SPARE_BYTES = 256 << 10
"""Enough to take a request; an analysis of so many instances needs more."""
SHOWN = {ITEMS: '<th scope="row">i00000</th>', AGREEMENT: "Overlap of errors", ALIKE: "is suspiciously alike"}
"""What the page says only where it shows the part of this path."""
ABSENT = {
    ITEMS: "The instances are not shown.",
    AGREEMENT: "How far the systems agree is not shown.",
    ALIKE: "Systems with the same errors are not shown.",
}
TOO_LARGE = "This analysis takes more memory than the limit allows."


class Analyses:
    """The analyses of two challenges with the same two teams, one of them small."""

    def __init__(self, app: ServedApp) -> None:
        self.app, self._service = app, app.app.state.service
        self._files: dict[str, Path] = {}
        for slug, truth in ((SLUG, TRUTH), (SMALL, dict(list(TRUTH.items())[:20]))):
            open_challenge(app.admin(), slug, [{"id": name, "label": label} for name, label in truth.items()])
            for team in ("Blue", "Green"):
                sender = person(app, f"{team}-{slug}").join(slug, team)
                assert sender.submit(slug, truth | {"i00000": "dog"}).status_code == 201
        for part in ABSENT:
            self._files[part] = self._make(SLUG, part)
        for pid in self._processes():  # another process has no free memory left of what this one did
            os.kill(pid, signal.SIGKILL)
            eventually(lambda pid=pid: not is_alive(pid), "a killed process has ended")  # type: ignore[misc]

    def _make(self, slug: str, part: str) -> Path:
        """Make a part, and give the file in which it is kept."""
        folder = self._service.settings.data_dir / "made"
        before = set(folder.iterdir())
        self.app.admin().get(f"/challenges/{slug}/phases/main/items{part}").raise_for_status()
        (made,) = set(folder.iterdir()) - before
        return Path(made)

    def _processes(self) -> list[int]:
        return list(self._service.readers.processes.pids())

    @contextmanager
    def exceeding(self, part: str) -> Iterator[None]:
        """Let the next analysis, of the one part that has to be made again, exceed the memory of its process.

        The process has done nothing but a small analysis, so it has no free memory. The service replaces it.
        """
        kept = self._files[part]
        away = kept.rename(kept.with_name("away"))
        self._make(SMALL, ITEMS).unlink()
        for pid in self._processes():
            allowed = data_bytes(pid) + SPARE_BYTES
            resource.prlimit(pid, resource.RLIMIT_DATA, (allowed, allowed))
        yield
        away.rename(kept)


def data_bytes(pid: int) -> int:
    """The data memory of a process, to which its limit applies."""
    found = re.search(r"^VmData:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])


@pytest.fixture(scope="module")
def analyses(app: ServedApp) -> Analyses:
    return Analyses(app)


@pytest.mark.parametrize("part", ABSENT)
def test_the_page_shows_the_other_parts_and_says_why_one_is_absent(
    analyses: Analyses, new_reader: Callable[[], Reader], part: str
) -> None:
    reader = new_reader()
    organizer(analyses.app, reader, "owner", slug=SLUG)
    with analyses.exceeding(part):
        page = reader.get(f"/challenges/{SLUG}/organize/items")
    assert page.status_code == 200
    for each, text in SHOWN.items():
        assert (text in page.text, ABSENT[each] in page.text) == (each != part, each == part), each
    assert f"{TOO_LARGE} Ask the administrator of this site for higher limits" in page.text
    assert 'name="changes"' in page.text


def test_the_command_shows_the_other_parts_and_explains_the_one(analyses: Analyses) -> None:
    command = ("items", SLUG, "--url", analyses.app.url, "--token", ADMIN_TOKEN)
    with analyses.exceeding(ALIKE):
        assert "10,000 instances, 2 systems" in run_assay(*command).out
        assert "Fleiss' kappa of 2 systems" in run_assay(*command, "--agreement").out
        refused = run_assay(*command, "--near-duplicates")
    said = " ".join(refused.err.split())
    assert (refused.status, TOO_LARGE in said, "assay items FOLDER --gold GOLD" in said) == (1, True, True)
