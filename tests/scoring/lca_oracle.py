"""The smallest graphs of linked label sets, by trying every choice that the definition leaves open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

NodePath = tuple[str, ...]
ROOT = ""


@dataclass(frozen=True)
class SmallestGraphs:
    """What the smallest graphs have in common, and the sizes (gold, predicted) that occur among them."""

    nodes: int
    shared: int
    sizes: frozenset[tuple[int, int]]


class LcaOracle:
    """A hierarchy, under a joining root or not."""

    def __init__(self, parents: Mapping[str, Sequence[str]], *, joined: bool) -> None:
        self.parents = {name: tuple(above) for name, above in parents.items()}
        for above in parents.values():
            for name in above:
                self.parents.setdefault(name, ())
        if joined:
            self.parents = {name: above or (ROOT,) for name, above in self.parents.items()} | {ROOT: ()}

    def paths_up(self, node: str) -> Iterator[NodePath]:
        """Every way from a node to each node above it, itself included."""
        yield (node,)
        for parent in self.parents[node]:
            for way in self.paths_up(parent):
                yield (node, *way)

    def links(self, label: str, others: frozenset[str]) -> list[tuple[NodePath, NodePath]]:
        """The shortest pairs of a way up from the label and one from another label that end in the same node."""
        pairs = [
            (mine, theirs)
            for mine in self.paths_up(label)
            for other in others
            for theirs in self.paths_up(other)
            if mine[-1] == theirs[-1]
        ]
        least = min((len(mine) + len(theirs) for mine, theirs in pairs), default=0)
        return [pair for pair in pairs if len(pair[0]) + len(pair[1]) == least]

    def choices(self, gold: frozenset[str], predicted: frozenset[str]) -> list[list[tuple[NodePath, NodePath]]]:
        """For each label that the other set lacks its links, each as the nodes that it adds to gold and to predictions."""
        found = [self.links(label, predicted) for label in gold - predicted]
        found += [[(theirs, mine) for mine, theirs in self.links(label, gold)] for label in predicted - gold]
        return [links for links in found if links]

    def graphs(self, gold: frozenset[str], predicted: frozenset[str]) -> SmallestGraphs:
        """The graphs with the fewest nodes in both sets together, and among them those with the most shared nodes."""
        found = []
        for chosen in product(*self.choices(gold, predicted)):
            mine = gold.union(*(way for way, _ in chosen))
            theirs = predicted.union(*(way for _, way in chosen))
            found.append((len(mine) + len(theirs), -len(mine & theirs), (len(mine), len(theirs))))
        nodes, lost, _ = min(found)
        return SmallestGraphs(nodes, -lost, frozenset(sizes for *value, sizes in found if value == [nodes, lost]))

    def count_graphs(self, gold: frozenset[str], predicted: frozenset[str]) -> int:
        """How many graphs there are to look at."""
        return prod(map(len, self.choices(gold, predicted)))
