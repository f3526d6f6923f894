"""Lengths of the shortest ways between labels, up and down a hierarchy."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.ancestry import Ancestry

Int = NDArray[np.int64]
Bits = NDArray[np.uint64]
_AT_ONCE = 64  # labels whose searches go side by side, one bit each


def distances(tree: Ancestry, left: Int, right: Int) -> Int:
    """The steps between two nodes, pair by pair; -1 where no way leads from one to the other."""
    n = len(tree.parents)
    pairs, at = np.unique(left * n + right, return_inverse=True)
    left, right = np.divmod(pairs, n)
    if all(len(above) <= 1 for above in tree.parents):
        return _in_forest(tree, left, right)[at]
    return _in_graph(tree, left, right)[at]


def _in_forest(tree: Ancestry, left: Int, right: Int) -> Int:
    """The only way leads over the lowest common ancestor."""
    found = np.full(len(left), -1, dtype=np.int64)
    for at, (label, node) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        steps, up = tree.reach(label), 0
        while node not in steps and tree.parents[node]:
            node, up = tree.parents[node][0], up + 1  # noqa: PLW2901
        if node in steps:
            found[at] = up + steps[node][0]
    return found


def _in_graph(tree: Ancestry, left: Int, right: Int) -> Int:
    """A shortest way may go up and down several times: searches in all directions, many at once."""
    ends = np.array([(child, parent) for child, above in enumerate(tree.parents) for parent in above], dtype=np.int64)
    to, come = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.argsort(to, kind="stable")
    nodes, firsts = np.unique(to[order], return_index=True)
    labels, number = np.unique(left, return_inverse=True)
    found = np.empty(len(left), dtype=np.int64)
    for first in range(0, len(labels), _AT_ONCE):
        mine = (number >= first) & (number < first + _AT_ONCE)
        bits = np.uint64(1) << (number[mine] - first).astype(np.uint64)
        start = np.zeros(len(tree.parents), dtype=np.uint64)
        start[left[mine]] = bits
        found[mine] = _search(start, right[mine], bits, (come[order], nodes, firsts))
    return found


def _search(front: Bits, wanted: Int, bits: Bits, edges: tuple[Int, Int, Int]) -> Int:
    """The level at which the search of a bit reaches a wanted node; `front` has the bits of the searches that start."""
    come, nodes, firsts = edges
    seen, found, level = front.copy(), np.full(len(wanted), -1, dtype=np.int64), 0
    while front.any():
        found[(found < 0) & (front[wanted] & bits != 0)] = level
        if (found >= 0).all():
            break
        ahead = np.zeros_like(front)
        ahead[nodes] = np.bitwise_or.reduceat(front[come], firsts)
        front = ahead & ~seen
        seen |= front
        level += 1
    return found
