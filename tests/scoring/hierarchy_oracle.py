"""Hierarchical measures the slow way: every way up is written out, and sets are compared as the definitions say."""

from collections.abc import Mapping, Sequence
from itertools import product

from hypothesis import strategies as st

Parents = Mapping[str, Sequence[str]]
Labels = frozenset[str]
ROOT = ""


class HierarchyOracle:
    """A hierarchy with its classes in order; under a joining root, which is ROOT, or not."""

    def __init__(self, parents: Parents, classes: Sequence[str], *, joined: bool) -> None:
        self.parents = {name: list(above) for name, above in parents.items()}
        for above in parents.values():
            for name in above:
                self.parents.setdefault(name, [])
        if joined:
            self.parents = {name: above or [ROOT] for name, above in self.parents.items()} | {ROOT: []}
        inner = [name for name in self.parents if name not in classes and name != ROOT]
        self.rank = {name: at for at, name in enumerate([ROOT, *classes, *inner])}

    def ways(self, node: str) -> list[tuple[str, ...]]:
        """All ways from a node up to a root."""
        longer = [(node, *way) for parent in self.parents[node] for way in self.ways(parent)]
        return longer or [(node,)]

    def with_ancestors(self, labels: Labels, levels: int | None = None) -> Labels:
        """The labels and their ancestors, at most so many levels up."""
        most = None if levels is None else levels + 1
        return frozenset(node for label in labels for way in self.ways(label) for node in way[:most])

    def first(self, ways: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """The shortest way, the one that differs first in a node declared earlier."""
        return min(ways, key=lambda way: (len(way), [self.rank[node] for node in way]))

    def links(self, label: str, others: Labels) -> dict[str, tuple[tuple[str, ...], list[str], int]]:
        """By ancestor: the own way to it, the nearest labels of the others below it, the length; the shortest only."""
        reached = self.with_ancestors(others)
        own: dict[str, list[tuple[str, ...]]] = {}
        for way in self.ways(label):
            at = next((at for at, node in enumerate(way) if node in reached), None)
            if at is not None:
                own.setdefault(way[at], []).append(way[: at + 1])
        found = {}
        for top, ways in own.items():
            steps = {
                other: len(self.down(other, top)) for other in others if top in self.with_ancestors(frozenset([other]))
            }
            near = min(steps.values())
            mine = self.first(ways)
            found[top] = (mine, [other for other in others if steps.get(other) == near], len(mine) + near - 2)
        least = min((length for _, _, length in found.values()), default=0)
        return {top: link for top, link in found.items() if link[2] == least}

    def down(self, label: str, top: str) -> tuple[str, ...]:
        """The way from a label up to an ancestor."""
        return self.first([way[: way.index(top) + 1] for way in self.ways(label) if top in way])

    def joined(self, gold: Labels, predicted: Labels) -> tuple[Labels, Labels]:
        """The two sets with the ways to the ancestors at which they meet, step by step as HEMKit goes."""
        sets = (gold, predicted)
        links = {
            (side, label): self.links(label, sets[1 - side]) for side in (0, 1) for label in sets[side] - sets[1 - side]
        }
        meeting: dict[str, set[str]] = {}
        for (_, label), tops in links.items():
            for top, (_, partners, _) in tops.items():
                meeting.setdefault(top, set()).update([label, *partners])
        chosen = self.chosen(sets, self.needed(meeting), meeting)
        graphs, done = [set(gold), set(predicted)], [set(gold & predicted), set(gold & predicted)]
        for top in sorted(chosen, key=self.rank.__getitem__):
            ways: list[dict[str, tuple[str, ...]]] = [{}, {}]
            for (side, label), tops in links.items():
                if top in tops:
                    ways[side][label] = tops[top][0]
                    for partner in tops[top][1]:
                        ways[1 - side].setdefault(partner, self.down(partner, top))
            fresh = [ways[side].keys() - done[side] for side in (0, 1)]
            for side in (0, 1):
                if not fresh[side] and fresh[1 - side]:
                    nearest = min(ways[side], key=lambda label: (len(ways[side][label]), self.rank[label]))
                    graphs[side].update(ways[side][nearest])
                for label in fresh[side]:
                    graphs[side].update(ways[side][label])
                    done[side].add(label)
        return frozenset(graphs[0]), frozenset(graphs[1])

    def needed(self, meeting: Mapping[str, set[str]]) -> list[str]:
        """The ancestors that stay when those are struck out, in this order, whose labels all have another."""
        order = sorted(meeting, key=lambda top: (-len(meeting[top]), -self.rank[top]))
        left = list(order)
        for top in order:
            rest = [other for other in left if other != top]
            if all(any(label in meeting[other] for other in rest) for label in meeting[top]):
                left = rest
        return left

    def chosen(self, sets: tuple[Labels, Labels], order: list[str], meeting: Mapping[str, set[str]]) -> list[str]:
        """The ancestors that serve someone new, until as many are served as there are labels."""
        served = {(side, label) for side in (0, 1) for label in sets[0] & sets[1]}
        members = {(side, label) for side in (0, 1) for label in sets[side]}
        found = []
        for top in order:
            if len(served) == len(sets[0]) + len(sets[1]):
                break
            for label, side in product(sorted(meeting[top], key=self.rank.__getitem__), (0, 1)):
                if (side, label) in members and (side, label) not in served:
                    served.add((side, label))
                    members.add((side, top))
                    found.append(top)
        return found


@st.composite
def drawn_hierarchy(draw: st.DrawFn, *, most_parents: int) -> tuple[dict[str, list[str]], list[str]]:
    """A forest, or a graph where nodes have more parents, and the order of its nodes as classes."""
    names = draw(st.permutations("abcdefghijk"))[: draw(st.integers(2, 11))]
    parents: dict[str, list[str]] = {}
    for at, name in enumerate(names):
        above = st.lists(st.sampled_from(names[:at]), max_size=most_parents, unique=True) if at else st.just([])
        parents[name] = draw(above)
    return parents, draw(st.permutations(names))


def label_sets(classes: Sequence[str], *, smallest: int = 1) -> st.SearchStrategy[Labels]:
    """Sets of a few of the classes."""
    return st.lists(st.sampled_from(classes), min_size=smallest, max_size=5).map(frozenset)
