"""Verify a whole log, two checkpoints of it, or a salted record, from what its server gives; pure."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.tlog.checkpoint import Checkpoint, read_checkpoint
from app.tlog.merkle import (
    ProofRefused,
    consistency_proof,
    leaf_hash,
    perfect_hash,
    root_hash,
    verify_consistency,
)
from app.tlog.note import NoteRefused, VerifierKey
from app.tlog.proof import LogProof
from app.tlog.tiles import WIDTH, Tile, TileNodes, all_tiles, bundle_path, count_tiles, decode_bundle

Fetch = Callable[[str], bytes]
"""The bytes at a path below the log, such as `tile/0/000`."""
Advance = Callable[[int, int], None]
SALT_BYTES = 32


@dataclass(frozen=True, slots=True)
class ProvedRecord:
    """A record that is in a log."""

    index: int
    checkpoint: Checkpoint
    record: dict[str, Any]


def verified_checkpoint(content: str, key: VerifierKey, witnesses: Iterable[VerifierKey] = ()) -> Checkpoint:
    """The checkpoint in a note by this key and, if there are any, all of these witnesses; raises NoteRefused."""
    note, checkpoint = read_checkpoint(content)
    note.require_signature(key)
    if checkpoint.origin != key.name:
        raise NoteRefused(f"The checkpoint is of {checkpoint.origin}, the key of {key.name}.")
    for witness in witnesses:
        note.require_signature(witness)
    return checkpoint


def verify_log(checkpoint: Checkpoint, fetch: Fetch, advance: Advance = lambda _done, _total: None) -> None:
    """Fetch all entries and tiles and compute the root from the entries; raises ProofRefused for any difference."""
    total = count_tiles(checkpoint.size)
    roots: dict[int, list[bytes]] = {}  # of the full tiles by level
    for done, tile in enumerate(all_tiles(checkpoint.size)):
        first = tile.number * WIDTH
        hashes = _leaves(tile, fetch) if tile.level == 0 else roots[tile.level - 1][first : first + tile.width]
        if fetch(tile.path) != b"".join(hashes):
            raise ProofRefused(f"{tile.path} does not contain the hashes of what is below it.")
        if tile.width == WIDTH:
            roots.setdefault(tile.level, []).append(perfect_hash(hashes))
        advance(done + 1, total)
    if root_hash(checkpoint.size, _nodes(checkpoint.size, fetch)) != checkpoint.root:
        raise ProofRefused(f"The {checkpoint.size} entries do not give the root of the checkpoint.")


def _leaves(tile: Tile, fetch: Fetch) -> list[bytes]:
    entries = decode_bundle(fetch(bundle_path(tile.number, tile.width)))
    if len(entries) != tile.width:
        raise ProofRefused(f"{bundle_path(tile.number, tile.width)} has {len(entries)} entries.")
    return [leaf_hash(each) for each in entries]


def verify_growth(old: Checkpoint, new: Checkpoint, fetch: Fetch | None) -> None:
    """Raise ProofRefused unless the older tree is the beginning of the newer one, by tiles of the newer one.

    Without tiles only checkpoints of one size can be compared, and those of an empty log.
    """
    if old.origin != new.origin:
        raise ProofRefused(f"They are of two logs: {old.origin} and {new.origin}.")
    if old.size > new.size:
        raise ProofRefused(f"The new checkpoint has {new.size} entries, the old one {old.size}.")
    if old.size in (0, new.size):
        verify_consistency(old.size, old.root, new.size, new.root, [])
        return
    if fetch is None:
        raise ProofRefused("Checkpoints of different sizes are compared with the tiles of the log.")
    nodes = _nodes(new.size, fetch)
    verify_consistency(old.size, old.root, new.size, new.root, consistency_proof(old.size, new.size, nodes))


def _nodes(size: int, fetch: Fetch) -> TileNodes:
    def read(tiles: Sequence[Tile]) -> list[bytes]:
        return [fetch(tile.path) for tile in tiles]

    return TileNodes(size, read)


def verify_record(proof: LogProof, key: VerifierKey, witnesses: Iterable[VerifierKey] = ()) -> ProvedRecord:
    """The record whose salt and text a proof carries, once the log with this key is shown to contain their hash.

    Raises NoteRefused and ProofRefused.
    """
    if proof.extra is None or len(proof.extra) <= SALT_BYTES:
        raise NoteRefused("The proof carries no salt and record.")
    proof.verify(hashlib.sha256(proof.extra).digest(), key)
    for witness in witnesses:
        proof.note.require_signature(witness)
    try:
        record = json.loads(proof.extra[SALT_BYTES:])
    except (ValueError, RecursionError) as error:
        raise NoteRefused("The record of the proof is not JSON.") from error
    if not isinstance(record, dict):
        raise NoteRefused("The record of the proof is no JSON object.")
    return ProvedRecord(proof.index, proof.checkpoint, record)
