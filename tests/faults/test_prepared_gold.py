"""Prepared gold that several hosts share, that two workers make at once, and that is damaged."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.runtime.data_folder import open_file_store
from app.settings import Settings
from tests.cluster import Cluster, cluster
from tests.faults.challenge_cluster import SHORT_TIMEOUTS, ChallengeCluster
from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    GOLD,
    children_of,
    has_unread_request,
    open_pets_challenge,
    pid_of,
)
from tests.live_service import Live, eventually, open_challenge
from tests.s3_servers import S3Server


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "data").start()
    yield service
    service.kill()


def test_workers_on_other_hosts_score_with_gold_that_the_upload_prepared(
    rclone: S3Server, postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    files = {"files_url": f"s3://{rclone.new_bucket()}/assay", "s3_endpoint": rclone.url}
    files |= {"s3_access_key": rclone.access_key, "s3_secret_key": rclone.secret_key}
    with cluster(tmp_path, postgres_database(), **files) as parts:
        parts.start(workers=0)
        open_challenge(parts.admin(), "pets", GOLD)
        blue = parts.person("Blue").join("pets", "Blue")
        before = parts.rows("SELECT gold_id, file_key, sha256 FROM prepared_golds")
        assert len(before) == 1
        delete_gold_file(parts)
        for host in range(2):
            worker = parts.part("worker", data_dir=str(tmp_path / f"host-{host}")).start().wait_ready()
            assert blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"
            assert "prepared_gold" not in worker.log()
            worker.kill()
        assert parts.rows("SELECT gold_id, file_key, sha256 FROM prepared_golds") == before


def test_two_workers_that_prepare_at_once_store_one_file(postgres_database: Callable[[], str], tmp_path: Path) -> None:
    with cluster(tmp_path, postgres_database(), **SHORT_TIMEOUTS) as parts:
        site = ChallengeCluster(parts.start(workers=2))
        site.hold(*parts.workers)
        sent = [site.send("Together") for _ in parts.workers]
        children = [child for part in parts.workers for child in children_of(part.pid)]
        eventually(lambda: all(map(has_unread_request, children)), "each worker has asked its child")
        for path in (tmp_path / "data" / "files" / "prepared").iterdir():
            path.unlink()
        assert len(parts.rows("DELETE FROM prepared_golds RETURNING gold_id")) == 1
        site.release()
        site.wait_until_finished(*sent)
        ((key,),) = parts.rows("SELECT file_key FROM prepared_golds")
        assert [path.name for path in (tmp_path / "data" / "files" / "prepared").iterdir()] == [
            str(key).removeprefix("prepared/")
        ]
        stored = "prepared_gold_stored"
        eventually(lambda: sum(part.log().count(stored) for part in parts.workers) == 1, "one has stored its own")


def delete_gold_file(parts: Cluster) -> None:
    """Delete the gold as it was uploaded, which nobody can read any longer."""
    ((key,),) = parts.rows("SELECT file_key FROM gold_versions")
    own = {name.removeprefix("ASSAY_").lower(): value for name, value in parts.settings.items()}
    settings = Settings.model_validate(own)
    open_file_store(settings, settings.data_dir / "of-the-test").delete(str(key))


def test_damaged_gold_is_made_anew_without_anybody_but_the_operator_noticing(live: Live) -> None:
    blue = open_pets_challenge(live)
    assert blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"
    folder = live.data_dir / "files" / "prepared"
    (path,) = folder.iterdir()  # the upload has prepared it
    os.truncate(path, path.stat().st_size - 1)
    forget_gold(live)
    answer = blue.submit("pets", CORRECT_PREDICTIONS)
    assert answer.json()["status"] == "finished"
    assert answer.json()["notes"] == []
    for wanted in ("child_remark", "prepared_gold_discarded"):
        eventually(lambda name=wanted: name in live.log(), f"{wanted} is in the log")  # type: ignore[misc]
    assert len(list(folder.iterdir())) == 2  # the sweep deletes the damaged one
    for upload in (live.data_dir / "files" / "uploads").iterdir():
        upload.unlink()  # the gold among them: what was made anew is whole
    forget_gold(live)
    assert blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"


def forget_gold(live: Live) -> None:
    """End the scoring processes, which have gold in their memory, and what they have fetched of it."""
    for child in children_of(pid_of(live)):
        os.kill(child, signal.SIGKILL)
    for path in (live.data_dir / "prepared").glob("*"):
        path.unlink()
