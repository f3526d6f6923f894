"""Label sets joined at their lowest common ancestors as HEMKit does it, and matched with their nearest counterparts.

Both follow HEMKit step by step, the evaluator of the BioASQ challenges, which goes with Kosmopoulos, Partalas, Gaussier,
Paliouras and Androutsopoulos (2015), "Evaluation measures for hierarchical classification: a unified view and novel
approaches", Data Mining and Knowledge Discovery 29(3). What the paper leaves open, and what HEMKit does otherwise, is
as HEMKit does it: values depend on the order of the classes. app.scoring.hierarchy.lca_minimal follows the paper.

A label that the other set lacks is linked upwards: on each way up the first ancestor that the other set has too is a
candidate; from there the nearest label of the other set is its counterpart. Of all candidates those with the fewest
steps in all are links; there may be several.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.scoring.hierarchy.ancestry import AncestorPaths, Ancestry, path_to_ancestor

LabelSetPair = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Link:
    """A label's shortest way to a counterpart: `length` steps in all, up `own` to the ancestor `top` and down again."""

    top: int
    length: int
    own: AncestorPaths


class NearestLabels:
    """For each ancestor of the labels of a set, themselves included, the `steps` to the nearest of them."""

    def __init__(self, labels: Iterable[int], ancestry: Ancestry) -> None:
        self.steps = dict.fromkeys(labels, 0)
        self._ancestry = ancestry
        self._below: dict[int, list[int]] = {}
        row = list(self.steps)
        for node in row:  # grows while it is read, the nearest first
            up = self.steps[node] + 1
            for parent in ancestry.parents[node]:
                if parent not in self.steps:
                    self.steps[parent] = up
                    self._below[parent] = [node]
                    row.append(parent)
                elif self.steps[parent] == up:
                    self._below[parent].append(node)

    def labels(self, top: int) -> list[int]:
        """The labels that are nearest to an ancestor; raises TooFarError after too many searches."""
        row = [top]
        for _ in range(self.steps[top]):
            self._ancestry.count_visited(len(row))
            row = list(dict.fromkeys(node for above in row for node in self._below[above]))
        return row


def shortest_links(label: int, near: NearestLabels, ancestry: Ancestry) -> list[Link]:
    """The shortest links of a label to the set whose nearest labels these are; none if no ancestor is shared."""
    own = ancestry.shortest_paths_up(label, near.steps)
    lengths = {node: up + near.steps[node] for node, (up, _) in own.items() if node in near.steps}
    least = min(lengths.values(), default=0)
    return [Link(top, least, own) for top, length in lengths.items() if length == least]


def remove_ancestors(labels: frozenset[int], ancestry: Ancestry) -> frozenset[int]:
    """The labels that are no ancestors of another label of the set."""
    if len(labels) < 2:
        return labels
    row = list({parent for label in labels for parent in ancestry.parents[label]})
    seen = set(row)
    for node in row:  # grows while it is read
        fresh = [parent for parent in ancestry.parents[node] if parent not in seen]
        seen.update(fresh)
        row += fresh
    return labels - seen


class _LcaCandidates:
    """Which labels could meet at which ancestor, and by which ways."""

    def __init__(self, sets: LabelSetPair, ancestry: Ancestry) -> None:
        self.sets = sets
        self.labels_by_ancestor: dict[int, set[int]] = {}
        self.ways: tuple[dict[int, dict[int, AncestorPaths]], ...] = ({}, {})
        for side in (0, 1):
            self._link(side, ancestry)

    def _link(self, side: int, ancestry: Ancestry) -> None:
        lone = self.sets[side] - self.sets[1 - side]
        if not lone:
            return
        near = NearestLabels(self.sets[1 - side], ancestry)
        tops: set[int] = set()
        for label in lone:
            for link in shortest_links(label, near, ancestry):
                self.labels_by_ancestor.setdefault(link.top, set()).add(label)
                self.ways[side].setdefault(link.top, {})[label] = link.own
                tops.add(link.top)
        for top in tops:
            partners = near.labels(top)
            self.labels_by_ancestor[top].update(partners)
            theirs = self.ways[1 - side].setdefault(top, {})
            for partner in partners:
                theirs.setdefault(partner, ancestry.reach(partner))

    def needed(self) -> list[int]:
        """The ancestors without those whose labels could all meet elsewhere.

        Where most labels meet is looked at first; among equals the one declared last, so that the first stays.
        """
        choices: dict[int, int] = {}
        for labels in self.labels_by_ancestor.values():
            for label in labels:
                choices[label] = choices.get(label, 0) + 1
        kept = []
        for top in sorted(self.labels_by_ancestor, key=lambda top: (-len(self.labels_by_ancestor[top]), -top)):
            if any(choices[label] == 1 for label in self.labels_by_ancestor[top]):
                kept.append(top)
                continue
            for label in self.labels_by_ancestor[top]:
                choices[label] -= 1
        return kept

    def chosen(self) -> list[int]:
        """The needed ancestors that serve a label which those before do not, until as many are served as there are.

        HEMKit counts an ancestor that is chosen as a member of the set it serves. If it is a label of the other set it
        may so be counted as served twice, and the last labels stay unlinked: published values depend on that.
        """
        members = [set(labels) for labels in self.sets]
        served = [set(self.sets[0] & self.sets[1]) for _ in self.sets]
        goal = len(self.sets[0]) + len(self.sets[1])
        found = []
        for top in self.needed():
            if len(served[0]) + len(served[1]) == goal:
                break
            before = len(served[0]) + len(served[1])
            for label in sorted(self.labels_by_ancestor[top]):
                for side in (0, 1):
                    if label in members[side] and label not in served[side]:
                        members[side].add(top)
                        served[side].add(label)
            if len(served[0]) + len(served[1]) > before:
                found.append(top)
        return sorted(found)


def augment_to_lcas(sets: LabelSetPair, ancestry: Ancestry) -> tuple[set[int], set[int]]:
    """Both sets extended along the ways to the ancestors at which they meet.

    Each label is linked at the first ancestor chosen for it. Where an ancestor so gets labels of one set only, the
    nearest label of the other set is linked too, the one declared first among equals.
    """
    joining = _LcaCandidates(sets, ancestry)
    graphs = set(sets[0]), set(sets[1])
    linked = [set(sets[0] & sets[1]) for _ in sets]
    for top in joining.chosen():
        ways = [side[top] for side in joining.ways]
        fresh = [sorted(ways[side].keys() - linked[side]) for side in (0, 1)]
        for side in (0, 1):
            labels = fresh[side]
            if not labels and fresh[1 - side]:
                labels = [min((steps[top][0], label) for label, steps in ways[side].items())[1]]
            for label in labels:
                graphs[side].update(path_to_ancestor(ways[side][label], top))
            linked[side].update(labels)
    return graphs


def graph_induced_error(sets: LabelSetPair, most: int, ancestry: Ancestry) -> int:
    """The error of a prediction by its matches: HEMKit's multi-label graph-induced error, from 0.

    Each label that the other set lacks is matched with its nearest counterparts, or costs `most` if they are that far
    or there are none. Of two labels that both have other matches the match is dropped, the longest first (the one
    declared last among equals); the lengths of those that stay are summed.
    """
    both = sets[0] & sets[1]
    matches = {(label, label): 0 for label in both}
    error = 0
    for side in (0, 1):
        lone = sets[side] - both
        near = NearestLabels(sets[1 - side] if lone else (), ancestry)
        for label in lone:
            found = shortest_links(label, near, ancestry)
            if not found or found[0].length >= most:
                error += most
                continue
            for partner in (partner for link in found for partner in near.labels(link.top)):
                pair = (label, partner) if side == 0 else (partner, label)
                matches[pair] = min(found[0].length, matches.get(pair, most))
    return error + _sum_kept_matches(matches)


def _sum_kept_matches(matches: dict[tuple[int, int], int]) -> int:
    degrees: tuple[dict[int, int], ...] = ({}, {})
    for pair in matches:
        for side, label in enumerate(pair):
            degrees[side][label] = degrees[side].get(label, 0) + 1
    kept = 0
    for pair in sorted(matches, key=lambda pair: (matches[pair], max(pair), min(pair)), reverse=True):
        if all(degrees[side][label] > 1 for side, label in enumerate(pair)):
            for side, label in enumerate(pair):
                degrees[side][label] -= 1
        else:
            kept += matches[pair]
    return kept
