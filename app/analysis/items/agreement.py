"""How far systems agree with each other: the rate of equal answers, Cohen's kappa, shared errors, and Fleiss' kappa.

Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20, 37-46,
equation 1; Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76, 378-382,
equations 1-7. No answer is a category of its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.analysis.items.answers import AnswerMatrix
from app.analysis.items.difficulty import Votes

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of S × S pairs of systems on n instances.

    `equal`: with the same answer; `expected`: n² times the share expected from how often each system gives each answer;
    `both_wrong`: on which both are wrong; `same_wrong`: with the same wrong answer.
    """

    n: int
    equal: Int
    expected: Int
    both_wrong: Int
    same_wrong: Int
    wrong: Int
    """How many instances each system gets wrong."""
    fleiss: float | None
    """Fleiss' kappa over all systems; None where all give one answer throughout, or with fewer than two systems."""

    def rate(self, a: int, b: int) -> float:
        """The share of instances on which two systems give the same answer."""
        return int(self.equal[a, b]) / self.n

    def kappa(self, a: int, b: int) -> float | None:
        """Cohen's kappa of two systems; None where agreement by chance is certain."""
        expected = int(self.expected[a, b])
        whole = self.n * self.n
        return None if expected == whole else (self.n * int(self.equal[a, b]) - expected) / (whole - expected)

    def error_overlap(self, a: int, b: int) -> float | None:
        """Of the instances that at least one of two systems gets wrong, the share that both do; None without errors."""
        both = int(self.both_wrong[a, b])
        either = int(self.wrong[a]) + int(self.wrong[b]) - both
        return both / either if either else None


def measure_agreement(matrix: AnswerMatrix, votes: Votes) -> Agreement:
    """Compare all pairs of systems: S² · n comparisons of codes, one row of the matrix at a time."""
    systems, n = matrix.codes.shape
    equal, both, same = (np.zeros((systems, systems), dtype=np.int64) for _ in range(3))
    wrong = ~matrix.right
    for a in range(systems):
        alike = matrix.codes[a:] == matrix.codes[a]
        shared = wrong[a:] & wrong[a]
        for table, found in ((equal, alike), (both, shared), (same, alike & shared)):
            table[a, a:] = table[a:, a] = np.count_nonzero(found, axis=1)
    used = np.unique(votes.answers) + 1
    places = np.zeros(len(matrix.texts) + 1, dtype=np.int64)
    places[used] = np.arange(len(used))
    margins = np.stack([np.bincount(places[row + 1], minlength=len(used)) for row in matrix.codes]).astype(np.int64)
    return Agreement(
        n, equal, margins @ margins.T, both, same, wrong.sum(axis=1, dtype=np.int64), fleiss_kappa(votes, systems, n)
    )


def fleiss_kappa(votes: Votes, systems: int, n: int) -> float | None:
    """Fleiss' kappa of S systems on n instances, from integer counts; None where it is undefined."""
    if systems < 2:
        return None
    pairs = int((votes.counts * (votes.counts - 1)).sum())
    observed = pairs / (n * systems * (systems - 1))
    totals = np.bincount(votes.answers + 1, weights=votes.counts).astype(np.int64)
    squares, whole = sum(count * count for count in totals.tolist()), (n * systems) ** 2
    return None if squares == whole else (observed - squares / whole) / (1 - squares / whole)
