"""Receipts as people use them: fetched from a service, verified offline by the command, also under later gold."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from tests.cli.run_command import CommandResult, run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    require_finished,
)
from tests.live_service import Caller, Live
from tests.settle import settle

WRONG = CORRECT_PREDICTIONS | {"t4": "a"}


@pytest.fixture
def keys(people: People, tmp_path: Path) -> Path:
    """The published keys of the service."""
    path = tmp_path / "keys.json"
    assert run_assay("receipt", "keys", "--url", people.live.url, "-o", path).status == 0
    return path


def saved(who: Caller, submission: str, path: Path, **query: Any) -> Path:
    """The receipt as the service sends it, in a file."""
    answer = who.get(f"/submissions/{submission}/receipt", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/vnd.dsse.envelope.v1+json"
    path.write_bytes(answer.content)
    return path


def digests(receipt: Path) -> dict[str, str]:
    statement = json.loads(base64.b64decode(json.loads(receipt.read_bytes())["payload"]))
    return {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}


def states(found: CommandResult) -> dict[str, str]:
    return {check["name"]: check["state"] for check in found.value()["checks"]}


def test_a_receipt_is_verified_offline_with_files_and_nonce(people: People, keys: Path, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "receipts")
    sent = require_finished(people["Blue"].join(slug, "Blue").submit(slug, WRONG))["id"]
    receipt = saved(people.visitor, sent, tmp_path / "receipt.json")
    envelope = json.loads(receipt.read_bytes())
    public = next(
        key for key in json.loads(keys.read_bytes())["keys"] if key["kid"] == envelope["signatures"][0]["keyid"]
    )
    raw = base64.urlsafe_b64decode(public["x"] + "=").hex()
    assert Envelope.from_dict(envelope).verify([SSlibKey(public["kid"], "ed25519", "ed25519", {"public": raw})], 1)

    gold, mine = write_file(tmp_path / "gold.json", GOLD), write_file(tmp_path / "mine.json", WRONG)
    opened = people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/gold/1/opening").raise_for_status().json()
    words = ("receipt", "verify", receipt, "--keys", keys, "--gold", gold, "--json")
    found = run_assay(*words, "--predictions", mine, "--gold-opening", opened["nonce"])
    assert (found.status, found.value()["valid"]) == (0, True)
    checked = {"signature": "ok", "commitment": "ok", "content": "ok", "scores": "ok"}
    assert states(found) == checked | {"file": "other"}  # the service got the same records in other bytes
    assert "has the same content" in found.out

    better = write_file(tmp_path / "better.json", CORRECT_PREDICTIONS)
    forged = run_assay(*words, "--predictions", better)
    assert (forged.status, states(forged)["content"], states(forged)["scores"]) == (1, "failed", "failed")
    swapped = write_file(tmp_path / "swapped.json", [row | {"label": "b"} for row in GOLD])
    again = ("receipt", "verify", receipt, "--keys", keys, "--gold", swapped, "--json")
    assert states(run_assay(*again, "--gold-opening", opened["nonce"]))["commitment"] == "failed"
    short = run_assay(
        "receipt", "verify", receipt, "--keys", keys, "--gold", gold, "--gold-opening", opened["nonce"][:62]
    )
    assert (short.status, "32 bytes" in short.err) == (2, True)


def test_receipts_that_are_cut_changed_or_of_another_server_are_refused(
    people: People, keys: Path, tmp_path: Path
) -> None:
    slug = create_challenge(people.admin, "receipts-refused")
    sent = require_finished(people["Blue"].join(slug, "Blue").submit(slug, WRONG))["id"]
    text = saved(people.visitor, sent, tmp_path / "receipt.json").read_text()
    envelope = json.loads(text)
    changed = base64.b64decode(envelope["payload"]).replace(b'"0.75"', b'"1.0"')
    other = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
    cases = [
        (text[: len(text) // 2], keys),
        (json.dumps(envelope | {"payload": base64.b64encode(changed).decode()}), keys),
        (json.dumps(envelope | {"payload": envelope["payload"] + "\n"}), keys),
        (json.dumps(envelope | {"payloadType": "text/plain"}), keys),
        (text, write_file(tmp_path / "other.json", other)),
    ]
    for place, (content, trusted) in enumerate(cases):
        path = write_file(tmp_path / "changed.json", content)
        refused = run_assay("receipt", "verify", path, "--keys", trusted)
        assert (refused.status, "not valid" in refused.err) == (1, True), (place, refused)


def test_a_receipt_under_later_gold_is_verified_with_the_file_as_it_was_accepted(
    people: People, keys: Path, tmp_path: Path
) -> None:
    """An id that was void when the file came, and is not now, counts as an empty prediction."""
    whole = [*GOLD, {"id": "t5", "label": "a"}]
    slug = create_challenge(people.admin, "receipts-later", whole)
    path = f"{MAIN_PHASE_PATH.format(slug)}/gold"
    everything = WRONG | {"t5": "a"}
    first = require_finished(people["Blue"].join(slug, "Blue").submit(slug, everything))["id"]
    receipt = saved(people["Blue"], first, tmp_path / "before.json")

    def activate(number: int) -> None:
        answer = people.admin.post(f"{path}/{number}/activate", json={"reason": "t5 is unclear."})
        assert answer.status_code < 300, answer.text
        settle(people.live)
        assert people.admin.get(f"{path}/{number}").json()["status"] == "active"

    assert people.admin.post(path, json=GOLD).status_code == 201
    activate(2)
    lacking = require_finished(people["Green"].join(slug, "Green").submit(slug, WRONG))["id"]
    activate(1)
    gold, mine = write_file(tmp_path / "gold.json", whole), write_file(tmp_path / "mine.json", WRONG)
    for submission, file in ((first, write_file(tmp_path / "all.json", everything)), (lacking, mine)):
        under = saved(people.admin, submission, tmp_path / "now.json", gold_version=1)
        found = run_assay(
            "receipt", "verify", under, "--keys", keys, "--gold", gold, "--predictions", file, "--json"
        )  # fmt: skip
        assert states(found) == {"signature": "ok", "file": "other", "content": "ok", "scores": "ok"}, found
    assert saved(people["Blue"], first, tmp_path / "again.json", gold_version=1).read_bytes() == receipt.read_bytes()


def test_the_content_digest_is_the_same_in_every_format_and_order(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "receipts-formats", phases=[{"name": "main", "quota": {"total": 9}}])
    blue = people["Blue"].join(slug, "Blue")
    rows = list(reversed(WRONG.items()))
    files = {
        "a.json": json.dumps(WRONG),
        "b.jsonl": "".join(json.dumps({"id": key, "label": label}) + "\n" for key, label in rows),
        "c.csv": "id,label\n" + "".join(f"{key},{label}\n" for key, label in rows),
        "d.tsv": "label\tid\n" + "".join(f"{label}\t{key}\n" for key, label in rows),
    }
    found = []
    for name, content in files.items():
        answer = blue.post(
            f"{MAIN_PHASE_PATH.format(slug)}/submissions", params={"filename": name}, content=content.encode(),
            headers={"Prefer": "wait=60"},
        )  # fmt: skip
        assert answer.status_code in {201, 202}, answer.text
        settle(people.live)
        found.append(digests(saved(blue, answer.json()["id"], tmp_path / "receipt.json")))
    assert len({each["predictions-content"] for each in found}) == 1
    assert len({each["predictions"] for each in found}) == len(files)


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Live]:
    """A service whose key can be replaced."""
    live = Live(tmp_path / "data").start()
    yield live
    live.stop()


def test_receipts_of_a_replaced_key_stay_verifiable_and_a_rerun_gives_the_same_bytes(
    own_service: Live, tmp_path: Path
) -> None:
    people = People(own_service)
    slug = create_challenge(people.admin, "rotated", phases=[{"name": "main", "quota": {"total": 9}}])
    blue = people["Blue"].join(slug, "Blue")
    first = require_finished(blue.submit(slug, WRONG))["id"]
    old = saved(blue, first, tmp_path / "old.json")
    before = old.read_bytes()
    assert run_assay("keys", "rotate", "--data-dir", tmp_path / "data").status == 0
    second = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    new = saved(blue, second, tmp_path / "new.json")
    assert people.admin.post(f"/submissions/{first}/rerun").status_code == 202
    settle(own_service)
    assert saved(blue, first, old).read_bytes() == before
    keys = tmp_path / "keys.json"
    assert run_assay("receipt", "keys", "--url", own_service.url, "-o", keys).status == 0
    signers = {json.loads(path.read_bytes())["signatures"][0]["keyid"] for path in (old, new)}
    assert len(signers) == 2
    assert signers <= {key["kid"] for key in json.loads(keys.read_bytes())["keys"]}
    for path in (old, new):
        assert run_assay("receipt", "verify", path, "--keys", keys).status == 0
