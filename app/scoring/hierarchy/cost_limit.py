"""How long the hierarchical measures would take, from counts alone, so that every machine refuses alike.

What a file may take goes by what gold itself would: as if each predicted set were as large as the gold set, with other
labels of the same kind. So a file cannot make scoring cost far more than an honest one does.
"""

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestry import Ancestry, HierarchyCostLimitError
from app.scoring.hierarchy.augmented_sets import LabelSets
from app.scoring.numeric.sorted_search import search_sorted

Floats = NDArray[np.float64]
GOLD_COST_FACTOR = 2.0  # times what gold itself would take
FREE_SECONDS = 0.5  # seconds, as estimated, that any gold allows
MAX_SECONDS = 20.0  # seconds, as estimated, that no gold may exceed
FREE_SECONDS_PER_INSTANCE = (
    0.02  # seconds, as estimated, of a single instance: the time must not tell a label that may be private
)
MAX_STEPS, FREE_STEPS = 5e7, 2e6  # from distinct labels to their ancestors
MAX_NODES_PER_INSTANCE = 2e7  # of the extended sets of one instance, which are sorted at once
MAX_SORTED_NODES, FREE_SORTED_NODES = 2e8, 1e7  # of the extended sets of all instances
_MAX_COUNTED_STEPS = 3_000_000  # steps that are counted one by one
# Seconds, rounded up from runs on stars, chains and random graphs; rough, as a bound may be.
_SECONDS_PER_LABEL = 6e-6  # to link a label that the other set lacks
_SECONDS_PER_STEP = 4e-7  # up from a label to an ancestor
_SECONDS_PER_MATCH = 4.5e-6  # two labels that may be matched, from either side
_BASE_VISITED_NODES, _VISITED_NODES_PER_INSTANCE = (
    4_000_000,
    200,
)  # nodes in the search among several ways, and those for each instance


def cost_limit(of_gold: float, spare: float, most: float) -> float:
    """How much work a file may take where gold itself would take so much."""
    return min(most, spare + GOLD_COST_FACTOR * of_gold)


class HierarchyCostEstimate:
    """Of each node of an ancestry the `steps` to all of its ancestors, itself included: at least as many as there are."""

    def __init__(self, tree: Ancestry, labels: NDArray[np.int64], climbed: dict[int, float]) -> None:
        """One pass over all nodes; in a graph the steps from the labels that occur are counted one by one, if few enough.

        Either all of them are counted or none, so that no order of the labels can matter. `climbed` keeps what was
        counted for other instances; it spares the work, and changes nothing of what is few enough.
        """
        edges = float(sum(map(len, tree.parents)))
        steps = [0.0] * len(tree.parents)
        for node in tree.topological_order:
            steps[node] = min(edges, sum(1 + steps[parent] for parent in tree.parents[node]))
        if max(map(len, tree.parents)) > 1:
            counted: dict[int, float] = {}
            walked = 0.0
            for label in np.unique(labels).tolist():
                if label not in climbed:
                    climbed[label] = float(sum(len(tree.parents[node]) for node in tree.shortest_paths_up(label)))
                counted[label] = climbed[label]
                walked += 1 + counted[label]
                if walked > _MAX_COUNTED_STEPS:
                    counted.clear()
                    break
            for label, exact in counted.items():
                steps[label] = exact
        self.steps = 1 + np.array(steps)

    def check_augmented_sets(self, gold: LabelSets, predicted: LabelSets) -> None:
        """Raise TooFarError where the sets extended by all ancestors would be too large."""
        n = len(gold.outside)
        labels = np.unique(np.concatenate([gold.nodes, predicted.nodes]))
        steps = cost_limit(2 * float(self.steps[np.unique(gold.nodes)].sum()), FREE_STEPS, MAX_STEPS)
        sizes = np.array([np.bincount(side.rows, self.steps[side.nodes], n) for side in (gold, predicted)])
        nodes = cost_limit(2 * float(sizes[0].sum()), FREE_SORTED_NODES, MAX_SORTED_NODES)
        if self.steps[labels].sum() > steps or sizes.max(initial=0) > MAX_NODES_PER_INSTANCE or sizes.sum() > nodes:
            raise HierarchyCostLimitError

    def check_linked_labels(self, gold: LabelSets, predicted: LabelSets, *, matched: bool) -> None:
        """Raise TooFarError where linking or matching the labels would take too long by the labels alone."""
        n, wide = len(gold.outside), len(self.steps)
        sides = [(side.rows, side.nodes, side.rows * wide + side.nodes) for side in (gold, predicted)]
        found = np.zeros((3, n))  # whole numbers, whose sums no order of the instances can change
        for (rows, nodes, keys), (others, theirs, taken) in (sides, sides[::-1]):
            lone = ~search_sorted(keys, taken)[1]
            labels = np.bincount(rows[lone], minlength=n)
            steps = np.bincount(rows[lone], self.steps[nodes[lone]], n)
            away = np.bincount(others, self.steps[theirs], n) * (labels > 0)
            pairs = labels * np.bincount(others, minlength=n) if matched else np.zeros(n)
            found += labels, steps + away, pairs
        of_gold = self._linking_cost_of_gold(gold, matched=matched)
        whole = cost_limit(float(_estimate_seconds(of_gold.sum(axis=1))), FREE_SECONDS, MAX_SECONDS)
        one = cost_limit(float(_estimate_seconds(of_gold).max(initial=0)), FREE_SECONDS_PER_INSTANCE, MAX_SECONDS)
        if _estimate_seconds(found.sum(axis=1)) > whole or _estimate_seconds(found).max(initial=0) > one:
            raise HierarchyCostLimitError

    def _linking_cost_of_gold(self, gold: LabelSets, *, matched: bool) -> Floats:
        """The labels, steps and pairs of predicted sets that are like the gold sets and share no label with them, 3 × n."""
        n = len(gold.outside)
        sizes = np.bincount(gold.rows, minlength=n)
        steps = 2 * np.bincount(gold.rows, self.steps[gold.nodes], n)
        return 2.0 * np.array([sizes, steps, sizes * sizes * matched])


def _estimate_seconds(work: Floats) -> Floats:
    """What labels, steps and pairs take, as estimated: of each instance, or of the sums."""
    return np.asarray(_SECONDS_PER_LABEL * work[0] + _SECONDS_PER_STEP * work[1] + _SECONDS_PER_MATCH * work[2])


def max_visited_nodes(instances: int) -> int:
    """How many nodes may be passed in linking the labels of so many instances."""
    return _BASE_VISITED_NODES + _VISITED_NODES_PER_INSTANCE * instances
