"""Checkpoints (C2SP tlog-checkpoint): origin, size and root of a log, as the text of a signed note."""

import base64
import re
from dataclasses import dataclass

from app.tlog.merkle import HASH_BYTES
from app.tlog.note import Note, NoteRefused, decode_base64, parse_note

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_LINES = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text that the log signs."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint that is the text of a note; raises NoteRefused."""
    lines = text.split("\n")
    if len(lines) <= _LINES or lines[-1] or not all(lines[:-1]) or parse_size(lines[1]) is None:
        raise NoteRefused("It is not a checkpoint: origin, size and root, each on a line.")
    root = decode_base64(lines[2])
    if len(root) != HASH_BYTES:
        raise NoteRefused(f"The root of the checkpoint has {len(root)} bytes instead of {HASH_BYTES}.")
    return Checkpoint(lines[0], int(lines[1]), root, tuple(lines[_LINES:-1]))


def parse_size(text: str) -> int | None:
    """A size or position as it has to be written; None for anything else."""
    return int(text) if _SIZE.fullmatch(text) else None


def read_checkpoint(content: str) -> tuple[Note, Checkpoint]:
    """The note with this content and the checkpoint in it; raises NoteRefused. The signatures are not checked yet."""
    note = parse_note(content)
    return note, parse_checkpoint(note.text)
