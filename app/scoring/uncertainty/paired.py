"""Two named systems on the same instances: their difference, its interval, and whether it could be chance.

The order in which the systems are named does not matter: they are computed in the order of their content, and turned
round at the end. So swapping them keeps every p-value and mirrors every interval.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from app.errors import InvalidRequest
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.evaluate import evaluate_call
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.tally import EvaluationContext
from app.scoring.uncertainty.bootstrap_interval import Interval
from app.scoring.uncertainty.exchange import Pair
from app.scoring.uncertainty.paired_resampling import RESAMPLES, PairedResampling
from app.scoring.uncertainty.randomization import Randomization, RandomizationTest
from app.scoring.uncertainty.rank_scores import Seen, seen_by
from app.scoring.uncertainty.seeds import derive_seed, random_source
from app.scoring.uncertainty.small_samples import exact_mcnemar

MAX_ROUNDS = 1_000_000
ALPHA, POWER = 0.05, 0.8
SMALLEST_DIFFERENCE_DEFINITION = (
    "The smallest true difference that the test would find at the 5 % level with a probability of 80 %, if the "
    "difference varies as it does under random exchange: (1.96 + 0.84) times its standard deviation there."
)
INSTANCES_EXCHANGEABLE = (
    "The two systems are exchangeable: on each instance it is pure chance which of their two outputs came from which."
)
GROUPS_EXCHANGEABLE = "The two systems are exchangeable: for each group as a whole it is pure chance which of their outputs came from which."
_QUANTILES = NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(POWER)
_TESTS_OF_ACCURACY = "accuracy"
_IDENTICAL = "The two systems give the same outputs for this metric."


@dataclass(frozen=True, slots=True)
class PairComparison:
    """A metric's values `a` and `b` of two systems, and their difference a - b.

    `low` and `high`: the 95 % interval of the difference, by `method`; None with the `interval_reason`. `p_value`: of
    the two-sided randomization test with so many `rounds`, which tried all exchanges if `exact`; None with a `reason`.
    `mcnemar_p`: the exact McNemar test, for accuracy only. `discordant`: the instances on which the systems differ, as
    the metric sees them; `discordant_groups`: the same for groups, None without any. `smallest_difference` is defined
    by SMALLEST_DIFFERENCE_DEFINITION; None if this test set could not show any.
    """

    a: float | None
    b: float | None
    difference: float | None
    discordant: int
    discordant_groups: int | None
    null_hypothesis: str
    low: float | None = None
    high: float | None = None
    method: str | None = None
    interval_reason: str | None = None
    p_value: float | None = None
    rounds: int | None = None
    exact: bool | None = None
    mcnemar_p: float | None = None
    smallest_difference: float | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self) | {"notes": list(self.notes)}

    def reversed(self) -> "PairComparison":
        """The same comparison with the systems named the other way round."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            difference=_negated(self.difference),
            low=_negated(self.high),
            high=_negated(self.low),
        )


def compare_systems(
    case_a: EvaluationInput,
    case_b: EvaluationInput,
    calls: Sequence[MetricCall],
    *,
    draw_seed: str,
    split: str,
    content_a: str,
    content_b: str,
    rounds: int | None = None,
    resamples: int = RESAMPLES,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, PairComparison]:
    """The comparison of two systems by each metric's canonical string; metrics without a single value are left out.

    Both inputs have the same gold, with rows in the order of the ids. `content_a` and `content_b` are the content hashes
    of the predictions (app.scoring.uncertainty.seeds). Groups of the input are exchanged and resampled whole. Without
    `rounds` there are 9,999, fewer for metrics that would take too long. `progress` gets the metrics done and their
    number. Raises InvalidRequest for fewer than one round.
    """
    check_rounds(rounds)
    case_a, case_b = case_a.without_zero_weights(), case_b.without_zero_weights()
    backwards = content_b < content_a
    cases = (case_b, case_a) if backwards else (case_a, case_b)
    contents = sorted((content_a, content_b))
    comparer = _Comparer(*cases, rounds, resamples)
    scalar = [call for call in calls if call.metric.scalar]
    found = {}
    for done, call in enumerate(scalar):
        progress(done, len(scalar))
        comparison = comparer.compare(call, derive_parts(draw_seed, split, call.text, contents))
        found[call.text] = comparison.reversed() if backwards else comparison
    progress(len(scalar), len(scalar))
    return found


def check_rounds(rounds: int | None) -> None:
    """Raise InvalidRequest unless this number of rounds can give a p-value."""
    if rounds is not None and not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidRequest(
            f"{rounds} random rounds are not possible.", remedy=f"Ask for 1 to {MAX_ROUNDS:,} rounds; 9,999 are usual."
        )


def derive_parts(draw_seed: str, split: str, metric: str, contents: Sequence[str]) -> tuple[bytes, bytes]:
    """The seeds of the exchanges and of the resamples of a pair."""
    exchanges, resamples = (
        derive_seed(draw_seed, "pair", split, metric, *sorted(contents), part) for part in ("exchange", "resample")
    )
    return exchanges, resamples


class _Comparer:
    """Two systems; what several metrics share is computed once."""

    def __init__(self, first: EvaluationInput, second: EvaluationInput, rounds: int | None, resamples: int) -> None:
        self._contexts = EvaluationContext(first), EvaluationContext(second)
        self._rounds, self._resamples = rounds, resamples
        self._seen: dict[Seen, tuple[Pair, Randomization, PairedResampling]] = {}

    def compare(self, call: MetricCall, seeds: tuple[bytes, bytes]) -> PairComparison:
        """The comparison for one metric."""
        results = [evaluate_call(context, call) for context in self._contexts]
        a, b = (result.value for result in results)
        grouped = self._contexts[0].case.groups is not None
        null_hypothesis = GROUPS_EXCHANGEABLE if grouped else INSTANCES_EXCHANGEABLE
        if a is None or b is None:
            reason = next(result.reason for result in results if result.value is None)
            sentence = f"The metric is null for at least one of the systems: {reason}."
            return PairComparison(a, b, None, 0, None, null_hypothesis, reason=sentence)
        pair, randomization, resampling = self._pair(call)
        test = randomization.test(call, random_source(seeds[0]), self._rounds)
        interval = resampling.interval(a - b, call, random_source(seeds[1]), self._resamples)
        smallest, notes = _smallest_difference(pair, test)
        mcnemar, mcnemar_notes = self._mcnemar(call)
        notes = [*_notes_on_test(pair, test), *notes, *mcnemar_notes, *_notes_on_interval(interval)]
        return PairComparison(
            a,
            b,
            a - b + 0.0,
            pair.discordant,
            pair.units if grouped else None,
            null_hypothesis,
            interval.low,
            interval.high,
            None if interval.low is None else interval.method,
            interval.reason,
            test.p_value,
            test.rounds,
            test.exact,
            mcnemar,
            smallest,
            None,
            tuple(notes),
        )

    def _pair(self, call: MetricCall) -> tuple[Pair, Randomization, PairedResampling]:
        first, second = (context.case for context in self._contexts)
        seen = seen_by(call, first)
        if seen not in self._seen:
            pair = Pair.of(first, second, seen)
            self._seen[seen] = pair, Randomization(pair), PairedResampling(pair)
        return self._seen[seen]

    def _mcnemar(self, call: MetricCall) -> tuple[float | None, list[str]]:
        """The exact McNemar test of accuracy, and a note where it does not apply."""
        case = self._contexts[0].case
        if call.metric.key != _TESTS_OF_ACCURACY:
            return None, []
        if case.groups is not None:
            return None, ["McNemar's test takes instances for independent, so with groups there is none."]
        if case.weights is not None:
            return None, ["McNemar's test counts instances alike, so with weights there is none."]
        one, other = (_is_right(context) for context in self._contexts)
        return exact_mcnemar(int((one & ~other).sum()), int((other & ~one).sum())), []


def _is_right(context: EvaluationContext) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The instances that count as right for accuracy."""
    case = context.case
    if case.acceptable:
        return context.is_accepted
    gold = case.gold.codes
    return np.asarray((gold == case.predicted.codes) & (gold >= 0) & (gold < len(case.spec.classes)))


def _smallest_difference(pair: Pair, test: RandomizationTest) -> tuple[float | None, list[str]]:
    """The smallest difference that could have been shown, or a note why none could."""
    if not pair.units or not test.spread:
        return None, []
    attainable = 2.0 ** (1 - pair.units) if test.exact else 1 / (test.rounds + 1)
    if attainable > ALPHA:
        if not test.exact:
            return None, [
                f"{test.rounds} rounds give no p-value below {attainable:.3g}, so no difference could be significant."
            ]
        kind = ("group", "groups") if pair.first.groups is not None else ("instance", "instances")
        on = pluralize(pair.units, *kind)
        return None, [
            f"Too few {kind[1]} to tell: the systems differ on {on}, which gives no p-value below {attainable:.3g}."
        ]
    return round_to_12_digits(_QUANTILES * test.spread), []


def _notes_on_test(pair: Pair, test: RandomizationTest) -> list[str]:
    notes = [] if pair.units else [_IDENTICAL]
    if test.undefined:
        notes.append(
            f"The metric is null after {test.undefined} of {test.rounds} exchanges; they count as reaching the difference."
        )
    return notes


def _notes_on_interval(interval: Interval) -> list[str]:
    notes = list(interval.notes)
    if interval.reason is not None:
        notes.append(f"No interval: {interval.reason}")
    return notes


def _negated(value: float | None) -> float | None:
    """The value with the other sign; 0 stays 0."""
    return None if value is None else 0.0 - value


def is_significant(comparison: PairComparison) -> bool:
    """Whether the difference is significant at the 5 % level."""
    return comparison.p_value is not None and not math.isnan(comparison.p_value) and comparison.p_value <= ALPHA
