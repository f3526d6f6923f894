"""The Ladder of Blum and Hardt (2015) as a pure fold: what a team is told of the values of its submissions, in order.

A value is released only if it is better than the best released so far by more than a step. With a fixed step the
released value is rounded to a multiple of the step (Algorithm 1 of the paper). The parameter-free variant uses
the standard error of the difference to the best submission so far as its step and rounds to multiples of 1/n
(Algorithm 3). All comparisons are exact: a value stands for its shortest decimal text, or for a count divided by n.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from app.scoring.declaration.ladder_rule import LadderRule

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class LadderOutput:
    """What is told after a submission: the best released value so far, None before the first release.

    `best` is the position of the submission that was released last; `released` says whether this one was.
    """

    value: float | None
    released: bool
    best: int | None
    releases: int


@dataclass(frozen=True, slots=True)
class _Best:
    """The submission that was released last: its position, its exact value and the value that was told."""

    position: int
    exact: Fraction
    told: Fraction


SquaredStep = Callable[[int, int], Fraction | None]
"""The square of the step between two submissions by position, the best so far first; None if no step is enough."""


def fold_ladder(values: Iterable[float | None], rule: LadderRule, direction: str, instances: int) -> list[LadderOutput]:
    """The outputs for the values of one team on one split, in the order of acceptance; None is an undefined value.

    The parameter-free variant knows the values alone, not the losses of the instances. It takes the largest standard
    error that the difference of two means with these values can have, so each comparison is at least as strict as that
    of the paper.
    """
    exact = [_exact(value, instances if rule.step is None else 0) for value in values]

    def squared_step(best: int, new: int) -> Fraction | None:
        if rule.step is not None:
            return rule.step**2
        one, other = exact[best], exact[new]
        assert one is not None
        assert other is not None
        return largest_squared_error(one, other, instances)

    return _fold(exact, direction, rule.step or Fraction(1, max(instances, 1)), squared_step)


def fold_ladder_of_losses(losses: Sequence[Sequence[float]]) -> list[LadderOutput]:
    """The outputs of the parameter-free variant as in the paper, given the loss of every instance."""
    size = len(losses[0]) if losses else 0
    rows = [[Fraction(repr(float(loss))) for loss in row] for row in losses]

    def squared_step(best: int, new: int) -> Fraction | None:
        if size < 2:
            return None
        differences = [one - other for one, other in zip(rows[new], rows[best], strict=True)]
        mean = sum(differences, Fraction(0)) / size
        return sum(((each - mean) ** 2 for each in differences), Fraction(0)) / (size - 1) / size

    means = [sum(row, Fraction(0)) / size for row in rows]
    return _fold(means, "lower", Fraction(1, max(size, 1)), squared_step)


def largest_squared_error(one: Fraction, other: Fraction, instances: int) -> Fraction | None:
    """The largest squared standard error of the difference of two means of n numbers from 0 to 1; None for n < 2.

    A difference d of such numbers has d² ≤ a + b and d² ≤ 2 − a − b, so its mean square is at most the smaller mean.
    """
    if instances < 2:
        return None
    square = min(one + other, 2 - one - other) - (one - other) ** 2
    return max(square, Fraction(0)) / (instances - 1)


def _fold(
    values: Sequence[Fraction | None], direction: str, unit: Fraction, squared_step: SquaredStep
) -> list[LadderOutput]:
    sign = 1 if direction == "higher" else -1
    best: _Best | None = None
    releases, outputs = 0, []
    for position, value in enumerate(values):
        released = value is not None and (best is None or _improves(value, best, position, sign, squared_step))
        if released:
            assert value is not None
            best = _Best(position, value, round(value / unit) * unit)
            releases += 1
        told = None if best is None else float(best.told) + 0.0
        outputs.append(LadderOutput(told, released, None if best is None else best.position, releases))
    return outputs


def _improves(value: Fraction, best: _Best, position: int, sign: int, squared_step: SquaredStep) -> bool:
    gain = sign * (value - best.told)
    if gain <= 0:
        return False
    squared = squared_step(best.position, position)
    return squared is not None and gain**2 > squared


def _exact(value: float | None, instances: int) -> Fraction | None:
    """The number that a value stands for: k/n for n instances, if it is the value of that, else its shortest text."""
    if value is None or not math.isfinite(value):
        return None
    counted = Fraction(round(value * instances), instances) if instances else None
    return counted if counted is not None and float(counted) == value else Fraction(repr(float(value)))


def failure_bound(instances: int, submissions: int, step: float, error: float) -> float:
    """The bound of Theorem 3.1 on the probability that the output is off by more than error + step; at most 1.

    It holds for the best so far of so many submissions that one team chooses by the outputs of its own Ladder, with
    losses from 0 to 1 per instance that was drawn independently.
    """
    exponent = (1 / step + 2) * math.log(4 * submissions / step) + 1 - 2 * error**2 * instances
    return 1.0 if exponent >= 0 else math.exp(exponent)


def guaranteed_error(instances: int, submissions: int, step: float, confidence: float = CONFIDENCE) -> float:
    """By how much the best so far may differ from its true value, with this confidence, by Theorem 3.1.

    At least 1 where the theorem says nothing about losses from 0 to 1.
    """
    exponent = (1 / step + 2) * math.log(4 * submissions / step) + 1 - math.log(1 - confidence)
    return math.sqrt(exponent / (2 * instances)) + step


def output_bits(values: float, submissions: float) -> float:
    """log2 of how many sequences of outputs are possible, with so many values that can be told.

    A sequence names which submissions were released and a strictly improving value for each.
    """
    if math.isinf(values) or math.isinf(submissions):
        return math.inf
    number, more = math.floor(values), math.floor(submissions)
    ways = math.lgamma(number + more + 1) - math.lgamma(number + 1) - math.lgamma(more + 1)
    return max(0.0, ways / math.log(2))


def count_told_values(rule: LadderRule, span: tuple[float, float], instances: int | None) -> float:
    """How many values the Ladder can tell of a metric with this range; infinity if nothing bounds them."""
    width = span[1] - span[0]
    if rule.step is not None:
        return math.inf if math.isinf(width) else float(math.floor(width / float(rule.step)) + 2)
    return math.inf if instances is None else float(instances + 1)
