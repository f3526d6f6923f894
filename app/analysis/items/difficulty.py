"""How difficult each instance is, and how well it tells good systems from bad ones: classical test theory.

A system is the examinee, an instance the item, and right or wrong the item score. Difficulty is the share of systems
that are right, discrimination the correlation of the item score with the score on all other items, so that the item
does not correlate with itself: Henrysson (1963), Correction of item-total correlations in item analysis, Psychometrika
28, 211-218; Lord and Novick (1968), Statistical theories of mental test scores, sections 15.3-15.5. Agreement is the
share of agreeing pairs of Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin
76, 378-382, equations 1-7.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.analysis.items.answers import AnswerMatrix

CHUNK = 1 << 21  # answers that are sorted at once
Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Votes:
    """How many systems gave which answer on which instance, by instance, and there the most frequent answer first.

    Equally frequent answers are in the order of their codes. `right` says whether the gold accepts the answer.
    """

    rows: Int
    answers: Int
    counts: Int
    right: NDArray[np.bool_]
    starts: Int
    """The position of the first vote of each of n instances, and the number of votes (n + 1 numbers)."""


@dataclass(frozen=True, slots=True)
class ItemStatistics:
    """Statistics of n instances under S systems; NaN where one is undefined.

    `right`: how many systems are right. `total_correlation`: the point-biserial correlation of right or wrong with the
    number of instances that a system gets right; `discrimination`: with that number over the other instances.
    `agreement`: the share of pairs of systems that gave the same answer; `error_agreement`: among those that are wrong.
    `rival`: how many systems gave the most frequent wrong answer. `suspicion`: `rival` less `right`, as a share of S.
    """

    right: Int
    total_correlation: Float
    discrimination: Float
    agreement: Float
    error_agreement: Float
    rival: Int
    suspicion: Float


def count_votes(matrix: AnswerMatrix) -> Votes:
    """Count the answers on each instance; sorts at most CHUNK answers at once."""
    parts = list(_chunks_of_votes(matrix))
    rows, answers, counts, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    starts = np.searchsorted(rows, np.arange(len(matrix.ids) + 1))
    return Votes(rows, answers, counts, right.astype(np.bool_), starts)


def _chunks_of_votes(matrix: AnswerMatrix) -> Iterator[tuple[Int, Int, Int, NDArray[np.bool_]]]:
    systems, n = matrix.codes.shape
    size, width = max(1, CHUNK // systems), len(matrix.texts) + 1
    for first in range(0, n, size):
        codes = matrix.codes[:, first : first + size].astype(np.int64)
        keys = (codes + 1 + np.arange(codes.shape[1]) * width).ravel()
        found, at, counts = np.unique(keys, return_index=True, return_counts=True)
        rows, answers = np.divmod(found, width)
        order = np.lexsort((answers, -counts, rows))
        right = matrix.right[:, first : first + size].ravel()[at]
        yield rows[order] + first, answers[order] - 1, counts[order].astype(np.int64), right[order]


def item_statistics(matrix: AnswerMatrix, votes: Votes) -> ItemStatistics:
    """The statistics of all instances; every count is an integer until the last division."""
    systems, n = matrix.right.shape
    right = matrix.right.sum(axis=0, dtype=np.int64)
    total, rest = correlations(matrix.right)
    pairs = _sum_by_row(votes, votes.counts * (votes.counts - 1), n)
    wrong_counts = np.where(votes.right, 0, votes.counts)
    wrong_pairs, wrong = _sum_by_row(votes, wrong_counts * (wrong_counts - 1), n), systems - right
    rival = np.maximum.reduceat(wrong_counts, votes.starts[:-1])
    return ItemStatistics(
        right,
        total,
        rest,
        _quotient(pairs, np.full(n, systems * (systems - 1))),
        _quotient(wrong_pairs, wrong * (wrong - 1)),
        rival,
        (rival - right) / systems,
    )


def _sum_by_row(votes: Votes, values: Int, n: int) -> Int:
    return np.add.reduceat(values, votes.starts[:-1])[:n].astype(np.int64)


def _quotient(numerators: Int, denominators: Int) -> Float:
    found = np.full(len(numerators), np.nan)
    np.divide(numerators, denominators, out=found, where=denominators != 0)
    return found


def correlations(right: NDArray[np.bool_]) -> tuple[Float, Float]:
    """The correlation of each item (S × n, right or wrong) with the total of each system, and with the rest of it.

    NaN where the item or what it is compared with is the same for all systems. S times the sum of squares of totals has
    to fit 63 bits, as it does for 1,000 systems on 90 million instances.
    """
    systems = len(right)
    totals = right.sum(axis=1, dtype=np.int64)
    sums = right.sum(axis=0, dtype=np.int64)
    products = np.zeros(right.shape[1], dtype=np.int64)
    for row, total in zip(right, totals.tolist(), strict=True):
        products += row * total
    total = int(totals.sum())
    cross = systems * products - sums * total  # S² times the covariance with the total
    item = systems * sums - sums * sums  # S² times the variance of the item
    whole = systems * int((totals * totals).sum()) - total * total
    return _correlation(cross, item, np.full_like(item, whole)), _correlation(
        cross - item, item, whole - 2 * cross + item
    )


def _correlation(cross: Int, one: Int, other: Int) -> Float:
    """Correlations from S² times covariances and variances."""
    spread = np.sqrt(one.astype(np.float64)) * np.sqrt(other.astype(np.float64))
    found = np.full(len(cross), np.nan)
    np.divide(cross.astype(np.float64), spread, out=found, where=spread > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def order_rows(statistics: ItemStatistics, sort: str) -> Int:
    """The row numbers in this order, undefined values last; equal ones as `suspicion` has them, then by id."""
    keys = {
        "suspicion": (-statistics.suspicion,),
        "right": (statistics.right,),
        "discrimination": (statistics.discrimination,),  # numpy sorts NaN last
        "agreement": (-statistics.error_agreement,),
        "id": (),
    }[sort]
    rows = np.arange(len(statistics.right))
    suspicion = (rows, -np.nan_to_num(statistics.error_agreement), -statistics.suspicion)
    return np.lexsort((rows,) if sort == "id" else (*suspicion, *keys))


def select_rows(statistics: ItemStatistics, systems: int, select: str) -> NDArray[np.bool_]:
    """Which instances belong to a selection.

    `none_right`: no system is right; `all_right`: every one is; `suspect`: more systems give one wrong answer than are
    right; `negative`: discrimination is below 0; `all`: every instance.
    """
    right = statistics.right
    chosen: dict[str, NDArray[np.bool_]] = {
        "all": np.ones(len(right), dtype=np.bool_),
        "none_right": right == 0,
        "all_right": right == systems,
        "suspect": statistics.suspicion > 0,
        "negative": np.nan_to_num(statistics.discrimination) < 0,
    }
    return chosen[select]
