"""Ways up from labels to their ancestors: what the hierarchical measures walk on."""

from collections.abc import Collection, Sequence

from app.scoring.hierarchy.hierarchy import Hierarchy

Steps = dict[int, tuple[int, int]]
"""The nodes above a label, itself included: how far up each is, and the node below it on the way."""

ROOT = 0
_BITS = 4096  # ancestors that are looked for at once
_HELD = 1_000_000  # steps kept at once
_MOST_PASSED = 100_000  # nodes, in linking the labels of one instance: some hundredths of a second


class TooFarError(Exception):
    """The sets are so large, or so deep in the hierarchy, that the measure would take too long."""


class Ancestry:
    """The hierarchy of a task with its nodes as numbers, in the order in which ties are settled.

    Number 0 is the virtual root, which stands above all roots where they are `joined`; 1 … m are the classes in their
    order, m + 1 is the empty set where that is a class; nodes that are no classes follow in the order of the hierarchy.
    Of shortest ways up that are equally long the one is taken whose first different node has the lower number.
    """

    def __init__(self, hierarchy: Hierarchy, classes: Sequence[str], *, joined: bool) -> None:
        """The hierarchy over these classes; a class that is no node of it is a root."""
        own = set(classes)
        self.names = ("", *classes, "", *(name for name in hierarchy.nodes if name not in own))
        number = {name: at for at, name in enumerate(self.names) if name}
        top = (ROOT,) if joined else ()
        self.parents: list[tuple[int, ...]] = [top] * len(self.names)
        self.parents[ROOT] = ()
        for name, above in zip(hierarchy.nodes, hierarchy.parents, strict=True):
            self.parents[number[name]] = tuple(sorted(number[hierarchy.nodes[at]] for at in above)) or top
        rest = [node for node, name in enumerate(self.names[1:], 1) if name not in hierarchy.position]
        self.downward = (ROOT, *rest, *(number[hierarchy.nodes[at]] for at in hierarchy.downward))
        self.classes = range(1, len(classes) + 1)
        self._reach: dict[int, Steps] = {}
        self._held = 0
        self.passed = 0  # nodes since the start

    def start(self) -> None:
        """Begin to count the nodes that are passed for another instance."""
        self.passed = 0

    def walk(self, nodes: int) -> None:
        """Count nodes passed since the start; raises TooFarError where they are too many for one instance."""
        self.passed += nodes
        if self.passed > _MOST_PASSED:
            raise TooFarError

    def climb(self, label: int, stop: Collection[int] = ()) -> Steps:
        """The nodes above a label with the shortest way to each; no way leads on from a node of `stop`."""
        steps: Steps = {label: (0, label)}
        row = [] if label in stop else [label]
        for node in row:  # grows while it is read
            distance = steps[node][0] + 1
            for parent in self.parents[node]:
                if parent not in steps:
                    steps[parent] = (distance, node)
                    if parent not in stop:
                        row.append(parent)
        return steps

    def reach(self, label: int) -> Steps:
        """The ways from a label to all of its ancestors; kept, as labels come again."""
        if label not in self._reach:
            if self._held > _HELD:
                self._reach.clear()
                self._held = 0
            self._reach[label] = self.climb(label)
            self._held += len(self._reach[label])
        return self._reach[label]

    def above(self, label: int, levels: int | None = None) -> list[int]:
        """A label and its ancestors, those at most so many levels up."""
        steps = self.climb(label)
        return list(steps) if levels is None else [node for node, (up, _) in steps.items() if up <= levels]

    def common(self) -> set[int]:
        """The nodes that are ancestors of every class, or of every other class where they are classes themselves."""
        found = self.above(1)
        shared: set[int] = set()
        for first in range(0, len(found), _BITS):
            part = found[first : first + _BITS]
            bit = {node: 1 << at for at, node in enumerate(part)}
            masks = [0] * len(self.parents)  # which of the part are a node or above it
            for node in self.downward:
                mask = bit.get(node, 0)
                for parent in self.parents[node]:
                    mask |= masks[parent]
                masks[node] = mask
            every = -1
            for label in self.classes:
                every &= masks[label]
            shared.update(node for node, own in bit.items() if every & own)
        return shared - {ROOT} if len(self.classes) > 1 else shared - {ROOT, 1}


def way(steps: Steps, node: int) -> list[int]:
    """The nodes on the way from the label to one above it, both included, from the top down."""
    nodes = [node]
    while steps[node][0]:
        node = steps[node][1]
        nodes.append(node)
    return nodes
