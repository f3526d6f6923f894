"""Merkle trees computed by the recursive definitions of RFC 6962, section 2.1, and nothing else."""

from collections.abc import Sequence
from hashlib import sha256


def mth(entries: Sequence[bytes]) -> bytes:
    """MTH(D[n])."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = largest_power_below(len(entries))
    return sha256(b"\x01" + mth(entries[:k]) + mth(entries[k:])).digest()


def path(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """PATH(m, D[n]) of section 2.1.1."""
    n = len(entries)
    if n == 1:
        return []
    k = largest_power_below(n)
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def proof(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """PROOF(m, D[n]) of section 2.1.2."""
    return subproof(m, entries, b=True)


def subproof(m: int, entries: Sequence[bytes], *, b: bool) -> list[bytes]:
    """SUBPROOF(m, D[n], b) of section 2.1.2."""
    n = len(entries)
    if m == n:
        return [] if b else [mth(entries)]
    k = largest_power_below(n)
    if m <= k:
        return [*subproof(m, entries[:k], b=b), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], b=False), mth(entries[:k])]


def largest_power_below(n: int) -> int:
    """K, the largest power of two smaller than n."""
    k = 1
    while 2 * k < n:
        k *= 2
    return k
