"""Areas under curves of ranked scores (of one label, averaged, pooled), shared by AUC and average precision."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from app.scoring.declaration.metric import Compute, MetricCall, Result, rounded_result
from app.scoring.metrics.labels.undefined_rules import UndefinedError, join_names
from app.scoring.metrics.scores.draw_ranks import DrawMeasure
from app.scoring.metrics.scores.score_columns import ScoreColumns, averaged_codes, class_code, score_columns
from app.scoring.metrics.shared_declarations import SCORE_DIRECTION_OPTION
from app.scoring.numeric.correct_rounding import Real, sum_reals, to_real
from app.scoring.score_ranks import ScoreRanks
from app.scoring.tally import EvaluationContext


@dataclass(frozen=True, slots=True)
class AreaMeasure:
    """A measure of the ranks of one label: `parts` returns a sum and the integer divisor, `draws` the area in each draw.

    The measure always needs positives; with `needs_negatives` it needs negatives too.
    """

    parts: Callable[[ScoreRanks, MetricCall], tuple[Real | int, int]]
    draws: DrawMeasure
    needs_negatives: bool

    def of(self, ranks: ScoreRanks, call: MetricCall) -> Real:
        """The area for ranks for which it is defined."""
        numerator, denominator = self.parts(ranks, call)
        return numerator / denominator if isinstance(numerator, Real) else to_real(Fraction(numerator, denominator))

    def lacking(self, ranks: ScoreRanks) -> str | None:
        """Why the area is undefined for these ranks, as a phrase about the label; None where it is defined."""
        if ranks.positives == 0:
            return "never right in gold"
        return "always right in gold" if self.needs_negatives and ranks.negatives == 0 else None


def label_ranks(measure: AreaMeasure, ws: EvaluationContext, call: MetricCall) -> tuple[ScoreRanks, tuple[str, ...]]:
    """The ranks of the requested class, with notes on its scores; raises UndefinedError where the area is undefined."""
    code, columns = class_code(ws, call), score_columns(ws, call)
    ranks = columns.ranks(code)
    reason = measure.lacking(ranks)
    if reason is not None:
        raise UndefinedError(f"'{columns.names[code]}' is {reason}")
    return ranks, reversed_scores_note(columns, code)


def label_area(measure: AreaMeasure) -> Compute:
    """The area of one label: of `label`, else of the positive label of a binary task."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        ranks, notes = label_ranks(measure, ws, call)
        return rounded_result(measure.of(ranks, call), notes)

    return compute


def reversed_scores_note(columns: ScoreColumns, code: int) -> tuple[str, ...]:
    """The note for a class that is ranked by the scores of the other class."""
    if columns.single in {None, code}:
        return ()
    return (f"'{columns.names[code]}' is ranked by the scores of the positive label, lowest first",)


def mean_area(area: AreaMeasure, *, by_support: bool = False) -> Compute:
    """The mean area over the labels for which it is defined; `by_support` weights each label by its instances."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        codes, notes = averaged_codes(ws, call)
        columns = score_columns(ws, call)
        defined, left_out = split_defined(area.lacking, columns, codes)
        if not defined:
            raise UndefinedError(f"no label is left to average over: {'; '.join(left_out)}")
        supports = [columns.ranks(code).positives if by_support else 1 for code in defined]
        areas = [area.of(columns.ranks(code), call) for code in defined]
        weighted_sum = sum_reals(value * support for value, support in zip(areas, supports, strict=True))
        score_notes = [note for code in defined for note in reversed_scores_note(columns, code)]
        return rounded_result(weighted_sum / sum(supports), (*notes, *left_out, *score_notes))

    return compute


def split_defined(
    lacking: Callable[[ScoreRanks], str | None], columns: ScoreColumns, codes: list[int]
) -> tuple[list[int], tuple[str, ...]]:
    """The classes for which the measure is defined, and notes on the others: count, names, reason (catalogue, row 19)."""
    reasons = {code: lacking(columns.ranks(code)) for code in codes}
    groups: dict[str, list[str]] = {}
    for code, reason in reasons.items():
        if reason is not None:
            groups.setdefault(reason, []).append(columns.names[code])
    notes = tuple(
        f"{len(names)} of {len(codes)} labels left out ({reason}): {join_names(names)}"
        for reason, names in groups.items()
    )
    return [code for code in codes if reasons[code] is None], notes


def pooled_area(area: AreaMeasure) -> Compute:
    """The area over all (instance, label) pairs at once; a pair is positive where gold has the label."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        codes, notes = averaged_codes(ws, call)
        columns = score_columns(ws, call)
        key = ("pooled", call.options[SCORE_DIRECTION_OPTION], tuple(codes))
        ranks = ws.shared(key, lambda: columns.pooled(codes))
        reason = area.lacking(ranks)
        if reason is not None:
            raise UndefinedError(f"every pooled label is {reason}")
        for code in codes:
            if columns.single not in {None, code}:
                notes = (*notes, f"the score of '{columns.names[code]}' is 1 minus that of the positive label")
        return rounded_result(area.of(ranks, call), notes)

    return compute
