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
from app.text.confusable_names import is_unseen
from app.text.email_addresses import spellings

SHORTEST = 10
LONGEST = 1000
SHORTEST_PART = 3  # characters of a name that are looked for within a password
FEWEST_GUESSES = 10**8
LONGEST_JUDGED = 96  # characters whose guesses are estimated
PIECE = 32  # characters estimated at once, which bounds the time that it takes

_JUDGING = threading.Lock()  # zxcvbn keeps the words of the user in a table of the module

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
    """Why a new password would be too easy to guess, None for one that will do; may take tenths of a second."""
    if len(password) < SHORTEST:
        return f"must have at least {SHORTEST} characters"
    if len(password) > LONGEST:
        return f"must have at most {LONGEST} characters"
    if all(unicodedata.category(sign)[0] in "CZ" or is_unseen(sign) for sign in password):
        return "must not consist of blanks and control characters alone"
    addresses = spellings(email)
    if any(_plain(address) in _plain(password) for address in addresses):
        return "must not contain the e-mail address"
    own = [name, *name.split(), *addresses, *(address.rpartition("@")[0] for address in addresses)]
    if _beside(password, own) < SHORTEST:
        return f"must have at least {SHORTEST} characters beside your name and e-mail address"
    strong = _takes_many_guesses(password, [*own, *map(_letters, own)])
    return None if strong else "is too easy to guess: it is a common password or follows a simple pattern"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _letters(text: str) -> str:
    """The letters and digits alone, whatever their case and form."""
    return "".join(sign for sign in _plain(text) if sign.isalnum())


def _beside(password: str, own: list[str]) -> int:
    """How many characters a password has beside these texts; all of them if it has none of these texts."""
    word = rest = _letters(password)
    for part in sorted({_letters(text) for text in own}, key=len, reverse=True):
        if len(part) >= SHORTEST_PART:
            rest = rest.replace(part, "")
    if rest == word:
        return len(password)
    return len(rest) + sum(not (sign.isalnum() or sign.isspace()) for sign in password)


def _takes_many_guesses(password: str, own: list[str]) -> bool:
    """Whether one of the first pieces of a password takes many guesses by itself, as zxcvbn estimates them.

    The estimate of a text whose signs may all stand for letters takes seconds for twice the length of a piece.
    """
    from zxcvbn import zxcvbn  # noqa: PLC0415 - large, and needed for new accounts alone

    text = unicodedata.normalize("NFKC", password)[:LONGEST_JUDGED]
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    with _JUDGING:
        return any(zxcvbn(piece, user_inputs=own)["guesses"] >= FEWEST_GUESSES for piece in pieces)
