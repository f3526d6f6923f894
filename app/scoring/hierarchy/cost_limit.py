"""How long the hierarchical measures would take, from counts alone, so that every machine refuses alike.

What a file may take goes by what gold itself would: as if each predicted set were as large as the gold set, with other
labels of the same kind. So a file cannot make scoring cost far more than an honest one does.
"""

import numpy as np
from numpy.typing import NDArray

from app.scoring.hierarchy.ancestry import Ancestry, TooFarError
from app.scoring.hierarchy.augmented_sets import LabelSets
from app.scoring.numeric.sorted_search import places

Floats = NDArray[np.float64]
AS_GOLD = 2.0  # times what gold itself would take
SPARE = 0.5  # seconds, as estimated, that any gold allows
PATIENCE = 20.0  # seconds, as estimated, that no gold may exceed
SPARE_OF_ONE = 0.02  # seconds, as estimated, of a single instance: the time must not tell a label that may be private
MOST_STEPS, SPARE_STEPS = 5e7, 2e6  # from distinct labels to their ancestors
MOST_NODES = 2e7  # of the extended sets of one instance, which are sorted at once
MOST_SORTED, SPARE_SORTED = 2e8, 1e7  # of the extended sets of all instances
_WALKED = 3_000_000  # steps that are counted one by one
# Seconds, rounded up from runs on stars, chains and random graphs; rough, as a bound may be.
_PER_LABEL = 6e-6  # to link a label that the other set lacks
_PER_STEP = 4e-7  # up from a label to an ancestor
_PER_MATCH = 4.5e-6  # two labels that may be matched, from either side
_PASSED, _PASSED_EACH = 4_000_000, 200  # nodes in the search among several ways, and those for each instance


def allowed(of_gold: float, spare: float, most: float) -> float:
    """How much work a file may take where gold itself would take so much."""
    return min(most, spare + AS_GOLD * of_gold)


class Effort:
    """Of each node of an ancestry the `steps` to all of its ancestors, itself included: at least as many as there are."""

    def __init__(self, tree: Ancestry, labels: NDArray[np.int64], climbed: dict[int, float]) -> None:
        """One pass over all nodes; in a graph the steps from the labels that occur are counted one by one, if few enough.

        Either all of them are counted or none, so that no order of the labels can matter. `climbed` keeps what was
        counted for other instances; it spares the work, and changes nothing of what is few enough.
        """
        edges = float(sum(map(len, tree.parents)))
        steps = [0.0] * len(tree.parents)
        for node in tree.downward:
            steps[node] = min(edges, sum(1 + steps[parent] for parent in tree.parents[node]))
        if max(map(len, tree.parents)) > 1:
            counted: dict[int, float] = {}
            walked = 0.0
            for label in np.unique(labels).tolist():
                if label not in climbed:
                    climbed[label] = float(sum(len(tree.parents[node]) for node in tree.climb(label)))
                counted[label] = climbed[label]
                walked += 1 + counted[label]
                if walked > _WALKED:
                    counted.clear()
                    break
            for label, exact in counted.items():
                steps[label] = exact
        self.steps = 1 + np.array(steps)

    def check_extended(self, gold: LabelSets, predicted: LabelSets) -> None:
        """Raise TooFarError where the sets extended by all ancestors would be too large."""
        n = len(gold.outside)
        labels = np.unique(np.concatenate([gold.nodes, predicted.nodes]))
        steps = allowed(2 * float(self.steps[np.unique(gold.nodes)].sum()), SPARE_STEPS, MOST_STEPS)
        sizes = np.array([np.bincount(side.rows, self.steps[side.nodes], n) for side in (gold, predicted)])
        nodes = allowed(2 * float(sizes[0].sum()), SPARE_SORTED, MOST_SORTED)
        if self.steps[labels].sum() > steps or sizes.max(initial=0) > MOST_NODES or sizes.sum() > nodes:
            raise TooFarError

    def check_linked(self, gold: LabelSets, predicted: LabelSets, *, matched: bool) -> None:
        """Raise TooFarError where linking or matching the labels would take too long by the labels alone."""
        n, wide = len(gold.outside), len(self.steps)
        sides = [(side.rows, side.nodes, side.rows * wide + side.nodes) for side in (gold, predicted)]
        found = np.zeros((3, n))  # whole numbers, whose sums no order of the instances can change
        for (rows, nodes, keys), (others, theirs, taken) in (sides, sides[::-1]):
            lone = ~places(keys, taken)[1]
            labels = np.bincount(rows[lone], minlength=n)
            steps = np.bincount(rows[lone], self.steps[nodes[lone]], n)
            away = np.bincount(others, self.steps[theirs], n) * (labels > 0)
            pairs = labels * np.bincount(others, minlength=n) if matched else np.zeros(n)
            found += labels, steps + away, pairs
        of_gold = self._linked_alone(gold, matched=matched)
        whole = allowed(float(_seconds(of_gold.sum(axis=1))), SPARE, PATIENCE)
        one = allowed(float(_seconds(of_gold).max(initial=0)), SPARE_OF_ONE, PATIENCE)
        if _seconds(found.sum(axis=1)) > whole or _seconds(found).max(initial=0) > one:
            raise TooFarError

    def _linked_alone(self, gold: LabelSets, *, matched: bool) -> Floats:
        """The labels, steps and pairs of predicted sets that are like the gold sets and share no label with them, 3 × n."""
        n = len(gold.outside)
        sizes = np.bincount(gold.rows, minlength=n)
        steps = 2 * np.bincount(gold.rows, self.steps[gold.nodes], n)
        return 2.0 * np.array([sizes, steps, sizes * sizes * matched])


def _seconds(work: Floats) -> Floats:
    """What labels, steps and pairs take, as estimated: of each instance, or of the sums."""
    return np.asarray(_PER_LABEL * work[0] + _PER_STEP * work[1] + _PER_MATCH * work[2])


def passable(instances: int) -> int:
    """How many nodes may be passed in linking the labels of so many instances."""
    return _PASSED + _PASSED_EACH * instances
