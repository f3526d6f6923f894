"""Tie rules: the positions of relevant labels in a ranking with ties, or the expected value over all orders.

`worst` ranks tied labels that are not relevant first, `best` the relevant ones. `declared` ranks the label declared
earlier first, `last` the one declared later. `average` is the expected value if every order of the tied labels is
equally likely (McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence
of tied scores).
"""

from collections.abc import Callable
from functools import partial
from math import comb

import numpy as np

from app.scoring.label_ranking import UNLISTED, Int, LabelRanks
from app.scoring.numeric.correct_rounding import Real, quotient_sum
from app.scoring.numeric.exact import Integers

_MAX_TERMS_PER_PART = 1 << 18
"""Terms computed together; a part may exceed this by the terms of one group of tied labels."""

TIE_RULES = ("worst", "best", "declared", "last", "average")


def positions(ranks: LabelRanks, ties: str, order_in_tie: Int | None = None) -> Int:
    """The position, from 1, of each relevant label under a rule other than `average`; above UNLISTED if not listed.

    `order_in_tie` replaces the order of the relevant labels tied with each other (from 0), by default that of the
    classes.
    """
    order = ranks.order_in_tie if order_in_tie is None else order_in_tie
    if ties == "worst":
        return np.asarray(ranks.above + ranks.tied - ranks.relevant_tied + order + 1)
    if ties == "best":
        return np.asarray(ranks.above + order + 1)
    if ties == "declared":
        return np.asarray(ranks.above + ranks.tied_declared_earlier + 1)
    return np.asarray(ranks.above + ranks.tied - ranks.tied_declared_earlier)


def hits_within(ranks: LabelRanks, k: Int, ties: str) -> tuple[Int, Int]:
    """The number of relevant labels among the k best, as exact quotients: numerators and denominators per instance.

    `k` has one number per instance. Under `average`, each label of a tie that extends beyond position k is among the k
    best with the probability (positions of the tie within k) / (labels of the tie).
    """
    if ties != "average":
        inside = positions(ranks, ties) <= k[ranks.rows]
        return ranks.sums(inside.astype(np.int64)), np.ones(len(k), dtype=np.int64)
    available = tied_positions_within(ranks, k)
    split = (available > 0) & (available < ranks.tied)
    denominator = np.ones(len(k), dtype=np.int64)
    denominator[ranks.rows[split]] = ranks.tied[split]  # at most one tie of an instance extends beyond position k
    certain = ranks.sums((available == ranks.tied).astype(np.int64))
    return certain * denominator + ranks.sums(np.where(split, available, 0)), denominator


def tied_positions_within(ranks: LabelRanks, k: Int) -> Int:
    """For each relevant label, how many of the k best positions its tie occupies, its own position included."""
    return np.asarray(np.clip(k[ranks.rows] - ranks.above, 0, ranks.tied))


def hit_probability(ranks: LabelRanks, k: int, ties: str) -> tuple[Integers, Integers]:
    """The probability that any relevant label of an instance is among the k best, as exact quotients.

    Under `average`: if r positions of a tie of t labels, g of them relevant, are among the k best, none of these r is
    relevant with the probability C(t-g, r) / C(t, r). Only the best relevant label and its tie matter: if its tie
    extends beyond position k, all labels below are beyond k too.
    """
    limit = np.full(len(ranks.sizes), k, dtype=np.int64)
    if ties != "average":
        hits, ones = hits_within(ranks, limit, ties)
        return np.minimum(hits, 1), ones
    first = ranks.best_label_rows
    available, tied = tied_positions_within(ranks, limit)[first], ranks.tied[first]
    numerator, denominator = (available > 0).astype(np.int64), np.ones(len(first), dtype=np.int64)
    split = (available > 0) & (available < tied)
    numerator[split], denominator[split] = available[split], tied[split]
    above, below = ranks.expand_to_instances(numerator, 0), ranks.expand_to_instances(denominator, 1)
    several = np.flatnonzero(split & (ranks.relevant_tied[first] > 1))
    if not len(several):
        return above, below
    above, below = above.astype(object), below.astype(object)  # binomial coefficients may exceed int64
    columns = ranks.rows[first], available, tied, ranks.relevant_tied[first]
    for row, r, t, g in zip(*(column[several].tolist() for column in columns), strict=True):
        below[row] = comb(t, r)
        above[row] = below[row] - comb(t - g, r)
    return above, below


Terms = tuple[Int, Integers, Integers]
"""The instance, the numerator and the denominator of each term."""


def precisions_within(ranks: LabelRanks, k: int, ties: str) -> list[Callable[[], Terms]]:
    """The precision at each relevant label among the k best, in parts that are computed when they are called.

    Under `average` there is a term for each position that a relevant label may take. In a tie of t labels, g of them
    relevant, with h relevant ones above it, position j (from 0) has a relevant label with the probability g / t, and
    the expected number of relevant labels before it is then h + j (g-1) / (t-1). The number of terms depends on the
    positions of the relevant labels. Computed all at once, they could exceed the memory, and the failure would reveal
    gold labels.
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
    return [partial(_expected_precisions, ranks, k, part) for part in np.split(groups, starts[1:])]


def _expected_precisions(ranks: LabelRanks, k: int, groups: Int) -> Terms:
    length = np.minimum(ranks.tied[groups], k - ranks.above[groups])
    at = np.repeat(groups, length)
    j = np.arange(len(at)) - np.repeat(np.cumsum(length) - length, length)
    t, g, h = ranks.tied[at], ranks.relevant_tied[at], ranks.relevant_above[at]
    others = np.maximum(t - 1, 1)
    return ranks.rows[at], g * ((h + 1) * others + j * (g - 1)), t * others * (ranks.above[at] + j + 1)


def first_positions(ranks: LabelRanks, ties: str) -> Int:
    """The position of each instance's best relevant label under a rule other than `average`; UNLISTED if it has none."""
    if not len(ranks.rows):
        return np.full(len(ranks.sizes), UNLISTED, dtype=np.int64)
    return ranks.expand_to_instances(np.minimum.reduceat(positions(ranks, ties), ranks.best_label_rows), UNLISTED)


def best_relevant_labels(ranks: LabelRanks) -> tuple[Int, Int, dict[tuple[int, int, int], list[int]]]:
    """The rank of the best relevant label of each instance that has a listed one.

    The first two results are the instances where only relevant labels are tied with it, and how many labels are above
    it. The third groups the other instances by the number of labels above it, tied with it, and relevant and tied.
    """
    first = ranks.best_label_rows[ranks.above[ranks.best_label_rows] < UNLISTED]
    certain = ranks.tied[first] == ranks.relevant_tied[first]
    others: dict[tuple[int, int, int], list[int]] = {}
    columns = (part[first[~certain]].tolist() for part in (ranks.rows, ranks.above, ranks.tied, ranks.relevant_tied))
    for row, *key in zip(*columns, strict=True):
        others.setdefault((key[0], key[1], key[2]), []).append(row)
    return ranks.rows[first[certain]], ranks.above[first[certain]], others


def expected_reciprocal_rank(above: int, tied: int, relevant_tied: int) -> Real:
    """The expected reciprocal position of the best relevant label, with this many labels above it and tied with it.

    Of t tied labels, g of them relevant, the first relevant one is the x-th with the probability C(t-x, g-1) / C(t, g).
    """
    ways, all_ways = [comb(tied - 1, relevant_tied - 1)], comb(tied, relevant_tied)
    for x in range(2, tied - relevant_tied + 2):  # each coefficient from the one before; the division is exact
        ways.append(ways[-1] * (tied - x - relevant_tied + 2) // (tied - x + 1))
    divisors = [all_ways * position for position in range(above + 1, above + 1 + len(ways))]
    return quotient_sum(np.array(ways, dtype=object), np.array(divisors, dtype=object))
