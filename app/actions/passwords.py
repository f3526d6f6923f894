"""Hashes and checks passwords with Argon2id, few at a time: one hash takes much memory and a good part of a second."""

import threading

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

_HASHER = PasswordHash((Argon2Hasher(),))
_AT_ONCE = threading.BoundedSemaphore(2)
# Verified against when the account does not exist, so that the time of the answer does not tell.
_NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$6aTAulwhCU+uU8i0CRyidw$r7OxdPEt81zEF8MP3tzKPKyM2VCKzGElL2HrdrdRI6s"


def hashed(password: str) -> str:
    """The stored form of a password."""
    with _AT_ONCE:
        return _HASHER.hash(password)


def matches(password: str, stored: str | None) -> bool:
    """Whether this is the password; takes as long when there is none."""
    with _AT_ONCE:
        right = _HASHER.verify(password, stored or _NOBODY)
    return right and stored is not None
