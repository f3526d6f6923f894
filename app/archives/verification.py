"""Checks an archive without trusting it: every member, every file against its row, and every receipt against its file."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.archives.layout import GOLD, RECEIPTS, SUBMISSIONS
from app.archives.open_archive import Archive, InvalidArchive

FILE_SUBJECT = "predictions"
"""The name of the subject of a receipt that is the file as it was sent."""
CheckSignature = Callable[[bytes], None]
"""Raises ValueError unless a key that the reader trusts signed this receipt."""


@dataclass(slots=True)
class Verification:
    """What was checked in an archive, and every fault that was found."""

    members: int = 0
    bytes: int = 0
    submissions: int = 0
    gold_versions: int = 0
    files_missing: int = 0
    """Prediction files that the service had deleted before the export; their SHA-256 remains."""
    receipts: int = 0
    signatures: int = 0
    """Receipts of which a trusted key signed the statement; 0 without keys."""
    faults: list[str] = field(default_factory=list)


def verify_archive(archive: Archive, check_signature: CheckSignature | None = None) -> Verification:
    """Check hashes and references; faults are collected, so that one of them does not hide another."""
    found = Verification()
    for name, member in archive.members.items():
        found.members += 1
        found.bytes += member.size
        _collect(found, lambda name=name: archive.check_member(name))  # type: ignore[misc]
    if not found.faults:  # otherwise tables may be among what is damaged
        _collect(found, lambda: _check_tables(archive, found, check_signature))
    return found


def _collect(found: Verification, check: Callable[[], None]) -> None:
    try:
        check()
    except InvalidArchive as error:
        found.faults.append(error.detail)


def _check_tables(archive: Archive, found: Verification, check_signature: CheckSignature | None) -> None:
    for row in archive.rows(GOLD):
        found.gold_versions += 1
        _check_file(archive, row, f"Gold version {row.get('version')}", found)
    hashes: dict[str, str] = {}
    previous, expected = "", 0
    for expected, row in enumerate(archive.rows(SUBMISSIONS), 1):
        submission = str(row.get("id"))
        if row.get("order") != expected or not previous < submission:
            found.faults.append(f"Submission {submission[:64]} is not in the order of acceptance.")
        hashes[submission], previous = str(row.get("sha256")), submission
        _check_file(archive, row, f"The file of submission {submission[:64]}", found)
    found.submissions = expected
    for row in archive.rows(RECEIPTS):
        found.receipts += 1
        _collect(found, lambda row=row: _check_receipt(archive, row, hashes, found, check_signature))  # type: ignore[misc]


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


def _check_receipt(
    archive: Archive,
    row: Mapping[str, Any],
    hashes: Mapping[str, str],
    found: Verification,
    check_signature: CheckSignature | None,
) -> None:
    """The statement is about the submission of the row, and about the file that is in the archive for it."""
    name = f"Receipt {str(row.get('id'))[:64]}"
    content = b"".join(archive.pieces(str(row.get("file"))))
    statement = _decode_statement(content, name)
    digests = dict(_subject_digests(statement))
    predicate = statement.get("predicate")
    stated = predicate.get("submission") if isinstance(predicate, dict) else None
    if stated != row.get("submission") or digests.get(FILE_SUBJECT) != hashes.get(str(stated)):
        raise InvalidArchive(f"{name} is about another file or submission.")
    if check_signature is not None:
        try:
            check_signature(content)
        except ValueError as error:
            raise InvalidArchive(f"{name} is refused: {error}") from error
        found.signatures += 1


def _decode_statement(content: bytes, name: str) -> dict[str, Any]:
    try:
        statement = json.loads(base64.b64decode(json.loads(content)["payload"], validate=True))
    except (ValueError, KeyError, TypeError, binascii.Error, RecursionError) as error:
        raise InvalidArchive(f"{name} is no DSSE envelope with a JSON statement.") from error
    if not isinstance(statement, dict):
        raise InvalidArchive(f"{name} holds no statement.")
    return statement


def _subject_digests(statement: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    subjects = statement.get("subject")
    for each in subjects if isinstance(subjects, list) else []:
        digest = each.get("digest") if isinstance(each, dict) else None
        if isinstance(digest, dict):
            yield str(each.get("name")), str(digest.get("sha256"))
