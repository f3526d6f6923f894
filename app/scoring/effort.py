"""How long the hierarchical measures would take, from counts alone, so that every machine refuses alike."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.ancestry import Ancestry, TooFarError
from app.scoring.extended import LabelSets

Floats = NDArray[np.float64]
PATIENCE = 20.0  # seconds, as estimated
MOST_STEPS = 5e7  # from distinct labels to their ancestors
MOST_NODES = 2e7  # of the extended sets of one instance, which are sorted at once
MOST_SORTED = 2e8  # of the extended sets of all instances
_WALKED = 10_000_000  # steps that are counted one by one
# Seconds, rounded up from runs on stars, chains and random graphs; rough, as a bound may be.
_PER_LABEL = 6e-6  # to link a label that the other set lacks
_PER_STEP = 4e-7  # up from a label to an ancestor
_PER_MATCH = 4.5e-6  # two labels that may be matched, from either side


class Effort:
    """Of each node of an ancestry the `steps` to all of its ancestors, itself included: at least as many as there are."""

    def __init__(self, tree: Ancestry, labels: NDArray[np.int64]) -> None:
        """One pass over all nodes; in a graph the steps from the labels that occur are counted one by one, if few enough.

        Either all of them are counted or none, so that no order of the labels can matter.
        """
        edges = float(sum(map(len, tree.parents)))
        steps = [0.0] * len(tree.parents)
        for node in tree.downward:
            steps[node] = min(edges, sum(1 + steps[parent] for parent in tree.parents[node]))
        if max(map(len, tree.parents)) > 1:
            counted: dict[int, float] = {}
            walked = 0.0
            for label in np.unique(labels).tolist():
                counted[label] = float(sum(len(tree.parents[node]) for node in tree.climb(label)))
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
        sizes = np.array([np.bincount(side.rows, self.steps[side.nodes], n) for side in (gold, predicted)])
        if self.steps[labels].sum() > MOST_STEPS or sizes.max(initial=0) > MOST_NODES or sizes.sum() > MOST_SORTED:
            raise TooFarError

    def check_linked(self, gold: LabelSets, predicted: LabelSets, *, matched: bool) -> None:
        """Raise TooFarError where linking the labels of one set with the other, or matching them, would take too long."""
        n, wide = len(gold.outside), len(self.steps)
        sides = [(side.rows, side.nodes, side.rows * wide + side.nodes) for side in (gold, predicted)]
        seconds = 0.0
        for (rows, nodes, keys), (others, theirs, taken) in (sides, sides[::-1]):
            lone = ~np.isin(keys, taken)
            labels = np.bincount(rows[lone], minlength=n)
            steps = np.bincount(rows[lone], self.steps[nodes[lone]], n)
            away = np.bincount(others, self.steps[theirs], n) * (labels > 0)
            pairs = labels * np.bincount(others, minlength=n) if matched else np.zeros(n)
            seconds += _PER_LABEL * float(labels.sum()) + _PER_STEP * float((steps + away).sum())
            seconds += _PER_MATCH * float(pairs.sum())
        if seconds > PATIENCE:
            raise TooFarError
