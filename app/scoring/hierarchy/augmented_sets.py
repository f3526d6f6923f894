"""Label sets extended by their ancestors, as counts per instance."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestry import Ancestry
from app.scoring.numeric.exact import Integers
from app.scoring.tally import distinct_keys

Int = NDArray[np.int64]
_BLOCK_NODES = 2_000_000  # nodes of extended sets that are sorted at once


@dataclass(frozen=True, slots=True)
class LabelSets:
    """The labels of n instances as nodes of an ancestry: label `nodes[k]` belongs to instance `rows[k]`, in order.

    `outside` counts per instance the different labels that are outside the vocabulary.
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
    """How many nodes the extended sets of each instance hold, and share; notes on how they were made."""

    gold: Integers
    predicted: Integers
    shared: Integers
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AncestorClosures:
    """The nodes that each label stands for, itself and ancestors: label k has `nodes[ends[k]:ends[k + 1]]`."""

    ends: Int
    nodes: Int

    @classmethod
    def of_labels(cls, labels: Int, tree: Ancestry, levels: int | None, left_out: set[int]) -> "AncestorClosures":
        """Those of the labels that occur; others stand for nothing."""
        sizes = np.zeros(len(tree.parents) + 1, dtype=np.int64)
        rows = []
        for label in np.unique(labels).tolist():
            above = tree.above(label, levels)
            rows.append(np.array([node for node in above if node not in left_out] if left_out else above, np.int64))
            sizes[label + 1] = len(rows[-1])
        return cls(np.cumsum(sizes), np.concatenate([np.zeros(0, np.int64), *rows]))

    def sizes(self, labels: Int) -> Int:
        """How many nodes each of these labels stands for."""
        return np.asarray(self.ends[labels + 1] - self.ends[labels])

    def expand(self, labels: Int, rows: Int) -> Int:
        """The distinct (row, node) pairs of labels in rows as sorted keys: row × number of nodes + node."""
        sizes = self.sizes(labels)
        starts = np.cumsum(sizes) - sizes
        at = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(self.ends[labels] - starts, sizes)
        return distinct_keys(np.repeat(rows, sizes) * len(self.ends) + self.nodes[at], counted=False)[0]


def count_overlap(gold: LabelSets, predicted: LabelSets, closures: AncestorClosures) -> AugmentedOverlap:
    """The sizes of the extended sets of each instance and of what they share; labels outside extend to themselves."""
    n = len(gold.outside)
    found = np.zeros((3, n), dtype=np.int64)
    for first, last in _instance_blocks(gold, predicted, closures):
        left, right = (_augmented_keys(side, closures, first, last) for side in (gold, predicted))
        for k, keys in enumerate((left, right, np.intersect1d(left, right, assume_unique=True))):
            found[k, first:last] = np.bincount(keys // len(closures.ends), minlength=last - first)
    return AugmentedOverlap(found[0] + gold.outside, found[1] + predicted.outside, found[2])


def _augmented_keys(side: LabelSets, closures: AncestorClosures, first: int, last: int) -> Int:
    start, end = np.searchsorted(side.rows, [first, last])
    return closures.expand(side.nodes[start:end], side.rows[start:end] - first)


def _instance_blocks(gold: LabelSets, predicted: LabelSets, closures: AncestorClosures) -> Iterator[tuple[int, int]]:
    """Runs of instances that together extend to not too many nodes."""
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
