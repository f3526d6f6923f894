"""Ways up from labels to their ancestors: what the hierarchical measures walk on."""

from collections.abc import Collection, Sequence

from app.scoring.hierarchy.hierarchy import Hierarchy

AncestorPaths = dict[int, tuple[int, int]]
"""The nodes above a label, itself included: how far up each is, and the node below it on the way."""

VIRTUAL_ROOT = 0
_ANCESTORS_PER_PASS = 4096  # ancestors that are looked for at once
_MAX_CACHED_STEPS = 1_000_000  # steps kept at once
_MAX_VISITED_NODES = 100_000  # nodes, in linking the labels of one instance: some hundredths of a second


class HierarchyCostLimitError(Exception):
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
        top = (VIRTUAL_ROOT,) if joined else ()
        self.parents: list[tuple[int, ...]] = [top] * len(self.names)
        self.parents[VIRTUAL_ROOT] = ()
        for name, above in zip(hierarchy.nodes, hierarchy.parents, strict=True):
            self.parents[number[name]] = tuple(sorted(number[hierarchy.nodes[at]] for at in above)) or top
        rest = [node for node, name in enumerate(self.names[1:], 1) if name not in hierarchy.position]
        self.topological_order = (
            VIRTUAL_ROOT,
            *rest,
            *(number[hierarchy.nodes[at]] for at in hierarchy.topological_order),
        )
        self.classes = range(1, len(classes) + 1)
        self._paths_cache: dict[int, AncestorPaths] = {}
        self._held = 0
        self.passed = 0  # nodes since the start

    def reset_visited(self) -> None:
        """Begin to count the nodes that are passed for another instance."""
        self.passed = 0

    def count_visited(self, nodes: int) -> None:
        """Count nodes passed since the start; raises TooFarError where they are too many for one instance."""
        self.passed += nodes
        if self.passed > _MAX_VISITED_NODES:
            raise HierarchyCostLimitError

    def shortest_paths_up(self, label: int, stop: Collection[int] = ()) -> AncestorPaths:
        """The nodes above a label with the shortest way to each; no way leads on from a node of `stop`."""
        steps: AncestorPaths = {label: (0, label)}
        row = [] if label in stop else [label]
        for node in row:  # grows while it is read
            distance = steps[node][0] + 1
            for parent in self.parents[node]:
                if parent not in steps:
                    steps[parent] = (distance, node)
                    if parent not in stop:
                        row.append(parent)
        return steps

    def reach(self, label: int) -> AncestorPaths:
        """The ways from a label to all of its ancestors; kept, as labels come again."""
        if label not in self._paths_cache:
            if self._held > _MAX_CACHED_STEPS:
                self._paths_cache.clear()
                self._held = 0
            self._paths_cache[label] = self.shortest_paths_up(label)
            self._held += len(self._paths_cache[label])
        return self._paths_cache[label]

    def above(self, label: int, levels: int | None = None) -> list[int]:
        """A label and its ancestors, those at most so many levels up."""
        steps = self.shortest_paths_up(label)
        return list(steps) if levels is None else [node for node, (up, _) in steps.items() if up <= levels]

    def common(self) -> set[int]:
        """The nodes that are ancestors of every class, or of every other class where they are classes themselves."""
        found = self.above(1)
        shared: set[int] = set()
        for first in range(0, len(found), _ANCESTORS_PER_PASS):
            part = found[first : first + _ANCESTORS_PER_PASS]
            bit = {node: 1 << at for at, node in enumerate(part)}
            masks = [0] * len(self.parents)  # which of the part are a node or above it
            for node in self.topological_order:
                mask = bit.get(node, 0)
                for parent in self.parents[node]:
                    mask |= masks[parent]
                masks[node] = mask
            every = -1
            for label in self.classes:
                every &= masks[label]
            shared.update(node for node, own in bit.items() if every & own)
        return shared - {VIRTUAL_ROOT} if len(self.classes) > 1 else shared - {VIRTUAL_ROOT, 1}


def path_to_ancestor(steps: AncestorPaths, node: int) -> list[int]:
    """The nodes on the way from the label to one above it, both included, from the top down."""
    nodes = [node]
    while steps[node][0]:
        node = steps[node][1]
        nodes.append(node)
    return nodes
