"""Computes an upper bound, in bits, of what the numbers shown to participants can reveal about the gold labels.

A team that gets s answers of b bits each can distinguish at most 2^(s·b) labellings of the gold. A label of K classes
has log2 K bits, so on average over equally likely labellings the team can know at most min(n, s·b / log2 K) of n
labels. This is a bound on the information, not an attack: most rules allow far less, while a lucky file that is
entirely right reveals everything. The bound does not depend on any gold label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from app.scoring.declaration.distinct_value_bounds import (
    CLASS_TABLES,
    CONFUSION,
    FREE_SIZE_OPTIONS,
    INSTANCES,
    GoldSize,
    active_free_size_options,
)
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.disclosure.comparison_bits import UNCERTAINTY_REPORTS, uncertainty_bits
from app.scoring.uncertainty.ladder import count_told_values, output_bits

BoardVisibility = Literal["public", "hidden", "after_close"]
MIN_RIVALS = 100
"""The minimum number of other rows assumed on a board: the more rows there are, the more a rank among them reveals."""
OWN_ROWS = 3
"""How many rows of a team's entries from before the close a board can have: ranked, withdrawn and disqualified."""
BINARY64_BITS = 64.0
_DECADES_BELOW_1 = 324  # the smallest positive binary64 number is 4.9e-324
_DECADES_ABOVE_1 = 309  # the largest is 1.8e308


@dataclass(frozen=True, slots=True)
class DisclosureRules:
    """What a phase shows to a team: the number of scored submissions (None: unlimited), and what is shown of each.

    `rivals`: the number of other rows on a board that is shown after the close. `own_rows`: how many rows a team can
    have on it. `closed_teams`: organizers decide who has a team. `has_partitions`: the gold has folds or groups, which
    the per-class report shows too. `sets`: instances have sets of labels. `phases`: the number of phases of the
    challenge.
    """

    submissions: int | None
    board: BoardVisibility
    reports: Sequence[str]
    rivals: int = MIN_RIVALS
    own_rows: int = OWN_ROWS
    closed_teams: bool = False
    has_partitions: bool = False
    sets: bool = False
    phases: int = 1


@dataclass(frozen=True, slots=True)
class MetricBound:
    """The bits of one value of a metric: as shown, and together with its rank on a board that uses full precision."""

    call: MetricCall
    shown: float
    ranked: float


@dataclass(frozen=True, slots=True)
class InferenceBound:
    """The bound for one team in one phase; `sizes` are those of the gold whose scores are shown, if known.

    Bits are infinite if nothing bounds them. `per_submission` is what one more submission can reveal. `once` is what
    the board reveals, with its intervals and comparisons, when it is shown after the close; `choice` is the part of it
    that comes from which files represent a team that was shown no values. `total` is what all submissions of a team can
    reveal. `without_ladder` is the bound of the same rules without the Ladder that limits feedback; None without one.
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
    without_ladder: "InferenceBound | None" = None

    @property
    def labels(self) -> int | None:
        """The maximum number of gold labels that a team can learn; None if the gold is not known yet."""
        if self.sizes is None:
            return None
        if self.total >= self.sizes.bits:
            return self.sizes.labels
        return math.ceil(self.total / self.sizes.bits_per_label - 1e-6)

    @property
    def separating(self) -> tuple[MetricBound, ...]:
        """The metrics whose value may differ for every labelling, so that only its digits bound what it reveals."""
        if self.without_ladder is not None:
            return ()
        return tuple(
            metric
            for metric in self.metrics
            if self.weighted or metric.call.metric.granularity.separates(metric.call, sets=self.rules.sets)
        )

    @property
    def can_grow(self) -> bool:
        """Whether more submissions can reveal more."""
        return self.per_submission > 0 or (self.once > 0 and "scores" not in self.rules.reports)

    @property
    def shows_values(self) -> bool:
        """Whether a team sees the values of each of its submissions, directly or on the board."""
        return self.rules.board == "public" or "scores" in self.rules.reports

    @property
    def is_unbounded(self) -> bool:
        """Whether the bound allows all labels, so that nothing known prevents a team from learning them."""
        return self.total >= (math.inf if self.sizes is None else self.sizes.bits) > 0


def compute_inference_bound(
    recipe: ScoringRecipe, rules: DisclosureRules, sizes: GoldSize | None = None, *, weighted: bool = False
) -> InferenceBound:
    """The bound for a team under these rules; without `sizes`, the bound that follows from the digits alone.

    `weighted`: instances of the gold have weights or unknown cells, so every sum may identify its labels.
    """
    if recipe.ladder is not None:
        return _ladder_bound(recipe, rules, sizes, weighted=weighted)
    gold_bits = math.inf if sizes is None else sizes.bits
    metrics = tuple(_metric_bound(call, recipe.digits, rules, sizes, weighted=weighted) for call in recipe.metrics)
    shown_reports = [name for name in DETAILED_REPORTS if name in rules.reports]
    reports = {name: _report_bits(name, recipe, rules, sizes, weighted=weighted) for name in shown_reports}
    sure = _uncertainty_bits(recipe, rules, gold_bits)
    # The history of a board tells the values that every entry had, as a public board does while they come.
    own, public = "scores" in rules.reports, rules.board == "public" or _tells_history(rules)
    reports |= {name: bits for name, bits in sure.items() if public or (own and name == "intervals")}
    values = math.fsum(metric.shown for metric in metrics)
    ranked = math.fsum(metric.ranked for metric in metrics)
    per_submission = (ranked if public else values if own else 0.0) + math.fsum(reports.values())
    answered = math.inf if rules.submissions is None else rules.submissions
    choice = once = 0.0
    if rules.board == "after_close" and not public:
        rows = min(rules.own_rows, answered)
        choice = 0.0 if own else rows * math.log2(max(1, answered))
        with_board = math.fsum(bits for name, bits in sure.items() if name not in reports)
        once = rows * ((ranked - values if own else ranked) + with_board) + choice
    total = (answered * per_submission if per_submission else 0.0) + once
    return InferenceBound(
        digits=recipe.digits,
        sizes=sizes,
        weighted=weighted,
        rules=rules,
        metrics=metrics,
        reports=reports,
        per_submission=min(gold_bits, per_submission),
        choice=choice,
        once=min(gold_bits, once),
        total=min(gold_bits, total),
    )


def _tells_history(rules: DisclosureRules) -> bool:
    return rules.board == "after_close" and "history" in rules.reports


def _uncertainty_bits(recipe: ScoringRecipe, rules: DisclosureRules, gold_bits: float) -> dict[str, float]:
    """The bits of intervals and comparisons that the phase shows, for one submission."""
    shown = [name for name in UNCERTAINTY_REPORTS if name in rules.reports]
    of_number = partial(digit_bits, recipe.digits)
    return {name: min(gold_bits, uncertainty_bits(name, recipe, rules.rivals, of_number)) for name in shown}


def _ladder_bound(
    recipe: ScoringRecipe, rules: DisclosureRules, sizes: GoldSize | None, *, weighted: bool
) -> InferenceBound:
    """The bound where a Ladder tells outputs instead of scores: of the primary metric alone, and no reports.

    All outputs of a team together are one of the sequences that the Ladder can tell. Its outputs have few values, so
    the board, which ranks by them, reveals nothing more.
    """
    plain = compute_inference_bound(replace(recipe, ladder=None), rules, sizes, weighted=weighted)
    call, rule = recipe.call(recipe.primary), recipe.ladder
    assert call is not None
    assert rule is not None
    gold_bits = math.inf if sizes is None else sizes.bits
    told = count_told_values(rule, call.metric.range, None if sizes is None else sizes.instances)
    exact = next(metric.ranked for metric in plain.metrics if metric.call.text == call.text)
    bits = min(exact, BINARY64_BITS if math.isinf(told) else math.log2(told + 1))
    answered = math.inf if rules.submissions is None else rules.submissions
    together = min(plain.total, output_bits(told, answered), answered * bits)
    is_answered = rules.board == "public" or "scores" in rules.reports
    once = together if rules.board == "after_close" and not is_answered else 0.0
    return replace(
        plain,
        metrics=(MetricBound(call, bits, bits),),
        reports={},
        per_submission=min(gold_bits, bits) if is_answered else 0.0,
        choice=0.0,
        once=min(gold_bits, once),
        total=min(gold_bits, together) if is_answered or once else 0.0,
        without_ladder=plain,
    )


def digit_bits(digits: int | None, span: tuple[float, float], least: float = 0.0) -> float:
    """log2 of the number of values in a range that differ at this number of significant digits, null included.

    Digits are significant, so each power of ten has its own values, down to the `least` value other than 0, or else to
    the smallest positive binary64 number.
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
    """log2 of the number of positions of a row among others: between two of them, at an end, or tied with one."""
    return math.log2(2 * rivals + 1)


def _metric_bound(
    call: MetricCall, digits: int | None, rules: DisclosureRules, sizes: GoldSize | None, *, weighted: bool
) -> MetricBound:
    """The bits of a value: those of its shown digits, but no more than those of the value itself.

    The board ranks at full precision. While it is public and submissions are open, other teams can move their rows next
    to a row until they know its value exactly. After the close, each row has one position.
    """
    exact, least = BINARY64_BITS, 0.0
    if sizes is not None:
        bits = call.metric.granularity.bits(sizes, call, weighted=weighted)
        with_null = math.log2(2.0**bits + 1) if bits < BINARY64_BITS else bits  # null is a possible value too
        exact = min(exact, sizes.bits, with_null)
        # With weights or freely chosen set sizes, the divisors are not bounded by the size of the gold.
        unbounded_divisors = weighted or (sizes.multilabel and active_free_size_options(call))
        floor = 0 if unbounded_divisors else call.metric.floor
        least = 1 / (sizes.instances * sizes.classes + 1) ** floor if floor else 0.0
    shown = min(exact, digit_bits(digits, call.metric.range, least))
    once = min(exact, shown + rank_bits(rules.rivals))
    return MetricBound(call, shown, {"public": exact, "after_close": once, "hidden": shown}[rules.board])


DETAILED_REPORTS = ("per_class", "confusion", "curves")
"""The reports that show more of a submission than its scores."""


def _report_bits(
    name: str, recipe: ScoringRecipe, rules: DisclosureRules, sizes: GoldSize | None, *, weighted: bool
) -> float:
    """The bits of a report of one submission; its counts are shown with all digits."""
    if sizes is None:
        return math.inf
    if name == "curves" or weighted or (name == "per_class" and rules.has_partitions):
        return sizes.bits
    if sizes.multilabel and any(FREE_SIZE_OPTIONS.items() & call.options.items() for call in recipe.metrics):
        return sizes.bits
    parts = (CONFUSION,) if name == "confusion" else (CLASS_TABLES, INSTANCES) if sizes.multilabel else (CLASS_TABLES,)
    return min(sizes.bits, math.fsum(part.bits(sizes) for part in parts))
