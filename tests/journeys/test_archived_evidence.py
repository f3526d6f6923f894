"""The evidence in an archive: receipts with trusted keys, proofs of the log, and commitments that nonces open."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.archives.building import json_lines, pack
from tests.cli.run_command import run_assay
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    make_recipe,
    require_finished,
)
from tests.settle import settle

Edit = Callable[[dict[str, Any]], dict[str, Any]]


def save_archive(people: People, slug: str, path: Path) -> Path:
    answer = people.admin.get(f"/challenges/{slug}/export", params={"phase": "main"})
    path.write_bytes(answer.raise_for_status().content)
    return path


def verified(path: Path, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_assay("archive", "verify", path, *words, "--json").out)
    return found


def edited(path: Path, name: str, edit: Edit) -> Path:
    """The archive with other rows in a table and a manifest that fits."""
    with zipfile.ZipFile(path) as opened:
        members = {each: opened.read(each) for each in opened.namelist() if each != "manifest.json"}
    members[name] = json_lines([edit(json.loads(line)) for line in members[name].splitlines()])
    target = path.with_name("edited.zip")
    target.write_bytes(pack(members))
    return target


def test_receipts_proofs_and_commitments_of_an_archive_are_verified_with_the_keys_of_the_service(
    people: People, tmp_path: Path
) -> None:
    slug = create_challenge(people.admin, "evidence")
    sent = require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))
    settle(people.live)
    path = save_archive(people, slug, tmp_path / "archive.zip")
    keys = tmp_path / "keys.json"
    assert run_assay("receipt", "keys", "--url", people.live.url, "-o", keys).status == 0
    logs = json.loads(run_assay("log", "show", "--url", people.live.url, "--json").out)
    found = verified(path, "--keys", keys, "--log-key", logs[0]["vkey"])
    assert (found["valid"], found["faults"]) == (True, [])
    counted = {name: found[name] for name in ("receipts", "signatures", "logged", "commitments")}
    assert counted == dict.fromkeys(counted, 1)
    without = verified(path)
    assert (without["valid"], without["signatures"], without["logged"]) == (True, 0, 0)
    with zipfile.ZipFile(path) as opened:  # the receipt is the one that the service serves
        (row,) = (json.loads(line) for line in opened.read("receipts.jsonl").splitlines())
        assert opened.read(row["file"]) == people.admin.get(f"/submissions/{sent['id']}/receipt").content
        assert b"keys" not in b" ".join(name.encode() for name in opened.namelist())


def test_what_contradicts_the_evidence_of_an_archive_is_a_fault(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "evidence-forged")
    require_finished(people["Blue"].join(slug, "Blue").submit(slug, {**CORRECT_PREDICTIONS, "t4": "a"}))
    path = save_archive(people, slug, tmp_path / "archive.zip")
    keys = tmp_path / "keys.json"
    run_assay("receipt", "keys", "--url", people.live.url, "-o", keys)

    def forged(row: dict[str, Any]) -> dict[str, Any]:
        row["metrics"]["accuracy"]["value"] = 1.0
        return row

    cases: list[tuple[str, Edit, str]] = [
        ("scores.jsonl", forged, "does not state what the archive holds: it states accuracy 0.75"),
        ("gold.jsonl", lambda row: row | {"nonce": "0" * 64}, "is not to this gold and nonce"),
        ("gold.jsonl", lambda row: row | {"nonce": row["nonce"][:62]}, "is not to this gold and nonce"),
        ("gold.jsonl", lambda row: row | {"commitment": None}, "names another commitment"),
        ("gold.jsonl", lambda row: row | {"version": [1]}, "'version' must be a whole number"),
        ("scores.jsonl", lambda row: row | {"scorer_version": 99}, "there is no such score"),
        ("scores.jsonl", lambda row: row | {"recipe_version": 2}, "there is no such score"),
        ("scores.jsonl", lambda row: row | {"gold_version": [1]}, "'gold_version' must be a whole number"),
        ("submissions.jsonl", lambda row: row | {"team": "0" * 32}, "names another team"),
        ("submissions.jsonl", lambda row: row | {"sha256": "0" * 64}, "about another file or submission"),
        ("receipts.jsonl", lambda row: row | {"split": "private"}, "of another version or split"),
        ("receipts.jsonl", lambda row: row | {"file": "gold.jsonl"}, "is refused"),
    ]
    for name, edit, reason in cases:
        faults = verified(edited(path, name, edit))["faults"]
        assert any(reason in fault for fault in faults), (name, faults)
    other = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
    keys.write_text(json.dumps(other))
    fault, _ = verified(path, "--keys", keys)["faults"]
    assert "No signature is by a key of the key set" in fault
    assert run_assay("archive", "verify", path, "--log-key", "x", "--json").status == 1


def test_with_keys_every_score_needs_a_receipt(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "evidence-unsigned")
    require_finished(people["Blue"].join(slug, "Blue").submit(slug, {**CORRECT_PREDICTIONS, "t4": "a"}))
    path, keys = save_archive(people, slug, tmp_path / "archive.zip"), tmp_path / "keys.json"
    run_assay("receipt", "keys", "--url", people.live.url, "-o", keys)

    def with_another_score(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"recipe_version": 2}

    forged = edited(path, "scores.jsonl", with_another_score)
    with zipfile.ZipFile(forged) as opened:
        members = {each: opened.read(each) for each in opened.namelist() if each != "manifest.json"}
    forged.write_bytes(pack(members | {"receipts.jsonl": b""}))
    (fault,) = verified(forged, "--keys", keys)["faults"]
    assert "states 1 score of scores.jsonl" in fault
    allowed = verified(forged, "--keys", keys, "--allow-unsigned")
    assert (allowed["valid"], allowed["unsigned"]) == (True, 1)


def test_receipts_of_a_recipe_with_other_metrics_do_not_contradict_each_other(people: People, tmp_path: Path) -> None:
    slug = create_challenge(people.admin, "evidence-recipes")
    require_finished(people["Blue"].join(slug, "Blue").submit(slug, {**CORRECT_PREDICTIONS, "t4": "a"}))
    path = f"/challenges/{slug}/recipe"
    people.admin.put(path, json=make_recipe("cohen_kappa")).raise_for_status()
    people.admin.post(f"{path}/2/preview").raise_for_status()
    settle(people.live)
    assert people.admin.get(f"{path}/2/preview").json()["status"] == "done"
    found = verified(save_archive(people, slug, tmp_path / "archive.zip"))
    assert (found["valid"], found["receipts"]) == (True, 2)
