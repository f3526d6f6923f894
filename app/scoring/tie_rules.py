"""What a ranking with ties gives under a rule for them: the position the rule decides on, or the mean over all orders.

`worst` ranks tied labels that are wrong ahead of relevant ones, `best` the other way round, `declared` the label that is
declared earlier, `last` the later one. `average` is the expected value where every order of the tied labels is equally
likely (McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
scores).
"""

from collections.abc import Callable
from functools import partial
from math import comb

import numpy as np

from app.scoring.label_ranking import UNLISTED, Int, LabelRanks
from app.scoring.numeric.correct_rounding import Real, quotient_sum
from app.scoring.numeric.exact import Integers

_MAX_TERMS_PER_PART = 1 << 18
"""Terms that are made together; a part may have those of one more group of tied labels."""

TIE_RULES = ("worst", "best", "declared", "last", "average")


def positions(ranks: LabelRanks, ties: str, place: Int | None = None) -> Int:
    """The position of each relevant label from 1 under a rule that decides; above NOWHERE where a list lacks it.

    `place` orders the relevant labels that are tied with each other (from 0), where not as the classes are.
    """
    place = ranks.order_in_tie if place is None else place
    if ties == "worst":
        return np.asarray(ranks.above + ranks.tied - ranks.relevant_tied + place + 1)
    if ties == "best":
        return np.asarray(ranks.above + place + 1)
    if ties == "declared":
        return np.asarray(ranks.above + ranks.tied_declared_earlier + 1)
    return np.asarray(ranks.above + ranks.tied - ranks.tied_declared_earlier)


def hits_within(ranks: LabelRanks, k: Int, ties: str) -> tuple[Int, Int]:
    """How many relevant labels are among the k best of each instance, as numerators and denominators; `k` per instance."""
    if ties != "average":
        inside = positions(ranks, ties) <= k[ranks.rows]
        return ranks.sums(inside.astype(np.int64)), np.ones(len(k), dtype=np.int64)
    room = tied_positions_within(ranks, k)
    split = (room > 0) & (room < ranks.tied)
    cut = np.ones(len(k), dtype=np.int64)
    cut[ranks.rows[split]] = ranks.tied[split]  # one group of an instance at most lies across the k-th position
    whole = ranks.sums((room == ranks.tied).astype(np.int64))
    return whole * cut + ranks.sums(np.where(split, room, 0)), cut


def tied_positions_within(ranks: LabelRanks, k: Int) -> Int:
    """How many of the k best positions fall to the labels tied with each relevant label, itself included."""
    return np.asarray(np.clip(k[ranks.rows] - ranks.above, 0, ranks.tied))


def hit_probability(ranks: LabelRanks, k: int, ties: str) -> tuple[Integers, Integers]:
    """Whether any relevant label of each instance is among the k best, as numerators and denominators.

    Under `average` its probability: of t tied labels, g of them relevant, r of which are among the k best, all r are
    wrong with the probability C(t-g, r) / C(t, r). Only the best relevant labels matter: those below are out of reach
    where these are split.
    """
    limit = np.full(len(ranks.sizes), k, dtype=np.int64)
    if ties != "average":
        hits, ones = hits_within(ranks, limit, ties)
        return np.minimum(hits, 1), ones
    first = ranks.best_label_rows
    room, tied, among = tied_positions_within(ranks, limit)[first], ranks.tied[first], ranks.relevant_tied[first]
    numerator, denominator = (room > 0).astype(np.int64), np.ones(len(first), dtype=np.int64)
    split = (room > 0) & (room < tied)
    numerator[split], denominator[split] = room[split], tied[split]
    above, below = ranks.expand_to_instances(numerator, 0), ranks.expand_to_instances(denominator, 1)
    several = np.flatnonzero(split & (among > 1))
    if not len(several):
        return above, below
    exact, whole = above.astype(object), below.astype(object)
    rows = ranks.rows[first[several]].tolist()
    for row, r, t, g in zip(rows, *(part[several].tolist() for part in (room, tied, among)), strict=True):
        whole[row] = comb(t, r)
        exact[row] = whole[row] - comb(t - g, r)
    return exact, whole


Terms = tuple[Int, Integers, Integers]
"""Of each term its instance, its numerator and its denominator."""


def precisions_within(ranks: LabelRanks, k: int, ties: str) -> list[Callable[[], Terms]]:
    """The precision at each relevant label among the k best, in parts that are made when they are asked for.

    Under `average` there is a term for each position that a relevant label may take: of t tied labels, g of them
    relevant, with h relevant ones above, position j of them (from 0) holds one with the probability g / t, and the
    expected number of those before it is then h + j (g-1) / (t-1). How many terms there are follows from where the relevant
    labels stand, so all of them together might take more memory than there is, and tell so.
    """
    if ties != "average":
        position = positions(ranks, ties)
        number = ranks.relevant_above + (
            ranks.relevant_tied - ranks.order_in_tie if ties == "last" else ranks.order_in_tie + 1
        )
        inside = position <= k
        return [lambda: (ranks.rows[inside], number[inside], position[inside])]
    groups = np.flatnonzero((ranks.order_in_tie == 0) & (ranks.above < k))
    before = np.cumsum(np.minimum(ranks.tied[groups], k - ranks.above[groups]))
    starts = np.flatnonzero(np.diff(before // _MAX_TERMS_PER_PART, prepend=-1))
    return [partial(_expected_precisions, ranks, k, each) for each in np.split(groups, starts[1:])]


def _expected_precisions(ranks: LabelRanks, k: int, groups: Int) -> Terms:
    length = np.minimum(ranks.tied[groups], k - ranks.above[groups])
    at = np.repeat(groups, length)
    j = np.arange(len(at)) - np.repeat(np.cumsum(length) - length, length)
    t, g, h = ranks.tied[at], ranks.relevant_tied[at], ranks.relevant_above[at]
    others = np.maximum(t - 1, 1)
    return ranks.rows[at], g * ((h + 1) * others + j * (g - 1)), t * others * (ranks.above[at] + j + 1)


def first_positions(ranks: LabelRanks, ties: str) -> Int:
    """The position of the best relevant label of each instance under a rule that decides; NOWHERE where there is none."""
    if not len(ranks.rows):
        return np.full(len(ranks.sizes), UNLISTED, dtype=np.int64)
    return ranks.expand_to_instances(np.minimum.reduceat(positions(ranks, ties), ranks.best_label_rows), UNLISTED)


def best_relevant_labels(ranks: LabelRanks) -> tuple[Int, Int, dict[tuple[int, int, int], list[int]]]:
    """Where the best relevant label of each instance that has one stands.

    Instances in which only relevant labels are tied with it, and how many labels are above it there; the others by how
    many labels are above it, are tied with it, and of these are relevant.
    """
    first = ranks.best_label_rows[ranks.above[ranks.best_label_rows] < UNLISTED]
    sure = ranks.tied[first] == ranks.relevant_tied[first]
    others: dict[tuple[int, int, int], list[int]] = {}
    columns = (part[first[~sure]].tolist() for part in (ranks.rows, ranks.above, ranks.tied, ranks.relevant_tied))
    for row, *key in zip(*columns, strict=True):
        others.setdefault((key[0], key[1], key[2]), []).append(row)
    return ranks.rows[first[sure]], ranks.above[first[sure]], others


def expected_reciprocal_rank(above: int, tied: int, among: int) -> Real:
    """The expected reciprocal of the position of the best relevant label, of `tied` labels of which `among` are relevant.

    Of t tied labels, g of them relevant, the first relevant one is the x-th with the probability C(t-x, g-1) / C(t, g).
    """
    ways, whole = [comb(tied - 1, among - 1)], comb(tied, among)
    for x in range(2, tied - among + 2):
        ways.append(ways[-1] * (tied - x - among + 2) // (tied - x + 1))
    places = range(above + 1, above + 1 + len(ways))
    return quotient_sum(np.array(ways, dtype=object), np.array([whole * place for place in places], dtype=object))
