"""Lengths of the shortest ways between labels, up and down a hierarchy, in a time that hangs on no gold label."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestry import Ancestry, HierarchyCostLimitError

Int = NDArray[np.int64]
Bits = NDArray[np.uint64]
_SEARCHES_PER_BATCH = 64  # nodes whose searches go side by side, one bit each
_UNROLLED_NEIGHBOURS = 8  # neighbours of a node that are looked at one by one
# Seconds, rounded up from runs on ladders and random graphs; rough, as a bound may be.
_SECONDS_PER_EDGE_END = 2e-9  # an end of an edge, at one level of searches side by side
_SECONDS_PER_PAIR = 4e-9  # a pair that waits for its length, at one level
_SECONDS_PER_LEVEL = 4e-5  # one level of up to 64 searches, whatever its size
_SECONDS_PER_NODE, _SECONDS_PER_STEP = 1.5e-7, 8e-8  # a node, and an end of an edge, in a search of its own
_MAX_SECONDS = 5.0  # seconds, as estimated, that no number of instances over a hierarchy may exceed: in fact 2 or 3


class HierarchyDistances:
    """The shortest ways between the nodes of one hierarchy.

    Nodes from which one edge leads on are taken off, again and again: each is the last step `toward` the node where it
    hung. Of a tree one node is left, and of a graph its cycles and what is between them: the core. Ways inside a tree
    so taken off are counted by their lowest common node; ways through the core are searched from their starts until
    nothing is left to be reached. So no time depends on where the other ends are.
    """

    def __init__(self, tree: Ancestry) -> None:
        """Takes time linear in the nodes and edges, but for the logarithm of the depth."""
        n = len(tree.parents)
        ends = np.array([(child, parent) for child, above in enumerate(tree.parents) for parent in above], np.int64)
        ends = ends.reshape(-1, 2)
        toward, edges = _strip_trees(n, ends)
        self._jump_tables = [toward]  # 2^k steps from each node
        self._depths = (toward != np.arange(n)).astype(np.int64)
        while ((further := self._jump_tables[-1][self._jump_tables[-1]]) != self._jump_tables[-1]).any():
            self._depths += self._depths[self._jump_tables[-1]]
            self._jump_tables.append(further)
        core = sorted(np.flatnonzero(edges).tolist(), key=lambda node: (-edges[node], tree.names[node]))
        self._number = np.full(n, -1, dtype=np.int64)
        self._number[core] = np.arange(len(core))
        self._core = _CyclicCore(len(core), self._number[ends[(edges[ends] > 0).all(axis=1)]])
        self._most = min(len(tree.classes), self._core.n)

    def seconds(self, instances: int) -> float:
        """What so many instances take at most, as estimated; no order of declaration and no label can move it."""
        return min(self._estimated_seconds(instances))

    def between(self, starts: Int, ends: Int, instances: int) -> Int:
        """The steps between two nodes, pair by pair, of so many instances; -1 where no way leads from one to the other.

        Raises TooFarError where so many instances may take too long.
        """
        if self.seconds(instances) > _MAX_SECONDS:
            raise HierarchyCostLimitError
        alone, together = self._estimated_seconds(instances)
        n = len(self._depths)
        pairs, at = np.unique(starts * n + ends, return_inverse=True)
        return self._pair_distances(*np.divmod(pairs, n), at_once=1 if alone < together else _SEARCHES_PER_BATCH)[at]

    def _estimated_seconds(self, instances: int) -> tuple[float, float]:
        return self._core.seconds(min(instances, self._most), instances)

    def _pair_distances(self, starts: Int, ends: Int, *, at_once: int) -> Int:
        hung = self._jump_tables[-1][starts], self._jump_tables[-1][ends]
        across = self._core.between(self._number[hung[0]], self._number[hung[1]], at_once)
        outside = self._depths[starts] + self._depths[ends]
        through = np.where(across < 0, -1, outside + across)
        return np.where(hung[0] == hung[1], outside - 2 * self._depths[self._lowest_common_node(starts, ends)], through)

    def _lowest_common_node(self, left: Int, right: Int) -> Int:
        """The first node that two ways toward the same node have in common."""
        swapped = self._depths[left] < self._depths[right]
        low, high = np.where(swapped, right, left), np.where(swapped, left, right)
        ahead = self._depths[low] - self._depths[high]
        for k, up in enumerate(self._jump_tables):
            low = np.where(ahead >> k & 1, up[low], low)
        for up in reversed(self._jump_tables):
            apart = up[low] != up[high]
            low, high = np.where(apart, up[low], low), np.where(apart, up[high], high)
        return np.where(low == high, low, self._jump_tables[0][low])


def _strip_trees(n: int, ends: Int) -> tuple[Int, Int]:
    """The next node toward which each node hung, itself where it was not taken off, and how many edges are left of it."""
    edges = np.bincount(ends.ravel(), minlength=n)
    others = np.zeros(n, dtype=np.int64)  # the numbers of all neighbours in one, by exclusive or: of one, its number
    np.bitwise_xor.at(others, ends, ends[:, ::-1])
    left, other, toward = edges.tolist(), others.tolist(), list(range(n))
    row = np.flatnonzero(edges == 1).tolist()
    for node in row:  # grows while it is read
        if left[node]:  # else it is the last one of its tree
            parent = toward[node] = other[node]
            left[node] = 0
            left[parent] -= 1
            other[parent] ^= node
            if left[parent] == 1:
                row.append(parent)
    return np.array(toward, np.int64), np.array(left, np.int64)


class _CyclicCore:
    """Nodes with at least two neighbours each: shortest ways may go up and down several times."""

    def __init__(self, n: int, ends: Int) -> None:
        """Nodes 0 … n - 1, those with the most edges first, and the ends of all edges between them.

        Where nodes have equally many, no order of declaration may decide: how far a search goes is estimated from the
        first ones.
        """
        self.n = n
        to, come = np.concatenate([ends, ends[:, ::-1]]).T
        order = np.argsort(to, kind="stable")
        come, firsts = come[order], np.searchsorted(to[order], np.arange(n + 1))
        self._neighbours = [part.tolist() for part in np.split(come, firsts[1:-1])]
        self._edge_end_count = len(come)
        sizes = np.diff(firsts)
        self._first = [come[firsts[:-1][sizes > k] + k] for k in range(min(_UNROLLED_NEIGHBOURS, sizes.max(initial=0)))]
        many = np.count_nonzero(sizes > _UNROLLED_NEIGHBOURS)  # they come first
        rest = np.arange(firsts[many]) >= np.repeat(firsts[:many] + _UNROLLED_NEIGHBOURS, sizes[:many])
        self._rest = come[: firsts[many]][rest]
        self._starts = firsts[:many] - _UNROLLED_NEIGHBOURS * np.arange(many)
        self._levels = self._bound_levels()

    def _bound_levels(self) -> int:
        """At least as many as any search takes: no two nodes are further apart than over the first one of their part."""
        most, seen = 0, [False] * self.n
        for node in range(self.n):
            if not seen[node]:
                steps = self._distances_from(node)
                most = max(most, 2 * max(steps.values()))
                for other in steps:
                    seen[other] = True
        return most + 1

    def seconds(self, starts: int, pairs: int) -> tuple[float, float]:
        """What the searches from so many nodes take at most, as estimated: one by one, and side by side."""
        alone = starts * (self.n * _SECONDS_PER_NODE + self._edge_end_count * _SECONDS_PER_STEP)
        blocks = -(-starts // _SEARCHES_PER_BATCH)
        level = blocks * (_SECONDS_PER_LEVEL + self._edge_end_count * _SECONDS_PER_EDGE_END) + pairs * _SECONDS_PER_PAIR
        return alone, self._levels * level

    def between(self, starts: Int, ends: Int, at_once: int) -> Int:
        """The steps from starts to ends, pair by pair; -1 where there is no way or where one is no node of the core.

        All starts are searched from, whatever the ends, so many at once: 1 or up to 64.
        """
        found = np.full(len(starts), -1, dtype=np.int64)
        inside = np.flatnonzero(starts >= 0)
        starts, ends = starts[inside], ends[inside]
        pairs, at = np.unique(starts * self.n + np.maximum(ends, 0), return_inverse=True)
        if len(pairs):
            left, right = np.divmod(pairs, self.n)
            firsts = np.flatnonzero(np.diff(left, prepend=-1))
            search = self._search_from_one if at_once == 1 else self._search_from_batch
            parts = np.split(np.arange(len(pairs)), firsts[at_once::at_once])
            lengths = np.concatenate([search(left[part], right[part]) for part in parts])
            found[inside] = np.where(ends < 0, -1, lengths[at])
        return found

    def _search_from_one(self, starts: Int, ends: Int) -> Int:
        """From one node, the same in all pairs."""
        steps = self._distances_from(int(starts[0]))
        return np.array([steps.get(end, -1) for end in ends.tolist()], dtype=np.int64)

    def _distances_from(self, start: int) -> dict[int, int]:
        """The steps to all nodes that can be reached."""
        steps, row = {start: 0}, [start]
        for node in row:  # grows while it is read, the nearest first
            ahead = steps[node] + 1
            for other in self._neighbours[node]:
                if other not in steps:
                    steps[other] = ahead
                    row.append(other)
        return steps

    def _search_from_batch(self, starts: Int, ends: Int) -> Int:
        """From up to 64 nodes, in order: the level at which the bit of a start reaches an end."""
        bits = np.uint64(1) << np.unique(starts, return_inverse=True)[1].astype(np.uint64)
        front = np.zeros(self.n, dtype=np.uint64)
        front[starts] = bits
        seen, found, level = front.copy(), np.full(len(ends), -1, dtype=np.int64), 0
        while front.any():
            found[front[ends] & bits != 0] = level
            front = self._spread_bits(front) & ~seen
            seen |= front
            level += 1
        return found

    def _spread_bits(self, front: Bits) -> Bits:
        """The bits of all neighbours of each node: the first few of all nodes at once, which is faster, then the rest."""
        ahead = np.zeros_like(front)
        for first in self._first:
            ahead[: len(first)] |= front[first]
        if len(self._rest):
            ahead[: len(self._starts)] |= np.bitwise_or.reduceat(front[self._rest], self._starts)
        return ahead
