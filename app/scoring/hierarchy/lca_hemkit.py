"""Joins label sets at their lowest common ancestors and matches labels with their counterparts, as HEMKit does.

Both algorithms follow HEMKit step by step, the evaluator of the BioASQ challenges that accompanies Kosmopoulos,
Partalas, Gaussier, Paliouras and Androutsopoulos (2015), "Evaluation measures for hierarchical classification: a
unified view and novel approaches", Data Mining and Knowledge Discovery 29(3). Where the paper leaves a choice open or
HEMKit differs from it, this module does what HEMKit does, so values depend on the order of the classes. The module
app.scoring.hierarchy.lca_minimal follows the paper.

A label that the other set lacks is linked upwards. On each path up, the first ancestor that it shares with the other
set is a candidate, and the label of the other set nearest to it is the counterpart. The candidates with the fewest
steps in total are links; there may be several.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import chain

from app.scoring.hierarchy.ancestor_paths import AncestorPaths, Ancestry, NearestDescendants, path_to_ancestor

LabelSetPair = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Link:
    """A shortest path from a label to a counterpart: `length` steps, up by `own` to the ancestor `top`, then down."""

    top: int
    length: int
    own: AncestorPaths


def nearest_labels(top: int, nearest: NearestDescendants, ancestry: Ancestry) -> list[int]:
    """The labels nearest to an ancestor; raises HierarchyCostLimitError after visiting too many nodes."""
    level = [top]
    for _ in range(nearest.down[top]):
        ancestry.count_visited(len(level))
        level = list(dict.fromkeys(node for above in level for node in nearest.below[above]))
    return level


def shortest_links(label: int, nearest: NearestDescendants, ancestry: Ancestry) -> list[Link]:
    """The shortest links of a label to the set that `nearest` was built from; none if they share no ancestor."""
    own = ancestry.shortest_paths_up(label, nearest.down)
    lengths = {node: up + nearest.down[node] for node, (up, _) in own.items() if node in nearest.down}
    shortest = min(lengths.values(), default=0)
    return [Link(top, shortest, own) for top, length in lengths.items() if length == shortest]


def remove_ancestors(labels: frozenset[int], ancestry: Ancestry) -> frozenset[int]:
    """The labels that are not ancestors of another label of the set."""
    if len(labels) < 2:
        return labels
    ancestors: set[int] = set()
    for label in labels:
        stack = [label]
        while stack:
            fresh = set(ancestry.parents[stack.pop()]) - ancestors
            ancestors |= fresh
            stack += fresh
    return labels - ancestors


class _LcaCandidates:
    """The ancestors at which labels could meet, with the labels and the paths up from them."""

    def __init__(self, sets: LabelSetPair, ancestry: Ancestry) -> None:
        self.sets = sets
        self.labels_by_ancestor: dict[int, set[int]] = {}
        self.paths: tuple[dict[int, dict[int, AncestorPaths]], ...] = ({}, {})
        for side in (0, 1):
            self._link(side, ancestry)

    def _link(self, side: int, ancestry: Ancestry) -> None:
        lone = self.sets[side] - self.sets[1 - side]
        if not lone:
            return
        nearest = NearestDescendants(self.sets[1 - side], ancestry)
        tops: set[int] = set()
        for label in lone:
            for link in shortest_links(label, nearest, ancestry):
                self.labels_by_ancestor.setdefault(link.top, set()).add(label)
                self.paths[side].setdefault(link.top, {})[label] = link.own
                tops.add(link.top)
        for top in tops:
            partners = nearest_labels(top, nearest, ancestry)
            self.labels_by_ancestor[top].update(partners)
            partner_paths = self.paths[1 - side].setdefault(top, {})
            for partner in partners:
                partner_paths.setdefault(partner, ancestry.reach(partner))

    def needed_ancestors(self) -> list[int]:
        """The ancestors without those whose labels could all meet elsewhere.

        The ancestor where most labels meet is considered first; among equals the one declared last, so that the one
        declared first stays.
        """
        choices = Counter(chain.from_iterable(self.labels_by_ancestor.values()))
        needed = []
        for top in sorted(self.labels_by_ancestor, key=lambda top: (-len(self.labels_by_ancestor[top]), -top)):
            if any(choices[label] == 1 for label in self.labels_by_ancestor[top]):
                needed.append(top)
            else:
                choices.subtract(self.labels_by_ancestor[top])
        return needed

    def select_ancestors(self) -> list[int]:
        """The needed ancestors that each serve a label not served before, until enough labels are served.

        HEMKit counts a chosen ancestor as a member of the set that it serves. If the ancestor is a label of the other
        set, it may be counted as served twice, and then the last labels stay unlinked. Published values depend on this.
        """
        members = [set(labels) for labels in self.sets]
        served = [set(self.sets[0] & self.sets[1]) for _ in self.sets]
        goal = len(self.sets[0]) + len(self.sets[1])
        selection = []
        for top in self.needed_ancestors():
            if len(served[0]) + len(served[1]) == goal:
                break
            before = len(served[0]) + len(served[1])
            for label in sorted(self.labels_by_ancestor[top]):
                for side in (0, 1):
                    if label in members[side] and label not in served[side]:
                        members[side].add(top)
                        served[side].add(label)
            if len(served[0]) + len(served[1]) > before:
                selection.append(top)
        return sorted(selection)


def augment_to_lcas(sets: LabelSetPair, ancestry: Ancestry) -> tuple[set[int], set[int]]:
    """Both sets augmented with the paths to the ancestors at which they meet.

    Each label is linked at the first ancestor chosen for it. If an ancestor gets labels of one set only, the nearest
    label of the other set is linked too, the one declared first among equals.
    """
    candidates = _LcaCandidates(sets, ancestry)
    graphs = set(sets[0]), set(sets[1])
    linked = [set(sets[0] & sets[1]) for _ in sets]
    for top in candidates.select_ancestors():
        paths = [side[top] for side in candidates.paths]
        unlinked = [sorted(paths[side].keys() - linked[side]) for side in (0, 1)]
        for side in (0, 1):
            labels = unlinked[side]
            if not labels and unlinked[1 - side]:
                labels = [min((steps[top][0], label) for label, steps in paths[side].items())[1]]
            for label in labels:
                graphs[side].update(path_to_ancestor(paths[side][label], top))
            linked[side].update(labels)
    return graphs


def graph_induced_error(sets: LabelSetPair, max_error: int, ancestry: Ancestry) -> int:
    """HEMKit's multi-label graph-induced error of a prediction, ≥ 0: the total length of its matches.

    Each label that the other set lacks is matched with its nearest counterparts. It costs `max_error` if it has none or
    if they are at least that far. A match is dropped if both of its labels have other matches, the longest first (among
    equals the one declared last). The lengths of the remaining matches are added.
    """
    both = sets[0] & sets[1]
    matches = {(label, label): 0 for label in both}
    error = 0
    for side in (0, 1):
        lone = sets[side] - both
        nearest = NearestDescendants(sets[1 - side] if lone else (), ancestry)
        for label in lone:
            links = shortest_links(label, nearest, ancestry)
            if not links or links[0].length >= max_error:
                error += max_error
                continue
            for partner in (partner for link in links for partner in nearest_labels(link.top, nearest, ancestry)):
                pair = (label, partner) if side == 0 else (partner, label)
                matches[pair] = min(links[0].length, matches.get(pair, max_error))
    return error + _sum_needed_matches(matches)


def _sum_needed_matches(matches: dict[tuple[int, int], int]) -> int:
    degrees = Counter(end for pair in matches for end in enumerate(pair))  # by (side, label)
    total = 0
    for pair in sorted(matches, key=lambda pair: (matches[pair], max(pair), min(pair)), reverse=True):
        if all(degrees[end] > 1 for end in enumerate(pair)):
            degrees.subtract(enumerate(pair))
        else:
            total += matches[pair]
    return total
