"""Hashes and checks passwords with Argon2id, few at a time: one hash takes much memory and a good part of a second."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.errors import Unavailable

_HASHER = PasswordHash((Argon2Hasher(),))
_AT_ONCE = threading.BoundedSemaphore(2)
_IN_LINE = threading.BoundedSemaphore(10)  # at work or waiting; more would take the threads that everybody shares
_PATIENCE = 10.0  # seconds
# Verified against when the account does not exist, so that the time of the answer does not tell.
_NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$6aTAulwhCU+uU8i0CRyidw$r7OxdPEt81zEF8MP3tzKPKyM2VCKzGElL2HrdrdRI6s"


@contextmanager
def _turn() -> Iterator[None]:
    """A turn at hashing; raises Unavailable when too many wait."""
    if not _IN_LINE.acquire(blocking=False):
        raise Unavailable("Too many people sign up or log in at this moment.")
    try:
        if not _AT_ONCE.acquire(timeout=_PATIENCE):
            raise Unavailable("Too many people sign up or log in at this moment.")
        try:
            yield
        finally:
            _AT_ONCE.release()
    finally:
        _IN_LINE.release()


def hashed(password: str) -> str:
    """The stored form of a password; raises Unavailable."""
    with _turn():
        return _HASHER.hash(password)


def matches(password: str, stored: str | None) -> bool:
    """Whether this is the password; takes as long when there is none; raises Unavailable."""
    with _turn():
        right = _HASHER.verify(password, stored or _NOBODY)
    return right and stored is not None
