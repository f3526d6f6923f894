"""Uploads in a bucket: many machines read what one of them took, and a bucket that fails loses and halves nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.cluster import Cluster, cluster
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import Caller, eventually, open_challenge
from tests.s3_servers import FaultyS3Proxy, S3Server

SUBMISSIONS = "/challenges/pets/phases/main/submissions"


@dataclass
class Place:
    """A cluster whose uploads go through a door that can be made to fail."""

    cluster: Cluster
    door: FaultyS3Proxy
    admin: Caller


@pytest.fixture(scope="module")
def place(
    rclone: S3Server, tmp_path_factory: pytest.TempPathFactory, postgres_database: Callable[[], str]
) -> Iterator[Place]:
    store = rclone
    door = FaultyS3Proxy(store)
    settings = {
        "files_url": f"s3://{store.new_bucket()}/uploads-of-assay",
        "s3_endpoint": door.url,
        "s3_access_key": store.access_key,
        "s3_secret_key": store.secret_key,
        "heartbeat_seconds": "0.5",
        "lease_seconds": "2",
    }
    with cluster(tmp_path_factory.mktemp("bucket"), postgres_database(), **settings) as parts:
        parts.start(apis=2, workers=1)
        admin = parts.admin()
        open_challenge(admin, "pets", GOLD, phases=[{"name": "main", "quota": {"per_day": 1000}}])
        yield Place(parts, door, admin)
    door.stop()


def test_what_one_machine_took_another_scores_and_a_third_gives_back(place: Place) -> None:
    entry = place.admin.submit("pets", CORRECT_PREDICTIONS, team="Blue")
    assert entry.status_code == 201, entry.text
    assert entry.json()["scores"]["accuracy"]["value"] == 1.0
    elsewhere = place.cluster.admin(1)
    back = elsewhere.get(f"/submissions/{entry.json()['id']}/predictions")
    assert back.json() == CORRECT_PREDICTIONS
    assert elsewhere.get("/challenges/pets/phases/main/gold/1/data").json() == GOLD
    template = elsewhere.get("/challenges/pets/phases/main/template", params={"format": "csv"})
    assert template.text.splitlines()[0] == "id,label"
    report = elsewhere.get(f"/submissions/{entry.json()['id']}/report")
    assert report.status_code == 200, report.text
    assert elsewhere.submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=0, dry_run=True).json()["valid"]


def test_a_bucket_that_is_away_is_a_503_and_leaves_no_row_and_no_charge(place: Place) -> None:
    before = len(place.admin.get(SUBMISSIONS).json()["items"])
    place.door.refuse()
    try:
        answer = place.admin.submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=0)
        ready = place.admin.get(f"{place.cluster.apis[0].url}/readyz")
        board = place.admin.board("pets")
    finally:
        place.door.heal()
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] == "files_away"
    assert int(answer.headers["retry-after"]) > 0
    assert ready.status_code == 503
    assert ready.json()["checks"]["files"] != "ok"
    assert board.status_code == 200, "reading goes on"
    assert len(place.admin.get(SUBMISSIONS).json()["items"]) == before
    assert place.cluster.rows("SELECT count(*) FROM quota_entries WHERE kind = 'reserve'") == [(0,)]
    assert place.admin.submit("pets", CORRECT_PREDICTIONS, team="Blue").json()["status"] == "finished"
    url = f"{place.cluster.apis[0].url}/readyz"
    eventually(lambda: place.admin.get(url).status_code == 200, "it is ready again")


def test_what_is_deleted_while_the_bucket_is_away_is_gone(place: Place) -> None:
    """Its files are swept later; a reply that it failed would be wrong."""
    gold = "/challenges/pets/phases/main/gold"
    draft = open_challenge(place.admin, "cats", GOLD, phases=[{"name": "main"}, {"name": "other"}])["slug"]
    assert place.admin.submit("pets", CORRECT_PREDICTIONS, team="Blue").status_code == 201
    version = place.admin.post(gold, json=GOLD).raise_for_status().json()["version"]
    trial = place.admin.submit("pets", CORRECT_PREDICTIONS, test=True).json()["id"]
    file = {"name": "kit.csv", "licence": "CC0-1.0"}
    place.admin.post("/challenges/pets/files", params=file, content=b"id\n").raise_for_status()
    paths = [f"{gold}/{version}", f"/submissions/{trial}", "/challenges/pets/files/kit.csv"]
    paths += [f"/challenges/{draft}/phases/other", f"/challenges/{draft}"]
    place.door.refuse()
    try:
        answers = [place.admin.delete(path) for path in paths]
    finally:
        place.door.heal()
    assert [answer.status_code for answer in answers] == [204] * len(paths), [answer.text for answer in answers]
    assert [place.admin.get(path).status_code for path in paths] == [404] * len(paths)


def test_a_bucket_that_goes_away_between_upload_and_scoring_delays_the_score_and_nothing_else(place: Place) -> None:
    for worker in place.cluster.workers:
        worker.stop()
    entry = place.admin.submit("pets", CORRECT_PREDICTIONS, team="Late", wait=0).json()
    place.door.refuse()
    try:
        for worker in place.cluster.workers:
            worker.start().wait_ready()
        task = f"SELECT interruptions, crashes FROM score_tasks WHERE submission_id = '{entry['id']}'"
        eventually(lambda: place.cluster.rows(task)[0] > (0, 0), "it was tried in vain")
    finally:
        place.door.heal()
    eventually(lambda: _status(place, entry["id"]) == "finished", "it is scored once the bucket is back")
    ((interruptions, crashes),) = place.cluster.rows(task)
    assert crashes == 0
    assert isinstance(interruptions, int)
    assert interruptions >= 1
    assert place.cluster.rows(f"SELECT count(*) FROM scores WHERE submission_id = '{entry['id']}'") == [(1,)]


def _status(place: Place, submission: str) -> str:
    return str(place.admin.get(f"/submissions/{submission}").json()["status"])
