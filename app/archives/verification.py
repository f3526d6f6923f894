"""Checks an archive without trusting it: every member, every file against its row, and the evidence in it."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.archives.archived_files import integer, read_gold
from app.archives.evidence import (
    ArchivedFacts,
    ScoreKey,
    TrustedKeys,
    check_commitment,
    check_receipt,
    read_scores,
    score_key,
)
from app.archives.layout import FROZEN, GOLD, RECEIPTS, SCORES, SUBMISSIONS
from app.archives.open_archive import Archive, InvalidArchive
from app.formats.reading_rules import DEFAULT_LIMITS


@dataclass(slots=True)
class Verification:
    """What was checked in an archive, and every fault that was found."""

    members: int = 0
    bytes: int = 0
    submissions: int = 0
    gold_versions: int = 0
    commitments: int = 0
    """Gold versions whose nonce opens their commitment."""
    files_missing: int = 0
    """Files that the service had deleted before the export; their SHA-256 remains."""
    frozen_boards: int = 0
    receipts: int = 0
    signatures: int = 0
    """Receipts that a trusted key signed; 0 without keys."""
    unsigned: int = 0
    """With keys, scores without a receipt that one of them signed; nothing vouches for these."""
    logged: int = 0
    """Receipts that the log with the trusted key has; 0 without one."""
    faults: list[str] = field(default_factory=list)


def verify_archive(archive: Archive, trusted: TrustedKeys | None = None) -> Verification:
    """Check hashes, references and evidence; faults are collected, so that one of them does not hide another."""
    found = Verification()
    for name, member in archive.members.items():
        found.members += 1
        found.bytes += member.size
        _collect(found, lambda name=name: archive.check_member(name))  # type: ignore[misc]
    if not found.faults:  # otherwise tables may be among what is damaged
        _collect(found, lambda: _check_tables(archive, found, trusted or TrustedKeys()))
    return found


def _collect(found: Verification, check: Callable[[], None]) -> None:
    try:
        check()
    except InvalidArchive as error:
        found.faults.append(error.detail)


def _check_tables(archive: Archive, found: Verification, trusted: TrustedKeys) -> None:
    commitments = _check_gold(archive, found)
    hashes, teams = _check_submissions(archive, found)
    of_receipts = {str(row.get("submission")) for row in archive.rows(RECEIPTS)}
    facts = ArchivedFacts(hashes, teams, commitments, read_scores(archive, of_receipts) if of_receipts else {})
    vouched: set[ScoreKey] = set()

    def check(row: Mapping[str, Any]) -> None:
        signed, logged = check_receipt(archive, row, facts, trusted)
        found.signatures += signed
        found.logged += logged
        if signed:
            vouched.add(score_key(row))

    for row in archive.rows(FROZEN):
        found.frozen_boards += 1
        member = archive.members.get(str(row.get("file")))
        if member is None or member.sha256 != row.get("sha256"):
            found.faults.append(f"Frozen board {row.get('number')} is not the one that its hash cites.")
    for row in archive.rows(RECEIPTS):
        found.receipts += 1
        _collect(found, lambda row=row: check(row))  # type: ignore[misc]
    if trusted.receipts:
        _count_unsigned(archive, found, vouched)


def _count_unsigned(archive: Archive, found: Verification, vouched: set[ScoreKey]) -> None:
    """Count the scores that no trusted receipt states; test entries, which are on no board, get no receipts."""
    tests = {str(row.get("id")) for row in archive.rows(SUBMISSIONS) if row.get("test")}
    keys = (score_key(row) for row in archive.rows(SCORES))
    found.unsigned = sum(key not in vouched for key in keys if key[0] not in tests)


def _check_gold(archive: Archive, found: Verification) -> dict[Any, Any]:
    """Check the gold versions; returns their commitments by version."""
    commitments: dict[Any, Any] = {}

    def check(row: Mapping[str, Any], folder: Path) -> None:
        if row.get("commitment") is not None:
            gold = read_gold(archive, row, folder, DEFAULT_LIMITS)
            found.commitments += gold is not None and check_commitment(row, gold)

    with tempfile.TemporaryDirectory(prefix="assay-archive-") as folder:
        for row in archive.rows(GOLD):
            found.gold_versions += 1
            commitments[integer(row, "version")] = row.get("commitment")
            _check_file(archive, row, f"Gold version {row.get('version')}", found)
            _collect(found, lambda row=row: check(row, Path(folder)))  # type: ignore[misc]
    return commitments


def _check_submissions(archive: Archive, found: Verification) -> tuple[dict[str, str], dict[str, str | None]]:
    """Check the submissions and their order; returns the SHA-256 of their files and their teams, if never merged."""
    hashes: dict[str, str] = {}
    teams: dict[str, str | None] = {}
    previous = ""
    for number, row in enumerate(archive.rows(SUBMISSIONS), 1):
        submission = str(row.get("id"))
        if row.get("order") != number or not previous < submission:
            found.faults.append(f"Submission {submission[:64]} is not in the order of acceptance.")
        hashes[submission], previous = str(row.get("sha256")), submission
        teams[submission] = None if row.get("sent_team") else str(row.get("team"))
        _check_file(archive, row, f"The file of submission {submission[:64]}", found)
    found.submissions = len(hashes)
    return hashes, teams


def _check_file(archive: Archive, row: Mapping[str, Any], what: str, found: Verification) -> None:
    """A file is what its row says: the row has its SHA-256 and size from when it was uploaded."""
    if row.get("file") is None:
        found.files_missing += 1
        return
    member = archive.members.get(str(row["file"]))
    if member is None:
        found.faults.append(f"{what} is not in the archive.")
    elif (member.sha256, member.size) != (row.get("sha256"), row.get("size")):
        found.faults.append(f"{what} is not the one that was uploaded: its SHA-256 differs.")
