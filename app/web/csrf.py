"""Tokens against forged requests: a form carries one that only a page of this browser's session can hold.

The secret follows from the cookie, so nothing is stored. Each page masks it with fresh random bytes, so that the length
of compressed pages tells nothing about it (the BREACH attack).
"""

import base64
import binascii
import hashlib
import hmac
import secrets

_SECRET_BYTES = 32


def csrf_token(cookie: str) -> str:
    """A token for a form on a page, for the browser that holds this cookie."""
    mask = secrets.token_bytes(_SECRET_BYTES)
    return base64.urlsafe_b64encode(mask + _xor(mask, _secret(cookie))).decode().rstrip("=")


def is_csrf_token(token: str, cookie: str) -> bool:
    """Whether a token was made for the browser that holds this cookie."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return False
    if len(raw) != 2 * _SECRET_BYTES:
        return False
    return hmac.compare_digest(_xor(raw[:_SECRET_BYTES], raw[_SECRET_BYTES:]), _secret(cookie))


def _secret(cookie: str) -> bytes:
    return hmac.digest(cookie.encode(), b"form of a page", hashlib.sha256)


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))
