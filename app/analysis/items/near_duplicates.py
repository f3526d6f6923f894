"""Pairs of systems whose errors are the same: files that were copied or changed a little.

Accurate systems agree on almost everything because they are right, so agreement on right answers is evidence of
nothing. What is counted is errors in common: instances on which both give the same wrong answer. This is the idea of
indices of answer copying (Frary, Tideman and Watts, 1977, Indices of cheating on multiple-choice tests, Journal of
Educational Statistics 2, 235-256; Wollack, 1997, A nominal response model approach for detecting answer copying, Applied
Psychological Measurement 21, 307-320). Two systems may also share an error because the instance is hard and one wrong
answer is tempting. So the expectation under independence is computed instance by instance from all other systems:

- w: the share of the other systems that are wrong there, (wrong + 1/2) / (others + 1)
- g: the probability that two wrong answers are the same, the sum of the squared shares of the wrong answers of the
  others; 1 where none is wrong, which makes the expectation larger and accuses nobody
- the probability that system a is wrong there: its number of errors, spread over the instances in proportion to w

The expected number of common errors is the sum over the instances of P(a wrong) P(b wrong) g; the variance that of
independent events of these probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from app.analysis.items.agreement import Agreement, measure_agreement
from app.analysis.items.answers import AnswerMatrix
from app.analysis.items.difficulty import Votes

NEAR = 0.8
"""The share of equal errors from which a pair is reported."""
MIN_DEVIATIONS = 5.0
"""How many standard deviations above the expectation a reported pair is at least."""
LISTED = 20
"""How many pairs are listed at least."""
MAX_PAIRS = 1000
"""How many pairs are listed at most."""
MIN_ERRORS = 10
"""How many instances at least one of the two gets wrong; with fewer no file says enough."""
Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ErrorPair:
    """Two systems, by position: on how many instances either is wrong, both are, and both give the same wrong answer."""

    a: int
    b: int
    identical: bool
    """Whether all answers, and the scores where there are some, are the same."""
    equal: int
    """On how many instances they give the same answer."""
    either_wrong: int
    both_wrong: int
    same_wrong: int
    expected: float
    deviations: float | None
    """How many standard deviations `same_wrong` is above its expectation; None where its variance is 0."""

    @property
    def overlap(self) -> float | None:
        """Of the instances that either gets wrong, the share with the same wrong answer; None without errors."""
        return self.same_wrong / self.either_wrong if self.either_wrong else None

    @property
    def reported(self) -> bool:
        """Whether this is more than independent systems have in common; identical files without errors may be so."""
        if self.identical:
            return True
        if self.overlap is None or self.either_wrong < MIN_ERRORS:
            return False
        return self.overlap >= NEAR and (self.deviations is None or self.deviations >= MIN_DEVIATIONS)


def compare_errors(
    matrix: AnswerMatrix, votes: Votes, teams: Sequence[str], listed: int = LISTED
) -> tuple[list[ErrorPair], int]:
    """Pairs of systems of different teams, those with the largest share of equal errors first; and how many there are.

    The list ends after `listed` pairs, or after the last one that shares enough errors to be reported, but after at most
    MAX_PAIRS; the expectation, which takes most of the time, is computed for these alone.
    """
    found = measure_agreement(matrix, votes)
    pairs = [(a, b) for a, b in combinations(range(len(matrix.systems)), 2) if teams[a] != teams[b]]
    errors = _Errors(matrix, votes, found)
    pairs.sort(key=lambda pair: errors.order(*pair))
    enough = sum(errors.is_candidate(a, b) for a, b in pairs)
    return [errors.pair(a, b) for a, b in pairs[: max(listed, min(enough, MAX_PAIRS))]], len(pairs)


class _Errors:
    """The wrong answers of all systems, and what is counted once for all pairs."""

    def __init__(self, matrix: AnswerMatrix, votes: Votes, found: Agreement) -> None:
        self._matrix, self._found = matrix, found
        self._wrong = ~matrix.right
        self._systems, n = matrix.codes.shape
        counts = np.where(votes.right, 0, votes.counts)
        self._all_wrong = self._wrong.sum(axis=0, dtype=np.int64)
        self._squares = np.add.reduceat(counts * counts, votes.starts[:-1])[:n]
        self._own = self._votes_for(votes)

    def _votes_for(self, votes: Votes) -> NDArray[np.int32]:
        """How many systems gave the answer of each system on each instance (S × n)."""
        width = len(self._matrix.texts) + 1
        keys = votes.rows * width + votes.answers + 1
        order = np.argsort(keys)
        base = np.arange(self._matrix.codes.shape[1]) * width + 1
        found = np.empty(self._matrix.codes.shape, dtype=np.int32)
        for row, codes in enumerate(self._matrix.codes):
            found[row] = votes.counts[order[np.searchsorted(keys, base + codes, sorter=order)]]
        return found

    def _identical(self, a: int, b: int) -> bool:
        return self._matrix.contents[a] == self._matrix.contents[b]

    def _overlap(self, a: int, b: int) -> float:
        either = self._either_wrong(a, b)
        return int(self._found.same_wrong[a, b]) / either if either else 0.0

    def _either_wrong(self, a: int, b: int) -> int:
        return int(self._found.wrong[a] + self._found.wrong[b] - self._found.both_wrong[a, b])

    def order(self, a: int, b: int) -> tuple[bool, float, int, int, int]:
        """The sort key of a pair: identical files, then the largest share and number of equal errors."""
        return not self._identical(a, b), -self._overlap(a, b), -int(self._found.same_wrong[a, b]), a, b

    def is_candidate(self, a: int, b: int) -> bool:
        """Whether a pair shares enough errors to be reported, whatever is expected."""
        return self._identical(a, b) or self._overlap(a, b) >= NEAR

    def pair(self, a: int, b: int) -> ErrorPair:
        """The pair with its expectation."""
        wrong, count = self._wrong, int(self._found.same_wrong[a, b])
        same = (self._matrix.codes[a] == self._matrix.codes[b]) & wrong[a]
        expected, variance = self._expectation(a, b, same)
        return ErrorPair(
            a,
            b,
            self._identical(a, b),
            int(self._found.equal[a, b]),
            self._either_wrong(a, b),
            int(self._found.both_wrong[a, b]),
            count,
            expected,
            (count - expected) / variance**0.5 if variance > 0 else None,
        )

    def _expectation(self, a: int, b: int, same: NDArray[np.bool_]) -> tuple[float, float]:
        """The expected number of common errors of two systems if they were independent, and its variance."""
        others = self._systems - 2
        left = self._all_wrong - self._wrong[a] - self._wrong[b]
        squares = self._squares.copy()
        for system in (a, b):  # (c - 1)² is c² less 2c - 1
            squares -= np.where(self._wrong[system], 2 * self._own[system].astype(np.int64) - 1, 0)
        squares += np.where(same, 2, 0)  # (c - 2)² is c² less 4c - 4: the two above took 4c - 2
        share = (left + 0.5) / (others + 1)
        alike = np.ones(len(share))
        np.divide(squares, left * left, out=alike, where=left > 0)
        spread = float(share.sum())
        chances = [np.minimum(1.0, share * (int(self._wrong[each].sum()) / spread)) for each in (a, b)]
        probability = chances[0] * chances[1] * alike
        return float(probability.sum()), float((probability * (1 - probability)).sum())
