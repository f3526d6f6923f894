"""Signed notes (C2SP signed-note): texts with signatures of named Ed25519 keys, and timestamped cosignatures."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from app.errors import AssayError

ED25519 = 0x01
COSIGNATURE = 0x04
"""A cosignature of a witness (C2SP tlog-cosignature), which carries its time."""
MAX_SIGNATURES = 64
_TIME_BYTES = 8
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_NAME = re.compile(r"[^\s+]+")
_LINE = re.compile(r"— (?P<name>[^\s+]+) (?P<signature>[A-Za-z0-9+/]+={0,2})")


class NoteRefused(AssayError):
    """A signed note, a key or a signature that cannot be relied on."""

    code = "log_note_refused"
    remedy = "Fetch it again, and compare the verifier key with the one that the organizers published."


def decode_base64(text: str) -> bytes:
    """The bytes of standard base64 that is written in the only canonical way; raises NoteRefused."""
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise NoteRefused(f"'{text[:80]}' is not base64.") from fault
    if base64.b64encode(value).decode() != text:
        raise NoteRefused(f"'{text[:80]}' is not base64 as it has to be written.")
    return value


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key with its name, as `name+hash+base64` writes it."""

    name: str
    kind: int
    public_key: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand before each signature by this key."""
        encoded = self.name.encode() + b"\n" + bytes([self.kind]) + self.public_key
        return hashlib.sha256(encoded).digest()[:4]

    def __str__(self) -> str:
        """The key as other tools read it."""
        encoded = base64.b64encode(bytes([self.kind]) + self.public_key).decode()
        return f"{self.name}+{self.key_id.hex()}+{encoded}"

    def verify(self, text: str, signature: bytes) -> None:
        """Raise NoteRefused unless the signature (without the key id) is one of this text by this key."""
        message = text.encode()
        if self.kind == COSIGNATURE:
            time, signature = signature[:_TIME_BYTES], signature[_TIME_BYTES:]
            message = cosigned_message(text, int.from_bytes(time))
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except (InvalidSignature, ValueError) as fault:
            raise NoteRefused(f"The signature by {self.name} is not valid.") from fault


def parse_log_key(text: str) -> VerifierKey:
    """The key of a log that signs its checkpoints; raises NoteRefused, also for the key of a witness."""
    return _of_kind(parse_verifier_key(text), ED25519, "sign checkpoints of a log")


def parse_witness_key(text: str) -> VerifierKey:
    """The key of a witness that cosigns checkpoints; raises NoteRefused, also for the key of a log."""
    return _of_kind(parse_verifier_key(text), COSIGNATURE, "make cosignatures")


def _of_kind(key: VerifierKey, kind: int, what: str) -> VerifierKey:
    if key.kind != kind:
        raise NoteRefused(f"The key of {key.name} does not {what}: its type has to be 0x{kind:02x}.")
    return key


def parse_verifier_key(text: str) -> VerifierKey:
    """The key that `name+hash+base64` writes; raises NoteRefused."""
    name, _, rest = text.strip().partition("+")
    key_id, _, encoded = rest.partition("+")
    if not _NAME.fullmatch(name) or not re.fullmatch("[0-9a-f]{8}", key_id):
        raise NoteRefused(f"'{text[:200]}' is not a verifier key such as name+1a2b3c4d+base64.")
    content = decode_base64(encoded)
    if len(content) != 33 or content[0] not in (ED25519, COSIGNATURE):
        raise NoteRefused(f"The verifier key of {name} is none of Ed25519.")
    key = VerifierKey(name, content[0], content[1:])
    if key.key_id.hex() != key_id:
        raise NoteRefused(f"The hash in the verifier key of {name} does not fit the key.")
    return key


@dataclass(frozen=True, slots=True)
class Signature:
    """A line of a note: who signed, the id of the key, and the signature."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        """The line, without its end."""
        return f"— {self.name} {base64.b64encode(self.key_id + self.signature).decode()}"

    def is_by(self, key: VerifierKey) -> bool:
        """Whether it names this key; the signature itself is checked by the key."""
        return (self.name, self.key_id) == (key.name, key.key_id)


@dataclass(frozen=True, slots=True)
class Note:
    """A text, which ends with a line end, and its signatures."""

    text: str
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        """The note as it is sent."""
        return f"{self.text}\n" + "".join(f"{each}\n" for each in self.signatures)

    def signed_by(self, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
        """Those of the keys that signed it, others are ignored; raises NoteRefused for a wrong signature by one."""
        signers = []
        for key in keys:
            own = [each for each in self.signatures if each.is_by(key)]
            for each in own:
                key.verify(self.text, each.signature)
            signers += [key] if own else []
        return signers

    def require_signature(self, key: VerifierKey) -> None:
        """Raise NoteRefused unless this key signed it."""
        if not self.signed_by([key]):
            raise NoteRefused(f"It has no signature by {key.name}+{key.key_id.hex()}.")

    def with_signatures(self, more: Iterable[Signature]) -> "Note":
        """The note with further signatures; one by the same key replaces the earlier one."""
        added = {(each.name, each.key_id): each for each in more}
        kept = [each for each in self.signatures if (each.name, each.key_id) not in added]
        return Note(self.text, (*kept, *added.values()))


def parse_note(content: str) -> Note:
    """The note with this content; raises NoteRefused. Its signatures are not checked yet."""
    text, separator, lines = content.rpartition("\n\n")
    if not separator or not lines.endswith("\n") or _CONTROL.search(content):
        raise NoteRefused("It is not a signed note: a text, an empty line, and lines of signatures.")
    return Note(f"{text}\n", parse_signatures(lines))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """The signatures in lines of a note; raises NoteRefused."""
    rows = lines.split("\n")[:-1]
    if not lines.endswith("\n") or not 0 < len(rows) <= MAX_SIGNATURES:
        raise NoteRefused(f"It has no lines of signatures, or more than {MAX_SIGNATURES}.")
    return tuple(_parse_line(row) for row in rows)


def _parse_line(row: str) -> Signature:
    found = _LINE.fullmatch(row)
    content = b"" if found is None else decode_base64(found["signature"])
    if found is None or len(content) < 5:
        raise NoteRefused(f"'{row[:80]}' is not a signature of a note.")
    return Signature(found["name"], content[:4], content[4:])


def sign_text(text: str, name: str, key: Ed25519PrivateKey) -> Signature:
    """The signature of a text by this key under this name."""
    own = VerifierKey(name, ED25519, key.public_key().public_bytes_raw())
    return Signature(name, own.key_id, key.sign(text.encode()))


def cosigned_message(text: str, time: int) -> bytes:
    """What a witness signs for the text of a checkpoint at a time in seconds."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def valid_signatures(text: str, signatures: Sequence[Signature], keys: Iterable[VerifierKey]) -> list[Signature]:
    """Those of the signatures that are of this text and by one of these keys; all others are left out."""
    valid = []
    for key in keys:
        for each in signatures:
            try:
                if each.is_by(key):
                    key.verify(text, each.signature)
                    valid.append(each)
            except NoteRefused:
                continue
    return valid
