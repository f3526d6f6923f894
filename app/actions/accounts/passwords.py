"""Hashes and checks passwords with Argon2id, and says which new passwords are too easy to guess."""

import hmac
import threading
import time
import unicodedata
from typing import NamedTuple

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.store.queries import users
from app.store.session import Database
from app.text.confusable_names import is_invisible
from app.text.email_addresses import email_spellings

MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 1000
MIN_NAME_PART_LENGTH = 3  # characters of a name that are looked for within a password
MIN_GUESSES = 10**8
MAX_ESTIMATED_LENGTH = 96  # characters whose guesses are estimated
ESTIMATED_PIECE_LENGTH = 32  # characters estimated at once, which bounds the time that it takes

_ZXCVBN_LOCK = threading.Lock()  # zxcvbn keeps the words of the user in a table of the module

# The first of the combinations, all equally strong, that OWASP's Password Storage Cheat Sheet advises: 19 MiB, 2 passes.
_HASHER = PasswordHash((Argon2Hasher(memory_cost=19456, time_cost=2, parallelism=1),))
# What is checked where there is no account: one hash as costly as those made now, one as costly as former ones.
_DECOY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$8jyRPoCkO96bP6rzaUt0xQ$KbGwLLO8RdK+1VUF5+Gaw1BSC2LeL2rFDRPOFwGGIGU"
_FORMER_DECOY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$6aTAulwhCU+uU8i0CRyidw$r7OxdPEt81zEF8MP3tzKPKyM2VCKzGElL2HrdrdRI6s"
_CURRENT_HASH_PREFIX = _DECOY_HASH[: _DECOY_HASH.rindex("$", 0, _DECOY_HASH.rindex("$")) + 1]
_SHARE_CACHE_SECONDS = 60.0  # seconds


class PasswordVerification(NamedTuple):
    """Whether a password is right; if so and its stored hash is a former one, the hash to store instead."""

    right: bool
    renewed_hash: str | None


def hash_password(password: str) -> str:
    """The stored form of a password; takes a core for some hundredths of a second."""
    return _HASHER.hash(password)


def verify_password(password: str, stored: str) -> PasswordVerification:
    """Whether this is the password; takes as long as making a hash, and longer where the stored one is a former one."""
    return PasswordVerification(*_HASHER.verify_and_update(password, stored))


class DecoyHashes:
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
            self._until = time.monotonic() + _SHARE_CACHE_SECONDS
            with self._db.read() as session:
                self._share = users.password_hash_share(session, _CURRENT_HASH_PREFIX)
        place = int.from_bytes(hmac.digest(self._secret, account.encode("utf-8", "surrogatepass"), "sha256")[:7])
        return _DECOY_HASH if place < self._share * (1 << 56) else _FORMER_DECOY_HASH


def password_weakness(password: str, *, email: str, name: str) -> str | None:
    """Why a new password would be too easy to guess, None for one that will do; may take tenths of a second."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return f"must have at least {MIN_PASSWORD_LENGTH} characters"
    if len(password) > MAX_PASSWORD_LENGTH:
        return f"must have at most {MAX_PASSWORD_LENGTH} characters"
    if all(unicodedata.category(sign)[0] in "CZ" or is_invisible(sign) for sign in password):
        return "must not consist of blanks and control characters alone"
    addresses = email_spellings(email)
    if any(_normalize(address) in _normalize(password) for address in addresses):
        return "must not contain the e-mail address"
    own = [name, *name.split(), *addresses, *(address.rpartition("@")[0] for address in addresses)]
    if _length_without(password, own) < MIN_PASSWORD_LENGTH:
        return f"must have at least {MIN_PASSWORD_LENGTH} characters beside your name and e-mail address"
    strong = _takes_many_guesses(password, [*own, *map(_alphanumerics, own)])
    return None if strong else "is too easy to guess: it is a common password or follows a simple pattern"


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _alphanumerics(text: str) -> str:
    """The letters and digits alone, whatever their case and form."""
    return "".join(sign for sign in _normalize(text) if sign.isalnum())


def _length_without(password: str, own: list[str]) -> int:
    """How many characters a password has beside these texts; all of them if it has none of these texts."""
    word = rest = _alphanumerics(password)
    for part in sorted({_alphanumerics(text) for text in own}, key=len, reverse=True):
        if len(part) >= MIN_NAME_PART_LENGTH:
            rest = rest.replace(part, "")
    if rest == word:
        return len(password)
    return len(rest) + sum(not (sign.isalnum() or sign.isspace()) for sign in password)


def _takes_many_guesses(password: str, own: list[str]) -> bool:
    """Whether one of the first pieces of a password takes many guesses by itself, as zxcvbn estimates them.

    The estimate of a text whose signs may all stand for letters takes seconds for twice the length of a piece.
    """
    from zxcvbn import zxcvbn  # noqa: PLC0415 - large, and needed for new accounts alone

    text = unicodedata.normalize("NFKC", password)[:MAX_ESTIMATED_LENGTH]
    pieces = [text[at : at + ESTIMATED_PIECE_LENGTH] for at in range(0, len(text), ESTIMATED_PIECE_LENGTH)]
    with _ZXCVBN_LOCK:
        return any(zxcvbn(piece, user_inputs=own)["guesses"] >= MIN_GUESSES for piece in pieces)
