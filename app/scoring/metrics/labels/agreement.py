"""Agreement beyond chance: Cohen's kappa, Scott's pi, Gwet's AC1 and the multi-class Matthews correlation."""

from fractions import Fraction
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CLASS_TABLES, CONFUSION
from app.scoring.declaration.metric import MetricCall, Properties, Result
from app.scoring.draw_context import DrawContext, DrawTally, Floats, NoDrawForm, divide_draws
from app.scoring.metrics.example_data import MULTICLASS_EXAMPLE
from app.scoring.metrics.labels.confusion_cells import class_distances, confusion_cells
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.shared_declarations import (
    SIGNED_RANGE,
    choice_param,
    declare_single_label_metric,
    worked_example,
)
from app.scoring.numeric.exact import Integers, multiply, square_root, total
from app.scoring.tally import EvaluationContext, Tally

OUTSIDE_IS_CATEGORY = "a label outside the vocabulary and a missing prediction are categories of their own"
OUTSIDE_NEVER_AGREES = "a label outside the vocabulary and a missing prediction never agree and are no class of the sum"
ONE_CLASS_REASON = "gold and predictions consist of the same single class, so chance agreement is 1 (0/0)"
EXACT_LIMIT = 2**53  # binary64 holds smaller whole numbers exactly
WEIGHTS_PARAM = choice_param(
    "weights",
    "the weight of a disagreement",
    none="all disagreements have the same weight",
    linear="the distance between the two classes, in positions of the declared order",
    quadratic="the square of the distance between the two classes, in positions of the declared order",
)


def _chance_agreement(tally: Tally) -> int:
    """The sum over classes of (times predicted) × (times in gold)."""
    return total(multiply(tally.classes.predicted, tally.classes.support))


def cohen_kappa(ws: EvaluationContext, call: MetricCall) -> Result:
    """(p_o - p_e) / (1 - p_e), computed as one division of integers; undefined where chance agreement is 1.

    With weights: 1 - (weighted disagreement) / (weighted disagreement expected by chance), with the classes in declared
    order (Cohen 1968).
    """
    tally = ws.tally(call.options)
    if call.params["weights"] == "none":
        return Result(unweighted_kappa(tally))
    cells = confusion_cells(ws, tally, "position on the scale of classes")
    power = 1 if call.params["weights"] == "linear" else 2
    observed = total(multiply(np.abs(cells.gold - cells.predicted) ** power, cells.counts))
    expected = _expected_distance(tally, power)
    if expected == 0:
        raise UndefinedError(ONE_CLASS_REASON)
    return Result((expected - tally.n * observed) / expected)


def unweighted_kappa(tally: Tally) -> float:
    """Cohen's kappa of the counts, unweighted; raises UndefinedError where chance agreement is 1."""
    chance = _chance_agreement(tally)
    if tally.n**2 == chance:
        raise UndefinedError(ONE_CLASS_REASON)
    return (tally.n * tally.exact - chance) / (tally.n**2 - chance)


def _expected_distance(tally: Tally, power: int) -> int:
    """The sum over classes j, k of |j - k| to this power × (times j in gold) × (times k predicted)."""
    gold, predicted = ([int(count) for count in side] for side in (tally.classes.support, tally.classes.predicted))
    if power == 1:
        # |j - k| is the number of gaps between neighbouring classes that lie between j and k: add up the pairs per gap
        distance = below_gold = below_predicted = 0
        for g, p in zip(gold, predicted, strict=True):
            below_gold += g
            below_predicted += p
            distance += below_gold * (tally.n - below_predicted) + below_predicted * (tally.n - below_gold)
        return distance
    sums = [[sum(count * at**k for at, count in enumerate(side)) for k in (1, 2)] for side in (gold, predicted)]
    (gold_first, gold_second), (first, second) = sums
    return tally.n * (gold_second + second) - 2 * gold_first * first


def scott_pi(ws: EvaluationContext, call: MetricCall) -> Result:
    """Like kappa, but chance follows from the pooled distribution: (4nE - S) / (4n² - S), S the sum of squared totals."""
    tally = ws.tally(call.options)
    both = _class_totals(tally)
    chance = sum(count**2 for count in both)
    if chance == 4 * tally.n**2:
        raise UndefinedError(ONE_CLASS_REASON)
    return Result((4 * tally.n * tally.exact - chance) / (4 * tally.n**2 - chance))


def gwet_ac1(ws: EvaluationContext, call: MetricCall) -> Result:
    """Like kappa, with chance Σ π(1 - π) / (K - 1), which is highest where all classes are equally common.

    K counts the declared classes. Labels outside the vocabulary never agree and enter no class of the sum.
    """
    tally = ws.tally(call.options)
    both = _class_totals(tally)[: len(tally.names)]
    others = len(both) - 1
    if others == 0:
        raise UndefinedError("there is only one class, so chance agreement is 0/0")
    chance = sum(count * (2 * tally.n - count) for count in both)
    scale = 4 * others * tally.n**2
    return Result((4 * others * tally.n * tally.exact - chance) / (scale - chance))


def _class_totals(tally: Tally) -> list[int]:
    """Occurrences of each class in gold and predictions together, then of labels outside the vocabulary."""
    sums = [int(g) + int(p) for g, p in zip(tally.classes.support, tally.classes.predicted, strict=True)]
    return [*sums, tally.outside_fp, tally.outside_fn, tally.without_prediction]


def mcc(ws: EvaluationContext, call: MetricCall) -> Result:
    """The multi-class R_K with a correctly rounded square root; 0 with a note where a side is constant (row 30).

    Labels outside the vocabulary and missing predictions are categories of their own.
    """
    tally = ws.tally(call.options)
    gold, predicted = tally.classes.support, tally.classes.predicted
    covariance = tally.n * tally.exact - _chance_agreement(tally)
    outside = tally.outside_fp**2 + tally.without_prediction**2
    spread_predicted = tally.n**2 - total(multiply(predicted, predicted)) - outside
    spread_gold = tally.n**2 - total(multiply(gold, gold)) - tally.outside_fn**2
    if spread_predicted == 0 or spread_gold == 0:
        side = "gold" if spread_gold == 0 else "the predictions"
        return Result(0.0, None, (f"there is only one class in {side}: the correlation is 0/0 and counts as 0",))
    size = square_root(Fraction(covariance**2, spread_predicted * spread_gold))
    return Result(-size if covariance < 0 else size)


def cohen_kappa_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`cohen_kappa` for many draws at once."""
    tally = _whole_tally(draws, call)
    if call.params["weights"] == "none":
        chance = _chance_draws(tally)
        return divide_draws(tally.n * tally.exact - chance, tally.n * tally.n - chance)
    power = 1 if call.params["weights"] == "linear" else 2
    distances, undefined = class_distances(draws.rows)
    expected = _expected_distance_draws(tally, power)
    values = divide_draws(expected - tally.n * draws.sum_of(distances**power), expected)
    return np.where(draws.sum_rows(undefined) > 0, np.nan, values)


def _whole_tally(draws: DrawContext, call: MetricCall) -> DrawTally:
    """The counts; raises NoDrawForm where products of two of them may not be exact in binary64."""
    largest, scale = draws.total.max(initial=0), 4 if call.params.get("weights", "none") == "none" else 2
    m = len(draws.spec.classes) if scale == 2 else 1  # products of distances too
    if scale * (largest * m) ** 2 >= EXACT_LIMIT:
        raise NoDrawForm
    return draws.tally(call.options)


def _chance_draws(tally: DrawTally) -> Floats:
    """`_chance_agreement` of each draw."""
    return np.asarray(np.add.reduce(tally.classes.predicted * tally.classes.support, axis=0))


def _expected_distance_draws(tally: DrawTally, power: int) -> Floats:
    """`_expected_distance` of each draw."""
    gold, predicted = tally.classes.support, tally.classes.predicted
    if power == 1:
        below_gold, below_predicted = np.cumsum(gold, axis=0), np.cumsum(predicted, axis=0)
        gaps = below_gold * (tally.n - below_predicted) + below_predicted * (tally.n - below_gold)
        return np.asarray(np.add.reduce(gaps, axis=0))
    at = np.arange(len(gold), dtype=np.float64)[:, None]
    (gold_first, gold_second), (first, second) = (
        [np.add.reduce(side * at**k, axis=0) for k in (1, 2)] for side in (gold, predicted)
    )
    return np.asarray(tally.n * (gold_second + second) - 2 * gold_first * first)


def scott_pi_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`scott_pi` for many draws at once."""
    tally = _whole_tally(draws, call)
    chance = _sum_of_squares(tally.classes.support + tally.classes.predicted)
    for outside in (tally.outside_fp, tally.outside_fn, tally.without_prediction):
        chance = chance + outside * outside
    return divide_draws(4 * tally.n * tally.exact - chance, 4 * tally.n * tally.n - chance)


def gwet_ac1_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`gwet_ac1` for many draws at once."""
    tally = _whole_tally(draws, call)
    others = len(tally.names) - 1
    if others == 0:
        return np.full(draws.draws, np.nan)
    both = tally.classes.support + tally.classes.predicted
    chance = np.add.reduce(both * (2 * tally.n - both), axis=0) / others
    return divide_draws(4 * tally.n * tally.exact - chance, 4 * tally.n * tally.n - chance)


def mcc_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`mcc` for many draws at once."""
    tally = _whole_tally(draws, call)
    square = tally.n * tally.n
    outside = tally.outside_fp * tally.outside_fp + tally.without_prediction * tally.without_prediction
    spread_predicted = square - _sum_of_squares(tally.classes.predicted) - outside
    spread_gold = square - _sum_of_squares(tally.classes.support) - tally.outside_fn * tally.outside_fn
    covariance = tally.n * tally.exact - _chance_draws(tally)
    values = divide_draws(covariance, np.sqrt(spread_predicted) * np.sqrt(spread_gold))
    return np.where((spread_predicted == 0) | (spread_gold == 0), 0.0, values)


def _sum_of_squares(counts: Integers | Floats) -> Floats:
    """The sum over classes of the squared counts of each draw."""
    return np.asarray(np.add.reduce(counts * counts, axis=0))


_OBSERVED = r"p_{o}=\frac{1}{n}\sum_{j} \mathrm{TP}_{j}"
_BEYOND = r"\frac{p_{o}-p_{e}}{1-p_{e}},\quad " + _OBSERVED
_POOLED_SHARE = r"\pi_{j}=\frac{n_{j}+p_{j}}{2\,n}"
_AGREEMENT_SYMBOLS = {"p_o": "observed agreement", "p_e": "agreement expected by chance"}
_PI_SYMBOLS = {**_AGREEMENT_SYMBOLS, "π_j": "share of class j in gold and predictions together"}
_WEIGHTED_KAPPA_SYMBOLS = {
    "p_k": "predictions of class k",
    "w_jk": "weight of class j in gold and k predicted",
    "n_jk": "instances of class j predicted as k",
}


def _kappa_equation(call: MetricCall) -> str:
    """The weighted form where the call has weights."""
    weights = call.params["weights"]
    if weights == "none":
        return call.metric.equation
    weight = "|j-k|" if weights == "linear" else "(j-k)^{2}"
    return (
        r"1-\frac{\sum_{j}\sum_{k} w_{jk}\,n_{jk}}{\frac{1}{n}\sum_{j}\sum_{k} w_{jk}\,n_{j}\,p_{k}},\quad w_{jk}="
        + weight
    )


_declare = partial(declare_single_label_metric, direction="higher", granularity=CLASS_TABLES, range=SIGNED_RANGE)

_declare(
    key="cohen_kappa",
    name="Cohen's kappa",
    names=("kappa", "chance-corrected agreement", "weighted kappa", "quadratic weighted kappa", "QWK"),
    equation=rf"{_BEYOND},\;p_{{e}}=\frac{{1}}{{n^{{2}}}}\sum_{{j}} p_{{j}}\,n_{{j}}",
    granularity=CONFUSION,
    params=(WEIGHTS_PARAM,),
    properties=Properties(symmetric=True, prevalence_sensitive=True, ordinal=True),
    source=f"Cohen 1960, A coefficient of agreement for nominal scales; Cohen 1968, Weighted kappa; {OUTSIDE_IS_CATEGORY}",
    example=worked_example(MULTICLASS_EXAMPLE, "4/13"),
    compute=cohen_kappa,
    compute_draws=cohen_kappa_draws,
    hints={"multilabel": "kappa requires one label per instance"},
    symbols={**_AGREEMENT_SYMBOLS, **_WEIGHTED_KAPPA_SYMBOLS},
    peers={
        "scikit-learn": "cohen_kappa_score; nan if it is 0/0. With weights it numbers only the classes that occur, so an "
        "absent class brings its neighbours closer together, unless labels= lists all",
        "PyCM": 'Kappa, weighted_kappa; "None" if it is 0/0',
        "caret": "Kappa; NaN if it is 0/0",
    },
    equation_of_call=_kappa_equation,
)
_declare(
    key="scott_pi",
    name="Scott's pi",
    names=("Kappa Unbiased", "unbiased kappa"),
    equation=rf"{_BEYOND},\;p_{{e}}=\sum_{{j}} \pi_{{j}}^{{2}},\;{_POOLED_SHARE}",
    source=f"Scott 1955, Reliability of content analysis; {OUTSIDE_IS_CATEGORY}",
    example=worked_example(MULTICLASS_EXAMPLE, "29/101"),
    compute=scott_pi,
    compute_draws=scott_pi_draws,
    merges_cells=True,
    hints={"multilabel": "this coefficient requires one label per instance"},
    symbols=_PI_SYMBOLS,
    peers={"PyCM": 'Scott PI; "None" if it is 0/0'},
)
_declare(
    key="gwet_ac1",
    name="Gwet's AC1",
    names=("AC1", "first-order agreement coefficient"),
    equation=rf"{_BEYOND},\;p_{{e}}=\frac{{1}}{{K-1}}\sum_{{j}} \pi_{{j}}\,(1-\pi_{{j}}),\;{_POOLED_SHARE}",
    source=f"Gwet 2008, Computing inter-rater reliability and its variance; {OUTSIDE_NEVER_AGREES}",
    example=worked_example(MULTICLASS_EXAMPLE, "79/223"),
    compute=gwet_ac1,
    compute_draws=gwet_ac1_draws,
    merges_cells=True,
    hints={"multilabel": "this coefficient requires one label per instance"},
    symbols={**_PI_SYMBOLS, "K": "number of declared classes"},
    peers={
        "PyCM": "Gwet AC1; for vectors its K is the number of classes that occur, here that of the declared classes"
    },
)
_declare(
    key="mcc",
    name="Matthews correlation coefficient",
    names=("phi coefficient", "R_K"),
    equation=r"\frac{n\sum_{j} \mathrm{TP}_{j}-\sum_{j} p_{j}\,n_{j}}{\sqrt{(n^{2}-\sum_{j} p_{j}^{2})(n^{2}-\sum_{j} n_{j}^{2})}}",
    source="Gorodkin 2004, Comparing two K-category assignments by a K-category correlation coefficient; "
    f"{OUTSIDE_IS_CATEGORY}",
    example=worked_example(MULTICLASS_EXAMPLE, "0.32714432804381227"),
    compute=mcc,
    compute_draws=mcc_draws,
    merges_cells=True,
    hints={"multilabel": "the correlation requires one label per instance"},
    peers={
        "scikit-learn": "matthews_corrcoef; 0 if a side is constant, as here",
        "PyCM": 'Overall MCC; "None" if a side is constant',
    },
)
