"""Lengths of the shortest paths between labels of a hierarchy, in a time that does not depend on any gold label."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestor_paths import Ancestry, HierarchyCostLimitError

Int = NDArray[np.int64]
Bits = NDArray[np.uint64]
_SEARCHES_PER_BATCH = 64  # searches run in parallel, one bit each
_UNROLLED_NEIGHBOURS = 8  # neighbours of a node processed one by one, vectorized over all nodes
# Estimated seconds, rounded up from measurements on ladders and random graphs. A rough bound is enough.
_SECONDS_PER_EDGE_END = 2e-9  # an end of an edge, at one level of parallel searches
_SECONDS_PER_PAIR = 4e-9  # a pair whose length is still unknown, at one level
_SECONDS_PER_LEVEL = 4e-5  # the fixed cost of one level of up to 64 searches
_SECONDS_PER_NODE, _SECONDS_PER_STEP = 1.5e-7, 8e-8  # a node, and an end of an edge, in a single search
_MAX_SECONDS = 5.0  # estimated seconds that the instances of a file may take; measured, these are 2 or 3


class HierarchyDistances:
    """The lengths of the shortest paths between the nodes of one hierarchy, as an undirected graph.

    Nodes with a single edge are removed repeatedly; each remembers the neighbour that it was attached to. A tree is
    reduced to one node. A graph is reduced to its core: its cycles and the paths between them. Paths within a removed
    tree are computed from the lowest common node of their ends. Paths through the core are computed by a breadth-first
    search from their start that always visits everything reachable. So the time does not depend on the other ends,
    which may be private labels.
    """

    def __init__(self, tree: Ancestry) -> None:
        """The time is linear in nodes and edges, times the logarithm of the depth."""
        n = len(tree.parents)
        ends = np.array([(child, parent) for child, above in enumerate(tree.parents) for parent in above], np.int64)
        ends = ends.reshape(-1, 2)
        toward, edges = _strip_trees(n, ends)
        self._jump_tables = [toward]  # table k has the node 2^k steps from each node
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
        """The estimated maximum time for this number of instances; independent of labels and of declaration order."""
        return min(self._estimated_seconds(instances))

    def between(self, starts: Int, ends: Int, instances: int) -> Int:
        """The steps between the nodes of each pair; -1 if they are not connected.

        Raises HierarchyCostLimitError if this number of instances may take too long.
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
        start_roots, end_roots = (
            self._jump_tables[-1][starts],
            self._jump_tables[-1][ends],
        )  # where their trees are attached
        core_distances = self._core.between(self._number[start_roots], self._number[end_roots], at_once)
        tree_distances = self._depths[starts] + self._depths[ends]
        core_paths = np.where(core_distances < 0, -1, tree_distances + core_distances)
        return np.where(
            start_roots == end_roots,
            tree_distances - 2 * self._depths[self._lowest_common_node(starts, ends)],
            core_paths,
        )

    def _lowest_common_node(self, first: Int, second: Int) -> Int:
        """The first common node on the paths of two nodes toward the same root, by binary lifting."""
        swap = self._depths[first] < self._depths[second]
        low, high = np.where(swap, second, first), np.where(swap, first, second)
        depth_difference = self._depths[low] - self._depths[high]
        for k, up in enumerate(self._jump_tables):
            low = np.where(depth_difference >> k & 1, up[low], low)
        for up in reversed(self._jump_tables):
            is_different = up[low] != up[high]
            low, high = np.where(is_different, up[low], low), np.where(is_different, up[high], high)
        return np.where(low == high, low, self._jump_tables[0][low])


def _strip_trees(n: int, ends: Int) -> tuple[Int, Int]:
    """The neighbour that each removed node was attached to (itself for a node that stays), and its remaining edges."""
    edges = np.bincount(ends.ravel(), minlength=n)
    # The exclusive or of the numbers of all remaining neighbours: with one neighbour left, it is that neighbour.
    neighbour_xor = np.zeros(n, dtype=np.int64)
    np.bitwise_xor.at(neighbour_xor, ends, ends[:, ::-1])
    degrees, neighbours, attached_to = edges.tolist(), neighbour_xor.tolist(), list(range(n))
    queue = np.flatnonzero(edges == 1).tolist()
    for node in queue:  # grows during the loop
        if degrees[node]:  # otherwise it is the last node of its tree
            parent = attached_to[node] = neighbours[node]
            degrees[node] = 0
            degrees[parent] -= 1
            neighbours[parent] ^= node
            if degrees[parent] == 1:
                queue.append(parent)
    return np.array(attached_to, np.int64), np.array(degrees, np.int64)


class _CyclicCore:
    """Nodes with at least two neighbours each; shortest paths may go up and down several times."""

    def __init__(self, n: int, ends: Int) -> None:
        """Nodes 0 … n - 1, those with the most edges first, and the ends of all edges between them.

        The caller orders nodes with equally many edges independently of the declaration, because the depth of a search
        is estimated from the first nodes.
        """
        self.n = n
        sources, neighbours = np.concatenate([ends, ends[:, ::-1]]).T
        order = np.argsort(sources, kind="stable")
        neighbours, firsts = neighbours[order], np.searchsorted(sources[order], np.arange(n + 1))
        self._neighbours = [part.tolist() for part in np.split(neighbours, firsts[1:-1])]
        self._edge_end_count = len(neighbours)
        sizes = np.diff(firsts)
        unrolled = range(min(_UNROLLED_NEIGHBOURS, sizes.max(initial=0)))
        self._first = [neighbours[firsts[:-1][sizes > k] + k] for k in unrolled]
        many = np.count_nonzero(sizes > _UNROLLED_NEIGHBOURS)  # these nodes come first
        rest = np.arange(firsts[many]) >= np.repeat(firsts[:many] + _UNROLLED_NEIGHBOURS, sizes[:many])
        self._rest = neighbours[: firsts[many]][rest]
        self._starts = firsts[:many] - _UNROLLED_NEIGHBOURS * np.arange(many)
        self._levels = self._bound_levels()

    def _bound_levels(self) -> int:
        """An upper bound of the levels of any search: twice the depth from the first node of each component."""
        bound, visited = 0, [False] * self.n
        for node in range(self.n):
            if not visited[node]:
                steps = self._distances_from(node)
                bound = max(bound, 2 * max(steps.values()))
                for other in steps:
                    visited[other] = True
        return bound + 1

    def seconds(self, starts: int, pairs: int) -> tuple[float, float]:
        """The estimated maximum time of the searches from this number of nodes: one by one, and in parallel."""
        alone = starts * (self.n * _SECONDS_PER_NODE + self._edge_end_count * _SECONDS_PER_STEP)
        blocks = -(-starts // _SEARCHES_PER_BATCH)
        level = blocks * (_SECONDS_PER_LEVEL + self._edge_end_count * _SECONDS_PER_EDGE_END) + pairs * _SECONDS_PER_PAIR
        return alone, self._levels * level

    def between(self, starts: Int, ends: Int, at_once: int) -> Int:
        """The steps from start to end of each pair; -1 if they are not connected or one is not in the core.

        A search runs from every start, whatever the ends are; `at_once` (1 or 64) of them run in parallel.
        """
        distances = np.full(len(starts), -1, dtype=np.int64)
        inside = np.flatnonzero(starts >= 0)
        starts, ends = starts[inside], ends[inside]
        pairs, at = np.unique(starts * self.n + np.maximum(ends, 0), return_inverse=True)
        if len(pairs):
            left, right = np.divmod(pairs, self.n)
            firsts = np.flatnonzero(np.diff(left, prepend=-1))
            search = self._search_from_one if at_once == 1 else self._search_from_batch
            parts = np.split(np.arange(len(pairs)), firsts[at_once::at_once])
            lengths = np.concatenate([search(left[part], right[part]) for part in parts])
            distances[inside] = np.where(ends < 0, -1, lengths[at])
        return distances

    def _search_from_one(self, starts: Int, ends: Int) -> Int:
        """The distances of pairs that all have the same start."""
        steps = self._distances_from(int(starts[0]))
        return np.array([steps.get(end, -1) for end in ends.tolist()], dtype=np.int64)

    def _distances_from(self, start: int) -> dict[int, int]:
        """The steps from a node to all nodes of its component."""
        steps, queue = {start: 0}, [start]
        for node in queue:  # breadth-first: the list grows during the loop, the nearest nodes first
            distance = steps[node] + 1
            for other in self._neighbours[node]:
                if other not in steps:
                    steps[other] = distance
                    queue.append(other)
        return steps

    def _search_from_batch(self, starts: Int, ends: Int) -> Int:
        """The distances of pairs with up to 64 starts: the level at which the bit of a start reaches the end."""
        bits = np.uint64(1) << np.unique(starts, return_inverse=True)[1].astype(np.uint64)
        front = np.zeros(self.n, dtype=np.uint64)
        front[starts] = bits
        visited, distances, level = front.copy(), np.full(len(ends), -1, dtype=np.int64), 0
        while front.any():
            distances[front[ends] & bits != 0] = level
            front = self._spread_bits(front) & ~visited
            visited |= front
            level += 1
        return distances

    def _spread_bits(self, front: Bits) -> Bits:
        """The union of the bits of each node's neighbours: the first few vectorized over all nodes, then the rest."""
        ahead = np.zeros_like(front)
        for first in self._first:
            ahead[: len(first)] |= front[first]
        if len(self._rest):
            ahead[: len(self._starts)] |= np.bitwise_or.reduceat(front[self._rest], self._starts)
        return ahead
