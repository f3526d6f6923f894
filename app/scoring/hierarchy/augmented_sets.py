"""Label sets augmented with their ancestors, as counts per instance."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestor_paths import Ancestry
from app.scoring.numeric.exact import Integers
from app.scoring.tally import distinct_keys

Int = NDArray[np.int64]
_BLOCK_NODES = 2_000_000  # nodes of augmented sets sorted at a time, which bounds the memory


@dataclass(frozen=True, slots=True)
class LabelSets:
    """The labels of n instances as nodes of an ancestry: label `nodes[k]` belongs to instance `rows[k]`, in order.

    `outside` has the number of distinct labels outside the vocabulary per instance.
    """

    rows: Int
    nodes: Int
    outside: Int

    def sets(self) -> list[frozenset[int]]:
        """The nodes of each instance."""
        ends = np.searchsorted(self.rows, np.arange(len(self.outside) + 1)).tolist()
        nodes = self.nodes.tolist()
        return [frozenset(nodes[start:end]) for start, end in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class AugmentedOverlap:
    """The sizes of the augmented sets of each instance and of their intersection, with notes on how they were built."""

    gold: Integers
    predicted: Integers
    shared: Integers
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AncestorClosures:
    """The nodes of each label, itself and its ancestors: label k has `nodes[ends[k]:ends[k + 1]]`."""

    ends: Int
    nodes: Int

    @classmethod
    def of_labels(cls, labels: Int, tree: Ancestry, levels: int | None, left_out: set[int]) -> "AncestorClosures":
        """The closures of these labels, up to `levels`, without the nodes `left_out`; other labels have none."""
        sizes = np.zeros(len(tree.parents) + 1, dtype=np.int64)
        rows = []
        for label in np.unique(labels).tolist():
            above = tree.above(label, levels)
            rows.append(np.array([node for node in above if node not in left_out] if left_out else above, np.int64))
            sizes[label + 1] = len(rows[-1])
        return cls(np.cumsum(sizes), np.concatenate([np.zeros(0, np.int64), *rows]))

    def sizes(self, labels: Int) -> Int:
        """The number of nodes of each of these labels."""
        return np.asarray(self.ends[labels + 1] - self.ends[labels])

    def expand(self, labels: Int, rows: Int) -> Int:
        """The distinct (row, node) pairs of labels in rows as sorted keys: row × number of nodes + node."""
        sizes = self.sizes(labels)
        starts = np.cumsum(sizes) - sizes
        at = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(self.ends[labels] - starts, sizes)
        return distinct_keys(np.repeat(rows, sizes) * len(self.ends) + self.nodes[at], counted=False)[0]


def count_overlap(gold: LabelSets, predicted: LabelSets, closures: AncestorClosures) -> AugmentedOverlap:
    """The sizes of the augmented sets and of their intersection; a label outside the vocabulary has no ancestors."""
    n = len(gold.outside)
    sizes = np.zeros((3, n), dtype=np.int64)
    for first, last in _instance_blocks(gold, predicted, closures):
        left, right = (_augmented_keys(side, closures, first, last) for side in (gold, predicted))
        for k, keys in enumerate((left, right, np.intersect1d(left, right, assume_unique=True))):
            sizes[k, first:last] = np.bincount(keys // len(closures.ends), minlength=last - first)
    return AugmentedOverlap(sizes[0] + gold.outside, sizes[1] + predicted.outside, sizes[2])


def _augmented_keys(side: LabelSets, closures: AncestorClosures, first: int, last: int) -> Int:
    start, end = np.searchsorted(side.rows, [first, last])
    return closures.expand(side.nodes[start:end], side.rows[start:end] - first)


def _instance_blocks(gold: LabelSets, predicted: LabelSets, closures: AncestorClosures) -> Iterator[tuple[int, int]]:
    """Ranges of instances whose augmented sets have at most _BLOCK_NODES nodes together, or of a single instance."""
    n = len(gold.outside)
    ends = np.zeros(n + 1, dtype=np.int64)
    for side in (gold, predicted):
        np.add.at(ends, side.rows + 1, closures.sizes(side.nodes))
    np.cumsum(ends, out=ends)
    first = 0
    while first < n:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _BLOCK_NODES, side="right")) - 1)
        yield first, last
        first = last
