"""Password hashing with Argon2id, and a check of new passwords for strength."""

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
MIN_NAME_PART_LENGTH = 3  # characters; shorter parts of a name are not searched for in a password
MIN_GUESSES = 10**8
MAX_ESTIMATED_LENGTH = 96  # characters of a password whose strength is estimated
ESTIMATED_PIECE_LENGTH = 32  # characters estimated at once, which bounds the time of an estimate

_ZXCVBN_LOCK = threading.Lock()  # zxcvbn stores the words of the user in a global table

# The first of the equally strong combinations in OWASP's Password Storage Cheat Sheet: 19 MiB of memory, 2 passes.
_HASHER = PasswordHash((Argon2Hasher(memory_cost=19456, time_cost=2, parallelism=1),))
# Checked where there is no account: a hash with the current parameters, and one with the former parameters.
_DECOY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$8jyRPoCkO96bP6rzaUt0xQ$KbGwLLO8RdK+1VUF5+Gaw1BSC2LeL2rFDRPOFwGGIGU"
_FORMER_DECOY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$6aTAulwhCU+uU8i0CRyidw$r7OxdPEt81zEF8MP3tzKPKyM2VCKzGElL2HrdrdRI6s"
_CURRENT_HASH_PREFIX = _DECOY_HASH[: _DECOY_HASH.rindex("$", 0, _DECOY_HASH.rindex("$")) + 1]
_SHARE_CACHE_SECONDS = 60.0


class PasswordVerification(NamedTuple):
    """Whether a password is right; if it is and its stored hash has former parameters, the hash to store instead."""

    right: bool
    renewed_hash: str | None


def hash_password(password: str) -> str:
    """The stored form of a password; takes a CPU core some hundredths of a second."""
    return _HASHER.hash(password)


def verify_password(password: str, stored: str) -> PasswordVerification:
    """Whether this is the password.

    Takes as long as computing a hash, longer for a stored one with former parameters.
    """
    return PasswordVerification(*_HASHER.verify_and_update(password, stored))


class DecoyHashes:
    """Hashes to check a password against where there is no account, so that response times do not reveal accounts.

    An account that was not used since the hash parameters changed takes longer to check. So the same share of the
    addresses without an account takes longer too, and always the same addresses do.
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
        position = int.from_bytes(hmac.digest(self._secret, account.encode("utf-8", "surrogatepass"), "sha256")[:7])
        return _DECOY_HASH if position < self._share * (1 << 56) else _FORMER_DECOY_HASH


def password_weakness(password: str, *, email: str, name: str) -> str | None:
    """Why a new password is too weak, None if it is strong enough; may take tenths of a second."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return f"must have at least {MIN_PASSWORD_LENGTH} characters"
    if len(password) > MAX_PASSWORD_LENGTH:
        return f"must have at most {MAX_PASSWORD_LENGTH} characters"
    if all(unicodedata.category(sign)[0] in "CZ" or is_invisible(sign) for sign in password):
        return "must not consist only of blanks and control characters"
    addresses = email_spellings(email)
    if any(_normalize(address) in _normalize(password) for address in addresses):
        return "must not contain the e-mail address"
    own = [name, *name.split(), *addresses, *(address.rpartition("@")[0] for address in addresses)]
    if _length_without(password, own) < MIN_PASSWORD_LENGTH:
        return f"must have at least {MIN_PASSWORD_LENGTH} characters besides your name and e-mail address"
    strong = _takes_many_guesses(password, [*own, *map(_alphanumerics, own)])
    return None if strong else "is too easy to guess: it is a common password or follows a simple pattern"


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _alphanumerics(text: str) -> str:
    """The letters and digits of a text, without case and compatibility forms."""
    return "".join(sign for sign in _normalize(text) if sign.isalnum())


def _length_without(password: str, own: list[str]) -> int:
    """Number of characters of a password outside these texts; all of them if it contains none of these texts."""
    word = rest = _alphanumerics(password)
    for part in sorted({_alphanumerics(text) for text in own}, key=len, reverse=True):
        if len(part) >= MIN_NAME_PART_LENGTH:
            rest = rest.replace(part, "")
    if rest == word:
        return len(password)
    return len(rest) + sum(not (sign.isalnum() or sign.isspace()) for sign in password)


def _takes_many_guesses(password: str, own: list[str]) -> bool:
    """Whether one of the first pieces of a password alone takes enough guesses by the estimate of zxcvbn.

    Only pieces are estimated, because for twice the length an estimate takes seconds if every character may replace a
    letter.
    """
    from zxcvbn import zxcvbn  # noqa: PLC0415 - a large import, needed only for new accounts

    text = unicodedata.normalize("NFKC", password)[:MAX_ESTIMATED_LENGTH]
    pieces = [text[at : at + ESTIMATED_PIECE_LENGTH] for at in range(0, len(text), ESTIMATED_PIECE_LENGTH)]
    with _ZXCVBN_LOCK:
        return any(zxcvbn(piece, user_inputs=own)["guesses"] >= MIN_GUESSES for piece in pieces)
