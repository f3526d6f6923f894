"""Checks the evidence in an archive: receipts against files and scores, their log proofs, and commitments to gold."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.archives.archived_files import integer
from app.archives.layout import SCORES
from app.archives.open_archive import Archive, InvalidArchive
from app.pipeline import Gold
from app.receipts.dsse import ReceiptRefused, decode_envelope
from app.receipts.gold_commitment import gold_commitment
from app.receipts.statement import FILE_SUBJECT, disclosed_text
from app.receipts.verification import verify_receipt
from app.tlog.merkle import ProofRefused
from app.tlog.note import NoteRefused, VerifierKey
from app.tlog.proof import parse_proof
from app.tlog.verification import verify_record

_NONCE = 64  # hexadecimal digits
Json = Mapping[str, Any]
ScoreKey = tuple[str, int, int, int, str]
"""Submission, gold version, recipe version, scorer version and split."""


class ArchivedFacts(NamedTuple):
    """What the tables of an archive hold and receipts state."""

    hashes: Mapping[str, str]
    """The SHA-256 of the file of each submission."""
    teams: Mapping[str, str | None]
    """The team of each submission; None if teams were merged, as receipts from before name another one."""
    commitments: Mapping[Any, Any]
    """The commitment to each gold version."""
    scores: Mapping[ScoreKey, Json]


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The keys that the reader of an archive trusts: those of receipts by thumbprint, and that of the log."""

    receipts: Mapping[str, bytes] = field(default_factory=dict)
    log: VerifierKey | None = None


def check_commitment(row: Json, gold: Gold) -> bool:
    """Whether the nonce of a gold version opens its commitment; False if it has none. Raises InvalidArchive."""
    if row.get("commitment") is None:
        return False
    nonce = str(row.get("nonce"))
    try:
        found = gold_commitment(gold, bytes.fromhex(nonce)) if len(nonce) == _NONCE else None
    except ValueError:
        found = None
    if found != row["commitment"]:
        raise InvalidArchive(f"The commitment to gold version {row.get('version')} is not to this gold and nonce.")
    return True


def read_scores(archive: Archive, wanted: set[str]) -> dict[ScoreKey, Json]:
    """The metric values of these submissions, by what a receipt says of them; raises InvalidArchive."""
    found: dict[ScoreKey, Json] = {}
    for row in archive.rows(SCORES):
        if str(row.get("submission")) in wanted:
            found[score_key(row)] = row.get("metrics") or {}
    return found


def score_key(row: Json) -> ScoreKey:
    """What a line of scores or receipts is about; raises InvalidArchive."""
    gold, recipe, scorer = (integer(row, name) for name in ("gold_version", "recipe_version", "scorer_version"))
    return str(row.get("submission")), gold, recipe, scorer, str(row.get("split"))


def check_receipt(archive: Archive, row: Json, facts: ArchivedFacts, trusted: TrustedKeys) -> tuple[bool, bool]:
    """Whether a trusted key signed a receipt, and whether the trusted log has it; raises InvalidArchive.

    Without keys, neither is known, but what the receipt states must be what the archive holds: the submission, its file
    and team, the commitment to the gold, and every value at the digits that participants saw.
    """
    name = f"Receipt {str(row.get('id'))[:64]}"
    content = b"".join(archive.pieces(str(row.get("file"))))
    try:
        payload = verify_receipt(content, trusted.receipts).payload if trusted.receipts else _payload(content)
        statement = json.loads(payload)
        _check_statement(statement, row, facts)
    except ReceiptRefused as error:
        raise InvalidArchive(f"{name} is refused. {error.detail}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArchive(f"{name} does not state what the archive holds: {error}.") from error
    return bool(trusted.receipts), _is_logged(archive, row, payload, trusted.log, name)


def _payload(content: bytes) -> bytes:
    return decode_envelope(content).payload


def _check_statement(statement: Json, row: Json, facts: ArchivedFacts) -> None:
    """Raise ValueError for the first thing that is stated otherwise than the archive has it."""
    predicate = statement["predicate"]
    digests = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    submission, version = str(predicate["submission"]), predicate["gold_version"]
    if submission != row.get("submission") or digests.get(FILE_SUBJECT) != facts.hashes.get(submission):
        raise ValueError("it is about another file or submission")
    if facts.teams.get(submission) not in {None, predicate["team"]}:
        raise ValueError("it names another team")
    if facts.commitments.get(version) != predicate["gold_commitment"]:
        raise ValueError("it names another commitment to the gold")
    key = (submission, version, predicate["recipe"]["version"], predicate["scorer_version"], predicate["split"])
    if score_key(row) != key:
        raise ValueError("it is of another version or split")
    if key not in facts.scores:
        raise ValueError("there is no such score")
    _check_claims(predicate, facts.scores[key])


def _check_claims(predicate: Json, metrics: Json) -> None:
    digits = predicate["recipe"]["disclosure"]["digits"]
    for claim in predicate["claims"]:
        value = metrics.get(claim["metric"], {}).get("value")
        if claim["value"] != disclosed_text(value, None if digits == "full" else digits):
            raise ValueError(f"it states {claim['metric']} {claim['value']}")


def _is_logged(archive: Archive, row: Json, payload: bytes, key: VerifierKey | None, name: str) -> bool:
    """Whether the log with the trusted key has a receipt; False without key or proof. Raises InvalidArchive."""
    if row.get("proof") is None or key is None:
        return False
    try:
        proved = verify_record(parse_proof(b"".join(archive.pieces(str(row["proof"]))).decode()), key)
    except (NoteRefused, ProofRefused, ValueError) as error:
        raise InvalidArchive(f"The log proof of {name.lower()} is refused: {error}") from error
    if proved.record.get("receipt_sha256") != hashlib.sha256(payload).hexdigest():
        raise InvalidArchive(f"The log proof of {name.lower()} is about another receipt.")
    return True
