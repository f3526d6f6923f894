"""Store a record for the transparency log, in the transaction of the act that it records."""

import hashlib
from collections.abc import Iterable, Mapping
from secrets import token_bytes
from typing import Any, NamedTuple

import rfc8785

from app.store.queries import log_records
from app.store.session import WriteSession

SALT_BYTES = 32


def log_entry(salt: bytes, record: bytes) -> bytes:
    """The entry of the log that stands for a record: SHA-256 over the salt and the record."""
    return hashlib.sha256(salt + record).digest()


class NewRecord(NamedTuple):
    """What the log is to record about an object."""

    kind: str
    record: Mapping[str, Any]
    """Texts, integers, booleans, lists and objects of these; of a person at most the id."""
    challenge_id: str | None
    object_id: str


def add_record(
    session: WriteSession, kind: str, record: Mapping[str, Any], *, challenge_id: str | None, object_id: str
) -> None:
    """Store a record of this kind about an object; the sequencer gives it a position after this transaction."""
    add_records(session, [NewRecord(kind, record, challenge_id, object_id)])


def add_records(session: WriteSession, records: Iterable[NewRecord]) -> None:
    """Store several records by one statement."""
    log_records.add(session, [_row(each) for each in records])


def _row(of: NewRecord) -> dict[str, Any]:
    text, salt = rfc8785.dumps({"kind": of.kind, **of.record}), token_bytes(SALT_BYTES)
    row = {"kind": of.kind, "challenge_id": of.challenge_id, "object_id": of.object_id, "salt": salt.hex()}
    return row | {"record": text.decode(), "entry": log_entry(salt, text).hex()}
