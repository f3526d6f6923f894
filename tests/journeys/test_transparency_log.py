"""The transparency log as strangers see it: with their own arithmetic, and with the command line."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.cli.run_command import run_assay
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.live_service import PASSWORD, Live, eventually
from tests.tlog.recursive_tree import mth

PUBLIC_URL = "https://scores.example.org/assay"
PAST = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}
ORIGIN = "scores.example.org/assay/log"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("log") / "data", public_url=PUBLIC_URL).start()
    eventually(lambda: file_of(service, "checkpoint").status_code == 200, "the log has begun")
    yield service
    service.stop()


@pytest.fixture(scope="module")
def people(live: Live) -> People:
    return People(live)


def file_of(live: Live, path: str) -> httpx.Response:
    """What anybody gets below /log."""
    return httpx.get(f"{live.url}/log/{path}", timeout=60)


def checkpoint_of(live: Live) -> tuple[int, bytes]:
    """Size and root of the last checkpoint, after its signature was verified with `cryptography` alone."""
    note = file_of(live, "checkpoint").text
    text, _, line = note.partition("\n\n")
    vkey = httpx.get(f"{live.url}/api/v1/log", timeout=60).json()["logs"][0]["vkey"]
    name, _, rest = vkey.partition("+")
    key_id, _, encoded = rest.partition("+")
    signature = base64.b64decode(line.strip().split(" ")[2])
    assert signature[:4].hex() == key_id
    public = base64.b64decode(encoded)
    assert public[0] == 1
    Ed25519PublicKey.from_public_bytes(public[1:]).verify(signature[4:], f"{text}\n".encode())
    origin, size, root = text.split("\n")
    assert (origin, name) == (ORIGIN, ORIGIN)
    return int(size), base64.b64decode(root)


def wait_logged(who: Any, path: str) -> str:
    """The proof at a path, once the record has its position."""
    eventually(lambda: who.get(path).status_code != 409, f"{path} is logged")
    answer = who.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return str(answer.text)


def test_a_receipt_is_proved_to_a_stranger(live: Live, people: People, tmp_path: Path) -> None:
    """Entries, tiles, checkpoint, receipt and proof agree by arithmetic written for this test, and by `assay log`."""
    slug = create_challenge(people.admin, "logged")
    people["ada"].join(slug, "Blue")
    sent = require_finished(people["ada"].submit(slug, CORRECT_PREDICTIONS))["id"]
    proof = wait_logged(people["ada"], f"/submissions/{sent}/receipt/proof")
    receipt = people["ada"].get(f"/submissions/{sent}/receipt").content
    extra = base64.b64decode(proof.split("\n")[1].removeprefix("extra "))
    record = json.loads(extra[32:])
    payload = base64.b64decode(json.loads(receipt)["payload"])
    assert record["receipt_sha256"] == hashlib.sha256(payload).hexdigest()

    size, root = checkpoint_of(live)
    bundle = file_of(live, f"tile/entries/000.p/{size}")
    entries = [bundle.content[place : place + 34] for place in range(0, len(bundle.content), 34)]
    assert {each[:2] for each in entries} == {b"\x00\x20"}
    hashes = [each[2:] for each in entries]
    assert mth(hashes) == root
    assert hashes[int(proof.split("\n")[2].removeprefix("index "))] == hashlib.sha256(extra).digest()
    tile = file_of(live, f"tile/0/000.p/{size}")
    assert tile.content == b"".join(hashlib.sha256(b"\x00" + each).digest() for each in hashes)
    for answer in (bundle, tile):
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert file_of(live, "checkpoint").headers["cache-control"] == "no-cache"

    (tmp_path / "proof").write_text(proof)
    (tmp_path / "receipt").write_bytes(receipt)
    vkey = people.visitor.get("/log").json()["logs"][0]["vkey"]
    offline = ("log", "verify", "--key", vkey, "--proof", tmp_path / "proof", "--receipt")
    good = run_assay(*offline, tmp_path / "receipt", "--json")
    assert good.status == 0, good.err
    assert good.value()["record"] == record
    people["ada"].submit(slug, CORRECT_PREDICTIONS | {"t1": "b"})
    other = people["ada"].get(f"/challenges/{slug}/phases/main/submissions").json()["items"][0]["id"]
    (tmp_path / "other").write_bytes(people["ada"].get(f"/submissions/{other}/receipt").content)
    wrong = run_assay(*offline, tmp_path / "other", "--json")
    assert (wrong.status, wrong.value()["code"]) == (1, "other_receipt")
    (tmp_path / "proof").write_text(proof.replace(proof.split("\n")[3], base64.b64encode(bytes(32)).decode()))
    changed = run_assay(*offline, tmp_path / "receipt", "--json")
    assert (changed.status, changed.value()["code"]) == (1, "log_proof_refused")


def test_the_log_is_verified_as_a_whole_and_as_it_grows(live: Live, people: People, tmp_path: Path) -> None:
    """An old checkpoint is a beginning of a new one; the entries give the root; a folder does as well as a service."""
    create_challenge(people.admin, "first")
    old = tmp_path / "old"
    at = ("--url", live.url)
    assert run_assay("log", "checkpoint", *at, "-o", old).status == 0
    create_challenge(people.admin, "second")
    before = checkpoint_of(live)[0]
    eventually(lambda: checkpoint_of(live)[0] > before or before > int(old.read_text().split("\n")[1]), "it grows")
    grown = run_assay("log", "verify", *at, "--old", old, "--json")
    assert grown.status == 0, grown.out
    assert {check["name"]: check["state"] for check in grown.value()["checks"]} == {
        **dict.fromkeys(("checkpoint", "consistency"), "ok"),
        **dict.fromkeys(("key", "entries", "witnesses"), "skipped"),
    }
    whole = run_assay("log", "verify", *at, "--json")
    assert whole.status == 0, whole.out
    assert whole.value()["size"] == grown.value()["size"] or whole.value()["size"] > grown.value()["size"]
    shown = run_assay("log", "show", *at)
    assert ORIGIN in shown.out

    size, _ = checkpoint_of(live)
    folder = tmp_path / "copy"
    for path in ("checkpoint", f"tile/0/000.p/{size}", f"tile/entries/000.p/{size}"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(file_of(live, path).content)
    shown_log = people.visitor.get("/log").json()["logs"][0]
    vkey, first = shown_log["vkey"], shown_log["first_leaf"]
    entry = hashlib.sha256(bytes.fromhex(first["salt"]) + first["record"].encode()).digest()
    assert file_of(live, f"tile/entries/000.p/{size}").content[:34] == len(entry).to_bytes(2, "big") + entry
    assert json.loads(first["record"])["origin"] == ORIGIN
    from_folder = ("log", "verify", "--tiles", folder, "--key", vkey, "--json")
    assert run_assay(*from_folder).value()["size"] == size
    tile = folder / f"tile/0/000.p/{size}"
    tile.write_bytes(bytes(32) + tile.read_bytes()[32:])
    assert run_assay(*from_folder).value()["code"] == "log_proof_refused"
    assert run_assay("log", "verify", "--tiles", folder).status == 2


def test_what_is_not_there_is_not_found(live: Live) -> None:
    """Tiles beyond the checkpoint, other spellings of an address, and other logs."""
    size, _ = checkpoint_of(live)
    beyond = size + 50
    paths = (f"tile/0/000.p/{beyond}", "tile/0/000", "tile/1/000.p/1", "tile/00/000.p/1", "tile/0/0000.p/1")
    for path in (
        *paths,
        "tile/0/x000/000.p/1",
        "tile/64/000.p/1",
        "tile/entries/001.p/1",
        "other/checkpoint",
        "nothing",
    ):
        assert file_of(live, path).status_code in {404, 422}, path
    assert file_of(live, "tile/0/000.p/1").status_code == 200


def test_an_act_is_proved_and_a_person_is_erased(live: Live, people: People) -> None:
    """Organizers get salt and record of an act; deleting the account of who acted deletes them, and the leaf stays."""
    owner = people["leaving"]
    slug = create_challenge(people.admin, "acts")
    added = people.admin.post(f"/challenges/{slug}/organizers", json={"email": owner.email, "role": "editor"})
    assert added.is_success, added.text
    path = MAIN_PHASE_PATH.format(slug)
    assert owner.post(f"{path}/pause", json={"reason": "Ada found a mistake."}).is_success
    trail = f"/challenges/{slug}/audit"
    entry = people.admin.get(trail, params={"action": "phase.pause"}).json()["items"][0]
    proof = wait_logged(people.admin, f"{trail}/{entry['id']}/proof")
    extra = base64.b64decode(proof.split("\n")[1].removeprefix("extra "))
    record = json.loads(extra[32:])
    assert (record["kind"], record["action"], record["actor_id"]) == ("audit", "phase.pause", entry["actor"]["id"])
    assert "Ada" not in proof.replace(record["id"], "") + json.dumps(record)
    listed = people.admin.get(trail, params={"action": "phase.pause"}).json()["items"][0]
    assert listed["log"] == "logged"
    assert f"index {listed['log_position']}" in proof
    require_refused(people["ada"].get(f"{trail}/{entry['id']}/proof"), 403, "forbidden")
    require_refused(people.admin.get(f"{trail}/{'0' * 32}/proof"), 404, "not_found")
    assert wait_logged(people.admin, f"/audit/{entry['id']}/proof").split("\n")[1] == proof.split("\n")[1]

    assert owner.request("DELETE", "/me", json={"password": PASSWORD}).is_success
    require_refused(people.admin.get(f"{trail}/{entry['id']}/proof"), 410, "log_record_erased")
    size, root = checkpoint_of(live)
    bundle = file_of(live, f"tile/entries/000.p/{size}").content
    entries = [bundle[place + 2 : place + 34] for place in range(0, len(bundle), 34)]
    assert mth(entries) == root
    assert entries[listed["log_position"]] == hashlib.sha256(extra).digest()
    with write_session_of(live) as session:
        rows = session.connection().exec_driver_sql("SELECT count(*) FROM log_records WHERE salt IS NULL").scalar()
    assert rows


def test_private_scores_are_logged_with_the_release(live: Live, people: People, tmp_path: Path) -> None:
    """Before the release the receipt of the private split has no record; the release is a record itself."""
    gold = [{"id": f"t{n}", "label": "ab"[n % 2], "split": "public" if n < 3 else "private"} for n in range(1, 5)]
    slug = create_challenge(people.admin, "split", gold)
    people["ada"].join(slug, "Blue")
    sent = require_finished(people["ada"].submit(slug, CORRECT_PREDICTIONS))["id"]
    private = f"/submissions/{sent}/receipt/proof?split=private"
    wait_logged(people["ada"], f"/submissions/{sent}/receipt/proof")
    require_refused(people.admin.get(private), 404, "not_logged")
    path = MAIN_PHASE_PATH.format(slug)
    assert people.admin.patch(path, json=PAST).is_success
    assert people.admin.post(f"{path}/release", json={"reason": "agreed"}).is_success
    assert "index " in wait_logged(people["ada"], private)
    records = people.visitor.get(f"/challenges/{slug}/log").json()["items"]
    assert [(record["kind"], record["phase"]) for record in records] == [
        ("release", "main"),
        ("gold", "main"),
        ("switch", "main"),
    ]
    connection = ("--url", live.url)
    listed = run_assay("log", "records", slug, *connection)
    assert all(each in listed.out for record in records for each in (record["kind"], record["id"]))
    vkey = people.visitor.get("/log").json()["logs"][0]["vkey"]
    for record in records:
        wait_logged(people.visitor, f"/challenges/{slug}/log/{record['id']}/proof")
        proof = tmp_path / record["kind"]
        got = run_assay("log", "proof", "--record", record["id"], "--challenge", slug, *connection, "-o", proof)
        assert got.status == 0, got.err
        proved = run_assay("log", "verify", "--proof", proof, "--key", vkey, "--json")
        assert proved.value()["record"] == json.loads(record["record"])
        assert hashlib.sha256(bytes.fromhex(record["salt"]) + record["record"].encode()).hexdigest() == record["entry"]
    assert "reason" not in json.loads(records[2]["record"])
    assert run_assay("log", "proof", "--record", records[0]["id"], *connection).status == 2
    page = httpx.get(f"{live.url}/challenges/{slug}/errata", headers={"Accept": "text/html"}, timeout=60)
    assert f"/api/v1/challenges/{slug}/log/{records[0]['id']}/proof" in page.text
    assert all(f"<td>{each}</td>" in page.text for each in ("Final release", "Commitment to gold 1", "Switch 1"))


def test_the_page_tells_key_and_limits(live: Live) -> None:
    """The page of the log has the verifier key, and says plainly what the log does not show."""
    page = httpx.get(f"{live.url}/log", headers={"Accept": "text/html"}, timeout=60)
    assert page.status_code == 200
    assert "no witnesses" in page.text
    assert ORIGIN in page.text
    assert 'href="/log"' in httpx.get(live.url, timeout=60).text
