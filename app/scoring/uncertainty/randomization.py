"""Approximate randomization: how often an exchange of the systems' outputs gives a difference as large as theirs.

Source: Noreen 1989, Computer-intensive methods for testing hypotheses; Yeh 2000, More accurate tests for the
statistical significance of result differences. The test is two-sided. With few instances or groups on which the systems
differ, all exchanges are tried and p is their share; else p = (r + 1) / (R + 1) for r of R random rounds.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.draw_context import Counts, Floats, NoDrawForm
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.uncertainty.cells import Int
from app.scoring.uncertainty.draw_values import MAX_BLOCK_CELLS, draw_values
from app.scoring.uncertainty.exchange import DoubledRows, Exchange, Pair, doubled_rows, exchange_blocks
from app.scoring.uncertainty.exchanged_tallies import ExchangedTallies, exchanged_tallies
from app.scoring.uncertainty.seeds import RandomSource

ROUNDS = 9_999
MAX_ENUMERATED_UNITS = 13
"""With at most so many instances or groups that differ, all exchanges are tried."""
_TOLERANCE = 1e-12  # differences this close to the observed one count as reaching it
_MAX_ROW_ROUNDS = 4 * 10**9  # rows × rounds of one metric, if no number of rounds was asked for
_MAX_SLOW_ROW_ROUNDS = 10**8  # the same for a metric that is evaluated round by round
_SLOW_ROWS = 2_000  # that cost as much as one evaluation of any size
_FEWEST_ROUNDS = 199


@dataclass(frozen=True, slots=True)
class RandomizationTest:
    """The two-sided p-value. `rounds`: the exchanges that were tried, all of them if `exact`.

    `undefined` counts those for which the metric is null; they count as reaching the observed difference.
    `differences` are those of all rounds, NaN where the metric is null.
    """

    p_value: float
    rounds: int
    exact: bool
    undefined: int
    differences: Floats

    def spread(self) -> float | None:
        """The root mean square of the differences; None without any. Exact summation makes it slow."""
        usable: Sequence[float] = self.differences[~np.isnan(self.differences)].tolist()
        return math.sqrt(math.fsum(one * one for one in usable) / len(usable)) if usable else None


class _Parts(Protocol):
    """The differences of the parts after exchanges."""

    exchange: Exchange
    rows: int

    def differences(self, call: MetricCall, blocks: Iterable[Int]) -> Floats: ...


class Randomization:
    """Tests of a pair for all metrics that see the same of predictions; what they share is computed once."""

    def __init__(self, pair: Pair, *, merge: bool = True) -> None:
        """`merge`: use cells without gold for metrics of the one-vs-rest counts."""
        self._pair = pair
        self._merge = merge
        self._exact = pair.units <= MAX_ENUMERATED_UNITS
        self._known: dict[str, _Parts | None] = {}

    def test(self, call: MetricCall, source: RandomSource, rounds: int | None = None) -> RandomizationTest:
        """The test of one metric; without `rounds` there are 9,999, fewer if that would take too long."""
        if self._exact:
            parts = self._rows()
            return _exact_test(parts.differences(call, _in_blocks(parts.exchange.every(), parts.rows)))
        merged = self._merged() if self._merge and call.metric.merges_cells else None
        if merged is not None:
            try:
                return _random_test(merged, call, source, rounds or ROUNDS)
            except NoDrawForm:
                pass
        parts = self._rows()
        return _random_test(parts, call, source, rounds or affordable_rounds(call, parts.rows))

    def _rows(self) -> "RowDifferences":
        found = self._known.setdefault("rows", None) or RowDifferences(doubled_rows(self._pair, one_by_one=self._exact))
        self._known["rows"] = found
        assert isinstance(found, RowDifferences)
        return found

    def _merged(self) -> "MergedDifferences | None":
        if "merged" not in self._known:
            tallies = exchanged_tallies(self._pair)
            self._known["merged"] = None if tallies is None else MergedDifferences(tallies)
        found = self._known["merged"]
        assert found is None or isinstance(found, MergedDifferences)
        return found


def affordable_rounds(call: MetricCall, rows: int) -> int:
    """The rounds if none are asked for: 9,999, fewer if so many rounds of these rows would take minutes."""
    if call.metric.compute_draws is None:
        return max(_FEWEST_ROUNDS, min(ROUNDS, _MAX_SLOW_ROW_ROUNDS // (rows + _SLOW_ROWS)))
    return max(_FEWEST_ROUNDS, min(ROUNDS, _MAX_ROW_ROUNDS // max(1, rows)))


class RowDifferences:
    """Differences from rows with multiplicities: right for every metric."""

    def __init__(self, doubled: DoubledRows) -> None:
        self._doubled = doubled
        self.exchange = doubled.exchange
        self.rows = doubled.rows

    def differences(self, call: MetricCall, blocks: Iterable[Int]) -> Floats:
        """The first part's value minus the second's, for each draw of these blocks of exchanges (`Exchange`)."""
        sizes: list[int] = []

        def both() -> Iterator[Counts]:
            for numbers in blocks:
                sizes.append(numbers.shape[1])
                yield from self._doubled.parts(numbers)

        values = draw_values(self._doubled.case, [call], both())[call.text]
        ends = np.cumsum(np.repeat(sizes, 2))[:-1]
        parts = np.split(values, ends)
        return np.concatenate(parts[0::2]) - np.concatenate(parts[1::2])


class MergedDifferences:
    """Differences from the counts of merged cells. Raises NoDrawForm for metrics that need more."""

    def __init__(self, tallies: ExchangedTallies) -> None:
        self._tallies = tallies
        self.exchange = tallies.exchange
        self.rows = tallies.rows

    def differences(self, call: MetricCall, blocks: Iterable[Int]) -> Floats:
        """The first part's value minus the second's, for each draw of these blocks of exchanges (`Exchange`)."""
        form = call.metric.compute_draws
        if form is None:
            raise NoDrawForm
        found = []
        for numbers in blocks:
            try:
                one, other = (form(draws, call) for draws in self._tallies.parts(numbers))
                found.append(one - other)
            except UndefinedError:  # for reasons that do not depend on the draw
                found.append(np.full(numbers.shape[1], np.nan))
        return np.concatenate(found)


def _exact_test(differences: Floats) -> RandomizationTest:
    """The share of all exchanges; the first of them is what was observed."""
    reached, undefined = _reached(differences, differences[0])
    return RandomizationTest(
        reached / len(differences), len(differences), exact=True, undefined=undefined, differences=differences
    )


def _random_test(parts: _Parts, call: MetricCall, source: RandomSource, rounds: int) -> RandomizationTest:
    exchange = parts.exchange
    observed = parts.differences(call, [exchange.identity()])[0]
    blocks = exchange_blocks(exchange, source, rounds, max(1, MAX_BLOCK_CELLS // max(1, parts.rows)))
    differences = parts.differences(call, blocks)
    reached, undefined = _reached(differences, observed)
    return RandomizationTest(
        (reached + 1) / (rounds + 1), rounds, exact=False, undefined=undefined, differences=differences
    )


def _in_blocks(numbers: Int, rows: int) -> Iterator[Int]:
    step = max(1, MAX_BLOCK_CELLS // max(1, rows))
    for start in range(0, numbers.shape[1], step):
        yield numbers[:, start : start + step]


def _reached(differences: Floats, observed: float) -> tuple[int, int]:
    """How many differences are as far from 0 as the observed one, and how many of these are not defined."""
    undefined = int(np.isnan(differences).sum())
    limit = abs(observed) - _TOLERANCE * max(1.0, abs(observed))
    return int((np.abs(differences) >= limit).sum()) + undefined, undefined
