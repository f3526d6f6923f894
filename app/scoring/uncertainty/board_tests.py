"""Exact tests of pairs of rows of a board, for small samples: McNemar for accuracy, else approximate randomization."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.tally import EvaluationContext
from app.scoring.uncertainty.exchange import Pair as SystemPair
from app.scoring.uncertainty.pair_tests import McNemarTests, SignFlipTests
from app.scoring.uncertainty.paired import derive_parts, is_right, seen_content
from app.scoring.uncertainty.randomization import MAX_ENUMERATED_UNITS, ROUNDS, Randomization, RandomizationTest
from app.scoring.uncertainty.rank_scores import seen_by
from app.scoring.uncertainty.resampling import group_places
from app.scoring.uncertainty.seeds import derive_seed, random_source
from app.scoring.uncertainty.small_samples import Confirm, Pair, PairTest, holm, holm_levels

ACCURACY_KEYS = frozenset({"accuracy", "error_rate"})
MAX_ROUNDS = 1_000_000
"""Rounds of one pair."""
MAX_ROW_ROUNDS = 10**10
"""Rows of differing outputs × rounds of all pairs after the first 9,999 rounds: about 20 seconds of CPU."""
MAX_FIRST_ROW_ROUNDS = 4 * 10**10
"""The same for the first rounds; where it is exceeded there are fewer, and few pairs can be shown to differ."""
_FEWEST_ROUNDS = 199
_ROUNDS_PER_LEVEL = 2  # so many rounds for each 1 / level: a p-value of half the level can be told from it


class BoardTests:
    """The tests of a board's pairs for one metric; `cases` have the instances in the order of `ids`."""

    def __init__(
        self, cases: Sequence[EvaluationInput], ids: Sequence[str], call: MetricCall, *, draw_seed: str, split: str
    ) -> None:
        self._cases, self._call = cases, call
        self._draw_seed, self._split = draw_seed, split
        self._ids = ids
        self._contents: dict[tuple[int, int], str] = {}

    def test(self, pairs: Sequence[Pair], family: int) -> list[PairTest]:
        """The tests of these pairs, in their order, of a family of so many pairs."""
        if self._call.metric.key in ACCURACY_KEYS:
            return list(self._accuracy_tests()(pairs, family))
        rows = sum(max(1, self._differing(pair)) for pair in pairs)
        rounds = max(_FEWEST_ROUNDS, min(ROUNDS, MAX_FIRST_ROW_ROUNDS // max(1, rows)))
        tests = {pair: self._randomize(pair, rounds) for pair in pairs}
        again = [] if rounds < ROUNDS else self._undecided(tests, family)
        level = holm(tests, family)[1]
        rows = sum(max(1, self._differing(pair)) for pair in again)
        rounds = min(math.ceil(_ROUNDS_PER_LEVEL / level), MAX_ROUNDS, MAX_ROW_ROUNDS // max(1, rows))
        if rounds > ROUNDS:
            tests |= {pair: self._randomize(pair, rounds) for pair in again}
        return [tests[pair] for pair in pairs]

    def _accuracy_tests(self) -> Confirm:
        """Tests of right answers: exact McNemar, or random signs of the totals of groups or weights."""
        right = np.array([is_right(EvaluationContext(case)) for case in self._cases])
        first = self._cases[0]
        if first.weights is None and first.groups is None:
            return McNemarTests(right)
        totals = right.astype(np.float64) if first.weights is None else right * first.weights.astype(np.float64)
        if first.groups is not None:
            groups = group_places(first.groups)
            order = np.argsort(groups.of_row, kind="stable")
            totals = np.add.reduceat(totals[:, order], groups.starts, axis=1)
        return SignFlipTests(totals, derive_seed(self._draw_seed, "pair", self._split, self._call.text))

    def _undecided(self, tests: dict[Pair, PairTest], family: int) -> list[Pair]:
        """The pairs to test with more rounds, if these may confirm any: the confirmed ones too, so that each has one look."""
        confirmed, level = holm(tests, family)
        expected = ROUNDS * holm_levels(family, len(tests)).loosest
        likely = (expected + 5 * math.sqrt(expected) + 5 + 1) / (ROUNDS + 1)
        close = {pair: test for pair, test in tests.items() if test.rounds is not None and test.p_value <= likely}
        more = any(pair not in confirmed and test.p_value > level for pair, test in close.items())
        return list(close) if more else []

    def _differing(self, pair: Pair) -> int:
        return self._pair(pair)[0].discordant

    def _pair(self, pair: Pair) -> tuple[SystemPair, list[str]]:
        """Both systems as the metric sees them, in the order of their content, and the content hashes."""
        first, second = (self._cases[row] for row in pair)
        systems = SystemPair.of(first, second, seen_by(self._call, first))
        contents = [
            self._content(row, case, systems) for row, case in zip(pair, (systems.first, systems.second), strict=True)
        ]
        if contents[1] < contents[0]:
            systems = replace(systems, first=systems.second, second=systems.first)
        return systems, contents

    def _content(self, row: int, case: EvaluationInput, systems: SystemPair) -> str:
        key = row, 0 if case.scores is None else case.scores.shape[1]
        if key not in self._contents:
            self._contents[key] = seen_content(case, self._ids, systems.seen)
        return self._contents[key]

    def _randomize(self, pair: Pair, rounds: int) -> PairTest:
        systems, contents = self._pair(pair)
        seed, _ = derive_parts(self._draw_seed, self._split, self._call.text, contents)
        found = Randomization(systems).test(self._call, random_source(seed), rounds)
        return PairTest(found.p_value, _smallest(systems, found), None if found.exact else found.rounds)


def _smallest(pair: SystemPair, test: RandomizationTest) -> float:
    """The smallest p-value that the units and rounds can give: the identity and its mirror always reach it."""
    if test.exact or pair.units <= MAX_ENUMERATED_UNITS:
        return min(1.0, 2.0 ** (1 - pair.units))
    return max(1 / (test.rounds + 1), 2.0 ** (1 - min(pair.units, 1_000)))
