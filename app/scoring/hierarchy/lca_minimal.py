"""Label sets linked with their nearest counterparts over lowest common ancestors, in the smallest graph.

After Kosmopoulos, Partalas, Gaussier, Paliouras and Androutsopoulos (2015), "Evaluation measures for hierarchical
classification: a unified view and novel approaches", Data Mining and Knowledge Discovery 29(3). Every label that the
other set lacks is linked to one of its nearest counterparts: the nodes on the way up to a common ancestor join its own
set, the nodes on the way down again the other set, and the ancestor both. Of all such graphs the one counts that has
the fewest nodes in both sets together, then the most that both have. F is the same for all graphs that are left; they may
differ in how the nodes are spread over the two sets, so that precision and recall each take the one that is worst.

The search is exact. Its cost is counted in steps that no order of labels or parents can change, so that what is too
large is too large in every order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_

from app.scoring.hierarchy.ancestry import Ancestry

LabelSetPair = tuple[frozenset[int], frozenset[int]]
PathNodes = frozenset[int]
"""What a link adds to the graph: 2 × node for the gold set, 2 × node + 1 for the predicted set."""
PathChoices = frozenset[PathNodes]
"""The ways among which a label takes one."""

_EMPTY_PATH_ONLY: PathChoices = frozenset((frozenset(),))
_MAX_CACHED_NODES = 1_000_000  # nodes above single labels that are kept
_VISITS_PER_COMBINATION = 3  # nodes that are passed in the time of one choice of ways


class _AncestorDistances:
    """The nodes above some labels: how `far` the nearest of them is below each, and the next nodes on the ways there."""

    def __init__(self, labels: Iterable[int], ancestry: Ancestry) -> None:
        self.far = dict.fromkeys(labels, 0)
        self.below: dict[int, list[int]] = {}
        row = list(self.far)
        for node in row:  # grows while it is read, the nearest first
            up = self.far[node] + 1
            for parent in ancestry.parents[node]:
                if parent not in self.far:
                    self.far[parent] = up
                    self.below[parent] = [node]
                    row.append(parent)
                elif self.far[parent] == up:
                    self.below[parent].append(node)


class _DownwardPaths:
    """The shortest ways from nodes down to the nearest of some labels, as what they add to the set of these labels."""

    def __init__(
        self, above: _AncestorDistances, side: int, held: frozenset[int], hold: Callable[[int, int], None]
    ) -> None:
        """`held`: nodes that the set has anyway; `hold` is told how many ways are made, and how long they are."""
        self._above = above
        self._side = side
        self._held = held
        self._hold = hold
        self._known: dict[int, PathChoices] = {}

    def ways(self, top: int) -> PathChoices:
        """The ways from one node; raises TooFarError where they are too many."""
        waiting = [] if top in self._known else [top]
        while waiting:
            node = waiting[-1]
            passed, end = self._alone(node)
            children = self._above.below[end] if self._above.far[end] else ()
            if ahead := [child for child in children if child not in self._known]:
                waiting += ahead
                continue
            self._hold(sum(len(self._known[child]) for child in children), self._above.far[node])
            further = frozenset(way for child in children for way in self._known[child]) or _EMPTY_PATH_ONLY
            self._known[node] = frozenset(way | passed for way in further)
            waiting.pop()
        return self._known[top]

    def _alone(self, node: int) -> tuple[PathNodes, int]:
        """What the ways from a node add until they part, and where they do so, or end."""
        far, below = self._above.far, self._above.below
        passed = []
        while far[node]:
            if node not in self._held:
                passed.append(2 * node + self._side)
            if len(below[node]) > 1:
                break
            (node,) = below[node]
        return frozenset(passed), node


@dataclass(frozen=True, slots=True)
class GraphSizes:
    """How many nodes the smallest graphs have: `nodes` in both sets together, `shared` in each of the two.

    `gold` and `predicted` are the most that the gold and the predicted set have in one of these graphs.
    """

    gold: int
    predicted: int
    shared: int
    nodes: int


class MinimalGraphFinder:
    """Finds the smallest graphs of label sets over one ancestry."""

    def __init__(self, ancestry: Ancestry) -> None:
        self._ancestry = ancestry
        self._single: dict[int, _AncestorDistances] = {}
        self._held = 0

    def sizes(self, sets: LabelSetPair) -> GraphSizes:
        """The sizes of the smallest graphs of gold and predicted labels; raises TooFarError for too many choices."""
        graph = {2 * node for node in sets[0]} | {2 * node + 1 for node in sets[1]}
        links = [link for side in (0, 1) for link in self._links(sets, side)]
        found = [
            smallest_addition(part, graph, self._ancestry)
            for part in independent_groups(prune_links(links, graph, self._ancestry))
        ]
        predicted = {item >> 1 for item in graph if item & 1}
        gold = {item >> 1 for item in graph if not item & 1}
        return GraphSizes(
            len(gold) + sum(one.gold for one in found),
            len(predicted) + sum(one.predicted for one in found),
            len(gold & predicted) + sum(one.shared for one in found),
            len(graph) + sum(one.nodes for one in found),
        )

    def _links(self, sets: LabelSetPair, side: int) -> list[PathChoices]:
        """For each label that the other set lacks the ways to its nearest counterparts, if it has any."""
        lone = sets[side] - sets[1 - side]
        if not lone or not sets[1 - side]:
            return []
        theirs = _AncestorDistances(sets[1 - side], self._ancestry)
        down = _DownwardPaths(theirs, 1 - side, frozenset(), self._hold)
        found = []
        for label in lone:
            mine = self._above(label)
            lengths = {node: up + theirs.far[node] for node, up in mine.far.items() if node in theirs.far}
            shortest = min(lengths.values(), default=-1)
            tops = [node for node, length in lengths.items() if length == shortest]
            if tops:
                up = _DownwardPaths(mine, side, sets[side], self._hold)
                found.append(frozenset(way for top in tops for way in self._both(up.ways(top), down.ways(top))))
        return found

    def _both(self, up: PathChoices, down: PathChoices) -> Iterable[PathNodes]:
        self._hold(len(up) * len(down), 0)
        return (one | other for one in up for other in down)

    def _hold(self, ways: int, long: int) -> None:
        self._ancestry.count_visited(ways * (1 + long))

    def _above(self, label: int) -> _AncestorDistances:
        if label not in self._single:
            if self._held > _MAX_CACHED_NODES:
                self._single.clear()
                self._held = 0
            self._single[label] = _AncestorDistances((label,), self._ancestry)
            self._held += len(self._single[label].far)
        return self._single[label]


def prune_links(links: Iterable[PathChoices], graph: set[int], ancestry: Ancestry) -> list[PathChoices]:
    """The links that leave a choice, each with what its ways add yet; `graph` gets what every choice needs.

    Each round looks at all links before it changes the graph, so that no order of them changes the steps.
    """
    left = list(links)
    while True:
        before = len(graph), sum(map(len, left))
        graph.update(*(way for ways in left if len(ways) == 1 for way in ways))
        left = [drop_supersets(frozenset(way - graph for way in ways), ancestry) for ways in left if len(ways) > 1]
        graph.update(*(reduce(and_, ways) for ways in left))
        left = drop_dominated_paths(left, ancestry)
        if (len(graph), sum(map(len, left))) == before:
            return drop_implied_links(left, ancestry)


def drop_supersets(ways: PathChoices, ancestry: Ancestry) -> PathChoices:
    """Those that hold no other one: whoever takes a larger one gets the same graph or a larger one."""
    ancestry.count_visited(len(ways) ** 2)
    return frozenset(way for way in ways if not any(other < way for other in ways))


def drop_dominated_paths(links: Sequence[PathChoices], ancestry: Ancestry) -> list[PathChoices]:
    """The links without the ways in whose place another one makes every graph smaller.

    What a way needs and no other link can need is saved with it; what the other way needs beyond it is added at most.
    """
    wanted = Counter(item for ways in links for item in frozenset().union(*ways))
    left = []
    for ways in links:
        ancestry.count_visited(len(ways) ** 2)
        own = {way: frozenset(item for item in way if wanted[item] == 1) for way in ways}
        left.append(frozenset(way for way in ways if not any(len(to - way) < len(own[way] - to) for to in ways)))
    return left


def drop_implied_links(links: Sequence[PathChoices], ancestry: Ancestry) -> list[PathChoices]:
    """The links without those that another one serves, whichever of its ways is taken."""
    ancestry.count_visited(sum(map(len, links)) ** 2)
    distinct = list(dict.fromkeys(links))

    def serves(other: PathChoices, link: PathChoices) -> bool:
        return other is not link and all(any(way <= taken for way in link) for taken in other)

    return [link for link in distinct if not any(serves(other, link) for other in distinct)]


def independent_groups(links: Sequence[PathChoices]) -> list[list[PathChoices]]:
    """The links in groups that have no node in common, so that each may be decided for itself."""
    group: dict[int, list[PathChoices]] = {}
    for link in links:
        nodes = {item >> 1 for way in link for item in way}
        merged = [link]
        for other in {id(group[node]): group[node] for node in nodes if node in group}.values():
            merged += other
        for item in {item for each in merged for way in each for item in way}:
            group[item >> 1] = merged
    return list({id(each): each for each in group.values()}.values())


class _CombinationSearch:
    """Tries the ways of a few links together; what the ways add are bits of numbers, the gold half below."""

    def __init__(self, links: Sequence[PathChoices], graph: set[int]) -> None:
        nodes = sorted({item >> 1 for link in links for way in link for item in way})
        self._node_count = len(nodes)
        place = {2 * node + side: at + side * self._node_count for at, node in enumerate(nodes) for side in (0, 1)}
        self._graph_bits = sum(1 << at for item, at in place.items() if item in graph)
        masks = [sorted((sum(1 << place[item] for item in way) for way in link), key=int.bit_count) for link in links]
        self._links = sorted(masks, key=len)
        self._best_found = (2 * self._node_count + 1, 0)  # nodes added, and less how many of them both sets have then
        self._predicted: set[int] = set()

    def run(self) -> GraphSizes:
        """What the best choices add."""
        self._extend(0, 0)
        nodes, shared = self._best_found
        alone = (self._graph_bits & self._graph_bits >> self._node_count).bit_count()
        return GraphSizes(nodes - min(self._predicted), max(self._predicted), -shared - alone, nodes)

    def _extend(self, at: int, added: int) -> None:
        if added.bit_count() > self._best_found[0]:
            return
        while at < len(self._links) and any(way & ~added == 0 for way in self._links[at]):
            at += 1  # served by what the links before add
        if at == len(self._links):
            self._record_if_best(added)
            return
        for way in self._links[at]:
            self._extend(at + 1, added | way)

    def _record_if_best(self, added: int) -> None:
        both = added | self._graph_bits
        found = (added.bit_count(), -(both & both >> self._node_count).bit_count())
        if found > self._best_found:
            return
        if found < self._best_found:
            self._best_found = found
            self._predicted = set()
        self._predicted.add((added >> self._node_count).bit_count())


def smallest_addition(links: Sequence[PathChoices], graph: set[int], ancestry: Ancestry) -> GraphSizes:
    """What the best choices of one way for each of these links add to the graph."""
    ancestry.count_visited(_VISITS_PER_COMBINATION * prod(map(len, links)))
    return _CombinationSearch(links, graph).run()
