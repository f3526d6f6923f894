"""Measures at k that weight each label by its inverse propensity, so that rare labels count more.

The propensity of a label is the probability that it is annotated where it holds, estimated from its training frequency.
Source: Jain, Prabhu & Varma 2016, Extreme multi-label loss functions for recommendation, tagging, ranking and other
missing label applications.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import LABEL_WEIGHTS
from app.scoring.declaration.metric import RANKING, TRAIN_FREQUENCIES, Compute, ComputeDraws, MetricCall, Param, Result
from app.scoring.draw_context import DrawContext, InstanceValues, divide_draws
from app.scoring.label_ranking import Int, LabelRanks
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.rankings.discounted_gain import DISCOUNT_UNITS, discounts, gains
from app.scoring.metrics.rankings.ranking_inputs import (
    K_PARAM,
    PAD_PARAM,
    TIES_PARAM,
    TOP_K_SYMBOLS,
    declare_ranking_metric,
    mean_draws,
    ranking_depth,
    ranking_example,
    ranks_of_case,
    submitted_order_note,
    sum_by_instance,
    ties_param,
)
from app.scoring.metrics.shared_declarations import (
    MULTILABEL_TASKS,
    ROUNDED_SCORE_PROPERTIES,
    UNBOUNDED_RANGE,
    choice_param,
)
from app.scoring.numeric.exact import Floats, divide, divide_sum, round_to_12_digits
from app.scoring.ranking_ties import TIE_RULES, positions, tied_positions_within
from app.scoring.tally import EvaluationContext


@dataclass(frozen=True, slots=True)
class _Gains:
    """The gain of each relevant label, its instance, and what the sum of an instance is divided by.

    `best` are the gains in the best attainable ranking, if the gains are divided by these; they belong to the same rows.
    """

    rows: Int
    gains: Floats
    divisor: float
    best: Floats | None


GainsOf = Callable[[EvaluationContext, MetricCall], _Gains]


def psp_at_k(ws: EvaluationContext, call: MetricCall) -> _Gains:
    """The summed inverse propensities of the relevant labels among the k ranked first, divided by k."""
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    inverse, rule = _inverse_propensities(ws, call, ranks), call.params["ties"]
    if rule == "average":
        limit = np.full(len(ranks.sizes), k, dtype=np.int64)
        shares = divide(tied_positions_within(ranks, limit), ranks.tied)
    else:
        shares = (positions(ranks, rule, _order_in_ties(ranks, inverse, rule)) <= k).astype(np.float64)
    if call.params["normalized"] == "false":
        return _Gains(ranks.rows, inverse * shares, float(k), None)
    rows, ideal, position = _ideal_ranking(ranks, inverse)
    return _Gains(rows, inverse * shares, 1.0, np.where(position < k, ideal, 0.0))


def psndcg_at_k(ws: EvaluationContext, call: MetricCall) -> _Gains:
    """The DCG to which each relevant label gives its inverse propensity, divided by the sum of the k discounts."""
    k, ranks = ranking_depth(ws, call), ranks_of_case(ws, call)
    inverse, rule = _inverse_propensities(ws, call, ranks), call.params["ties"]
    label_gains = gains(ranks, k, rule, _order_in_ties(ranks, inverse, rule)) / DISCOUNT_UNITS
    discount = discounts(k) / DISCOUNT_UNITS
    if call.params["normalized"] == "false":
        return _Gains(ranks.rows, inverse * label_gains, math.fsum(discount.tolist()), None)
    rows, ideal, position = _ideal_ranking(ranks, inverse)
    ideal_gains = np.where(position < k, ideal * discount[np.minimum(position + 1, k)], 0.0)
    return _Gains(rows, inverse * label_gains, 1.0, ideal_gains)


def _share_of_gains(gains_of: GainsOf) -> Compute:
    """The mean gain, or the sum of the gains divided by the sum of the best attainable ones."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        of = gains_of(ws, call)
        gain = _weighted_sum(ws, of.rows, of.gains)
        if of.best is None:
            return _rounded_result(ws, divide_sum(gain, ws.total) / of.divisor)
        return _normalized_result(ws, gain, _weighted_sum(ws, of.rows, of.best))

    return compute


def _share_of_gains_draws(gains_of: GainsOf) -> ComputeDraws:
    """`_share_of_gains` for many draws at once."""

    def sums(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
        of = gains_of(ws, call)
        return sum_by_instance(of.rows, of.gains, ws.case.gold.n) / of.divisor, np.ones(ws.case.gold.n, dtype=bool)

    def best_sums(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
        of = gains_of(ws, call)
        assert of.best is not None, "called where the gains are divided by the best ones"
        return sum_by_instance(of.rows, of.best, ws.case.gold.n), np.ones(ws.case.gold.n, dtype=bool)

    def compute(draws: DrawContext, call: MetricCall) -> Floats:
        gain = mean_draws(sums)(draws, call)
        if call.params["normalized"] == "false":
            return gain
        best = draws.mean_of_call(("best gains", *call.cache_key), lambda: best_sums(draws.rows, call))
        return divide_draws(gain, best)

    return compute


def _inverse_propensities(ws: EvaluationContext, call: MetricCall, ranks: LabelRanks) -> Floats:
    """1 / p of each relevant label: 1 + C (N_l + b)^-a with C = (ln N - 1) (b + 1)^a. Raises UndefinedError."""
    counts, n_train = ws.train_frequencies, int(call.params["n_train"])
    assert counts is not None, "checked among the needs of the metric"
    if int(counts.max()) > n_train:
        label = ws.spec.classes[int(counts.argmax())]
        raise UndefinedError(f"'{label}' occurs {counts.max()} times in training, more often than n_train={n_train}")
    a, b = float(call.params["a"]), float(call.params["b"])
    scale = (math.log(n_train) - 1) * (b + 1) ** a
    distinct, index = np.unique(counts, return_inverse=True)
    powers = [math.exp(-a * math.log(count + b)) if count + b else math.inf for count in distinct.tolist()]
    inverse = np.array([1 + scale * power for power in powers])[index[ranks.codes]]
    if np.isinf(inverse).any():
        raise UndefinedError("with b=0 a label absent from training has no propensity, and gold has such a label")
    return np.asarray(inverse)


def _order_in_ties(ranks: LabelRanks, inverse: Floats, rule: str) -> Int:
    """The order of tied relevant labels: the largest inverse propensity last under `worst`, first under `best`."""
    first = np.arange(len(ranks.rows)) - ranks.order_in_tie
    order = np.lexsort((-inverse if rule == "best" else inverse, first))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order)) - first[order]
    return position


def _ideal_ranking(ranks: LabelRanks, inverse: Floats) -> tuple[Int, Floats, Int]:
    """Relevant labels by falling inverse propensity: their instances, inverse propensities, and positions from 0."""
    order = np.lexsort((-inverse, ranks.rows))
    starts = (np.cumsum(ranks.sizes) - ranks.sizes)[ranks.rows]
    return ranks.rows, inverse[order], np.arange(len(order)) - starts


def _weighted_sum(ws: EvaluationContext, rows: Int, terms: Floats) -> float:
    """The weighted sum of terms, correctly rounded (fsum)."""
    weights = ws.case.weights
    return math.fsum((terms if weights is None else terms * weights[rows]).tolist())


def _normalized_result(ws: EvaluationContext, gain: float, best: float) -> Result:
    if not best:
        raise UndefinedError("no instance has a relevant label, so the best attainable value is 0")
    return _rounded_result(ws, gain / best)


def _rounded_result(ws: EvaluationContext, value: float) -> Result:
    return Result(round_to_12_digits(value), None, submitted_order_note(ws))


_N_TRAIN_PARAM = Param(
    "n_train", "whole", "the number of training instances", bounds=(3, 10**12), required_for=MULTILABEL_TASKS
)
_A_PARAM = Param(
    "a", "number", "exponent of the propensities: 0.5 for Wikipedia, 0.6 for Amazon", "0.55", bounds=(0, 10)
)
_B_PARAM = Param(
    "b", "number", "offset of the propensities: 0.4 for Wikipedia, 2.6 for Amazon", "1.5", bounds=(0, 1000)
)
_NORMALIZED_PARAM = choice_param(
    "normalized",
    "whether the value is divided by the best attainable value",
    false="not divided by the best attainable value",
    true="the sum over instances is divided by the sum for the best attainable ranking",
)
_PROPENSITY = r",\quad \frac{1}{p_{y}}=1+C\,(N_{y}+\param{b})^{-\param{a}},\quad C=(\ln N-1)\,(\param{b}+1)^{\param{a}}"
_SYMBOLS = {
    **TOP_K_SYMBOLS,
    "y": "runs over the labels",
    "p_y": "propensity of label y",
    "N": "number of training instances, n_train",
    "N_y": "training instances that have label y",
    "a, b": "constants of the data set",
}
_GAIN = r"\sum_{r=1}^{\param{k}} \frac{y_{ir}}{p_{ir}\,\log_{2}(1+r)}"
_DISCOUNTS = r"\sum_{r=1}^{\param{k}} \frac{1}{\log_{2}(1+r)}"
_HITS = r"\sum_{y\in\mathrm{top}_{\param{k}}(i)\cap Y_{i}} \frac{1}{p_{y}}"
_PSP = rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{1}}{{\param{{k}}}}{_HITS}{_PROPENSITY}"
_PSNDCG = rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} G_{{i}},\quad G_{{i}}=\frac{{{_GAIN}}}{{{_DISCOUNTS}}}{_PROPENSITY}"


def _psp_equation(call: MetricCall) -> str:
    if call.params["normalized"] == "false":
        return _PSP
    return rf"\frac{{\sum_{{i}} {_HITS}}}{{\sum_{{i}} \max {_HITS}}}{_PROPENSITY}"


def _psndcg_equation(call: MetricCall) -> str:
    if call.params["normalized"] == "false":
        return _PSNDCG
    return _PSNDCG.replace(r"\frac{1}{n}\sum_{i=1}^{n} G_{i}", r"\frac{\sum_{i} G_{i}}{\sum_{i} \max G_{i}}", 1)


_declare = partial(
    declare_ranking_metric,
    needs=(RANKING, TRAIN_FREQUENCIES),
    granularity=LABEL_WEIGHTS,
    range=UNBOUNDED_RANGE,
    properties=ROUNDED_SCORE_PROPERTIES,
    source="Jain, Prabhu & Varma 2016, Extreme multi-label loss functions, sec 4; Bhatia et al. 2016, The extreme "
    "classification repository",
)

_declare(
    key="psp_at_k",
    name="propensity-scored precision at k",
    names=("PSP@k", "PSprecision@k", "propensity-scored precision"),
    equation=_PSP,
    params=(K_PARAM, _N_TRAIN_PARAM, _A_PARAM, _B_PARAM, TIES_PARAM, _NORMALIZED_PARAM, PAD_PARAM),
    example=ranking_example("1.04536517513", k="2", n_train="12"),
    compute=_share_of_gains(psp_at_k),
    compute_draws=_share_of_gains_draws(psp_at_k),
    symbols=_SYMBOLS,
    peers={
        "XML repository": "precision_wt_k is normalized=true: the mean divided by the mean of the best attainable values",
        "napkinXC": "psprecision_at_k is normalized=true by default; for lists, inverse_propensity of its older "
        "module measures uses the largest label number as the number of training instances",
        "pyxclib": "psprecision is always normalized=true",
    },
    equation_of_call=_psp_equation,
)
_declare(
    key="psndcg_at_k",
    name="propensity-scored nDCG at k",
    names=("PSnDCG@k", "PSN@k", "propensity-scored normalized discounted cumulative gain"),
    equation=_PSNDCG,
    params=(
        K_PARAM,
        _N_TRAIN_PARAM,
        _A_PARAM,
        _B_PARAM,
        ties_param(*TIE_RULES, default="average"),
        _NORMALIZED_PARAM,
        PAD_PARAM,
    ),
    example=ranking_example("0.937985405339", k="2", n_train="12"),
    compute=_share_of_gains(psndcg_at_k),
    compute_draws=_share_of_gains_draws(psndcg_at_k),
    symbols={
        **_SYMBOLS,
        "r": "runs over the positions of the ranking",
        "y_{ir}": "1 where the label at position r is relevant for instance i, else 0",
        "p_{ir}": "propensity of the label at position r",
    },
    peers={
        "XML repository": "nDCG_wt_k is normalized=true: the mean divided by the mean of the best attainable values",
        "napkinXC": "psndcg_at_k divides the gain of each instance by the discounts of min(k, number of relevant "
        "labels) positions, and by default normalizes that as normalized=true does",
        "pyxclib": "psndcg divides as napkinXC does, and always normalizes that as normalized=true does",
    },
    equation_of_call=_psndcg_equation,
)
