"""Merkle trees of RFC 6962: hashes, roots, inclusion and consistency proofs, and their verification.

A proof is computed from hashes of *perfect subtrees*: the node (level, index) is the hash of the entries from
index·2^level up to (index + 1)·2^level. `ReadNodes` gives such hashes, from tiles, a list or a file.
"""

import hashlib
from collections.abc import Callable, Sequence

from app.errors import AssayError

Node = tuple[int, int]
"""Level and index of a perfect subtree."""
ReadNodes = Callable[[Sequence[Node]], list[bytes]]
"""The hashes of perfect subtrees, in the order asked for."""
HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


class ProofRefused(AssayError):
    """A proof or a tree does not give the hash that it should."""

    code = "log_proof_refused"
    remedy = "Do not trust it: fetch it again, and if it still fails, show both checkpoints to others."


def leaf_hash(entry: bytes) -> bytes:
    """The hash of an entry as a leaf."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def perfect_hash(hashes: Sequence[bytes]) -> bytes:
    """The hash of a perfect subtree over 2^n hashes."""
    level = list(hashes)
    while len(level) > 1:
        level = [node_hash(level[place], level[place + 1]) for place in range(0, len(level), 2)]
    return level[0]


def range_nodes(start: int, end: int) -> list[Node]:
    """The perfect subtrees, from left to right, whose hashes give that of the entries from `start` to `end`.

    `start` is a multiple of a power of two that is not less than the length, as for every subtree of RFC 6962.
    """
    nodes = []
    while start < end:
        level = (end - start).bit_length() - 1
        nodes.append((level, start >> level))
        start += 1 << level
    return nodes


def join_nodes(hashes: Sequence[bytes]) -> bytes:
    """The hash of a subtree from those of its perfect parts: the last two are joined first."""
    joined = hashes[-1]
    for left in reversed(hashes[:-1]):
        joined = node_hash(left, joined)
    return joined


def root_hash(size: int, read: ReadNodes) -> bytes:
    """The root of the tree of the first `size` entries."""
    return join_nodes(read(range_nodes(0, size))) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, read: ReadNodes) -> list[bytes]:
    """The proof that the entry at `index` is in the tree of this size (RFC 6962, 2.1.1)."""
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} entries has none at {index}")
    return _read_ranges(_path(index, 0, size), read)


def consistency_proof(old: int, size: int, read: ReadNodes) -> list[bytes]:
    """The proof that the tree of size `old` is the beginning of this one (RFC 6962, 2.1.2); empty for size 0."""
    if not 0 <= old <= size:
        raise ValueError(f"a tree of {size} entries has no beginning of {old}")
    return [] if old in (0, size) else _read_ranges(_subproof(old, 0, size, whole=True), read)


def root_of_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes:
    """The root that an inclusion proof gives; raises ProofRefused for one of another length than it must have."""
    if not 0 <= index < size:
        raise ProofRefused(f"A tree of {size} entries has none at position {index}.")
    sides = _sides(index, size)
    if len(proof) != len(sides):
        raise ProofRefused(f"The proof has {len(proof)} hashes instead of {len(sides)}.")
    joined = leaf
    for is_right, sibling in zip(sides, proof, strict=True):
        joined = node_hash(sibling, joined) if is_right else node_hash(joined, sibling)
    return joined


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Raise ProofRefused unless the proof shows that the leaf is at `index` of the tree with this root."""
    if root_of_inclusion(index, size, leaf, proof) != root:
        raise ProofRefused("The inclusion proof does not give the root of the checkpoint.")


def verify_consistency(old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> None:
    """Raise ProofRefused unless the proof shows that the old tree is the beginning of the new one."""
    if not 0 <= old <= size:
        raise ProofRefused(f"A tree of {size} entries cannot begin with one of {old}.")
    if old in (0, size):
        expected = EMPTY_ROOT if old == 0 else root
        if proof or old_root != expected:
            raise ProofRefused(f"Two different trees of {old} entries were given.")
        return
    hashes = list(proof)
    is_perfect = old & (old - 1) == 0  # then the old root itself is a node of the new tree, and the proof omits it
    if is_perfect:
        hashes.insert(0, old_root)
    _fold_consistency(old, old_root, size, root, hashes)


def _fold_consistency(old: int, old_root: bytes, size: int, root: bytes, hashes: Sequence[bytes]) -> None:
    """Compute both roots from the hashes of the proof, from the bottom to the top (RFC 9162, 2.1.4.2)."""
    first, second = old - 1, size - 1
    while first & 1:
        first, second = first >> 1, second >> 1
    if not hashes:
        raise ProofRefused("The consistency proof is empty.")
    old_side = new_side = hashes[0]
    for each in hashes[1:]:
        if second == 0:
            raise ProofRefused("The consistency proof has too many hashes.")
        if first & 1 or first == second:
            old_side, new_side = node_hash(each, old_side), node_hash(each, new_side)
            while not first & 1 and first:
                first, second = first >> 1, second >> 1
        else:
            new_side = node_hash(new_side, each)
        first, second = first >> 1, second >> 1
    if second or old_side != old_root or new_side != root:
        raise ProofRefused("The consistency proof does not lead from one checkpoint to the other.")


def _split(length: int) -> int:
    """The greatest power of two that is less than the length: where RFC 6962 divides a tree."""
    return 1 << ((length - 1).bit_length() - 1)


def _path(index: int, start: int, end: int) -> list[tuple[int, int]]:
    """The ranges of the siblings of a leaf, from the bottom to the top."""
    ranges = []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return ranges[::-1]


def _sides(index: int, size: int) -> list[bool]:
    """Whether each sibling of a leaf is on its left, from the bottom to the top."""
    return [end <= index for _, end in _path(index, 0, size)]


def _subproof(old: int, start: int, end: int, *, whole: bool) -> list[tuple[int, int]]:
    """The ranges of a consistency proof, from the bottom to the top; SUBPROOF of RFC 6962."""
    ranges: list[tuple[int, int]] = []
    while old < end - start:
        middle = start + _split(end - start)
        if old <= middle - start:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            old, start, whole = old - (middle - start), middle, False
    if not whole:
        ranges.append((start, end))
    return ranges[::-1]


def _read_ranges(ranges: Sequence[tuple[int, int]], read: ReadNodes) -> list[bytes]:
    """The hash of each range, with one call for all nodes."""
    parts = [range_nodes(*each) for each in ranges]
    hashes = iter(read([node for part in parts for node in part]))
    return [join_nodes([next(hashes) for _ in part]) for part in parts]
