"""Canonical JSON (RFC 8785) and the hash of a content, which anybody can compute again from what is served."""

import hashlib
from typing import Any

import rfc8785


def canonical_json(content: Any) -> bytes:
    """The only form of a content: sorted keys, no spaces, UTF-8."""
    return rfc8785.dumps(content)


def content_hash(content: Any) -> str:
    """SHA-256 over the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical_json(content)).hexdigest()


def decimal_text(number: float | None) -> str | None:
    """A number as the shortest decimal text that gives it back, as RFC 8785 writes numbers."""
    return None if number is None else rfc8785.dumps(number).decode()
