"""How long the hierarchical measures would take, from counts alone, so that every machine refuses alike.

What a file may take goes by what gold itself would: as if each predicted set were as large as the gold set, with other
labels of the same kind. So a file cannot make scoring cost far more than an honest one does.
"""

import numpy as np
from numpy.typing import NDArray

from app.scoring.ancestry import Ancestry, TooFarError
from app.scoring.extended import LabelSets

Floats = NDArray[np.float64]
AS_GOLD = 2.0  # times what gold itself would take
SPARE = 0.5  # seconds, as estimated, that any gold allows
PATIENCE = 20.0  # seconds, as estimated, that no gold may exceed
MOST_STEPS, SPARE_STEPS = 5e7, 2e6  # from distinct labels to their ancestors
MOST_NODES = 2e7  # of the extended sets of one instance, which are sorted at once
MOST_SORTED, SPARE_SORTED = 2e8, 1e7  # of the extended sets of all instances
_WALKED = 3_000_000  # steps that are counted one by one
# Seconds, rounded up from runs on stars, chains and random graphs; rough, as a bound may be.
_PER_LABEL = 6e-6  # to link a label that the other set lacks
_PER_STEP = 4e-7  # up from a label to an ancestor
_PER_MATCH = 4.5e-6  # two labels that may be matched, from either side
_PER_WALK = 1.5e-7  # a node that is passed in the search among several ways


def allowed(of_gold: float, spare: float, most: float) -> float:
    """How much work a file may take where gold itself would take so much."""
    return min(most, spare + AS_GOLD * of_gold)


def _among(keys: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these are among the others; both in order."""
    at = np.searchsorted(others, keys)
    inside = at < len(others)
    inside[inside] = others[at[inside]] == keys[inside]
    return inside


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

    def linked(self, gold: LabelSets, predicted: LabelSets, *, matched: bool) -> float:
        """How many nodes may be passed in linking the labels of one set with the other, or matching them.

        None at all where it would take too long by the labels alone.
        """
        n, wide = len(gold.outside), len(self.steps)
        sides = [(side.rows, side.nodes, side.rows * wide + side.nodes) for side in (gold, predicted)]
        seconds = 0.0
        for (rows, nodes, keys), (others, theirs, taken) in (sides, sides[::-1]):
            lone = ~_among(keys, taken)
            labels = np.bincount(rows[lone], minlength=n)
            steps = np.bincount(rows[lone], self.steps[nodes[lone]], n)
            away = np.bincount(others, self.steps[theirs], n) * (labels > 0)
            pairs = labels * np.bincount(others, minlength=n) if matched else np.zeros(n)
            seconds += _PER_LABEL * float(labels.sum()) + _PER_STEP * float((steps + away).sum())
            seconds += _PER_MATCH * float(pairs.sum())
        most = allowed(self._linked_alone(gold, matched=matched), SPARE, PATIENCE)
        return 0.0 if seconds > most else most / _PER_WALK

    def _linked_alone(self, gold: LabelSets, *, matched: bool) -> float:
        """The seconds for predicted sets that are like the gold sets and share no label with them."""
        sizes = np.bincount(gold.rows)
        pairs = float((sizes * sizes).sum()) if matched else 0.0
        steps = 2 * float(self.steps[gold.nodes].sum())
        return 2 * (_PER_LABEL * len(gold.nodes) + _PER_STEP * steps + _PER_MATCH * pairs)
