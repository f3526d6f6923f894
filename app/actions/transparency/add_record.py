"""Store a record for the transparency log, in the transaction of the act that it records."""

import hashlib
from collections.abc import Mapping
from secrets import token_bytes
from typing import Any

import rfc8785

from app.store.session import WriteSession
from app.store.tables import LogRecord

SALT_BYTES = 32


def log_entry(salt: bytes, record: bytes) -> bytes:
    """The entry of the log that stands for a record: SHA-256 over the salt and the record."""
    return hashlib.sha256(salt + record).digest()


def add_record(
    session: WriteSession, kind: str, record: Mapping[str, Any], *, challenge_id: str | None, object_id: str
) -> None:
    """Store a record of this kind about an object; the sequencer gives it a position after this transaction.

    The record holds texts, integers, booleans, lists and objects of these; of a person at most the id.
    """
    text, salt = rfc8785.dumps({"kind": kind, **record}), token_bytes(SALT_BYTES)
    session.add(
        LogRecord(
            kind=kind,
            challenge_id=challenge_id,
            object_id=object_id,
            salt=salt.hex(),
            record=text.decode(),
            entry=log_entry(salt, text).hex(),
        )
    )
