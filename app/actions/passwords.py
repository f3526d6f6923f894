"""Hashes and checks passwords with Argon2id, and says which new passwords are too easy to guess."""

import hmac
import time
import unicodedata
from functools import cache
from typing import NamedTuple

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.store import users
from app.store.session import Database

SHORTEST = 10
LONGEST = 1000
SHORTEST_PART = 3  # characters of a name that are looked for within a password

# The first of the combinations, all equally strong, that OWASP's Password Storage Cheat Sheet advises: 19 MiB, 2 passes.
_HASHER = PasswordHash((Argon2Hasher(memory_cost=19456, time_cost=2, parallelism=1),))
# What is checked where there is no account: one hash as costly as those made now, one as costly as former ones.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$8jyRPoCkO96bP6rzaUt0xQ$KbGwLLO8RdK+1VUF5+Gaw1BSC2LeL2rFDRPOFwGGIGU"
_NOBODY_FORMERLY = "$argon2id$v=19$m=65536,t=3,p=4$6aTAulwhCU+uU8i0CRyidw$r7OxdPEt81zEF8MP3tzKPKyM2VCKzGElL2HrdrdRI6s"
_BEGINNING = _NOBODY[: _NOBODY.rindex("$", 0, _NOBODY.rindex("$")) + 1]
_SHARE_LIFE = 60.0  # seconds


class Checked(NamedTuple):
    """Whether a password is right; if so and its stored hash is a former one, the hash to store instead."""

    right: bool
    renewed: str | None


def hashed(password: str) -> str:
    """The stored form of a password; takes a core for some hundredths of a second."""
    return _HASHER.hash(password)


def check(password: str, stored: str) -> Checked:
    """Whether this is the password; takes as long as making a hash, and longer where the stored one is a former one."""
    return Checked(*_HASHER.verify_and_update(password, stored))


class Decoys:
    """What a password is checked against where there is no account, so that the time of the answer does not tell.

    An account that was not used since the costs of hashes were changed takes longer. So does the same share of the
    addresses without an account, always the same ones.
    """

    def __init__(self, db: Database, secret: str) -> None:
        self._db = db
        self._secret = secret.encode()
        self._share = 1.0
        self._until = float("-inf")

    def of(self, account: str) -> str:
        """The hash to check against for this address; reads the database once a minute, whatever the address."""
        if time.monotonic() >= self._until:
            self._until = time.monotonic() + _SHARE_LIFE
            with self._db.read() as session:
                self._share = users.share_of_hashes(session, _BEGINNING)
        place = int.from_bytes(hmac.digest(self._secret, account.encode("utf-8", "surrogatepass"), "sha256")[:7])
        return _NOBODY if place < self._share * (1 << 56) else _NOBODY_FORMERLY


def weakness(password: str, *, email: str, name: str) -> str | None:
    """Why a new password would be too easy to guess, None for one that will do."""
    if len(password) < SHORTEST:
        return f"must have at least {SHORTEST} characters"
    if len(password) > LONGEST:
        return f"must have at most {LONGEST} characters"
    word, address, called = (_plain(text) for text in (password, email, name))
    if address and address in word:
        return "must not contain the e-mail address"
    rest = word
    for part in sorted({called, address.rpartition("@")[0]}, key=len, reverse=True):
        if len(part) >= SHORTEST_PART:
            rest = rest.replace(part, "")
    if rest != word and len(rest) < SHORTEST:
        return f"must have at least {SHORTEST} characters beside your name and the part of your address before the @"
    if word in _common():
        return "is among the most common passwords, which are tried first"
    return None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


@cache
def _common() -> frozenset[str]:
    """Passwords that many people use, of those that are long enough."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415 - large, and needed for new accounts alone

    return frozenset(word for word in FREQUENCY_LISTS["passwords"] if len(word) >= SHORTEST)
