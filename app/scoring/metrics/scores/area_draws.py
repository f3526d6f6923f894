"""Areas and points of curves in many draws at once: of one label, averaged over labels, pooled."""

import numpy as np

from app.scoring.declaration.metric import ComputeDraws, MetricCall
from app.scoring.draw_context import DrawContext, Floats, NoDrawForm, added_in_order, divide_draws
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.scores.draw_ranks import DrawMeasure, DrawRanks, RankedRows, draw_ranks, in_parts
from app.scoring.metrics.scores.score_columns import ScoreColumns, averaged_codes, class_code, score_columns
from app.scoring.metrics.shared_declarations import SCORE_DIRECTION_OPTION


def columns_of_rows(draws: DrawContext, call: MetricCall) -> ScoreColumns:
    """The score columns; a draw without the instances that lack scores may have a value: there is no form for that."""
    try:
        return score_columns(draws.rows, call)
    except UndefinedError:
        raise NoDrawForm from None


def _ranks_of_class(draws: DrawContext, call: MetricCall, code: int) -> DrawRanks:
    """The ranks of one class in each draw, shared by the measures of this block."""
    columns, key = columns_of_rows(draws, call), f"{call.options[SCORE_DIRECTION_OPTION]} {code}"
    ranked = _ranked_class(draws, columns, key, code)
    return draw_ranks(draws, key, ranked)


def _ranked_class(draws: DrawContext, columns: ScoreColumns, key: str, code: int) -> RankedRows:
    found: RankedRows = draws.rows.shared(
        ("ranked rows", key), lambda: RankedRows.of(columns.values(code), columns.own(code))
    )
    return found


def label_area_draws(measure: DrawMeasure) -> ComputeDraws:
    """The measure of the requested class."""

    def compute(draws: DrawContext, call: MetricCall) -> Floats:
        code = class_code(draws.rows, call)
        return in_parts(draws, len(draws.weights), lambda part: measure(_ranks_of_class(part, call, code), call))

    return compute


def mean_area_draws(measure: DrawMeasure, *, by_support: bool = False) -> ComputeDraws:
    """The mean of the measure over the labels for which a draw defines it; `by_support` weights each by its instances."""

    def compute(draws: DrawContext, call: MetricCall) -> Floats:
        codes, _ = averaged_codes(draws.rows, call)

        def mean(part: DrawContext) -> Floats:
            areas, weights = np.zeros((2, len(codes), part.draws))
            for at, code in enumerate(codes):
                ranks = _ranks_of_class(part, call, code)
                area = measure(ranks, call)
                defined = ~np.isnan(area)
                weights[at] = np.where(defined, ranks.positives if by_support else 1.0, 0.0)
                areas[at] = np.where(defined, area, 0.0) * weights[at]
            return divide_draws(added_in_order(areas), added_in_order(weights))

        return in_parts(draws, len(draws.weights), mean)

    return compute


def pooled_area_draws(measure: DrawMeasure) -> ComputeDraws:
    """The measure over all (instance, label) pairs at once."""

    def compute(draws: DrawContext, call: MetricCall) -> Floats:
        codes, _ = averaged_codes(draws.rows, call)
        columns = columns_of_rows(draws, call)
        key = f"{call.options[SCORE_DIRECTION_OPTION]} pooled {codes}"

        def ranked_pairs() -> RankedRows:
            try:
                return RankedRows.of(*columns.pooled_pairs(codes))
            except UndefinedError:
                raise NoDrawForm from None

        ranked: RankedRows = draws.rows.shared(("ranked rows", key), ranked_pairs)
        rows = np.repeat(np.arange(len(draws.weights)), len(codes))
        return in_parts(draws, len(rows), lambda part: measure(draw_ranks(part, key, ranked, rows), call))

    return compute
