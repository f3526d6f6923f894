"""Paths from labels up to their ancestors, which the hierarchical measures use."""

from collections.abc import Collection, Iterable, Sequence

from app.scoring.hierarchy.hierarchy import Hierarchy

AncestorPaths = dict[int, tuple[int, int]]
"""The ancestors of a label, itself included: the distance of each, and the node below it on the path."""

VIRTUAL_ROOT = 0
_ANCESTORS_PER_PASS = 4096  # ancestors per pass over the hierarchy, one bit each
_MAX_CACHED_STEPS = 1_000_000  # cached entries of paths; the cache is emptied beyond it
_MAX_VISITED_NODES = 100_000  # per instance when linking labels: a few hundredths of a second


class HierarchyCostLimitError(Exception):
    """The label sets are so large, or so deep in the hierarchy, that computing the measure would take too long."""


class Ancestry:
    """The hierarchy of a task with numbered nodes; the order of the numbers breaks ties.

    Number 0 is the virtual root, which is the parent of all roots if they are `joined`. Numbers 1 … m are the classes
    in their order, m + 1 is the empty set where that is a class, and the nodes that are not classes follow in the order
    of the hierarchy. Of equally short paths up, the one is taken whose first different node has the lower number.
    """

    def __init__(self, hierarchy: Hierarchy, classes: Sequence[str], *, joined: bool) -> None:
        """The hierarchy over these classes; a class that is not a node of it becomes a root."""
        own = set(classes)
        self.names = ("", *classes, "", *(name for name in hierarchy.nodes if name not in own))
        number = {name: at for at, name in enumerate(self.names) if name}
        top = (VIRTUAL_ROOT,) if joined else ()
        self.parents: list[tuple[int, ...]] = [top] * len(self.names)
        self.parents[VIRTUAL_ROOT] = ()
        for name, above in zip(hierarchy.nodes, hierarchy.parents, strict=True):
            self.parents[number[name]] = tuple(sorted(number[hierarchy.nodes[at]] for at in above)) or top
        rest = [node for node, name in enumerate(self.names[1:], 1) if name not in hierarchy.position]
        declared = [number[hierarchy.nodes[at]] for at in hierarchy.topological_order]
        self.topological_order = (VIRTUAL_ROOT, *rest, *declared)
        self.classes = range(1, len(classes) + 1)
        self._paths_cache: dict[int, AncestorPaths] = {}
        self._cached_steps = 0
        self.visited = 0  # nodes visited for the current instance

    def reset_visited(self) -> None:
        """Start counting visited nodes for another instance."""
        self.visited = 0

    def count_visited(self, nodes: int) -> None:
        """Add visited nodes of the current instance; raises HierarchyCostLimitError if they are too many."""
        self.visited += nodes
        if self.visited > _MAX_VISITED_NODES:
            raise HierarchyCostLimitError

    def shortest_paths_up(self, label: int, stop: Collection[int] = ()) -> AncestorPaths:
        """The ancestors of a label with the shortest path to each; paths do not continue beyond a node of `stop`."""
        steps: AncestorPaths = {label: (0, label)}
        queue = [] if label in stop else [label]
        for node in queue:  # breadth-first: the list grows during the loop
            distance = steps[node][0] + 1
            for parent in self.parents[node]:
                if parent not in steps:
                    steps[parent] = (distance, node)
                    if parent not in stop:
                        queue.append(parent)
        return steps

    def reach(self, label: int) -> AncestorPaths:
        """The paths from a label to all of its ancestors; cached, because labels occur in many instances."""
        if label not in self._paths_cache:
            if self._cached_steps > _MAX_CACHED_STEPS:
                self._paths_cache.clear()
                self._cached_steps = 0
            self._paths_cache[label] = self.shortest_paths_up(label)
            self._cached_steps += len(self._paths_cache[label])
        return self._paths_cache[label]

    def above(self, label: int, levels: int | None = None) -> list[int]:
        """A label and its ancestors, with `levels` only those at most this many levels up."""
        steps = self.shortest_paths_up(label)
        return list(steps) if levels is None else [node for node, (up, _) in steps.items() if up <= levels]

    def common(self) -> set[int]:
        """The nodes that are ancestors of every class; a class itself need only be an ancestor of all other classes."""
        candidates = self.above(1)
        shared: set[int] = set()
        for first in range(0, len(candidates), _ANCESTORS_PER_PASS):
            bit = {node: 1 << at for at, node in enumerate(candidates[first : first + _ANCESTORS_PER_PASS])}
            masks = [0] * len(self.parents)  # the candidates of this pass that are the node or above it
            for node in self.topological_order:
                mask = bit.get(node, 0)
                for parent in self.parents[node]:
                    mask |= masks[parent]
                masks[node] = mask
            above_all = -1
            for label in self.classes:
                above_all &= masks[label]
            shared.update(node for node, own in bit.items() if above_all & own)
        return shared - {VIRTUAL_ROOT} if len(self.classes) > 1 else shared - {VIRTUAL_ROOT, 1}


class NearestDescendants:
    """The ancestors of a set of labels: the distance `down` to the nearest label, and the next nodes `below` toward it."""

    def __init__(self, labels: Iterable[int], ancestry: Ancestry) -> None:
        self.down = dict.fromkeys(labels, 0)
        self.below: dict[int, list[int]] = {}
        queue = list(self.down)
        for node in queue:  # breadth-first: the list grows during the loop, the nearest nodes first
            up = self.down[node] + 1
            for parent in ancestry.parents[node]:
                if parent not in self.down:
                    self.down[parent] = up
                    self.below[parent] = [node]
                    queue.append(parent)
                elif self.down[parent] == up:
                    self.below[parent].append(node)


def path_to_ancestor(steps: AncestorPaths, node: int) -> list[int]:
    """The nodes on the path from the label to one of its ancestors, both included, from the top down."""
    nodes = [node]
    while steps[node][0]:
        node = steps[node][1]
        nodes.append(node)
    return nodes
