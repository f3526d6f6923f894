"""Two named systems on the same instances: their difference, its interval, and whether it could be chance.

The order in which the systems are named does not matter: they are computed in the order of their content, and turned
round at the end. So swapping them keeps every p-value and mirrors every interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from app.errors import InvalidContent
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.evaluate import evaluate_call
from app.scoring.evaluation_input import EvaluationInput, Grouping
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.tally import EvaluationContext
from app.scoring.uncertainty.bootstrap_interval import NO_WIDTH_NOTE, Interval
from app.scoring.uncertainty.exchange import Pair
from app.scoring.uncertainty.paired_resampling import RESAMPLES, PairedResampling
from app.scoring.uncertainty.randomization import ROUNDS, Randomization, RandomizationTest
from app.scoring.uncertainty.rank_scores import Seen, seen_by
from app.scoring.uncertainty.resampling import in_order_of, sees_scores
from app.scoring.uncertainty.seeds import content_hash, derive_seed, random_source
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
_NOISE = 1e-12  # differences below it are rounding
_TESTS_OF_ACCURACY = "accuracy"
_DIFFERENT_FORMS = (
    "One system has scores and the other has not, so their outputs cannot be exchanged: give both the same form."
)
_IDENTICAL = "The two systems give the same outputs for this metric."


@dataclass(frozen=True, slots=True)
class PairComparison:
    """A metric's values `a` and `b` of two systems, and their difference a - b.

    `low` and `high`: the 95 % interval of the difference by `method`; a note says why there is none. `p_value`: of the
    two-sided randomization test with so many `rounds`, which are all exchanges if `exact`. `mcnemar_p`: of the exact
    McNemar test, for accuracy only. `smallest_difference`: see SMALLEST_DIFFERENCE_DEFINITION; a note says why none
    could be shown. `discordant`: the instances on which the systems differ, as far as the metric sees;
    `discordant_groups`: the same for groups, None without groups. `reason`: why there is no comparison.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    _: KW_ONLY
    null_hypothesis: str
    rounds: int | None = None
    exact: bool | None = None
    mcnemar_p: float | None = None
    smallest_difference: float | None = None
    discordant: int | None = None
    discordant_groups: int | None = None
    method: str | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON, without the null hypothesis, which all metrics share."""
        found = asdict(self) | {"notes": list(self.notes)}
        del found["null_hypothesis"]
        return found

    def mirrored(self) -> "PairComparison":
        """The same comparison where difference and interval have the other sign; `a` and `b` stay."""
        low, high = _negated(self.high), _negated(self.low)
        return replace(self, difference=_negated(self.difference), low=low, high=high)


def compare_systems(
    case_a: EvaluationInput,
    case_b: EvaluationInput,
    calls: Sequence[MetricCall],
    ids: Sequence[str],
    *,
    draw_seed: str,
    split: str,
    rounds: int | None = None,
    resamples: int = RESAMPLES,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, PairComparison]:
    """The comparison of two systems by each metric's canonical string; metrics without a single value are left out.

    Both inputs have the same gold. `ids` names their rows, in any order. Groups of the input are exchanged and resampled
    whole. Without `rounds` there are 9,999, fewer for metrics that would take too long. `progress` gets the number of
    metrics done and of all. Raises InvalidContent for fewer than one round.
    """
    check_rounds(rounds)
    cases = tuple(in_order_of(case, ids).without_zero_weights() for case in (case_a, case_b))
    comparer = _Comparer(cases[0], cases[1], scored_ids(case_a, ids), draw_seed=draw_seed, split=split)
    scalar = [call for call in calls if call.metric.scalar]
    found = {}
    for done, call in enumerate(scalar):
        progress(done, len(scalar))
        found[call.text] = comparer.compare(call, rounds, resamples)
    progress(len(scalar), len(scalar))
    return found


def scored_ids(case: EvaluationInput, ids: Sequence[str]) -> list[str]:
    """The ids of the instances that count, in order."""
    numbered = replace(case, folds=Grouping(ids, np.arange(case.gold.n, dtype=np.int32)))
    kept = numbered.without_zero_weights().folds
    assert kept is not None
    return sorted(ids[row] for row in kept.codes.tolist())


def null_hypothesis(case: EvaluationInput) -> str:
    """What the test assumes of two systems on these instances, in one sentence."""
    return INSTANCES_EXCHANGEABLE if case.groups is None else GROUPS_EXCHANGEABLE


def check_rounds(rounds: int | None) -> None:
    """Raise InvalidContent unless this number of rounds can give a p-value."""
    if rounds is not None and not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidContent(
            f"{rounds} random rounds are not possible.", remedy=f"Ask for 1 to {MAX_ROUNDS:,} rounds; 9,999 are usual."
        )


@dataclass(frozen=True, slots=True)
class _Family:
    """What all metrics share that see the same of predictions.

    The pair is in the order of the `contents`; `backwards`: that is not the order in which the systems were given.
    """

    pair: Pair
    contents: tuple[str, str]
    randomization: Randomization
    resampling: PairedResampling
    backwards: bool = False

    @classmethod
    def of(cls, pair: Pair, ids: Sequence[str]) -> "_Family":
        first, second = (seen_content(case, ids, pair.seen) for case in (pair.first, pair.second))
        backwards = second < first
        if backwards:
            pair = replace(pair, first=pair.second, second=pair.first)
        contents = (min(first, second), max(first, second))
        return cls(pair, contents, Randomization(pair), PairedResampling(pair), backwards)


def seen_content(case: EvaluationInput, ids: Sequence[str], seen: Seen) -> str:
    """The hash of what metrics see of the predictions of a pair: of ranks rather than scores, if they see ranks."""
    labels = case.predicted if seen in {"labels", "lists"} else None
    return content_hash(ids, labels, case.spec.classes, case.scores)


def derive_parts(draw_seed: str, split: str, metric: str, contents: Sequence[str]) -> tuple[bytes, bytes]:
    """The seeds of the exchanges and of the resamples of a pair, from the `seen_content` of both systems in any order."""
    parts = (split, metric, *sorted(contents))
    exchange, resample = (derive_seed(draw_seed, "pair", *parts, use) for use in ("exchange", "resample"))
    return exchange, resample


class _Comparer:
    """Two systems; what several metrics share is computed once."""

    def __init__(
        self, case_a: EvaluationInput, case_b: EvaluationInput, ids: Sequence[str], *, draw_seed: str, split: str
    ) -> None:
        self._contexts = EvaluationContext(case_a), EvaluationContext(case_b)
        self._ids, self._draw_seed, self._split = ids, draw_seed, split
        self._families: dict[Seen, _Family] = {}

    def compare(self, call: MetricCall, rounds: int | None, resamples: int) -> PairComparison:
        """The comparison for one metric."""
        results = [evaluate_call(context, call) for context in self._contexts]
        a, b = (result.value for result in results)
        grouped = self._contexts[0].case.groups is not None
        facts: dict[str, Any] = {"null_hypothesis": null_hypothesis(self._contexts[0].case)}
        if a is None or b is None:
            reason = next(result.reason for result in results if result.value is None)
            return PairComparison(a, b, None, reason=f"The metric is null for at least one system: {reason}.", **facts)
        if (self._contexts[0].case.scores is None) != (self._contexts[1].case.scores is None) and sees_scores(call):
            return PairComparison(a, b, a - b, reason=_DIFFERENT_FORMS, **facts)
        family = self._family(call)
        pair = family.pair
        seeds = derive_parts(self._draw_seed, self._split, call.text, family.contents)
        test = family.randomization.test(call, random_source(seeds[0]), rounds)
        sign = -1 if family.backwards else 1
        interval = family.resampling.interval(sign * (a - b), call, seeds[1], resamples)
        smallest, notes = _smallest_difference(pair, test)
        facts["mcnemar_p"], mcnemar_notes = self._mcnemar(call)
        low, high = _rounded_ends(interval)
        comparison = PairComparison(
            a,
            b,
            sign * (a - b) + 0.0,
            low,
            high,
            test.p_value,
            rounds=test.rounds,
            exact=test.exact,
            method=None if low is None else interval.method,
            smallest_difference=smallest,
            discordant=pair.discordant,
            discordant_groups=pair.units if grouped else None,
            notes=(*_notes_on_test(test, rounds), *notes, *mcnemar_notes, *_notes_on_interval(interval, low, high)),
            **facts,
        )
        return comparison.mirrored() if family.backwards else comparison

    def _family(self, call: MetricCall) -> _Family:
        first, second = (context.case for context in self._contexts)
        seen = seen_by(call, first)
        if seen not in self._families:
            self._families[seen] = _Family.of(Pair.of(first, second, seen), self._ids)
        return self._families[seen]

    def _mcnemar(self, call: MetricCall) -> tuple[float | None, list[str]]:
        """The exact McNemar test of accuracy, and a note where it does not apply."""
        case = self._contexts[0].case
        if call.metric.key != _TESTS_OF_ACCURACY:
            return None, []
        if case.groups is not None:
            return None, ["McNemar's test takes instances for independent, so with groups there is none."]
        if case.weights is not None:
            return None, ["McNemar's test counts instances alike, so with weights there is none."]
        one, other = (is_right(context) for context in self._contexts)
        return exact_mcnemar(int((one & ~other).sum()), int((other & ~one).sum())), []


def is_right(context: EvaluationContext) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The instances that count as right for accuracy."""
    case = context.case
    if case.acceptable:
        return context.is_accepted
    gold = case.gold.codes
    return np.asarray((gold == case.predicted.codes) & (gold >= 0) & (gold < len(case.spec.classes)))


def _smallest_difference(pair: Pair, test: RandomizationTest) -> tuple[float | None, list[str]]:
    """The smallest difference that could have been shown, or a note why none could."""
    if not pair.units:
        return None, [_IDENTICAL]
    spread = test.spread()
    if not spread or spread < _NOISE:
        return None, ["No exchange changes the metric: it does not see where the systems differ."]
    attainable = 2.0 ** (1 - pair.units) if test.exact else 1 / (test.rounds + 1)
    if attainable > ALPHA:
        if not test.exact:
            return None, [
                f"With {pluralize(test.rounds, 'round')}, p is at least {attainable:.3g}, so no difference could be significant."
            ]
        kind = ("group", "groups") if pair.first.groups is not None else ("instance", "instances")
        on = pluralize(pair.units, *kind)
        return None, [
            f"Too few {kind[1]} to tell: the systems differ on {on}, which gives no p-value below {attainable:.3g}."
        ]
    return round_to_12_digits(_QUANTILES * spread), []


def _notes_on_test(test: RandomizationTest, rounds: int | None) -> list[str]:
    notes = []
    if rounds is None and not test.exact and test.rounds < ROUNDS:
        notes.append(f"{test.rounds:,} random rounds instead of {ROUNDS:,}, because more would take long.")
    if test.undefined:
        notes.append(
            f"The metric is null after {test.undefined} of {test.rounds} exchanges; they count as reaching the difference."
        )
    return notes


def _rounded_ends(interval: Interval) -> tuple[float | None, float | None]:
    """The ends of an interval at 12 significant digits; what is only rounding of the two values is 0."""
    ends = (interval.low, interval.high)
    low, high = (None if end is None else 0.0 if abs(end) < _NOISE else round_to_12_digits(end) for end in ends)
    return low, high


def _notes_on_interval(interval: Interval, low: float | None, high: float | None) -> list[str]:
    notes = list(interval.notes)
    if low is not None and low == high and NO_WIDTH_NOTE not in notes:
        notes.append(NO_WIDTH_NOTE)
    if interval.reason is not None:
        notes.append(f"No interval: {interval.reason}")
    return notes


def _negated(value: float | None) -> float | None:
    """The value with the other sign; 0 stays 0."""
    return None if value is None else 0.0 - value
