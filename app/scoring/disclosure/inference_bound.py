"""How much of the gold labels the numbers that participants are shown can give away at most: an upper bound in bits.

A team that gets s answers of b bits each can tell at most 2^(s·b) labellings of the gold apart. A label of K classes holds
log2 K bits, so that on average over equally likely labellings it can know at most min(n, s·b / log2 K) labels of n. That is
a bound of the information, not an attack: most rules allow far less than it, and a lucky file that is wholly right tells
all. No gold label enters it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.scoring.declaration.granularity import (
    CLASS_TABLES,
    CONFUSION,
    FREE_SIZE_OPTIONS,
    INSTANCES,
    GoldSize,
    active_free_size_options,
)
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.recipe import ScoringRecipe

BoardVisibility = Literal["public", "hidden", "after_close"]
MIN_RIVALS = 100
"""So many rows of others are counted with at least: the more there are, the more a place among them says."""
BINARY64_BITS = 64.0
_DECADES_BELOW_1 = 324  # the least positive binary64 is 4.9e-324
_DECADES_ABOVE_1 = 309


@dataclass(frozen=True, slots=True)
class DisclosureRules:
    """What a phase lets a team see: how many of its submissions are scored (None: any number), and what is shown of each.

    `rivals`: rows of others that its own stands among on a board after the close; `closed_teams`: organizers decide who
    has a team. `divided`: the gold has folds or groups, which a report per class shows too. `sets`: instances have sets
    of labels. `phases`: how many the challenge has.
    """

    submissions: int | None
    board: BoardVisibility
    reports: Sequence[str]
    rivals: int = MIN_RIVALS
    closed_teams: bool = False
    has_partitions: bool = False
    sets: bool = False
    phases: int = 1


@dataclass(frozen=True, slots=True)
class MetricBound:
    """The bits that one value of a metric can hold: as shown, and with the board, which ranks at full precision."""

    call: MetricCall
    shown: float
    ranked: float


@dataclass(frozen=True, slots=True)
class InferenceBound:
    """The bound for one team in one phase. `sizes` are those of the gold whose scores are shown, where they are known.

    Bits are infinite where nothing bounds them. `per_submission` is what one more submission can tell; `once` what the
    board tells when it is shown after the close, of it `choice` by which file stands for a team that was shown no values;
    `total` what all submissions of a team can tell.
    """

    digits: int | None
    sizes: GoldSize | None
    weighted: bool
    rules: DisclosureRules
    metrics: tuple[MetricBound, ...]
    reports: dict[str, float]
    per_submission: float
    choice: float
    once: float
    total: float

    @property
    def labels(self) -> int | None:
        """How many labels of the gold a team can know at most; None where the gold is not known yet."""
        if self.sizes is None:
            return None
        if self.total >= self.sizes.bits:
            return self.sizes.labels
        return math.ceil(self.total / self.sizes.bits_per_label - 1e-6)

    @property
    def separating(self) -> tuple[MetricBound, ...]:
        """The metrics shown whose value may differ for every labelling, so that digits alone bound what it tells."""
        return tuple(
            one
            for one in self.metrics
            if self.weighted or one.call.metric.granularity.separates(one.call, sets=self.rules.sets)
        )

    @property
    def can_grow(self) -> bool:
        """Whether more submissions can tell more."""
        return self.per_submission > 0 or (self.once > 0 and "scores" not in self.rules.reports)

    @property
    def shows_values(self) -> bool:
        """Whether a team sees the values of each of its submissions: as its own, or on the board."""
        return self.rules.board == "public" or "scores" in self.rules.reports

    @property
    def is_unbounded(self) -> bool:
        """Whether the bound is no bound: nothing that is known keeps a team from all labels."""
        return self.total >= (math.inf if self.sizes is None else self.sizes.bits) > 0


def compute_inference_bound(
    recipe: ScoringRecipe, rules: DisclosureRules, sizes: GoldSize | None = None, *, weighted: bool = False
) -> InferenceBound:
    """The bound for a team under these rules; without `sizes` that of the digits alone.

    `weighted`: instances of the gold have weights, and then every sum of them can tell its labels apart.
    """
    most = math.inf if sizes is None else sizes.bits
    metrics = tuple(_metric_bound(call, recipe.digits, rules, sizes, weighted=weighted) for call in recipe.metrics)
    reports = {
        name: _report_bits(name, recipe, rules, sizes, weighted=weighted)
        for name in DETAILED_REPORTS
        if name in rules.reports
    }
    own, public = "scores" in rules.reports, rules.board == "public"
    values = math.fsum(one.shown for one in metrics)
    ranked = math.fsum(one.ranked for one in metrics)
    per_submission = (ranked if public else values if own else 0.0) + math.fsum(reports.values())
    answered = math.inf if rules.submissions is None else rules.submissions
    choice = once = 0.0
    if rules.board == "after_close":
        choice = 0.0 if own else math.log2(max(1, answered))
        once = ranked - values if own else ranked + choice
    total = (answered * per_submission if per_submission else 0.0) + once
    return InferenceBound(
        digits=recipe.digits,
        sizes=sizes,
        weighted=weighted,
        rules=rules,
        metrics=metrics,
        reports=reports,
        per_submission=min(most, per_submission),
        choice=choice,
        once=min(most, once),
        total=min(most, total),
    )


def digit_bits(digits: int | None, span: tuple[float, float], least: float = 0.0) -> float:
    """log2 of how many values between two ends can be told apart at so many significant digits, null among them.

    Digits are significant, so that each power of ten has values of its own, down to the `least` value that is not 0, or
    else to the least positive binary64.
    """
    if digits is None:
        return BINARY64_BITS
    low, high = span
    greatest = max(abs(low), abs(high))
    above = _DECADES_ABOVE_1 if math.isinf(greatest) else max(0, math.ceil(math.log10(greatest)))
    below = min(_DECADES_BELOW_1, math.ceil(-math.log10(least))) if least else _DECADES_BELOW_1
    one_sign = 9 * 10 ** (digits - 1) * (below + above) + 1
    return min(BINARY64_BITS, math.log2(one_sign * (2 if low < 0 else 1) + 2))


def rank_bits(rivals: int) -> float:
    """log2 of how many places a row can have among others: between two of them, at an end, or level with one."""
    return math.log2(2 * rivals + 1)


def _metric_bound(
    call: MetricCall, digits: int | None, rules: DisclosureRules, sizes: GoldSize | None, *, weighted: bool
) -> MetricBound:
    """A value as shown holds what its digits hold, but no more than the value itself.

    The board ranks at full precision. While it is shown and files are taken, rows of others can be moved beside a row
    until they tell its value exactly; after the close each row has one place.
    """
    exact, least = BINARY64_BITS, 0.0
    if sizes is not None:
        bits = call.metric.granularity.bits(sizes, call, weighted=weighted)
        exact = min(
            exact, sizes.bits, math.log2(2.0**bits + 1) if bits < BINARY64_BITS else bits
        )  # null is a value too
        small = weighted or (
            sizes.multilabel and active_free_size_options(call)
        )  # divisors that the sizes of the gold do not bound
        floor = 0 if small else call.metric.floor
        least = 1 / (sizes.instances * sizes.classes + 1) ** floor if floor else 0.0
    shown = min(exact, digit_bits(digits, call.metric.range, least))
    once = min(exact, shown + rank_bits(rules.rivals))
    return MetricBound(call, shown, {"public": exact, "after_close": once, "hidden": shown}[rules.board])


DETAILED_REPORTS = ("per_class", "confusion", "curves")
"""The reports that show more of a submission than its scores."""


def _report_bits(
    name: str, recipe: ScoringRecipe, rules: DisclosureRules, sizes: GoldSize | None, *, weighted: bool
) -> float:
    """What a report of one submission can hold; its counts have all their digits."""
    if sizes is None:
        return math.inf
    if name == "curves" or weighted or (name == "per_class" and rules.has_partitions):
        return sizes.bits
    if sizes.multilabel and any(FREE_SIZE_OPTIONS.items() & call.options.items() for call in recipe.metrics):
        return sizes.bits
    shown = (CONFUSION,) if name == "confusion" else (CLASS_TABLES, INSTANCES) if sizes.multilabel else (CLASS_TABLES,)
    return min(sizes.bits, math.fsum(one.bits(sizes) for one in shown))
