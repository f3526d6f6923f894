"""Proofs in files (C2SP tlog-proof): entry position, inclusion proof and checkpoint; and requests to witnesses."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from app.tlog.checkpoint import Checkpoint, parse_size, read_checkpoint
from app.tlog.merkle import HASH_BYTES, leaf_hash, verify_inclusion
from app.tlog.note import Note, NoteRefused, VerifierKey, decode_base64

HEADER = "c2sp.org/tlog-proof@v1"
MAX_HASHES = 63


@dataclass(frozen=True, slots=True)
class LogProof:
    """That an entry is at a position of a log."""

    index: int
    hashes: tuple[bytes, ...]
    note: Note
    checkpoint: Checkpoint
    extra: bytes | None = None

    def __str__(self) -> str:
        """The content of the file."""
        extra = [] if self.extra is None else [f"extra {base64.b64encode(self.extra).decode()}"]
        hashes = [base64.b64encode(each).decode() for each in self.hashes]
        return "\n".join([HEADER, *extra, f"index {self.index}", *hashes, "", str(self.note)])

    def verify(self, entry: bytes, key: VerifierKey) -> None:
        """Raise NoteRefused or ProofRefused unless the log with this key contains the entry at this position."""
        self.note.require_signature(key)
        if self.checkpoint.origin != key.name:
            raise NoteRefused(f"The checkpoint is of {self.checkpoint.origin}, the key of {key.name}.")
        verify_inclusion(self.index, self.checkpoint.size, leaf_hash(entry), self.hashes, self.checkpoint.root)


def parse_proof(content: str) -> LogProof:
    """The proof with this content; raises NoteRefused."""
    head, separator, note_content = content.partition("\n\n")
    lines = head.split("\n")
    if not separator or lines.pop(0) != HEADER:
        raise NoteRefused(f"It is not a proof: its first line is not {HEADER}, or it has no checkpoint.")
    extra = decode_base64(lines.pop(0).removeprefix("extra ")) if lines and lines[0].startswith("extra ") else None
    index = parse_size(lines.pop(0).removeprefix("index ")) if lines and lines[0].startswith("index ") else None
    if index is None or len(lines) > MAX_HASHES:
        raise NoteRefused("The proof has no line 'index', or too many hashes.")
    hashes = tuple(decode_base64(line) for line in lines)
    if any(len(each) != HASH_BYTES for each in hashes):
        raise NoteRefused(f"A hash of the proof has not {HASH_BYTES} bytes.")
    return LogProof(index, hashes, *read_checkpoint(note_content), extra)


def witness_request(old: int, hashes: Sequence[bytes], note: Note) -> str:
    """The body with which a log asks a witness to cosign a checkpoint (C2SP tlog-witness, add-checkpoint)."""
    proof = "".join(base64.b64encode(each).decode() + "\n" for each in hashes)
    return f"old {old}\n{proof}\n{note}"
