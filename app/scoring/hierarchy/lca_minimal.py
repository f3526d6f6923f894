"""Links label sets with their nearest counterparts through lowest common ancestors, in the smallest graph.

After Kosmopoulos, Partalas, Gaussier, Paliouras and Androutsopoulos (2015), "Evaluation measures for hierarchical
classification: a unified view and novel approaches", Data Mining and Knowledge Discovery 29(3). Every label that the
other set lacks is linked to one of its nearest counterparts. The nodes on the path up to a common ancestor join its own
set, the nodes on the path down join the other set, and the ancestor joins both. Of all such graphs, those with the
fewest nodes in both sets together count, and of these the ones with the most shared nodes. F is the same for all
remaining graphs. They may distribute the nodes differently over the two sets, so precision and recall each use the
graph that is worst for them.

The search is exact. Its cost is counted in steps that do not depend on the order of labels or parents, so a pair of
sets that exceeds the limit exceeds it in every order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_

from app.scoring.hierarchy.ancestor_paths import Ancestry, NearestDescendants

LabelSetPair = tuple[frozenset[int], frozenset[int]]
PathNodes = frozenset[int]
"""The nodes that a path adds to the graph: 2 × node for the gold set, 2 × node + 1 for the predicted set."""
PathChoices = frozenset[PathNodes]
"""The alternative paths of a label, of which it takes one."""

_EMPTY_PATH_ONLY: PathChoices = frozenset((frozenset(),))
_MAX_CACHED_NODES = 1_000_000  # cached nodes above single labels; the cache is emptied beyond it
_VISITS_PER_COMBINATION = 3  # one combination of paths takes the time of this many visited nodes


class _DownwardPaths:
    """The shortest paths from nodes down to the nearest of some labels, as the nodes that they add to one set."""

    def __init__(
        self, nearest: NearestDescendants, side: int, members: frozenset[int], count: Callable[[int, int], None]
    ) -> None:
        """`members` are nodes that the set has anyway; `count` receives the number and the length of computed paths."""
        self._nearest = nearest
        self._side = side
        self._members = members
        self._count = count
        self._cache: dict[int, PathChoices] = {}

    def paths(self, top: int) -> PathChoices:
        """The paths from one node; raises HierarchyCostLimitError if they are too many."""
        stack = [] if top in self._cache else [top]
        while (
            stack
        ):  # depth-first with an explicit stack, because hierarchies may be deeper than Python's recursion limit
            node = stack[-1]
            common, end = self._common_part(node)
            children = self._nearest.below[end] if self._nearest.down[end] else ()
            if missing := [child for child in children if child not in self._cache]:
                stack += missing
                continue
            self._count(sum(len(self._cache[child]) for child in children), self._nearest.down[node])
            further = frozenset(path for child in children for path in self._cache[child]) or _EMPTY_PATH_ONLY
            self._cache[node] = frozenset(path | common for path in further)
            stack.pop()
        return self._cache[top]

    def _common_part(self, node: int) -> tuple[PathNodes, int]:
        """The nodes that all paths from a node add, and the node where the paths divide or end."""
        down, below = self._nearest.down, self._nearest.below
        common = []
        while down[node]:
            if node not in self._members:
                common.append(2 * node + self._side)
            if len(below[node]) > 1:
                break
            (node,) = below[node]
        return frozenset(common), node


@dataclass(frozen=True, slots=True)
class GraphSizes:
    """The sizes of the smallest graphs: `nodes` in both sets together, `shared` nodes that both sets have.

    `gold` and `predicted` are the largest sizes of the gold and of the predicted set in any of these graphs.
    """

    gold: int
    predicted: int
    shared: int
    nodes: int


class MinimalGraphFinder:
    """Finds the smallest graphs of label sets over one ancestry."""

    def __init__(self, ancestry: Ancestry) -> None:
        self._ancestry = ancestry
        self._ancestors_cache: dict[int, NearestDescendants] = {}
        self._cached_nodes = 0

    def sizes(self, sets: LabelSetPair) -> GraphSizes:
        """The sizes of the smallest graphs; raises HierarchyCostLimitError if there are too many combinations."""
        graph = {2 * node for node in sets[0]} | {2 * node + 1 for node in sets[1]}
        links = [link for side in (0, 1) for link in self._links(sets, side)]
        groups = independent_groups(prune_links(links, graph, self._ancestry))
        additions = [smallest_addition(group, graph, self._ancestry) for group in groups]
        predicted = {item >> 1 for item in graph if item & 1}
        gold = {item >> 1 for item in graph if not item & 1}
        return GraphSizes(
            len(gold) + sum(part.gold for part in additions),
            len(predicted) + sum(part.predicted for part in additions),
            len(gold & predicted) + sum(part.shared for part in additions),
            len(graph) + sum(part.nodes for part in additions),
        )

    def _links(self, sets: LabelSetPair, side: int) -> list[PathChoices]:
        """The paths of each label that the other set lacks to its nearest counterparts, if it has any."""
        lone = sets[side] - sets[1 - side]
        if not lone or not sets[1 - side]:
            return []
        counterparts = NearestDescendants(sets[1 - side], self._ancestry)
        down = _DownwardPaths(counterparts, 1 - side, frozenset(), self._count)
        links = []
        for label in lone:
            ancestors = self._ancestors(label)
            lengths = {
                node: up + counterparts.down[node] for node, up in ancestors.down.items() if node in counterparts.down
            }
            shortest = min(lengths.values(), default=-1)
            tops = [node for node, length in lengths.items() if length == shortest]
            if tops:
                up = _DownwardPaths(ancestors, side, sets[side], self._count)
                links.append(frozenset(path for top in tops for path in self._joined(up.paths(top), down.paths(top))))
        return links

    def _joined(self, up: PathChoices, down: PathChoices) -> Iterable[PathNodes]:
        self._count(len(up) * len(down), 0)
        return (first | second for first in up for second in down)

    def _count(self, paths: int, length: int) -> None:
        self._ancestry.count_visited(paths * (1 + length))

    def _ancestors(self, label: int) -> NearestDescendants:
        if label not in self._ancestors_cache:
            if self._cached_nodes > _MAX_CACHED_NODES:
                self._ancestors_cache.clear()
                self._cached_nodes = 0
            self._ancestors_cache[label] = NearestDescendants((label,), self._ancestry)
            self._cached_nodes += len(self._ancestors_cache[label].down)
        return self._ancestors_cache[label]


def prune_links(links: Iterable[PathChoices], graph: set[int], ancestry: Ancestry) -> list[PathChoices]:
    """The links that leave a choice, each with what its paths still add; adds to `graph` what every choice needs.

    Each round considers all links before it changes the graph, so that their order does not change the counted steps.
    """
    remaining = list(links)
    while True:
        sizes_before = len(graph), sum(map(len, remaining))
        graph.update(*(path for paths in remaining if len(paths) == 1 for path in paths))
        remaining = [
            drop_supersets(frozenset(path - graph for path in paths), ancestry) for paths in remaining if len(paths) > 1
        ]
        graph.update(*(reduce(and_, paths) for paths in remaining))
        remaining = drop_dominated_paths(remaining, ancestry)
        if (len(graph), sum(map(len, remaining))) == sizes_before:
            return drop_implied_links(remaining, ancestry)


def drop_supersets(paths: PathChoices, ancestry: Ancestry) -> PathChoices:
    """The paths that do not contain another one: a superset leads to the same graph or a larger one."""
    ancestry.count_visited(len(paths) ** 2)
    return frozenset(path for path in paths if not any(other < path for other in paths))


def drop_dominated_paths(links: Sequence[PathChoices], ancestry: Ancestry) -> list[PathChoices]:
    """The links without the paths that another path can replace so that every graph becomes smaller.

    Replacing a path saves the nodes that only its own link can need; it adds at most the other path's further nodes.
    """
    uses = Counter(item for paths in links for item in frozenset().union(*paths))
    pruned = []
    for paths in links:
        ancestry.count_visited(len(paths) ** 2)
        own = {path: frozenset(item for item in path if uses[item] == 1) for path in paths}
        pruned.append(
            frozenset(path for path in paths if not any(len(to - path) < len(own[path] - to) for to in paths))
        )
    return pruned


def drop_implied_links(links: Sequence[PathChoices], ancestry: Ancestry) -> list[PathChoices]:
    """The links without those that another link serves, whichever of its paths is taken."""
    ancestry.count_visited(sum(map(len, links)) ** 2)
    distinct = list(dict.fromkeys(links))

    def serves(other: PathChoices, link: PathChoices) -> bool:
        return other is not link and all(any(path <= other_path for path in link) for other_path in other)

    return [link for link in distinct if not any(serves(other, link) for other in distinct)]


def independent_groups(links: Sequence[PathChoices]) -> list[list[PathChoices]]:
    """The links in groups that have no node in common, so that each group can be solved separately."""
    group: dict[int, list[PathChoices]] = {}
    for link in links:
        nodes = {item >> 1 for path in link for item in path}
        merged = [link]
        for other in {id(group[node]): group[node] for node in nodes if node in group}.values():
            merged += other
        for item in {item for member in merged for path in member for item in path}:
            group[item >> 1] = merged
    return list({id(part): part for part in group.values()}.values())


class _CombinationSearch:
    """Tries all combinations of the paths of a few links.

    Sets of nodes are bits of an integer: the gold set in the lower half, the predicted set in the upper half.
    """

    def __init__(self, links: Sequence[PathChoices], graph: set[int]) -> None:
        nodes = sorted({item >> 1 for link in links for path in link for item in path})
        self._node_count = len(nodes)
        bit = {2 * node + side: at + side * self._node_count for at, node in enumerate(nodes) for side in (0, 1)}
        self._graph_bits = sum(1 << at for item, at in bit.items() if item in graph)
        masks = [sorted((sum(1 << bit[item] for item in path) for path in link), key=int.bit_count) for link in links]
        self._links = sorted(masks, key=len)
        self._best = (2 * self._node_count + 1, 0)  # (nodes added, minus the nodes then shared): smaller is better
        self._predicted: set[int] = set()  # how many predicted nodes the best combinations add

    def run(self) -> GraphSizes:
        """The sizes that the best combinations add."""
        self._extend(0, 0)
        nodes, shared = self._best
        shared_before = (self._graph_bits & self._graph_bits >> self._node_count).bit_count()
        return GraphSizes(nodes - min(self._predicted), max(self._predicted), -shared - shared_before, nodes)

    def _extend(self, at: int, added: int) -> None:
        if added.bit_count() > self._best[0]:
            return
        while at < len(self._links) and any(path & ~added == 0 for path in self._links[at]):
            at += 1  # this link is served by the paths chosen before
        if at == len(self._links):
            self._record_if_best(added)
            return
        for path in self._links[at]:
            self._extend(at + 1, added | path)

    def _record_if_best(self, added: int) -> None:
        both = added | self._graph_bits
        candidate = (added.bit_count(), -(both & both >> self._node_count).bit_count())
        if candidate > self._best:
            return
        if candidate < self._best:
            self._best = candidate
            self._predicted = set()
        self._predicted.add((added >> self._node_count).bit_count())


def smallest_addition(links: Sequence[PathChoices], graph: set[int], ancestry: Ancestry) -> GraphSizes:
    """The sizes that the best choices of one path for each of these links add to the graph."""
    ancestry.count_visited(_VISITS_PER_COMBINATION * prod(map(len, links)))
    return _CombinationSearch(links, graph).run()
