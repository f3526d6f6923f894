"""Estimates the time of the hierarchical measures from counts alone, so that every machine refuses the same files.

The limit for a file is relative to the cost of the gold: the cost if each predicted set were as large as the gold set,
with different labels of the same kind. So no file can make scoring cost far more than an ordinary file does.
"""

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestor_paths import Ancestry, HierarchyCostLimitError
from app.scoring.hierarchy.augmented_sets import LabelSets
from app.scoring.numeric.constant_time_search import search_sorted

Floats = NDArray[np.float64]
GOLD_COST_FACTOR = 2.0  # a file may cost this many times what the gold would cost
FREE_SECONDS = 0.5  # estimated seconds that a file may always take
MAX_SECONDS = 20.0  # estimated seconds that no file may exceed
FREE_SECONDS_PER_INSTANCE = 0.02  # for a single instance, so that the time does not reveal a private label
MAX_STEPS, FREE_STEPS = 5e7, 2e6  # from distinct labels to their ancestors
MAX_NODES_PER_INSTANCE = 2e7  # in the augmented sets of one instance, which are sorted together
MAX_SORTED_NODES, FREE_SORTED_NODES = 2e8, 1e7  # in the augmented sets of all instances
_MAX_COUNTED_STEPS = 3_000_000  # steps counted exactly; beyond it an upper bound is used
# Estimated seconds, rounded up from measurements on stars, chains and random graphs. A rough bound is enough.
_SECONDS_PER_LABEL = 6e-6  # to link a label that the other set lacks
_SECONDS_PER_STEP = 4e-7  # from a node to a parent
_SECONDS_PER_MATCH = 4.5e-6  # per pair of labels that may be matched, from either side
_BASE_VISITED_NODES, _VISITED_NODES_PER_INSTANCE = 4_000_000, 200  # in the search among several paths


def cost_limit(of_gold: float, free: float, most: float) -> float:
    """The cost that a file may have, from the cost of the gold, the cost that is always free, and the maximum."""
    return min(most, free + GOLD_COST_FACTOR * of_gold)


class HierarchyCostEstimate:
    """For each node of an ancestry an upper bound of the `steps` to all of its ancestors, itself included."""

    def __init__(self, tree: Ancestry, labels: NDArray[np.int64], step_counts: dict[int, float]) -> None:
        """One pass over all nodes; unless the graph is a forest, the steps from the labels that occur are counted exactly.

        Either all of them are counted or, if they are too many, none, so that the order of the labels cannot matter.
        `step_counts` caches the counts of other instances. It saves work and does not affect which case applies.
        """
        edges = float(sum(map(len, tree.parents)))
        steps = [0.0] * len(tree.parents)
        for node in tree.topological_order:
            steps[node] = min(edges, sum(1 + steps[parent] for parent in tree.parents[node]))
        if max(map(len, tree.parents)) > 1:
            counted: dict[int, float] = {}
            counted_steps = 0.0
            for label in np.unique(labels).tolist():
                if label not in step_counts:
                    step_counts[label] = float(sum(len(tree.parents[node]) for node in tree.shortest_paths_up(label)))
                counted[label] = step_counts[label]
                counted_steps += 1 + counted[label]
                if counted_steps > _MAX_COUNTED_STEPS:
                    counted.clear()
                    break
            for label, exact in counted.items():
                steps[label] = exact
        self.steps = 1 + np.array(steps)

    def check_augmented_sets(self, gold: LabelSets, predicted: LabelSets) -> None:
        """Raise HierarchyCostLimitError if the sets augmented with all ancestors would be too large."""
        n = len(gold.outside)
        labels = np.unique(np.concatenate([gold.nodes, predicted.nodes]))
        steps = cost_limit(2 * float(self.steps[np.unique(gold.nodes)].sum()), FREE_STEPS, MAX_STEPS)
        sizes = np.array([np.bincount(side.rows, self.steps[side.nodes], n) for side in (gold, predicted)])
        nodes = cost_limit(2 * float(sizes[0].sum()), FREE_SORTED_NODES, MAX_SORTED_NODES)
        if self.steps[labels].sum() > steps or sizes.max(initial=0) > MAX_NODES_PER_INSTANCE or sizes.sum() > nodes:
            raise HierarchyCostLimitError

    def check_linked_labels(self, gold: LabelSets, predicted: LabelSets, *, matched: bool) -> None:
        """Raise HierarchyCostLimitError if linking or matching the labels would take too long."""
        n, node_count = len(gold.outside), len(self.steps)
        sides = [(side.rows, side.nodes, side.rows * node_count + side.nodes) for side in (gold, predicted)]
        work = np.zeros((3, n))  # whole numbers, so their sums do not depend on the order of the instances
        for (rows, nodes, keys), (other_rows, other_nodes, other_keys) in (sides, sides[::-1]):
            lone = ~search_sorted(keys, other_keys)[1]
            labels = np.bincount(rows[lone], minlength=n)
            steps = np.bincount(rows[lone], self.steps[nodes[lone]], n)
            other_steps = np.bincount(other_rows, self.steps[other_nodes], n) * (labels > 0)
            pairs = labels * np.bincount(other_rows, minlength=n) if matched else np.zeros(n)
            work += labels, steps + other_steps, pairs
        of_gold = self._linking_work_of_gold(gold, matched=matched)
        total = cost_limit(float(_estimate_seconds(of_gold.sum(axis=1))), FREE_SECONDS, MAX_SECONDS)
        single = cost_limit(float(_estimate_seconds(of_gold).max(initial=0)), FREE_SECONDS_PER_INSTANCE, MAX_SECONDS)
        if _estimate_seconds(work.sum(axis=1)) > total or _estimate_seconds(work).max(initial=0) > single:
            raise HierarchyCostLimitError

    def _linking_work_of_gold(self, gold: LabelSets, *, matched: bool) -> Floats:
        """Labels, steps and pairs (3 × n) for predicted sets like the gold sets that share no label with them."""
        n = len(gold.outside)
        sizes = np.bincount(gold.rows, minlength=n)
        steps = 2 * np.bincount(gold.rows, self.steps[gold.nodes], n)
        return 2.0 * np.array([sizes, steps, sizes * sizes * matched])


def _estimate_seconds(work: Floats) -> Floats:
    """The estimated seconds for labels, steps and pairs, of each instance or of their sums."""
    return np.asarray(_SECONDS_PER_LABEL * work[0] + _SECONDS_PER_STEP * work[1] + _SECONDS_PER_MATCH * work[2])


def max_visited_nodes(instances: int) -> int:
    """How many nodes may be visited in linking the labels of this number of instances."""
    return _BASE_VISITED_NODES + _VISITED_NODES_PER_INSTANCE * instances
