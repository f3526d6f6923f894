"""Tests of pairs of rows by what each row gets on each instance or group: exact where possible, else by random signs.

Under the null hypothesis the two systems are exchangeable: on each instance, or in each group as a whole, their results
may be swapped. Then the difference d of each unit has a random sign, and p is the share of signs for which the sum of
all differences is at least as far from 0 as the one observed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.uncertainty.seeds import random_source
from app.scoring.uncertainty.small_samples import Pair, PairTest, exact_mcnemar, holm, holm_levels

Floats = NDArray[np.float64]
ROUNDS = 9_999
"""Random rounds of one pair; more where the adjusted level needs them."""
MAX_PAIR_ROUNDS = 10**9
_MAX_OPERATIONS = 3 * 10**10  # of all random rounds after the first: a few seconds
_ROUNDS_PER_LEVEL = 2  # so many rounds for each 1 / level: a p-value of half the level can be told from it
_ENUMERATED = 16  # up to so many units that differ, all signs are tried
_MAX_EXACT_STEPS = 4_000_000  # of the exact distribution of a sum of whole numbers
_TOLERANCE = 1e-12  # sums this close to the observed one count as reaching it
_GAUSSIAN_BOUND = 3.18
"""P(Σ ε_i d_i ≥ x) ≤ 3.18 · P(Z ≥ x) for Σ d_i² = 1 and a standard normal Z (Bentkus & Dzindzalieta 2015)."""
_BLOCK = 2_048


class McNemarTests:
    """Exact McNemar tests of right and wrong (T × n of 0 and 1)."""

    def __init__(self, right: NDArray[np.integer] | NDArray[np.bool_]) -> None:
        plain = right.astype(np.float64)  # a product of whole numbers, exact in binary64
        self._only = np.rint(plain @ (1 - plain).T).astype(np.int64)

    def __call__(self, pairs: Sequence[Pair], family: int) -> list[PairTest]:
        """The tests of these pairs; the size of the family does not matter."""
        del family
        return [self._test(*pair) for pair in pairs]

    def _test(self, first: int, second: int) -> PairTest:
        counts = int(self._only[first, second]), int(self._only[second, first])
        return PairTest(exact_mcnemar(*counts), _smallest(sum(counts)))


@dataclass(frozen=True, slots=True)
class _Pair:
    """A pair to test by random signs: its differences (units,), and how far their sum is from 0."""

    differences: Floats
    distance: float

    @property
    def reached(self) -> float:
        """The distance that a random sum has to reach."""
        return self.distance - _TOLERANCE * math.fsum(np.abs(self.differences))


class SignFlipTests:
    """Randomization tests of sums: `totals` (T × units) has the sum of each row over each instance or group.

    All pairs share the random signs, which follow from the seed. Where an upper bound of the exact p-value is below what
    rounds could show, the bound is the p-value.
    """

    def __init__(self, totals: Floats, seed: bytes) -> None:
        self._totals, self._seed = totals, seed

    def __call__(self, pairs: Sequence[Pair], family: int) -> list[PairTest]:
        """The tests of these pairs, of a family of so many."""
        open_pairs: dict[Pair, _Pair] = {}
        tests: dict[Pair, PairTest] = {}
        for first, second in pairs:
            differences = self._totals[first] - self._totals[second]
            pair = _Pair(differences, abs(math.fsum(differences)))
            known = exact_test(differences)
            bound = _upper_bound(pair)
            if known is not None:
                tests[first, second] = known
            elif bound <= min(holm_levels(family, len(pairs)).strictest, 1 / (ROUNDS + 1)):
                tests[first, second] = PairTest(bound, bound)
            else:
                open_pairs[first, second] = pair
        tests |= self._random_tests(open_pairs, tests, family)
        return [tests[pair] for pair in pairs]

    def _random_tests(self, pairs: dict[Pair, _Pair], known: dict[Pair, PairTest], family: int) -> dict[Pair, PairTest]:
        """First some rounds for all pairs; then more for those that may be confirmed but have not reached the level."""
        if not pairs:
            return {}
        loosest = holm_levels(family, len(known) + len(pairs)).loosest
        counts = dict(zip(pairs, self._count(list(pairs.values()), ROUNDS), strict=True))
        tests = {pair: _by_rounds(count, ROUNDS, pairs[pair]) for pair, count in counts.items()}
        level = holm(known, family)[1]  # the strictest that is left
        expected = ROUNDS * loosest
        likely = expected + 5 * math.sqrt(expected) + 5  # a pair with more will not be confirmed
        close = [pair for pair in pairs if counts[pair] <= likely]
        # Pairs that have reached the level are tested again with the others, so that each has one look.
        again = close if any(tests[pair].p_value > level for pair in close) else []
        wanted = math.ceil(_ROUNDS_PER_LEVEL / level)
        units = self._totals.shape[1]
        most = min(MAX_PAIR_ROUNDS, _MAX_OPERATIONS // max(1, units)) // max(1, len(again))
        rounds = min(wanted, most)
        if again and rounds > ROUNDS:
            more = self._count([pairs[pair] for pair in again], rounds)
            tests |= {pair: _by_rounds(count, rounds, pairs[pair]) for pair, count in zip(again, more, strict=True)}
        return tests

    def _count(self, pairs: Sequence[_Pair], rounds: int) -> list[int]:
        """For each pair, the number of rounds whose sum is at least as far from 0."""
        counts = np.zeros(len(pairs), dtype=np.int64)
        table = np.stack([pair.differences for pair in pairs], axis=1)
        reached = np.array([pair.reached for pair in pairs])
        for signs in _sign_blocks(self._seed, len(table), rounds):
            counts += (np.abs(signs @ table) >= reached).sum(axis=0)
        return [int(count) for count in counts]


def exact_test(differences: Floats) -> PairTest | None:
    """The exact p-value of the differences of all units; None if it would take too long."""
    sizes = np.abs(differences[differences != 0])
    if not len(sizes):
        return PairTest(1.0, 1.0)
    smallest = _smallest(len(sizes))
    if (sizes == sizes[0]).all():
        positive = int((differences > 0).sum())
        return PairTest(exact_mcnemar(positive, len(sizes) - positive), smallest)
    total = abs(math.fsum(differences))
    reached = total - _TOLERANCE * math.fsum(sizes)
    if len(sizes) <= _ENUMERATED:
        sums = sizes[:1]  # by symmetry, the first sign is fixed
        for size in sizes[1:]:
            sums = np.concatenate([sums + size, sums - size])
        return PairTest(int((np.abs(sums) >= reached).sum()) / len(sums), smallest)
    whole = _whole_numbers(sizes)
    if whole is None or len(whole) * int(whole.sum()) > _MAX_EXACT_STEPS:
        return None
    chances = sum_distribution(whole)
    distance = round(total * whole[0] / sizes[0])
    middle = len(chances) // 2
    tail = math.fsum(chances[middle + max(distance, 1) :])
    return PairTest(1.0 if distance == 0 else min(1.0, 2 * tail), smallest)


def sum_distribution(sizes: NDArray[np.int64]) -> Floats:
    """The chance of each sum of whole numbers with random signs, from -Σ to Σ; halves and sums of binary64 only."""
    reach = int(sizes.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for size in np.sort(sizes).tolist():
        halves = chances / 2
        chances = np.zeros_like(halves)
        chances[size:] += halves[: len(halves) - size]
        chances[: len(halves) - size] += halves[size:]
    return chances


def _whole_numbers(sizes: Floats) -> NDArray[np.int64] | None:
    """The sizes divided by their greatest common divisor, if all are whole numbers."""
    if (sizes != np.floor(sizes)).any() or sizes.sum() > _MAX_EXACT_STEPS:
        return None
    whole = sizes.astype(np.int64)
    return whole // int(np.gcd.reduce(whole))


def _smallest(units: int) -> float:
    """The smallest two-sided p-value that so many units that differ can give."""
    return min(1.0, 2.0 ** (1 - units))


def _by_rounds(count: int, rounds: int, pair: _Pair) -> PairTest:
    smallest = max(1 / (rounds + 1), _smallest(int((pair.differences != 0).sum())))
    return PairTest((count + 1) / (rounds + 1), smallest, rounds)


def _upper_bound(pair: _Pair) -> float:
    """An upper bound of the exact two-sided p-value."""
    length = math.sqrt(math.fsum(pair.differences**2))
    if not length:
        return 1.0
    return min(1.0, _GAUSSIAN_BOUND * math.erfc(pair.reached / length / math.sqrt(2)))


def _sign_blocks(seed: bytes, units: int, rounds: int) -> Iterator[Floats]:
    """Random signs (rounds × units), in blocks of rounds; each round begins with a new word."""
    random = random_source(seed)
    words = -(-units // 64)
    for start in range(0, rounds, _BLOCK):
        several = min(_BLOCK, rounds - start)
        raw = random.words(several * words).astype("<u8", copy=False).view(np.uint8).reshape(several, words * 8)
        bits = np.unpackbits(raw, axis=1, count=units, bitorder="little")
        yield 1.0 - 2.0 * bits.astype(np.float64)
