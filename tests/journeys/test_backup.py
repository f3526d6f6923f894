"""A service is backed up while submissions arrive, and goes on elsewhere from there: on one machine, and on several."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay
from tests.cluster import cluster
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_scoring, open_pets_challenge, submission_status
from tests.live_service import MAX_WAIT_SECONDS, Caller, Live, eventually, open_challenge
from tests.settle import settle

SUBMISSIONS = "/challenges/pets/phases/main/submissions"
ARRIVED = 6  # submissions that were acknowledged before the backup began


@dataclass(frozen=True)
class Story:
    """A backup of a service at work, and what is known of it."""

    backup: Path
    keys: Path
    token: str
    member: str
    acknowledged: list[str]
    board: bytes
    scores: dict[str, Any]
    """Of a submission that was finished before, and of one that waited."""
    receipt: str
    """The address of a receipt."""
    envelope: bytes
    """What it was."""
    jwks: Path
    """The keys that the service published."""

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(f"{(self.backup / 'assay.sqlite3').as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()

    @property
    def waiting(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT id FROM submissions WHERE status IN ('queued', 'running')")]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("story")
    service = Live(folder / "data", admin_token=None).with_analyses()
    service.start()
    service.admin_token = (service.data_dir / "admin-token").read_text().strip()
    try:
        yield backed_up(service, folder)
    finally:
        service.stop()


def backed_up(service: Live, folder: Path) -> Story:
    """Let submissions arrive before, during and after the backup; none of them is scored meanwhile."""
    blue = open_pets_challenge(service, quota={"total": 1000})
    open_challenge(service.admin(), "quiet", GOLD)
    first = blue.join("quiet", "Blue").submit("quiet", CORRECT_PREDICTIONS, method="m1").json()
    assert first["status"] == "finished"
    settle(service)
    board = blue.board("quiet").content
    acknowledged: list[str] = []
    stop, enough = threading.Event(), threading.Event()

    def send() -> None:
        while not stop.is_set() and len(acknowledged) < 500:
            acknowledged.append(blue.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"method": "m"}).json()["id"])
            if len(acknowledged) >= ARRIVED:
                enough.set()

    with frozen_scoring(service):
        sender = threading.Thread(target=send)
        sender.start()
        try:
            assert enough.wait(MAX_WAIT_SECONDS)
            words = ("--keys", folder / "keys.json", "--data-dir", service.data_dir, "--json")
            before = acknowledged[:ARRIVED]
            ran = run_assay("backup", folder / "backup", *words)
        finally:
            stop.set()
            sender.join()
        assert ran.status == 0, ran.out
    eventually(lambda: submission_status(blue, before[-1]) == "finished", "the original goes on")
    scores = {each: blue.get(f"/submissions/{each}").json()["scores"] for each in (first["id"], before[-1])}
    member = blue.headers["Authorization"].removeprefix("Bearer ")
    receipt, jwks = f"/submissions/{first['id']}/receipt", folder / "jwks.json"
    jwks.write_bytes(blue.get("/jwks.json").raise_for_status().content)
    evidence = (receipt, blue.get(receipt).raise_for_status().content, jwks)
    return Story(folder / "backup", folder / "keys.json", service.admin_token, member, before, board, scores, *evidence)


def goes_on(story: Story, caller: Callable[[str], Caller]) -> None:
    """Everybody finds the service as it was, and what waited is scored."""
    blue = caller(story.member)
    assert blue.board("quiet").content == story.board
    eventually(
        lambda: {submission_status(blue, each) for each in story.waiting} == {"finished"}, "what waited is finished"
    )
    for each, scores in story.scores.items():
        found = blue.get(f"/submissions/{each}").json()["scores"]  # intervals may have come meanwhile
        assert {name: one["value"] for name, one in found.items()} == {
            name: one["value"] for name, one in scores.items()
        }
        sent = (story.backup / "files" / file_key(story, each)).read_bytes()
        assert blue.get(f"/submissions/{each}/predictions").content == sent
    assert blue.submit("pets", CORRECT_PREDICTIONS, method="m").json()["status"] == "finished"
    assert caller(story.token).get("/me").json()["admin"] is True
    require_same_receipt(story, blue)


def require_same_receipt(story: Story, blue: Caller) -> None:
    """A receipt is what it was, and is verified with the keys of then and of now; new ones with those of now."""
    assert blue.get(story.receipt).content == story.envelope
    folder = story.jwks.parent
    now, receipt, new = (folder / name for name in ("now.json", "receipt.json", "new.json"))
    receipt.write_bytes(story.envelope)
    now.write_bytes(blue.get("/jwks.json").content)
    sent = blue.get("/challenges/pets/phases/main/submissions").json()["items"][0]["id"]
    new.write_bytes(blue.get(f"/submissions/{sent}/receipt").raise_for_status().content)
    for each, keys in ((receipt, story.jwks), (receipt, now), (new, now)):
        assert run_assay("receipt", "verify", each, "--keys", keys).status == 0


def file_key(story: Story, submission: str) -> str:
    return str(story.rows(f"SELECT file_key FROM submissions WHERE id = '{submission}'")[0][0])


def test_every_submission_of_a_backup_has_its_file_its_ledger_and_its_task(story: Story) -> None:
    stored = {row[0] for row in story.rows("SELECT id FROM submissions")}
    assert set(story.acknowledged) <= stored
    assert set(story.acknowledged) <= set(story.waiting)
    keys = {row[0] for row in story.rows("SELECT file_key FROM submissions UNION SELECT file_key FROM gold_versions")}
    assert keys == {f"uploads/{path.name}" for path in (story.backup / "files" / "uploads").iterdir()}
    for table in ("quota_entries", "score_tasks"):
        assert {row[0] for row in story.rows(f"SELECT submission_id FROM {table}")} == stored
    assert not [
        path for path in story.backup.rglob("*") if path.is_file() and story.token.encode() in path.read_bytes()
    ]


@pytest.mark.ci
def test_a_service_goes_on_in_another_folder(story: Story, tmp_path: Path) -> None:
    data = tmp_path / "data"
    ran = run_assay("restore", story.backup, "--keys", story.keys, "--data-dir", data, "--json")
    assert ran.value()["waiting"] == len(story.waiting)
    service = Live(data, admin_token=None).with_analyses().start()
    try:
        goes_on(story, service.caller)
    finally:
        service.stop()


def test_a_service_goes_on_on_several_machines(
    story: Story, tmp_path: Path, postgres_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster(tmp_path, postgres_database(), admin_token=story.token) as machines:
        monkeypatch.setenv("ASSAY_DATABASE_URL", machines.database_url)
        monkeypatch.setenv("ASSAY_FILES_SHARED", "true")
        ran = run_assay("restore", story.backup, "--data-dir", tmp_path / "data", "--json")
        assert ran.value()["waiting"] == len(story.waiting)
        machines.start(apis=1, workers=1)
        goes_on(story, machines.caller)
        assert machines.rows("SELECT sum(interruptions) FROM score_tasks") == [(0,)]
