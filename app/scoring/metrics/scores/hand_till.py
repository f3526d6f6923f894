"""Averaged AUCs of class pairs: Hand & Till's M on one score per class, and the pairwise AUC of one decision value."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from app.scoring.class_pair_wins import PairwiseWins, TooManyClassesError, pairwise_wins
from app.scoring.declaration.distinct_value_bounds import PAIRS_OF_CLASSES
from app.scoring.declaration.metric import SCORES, Metric, MetricCall, Param, Result, register, rounded_result
from app.scoring.metrics.labels.undefined_rules import UndefinedError, join_names
from app.scoring.metrics.scores.auc import SCORED_MULTICLASS_EXAMPLE, TIES_PARAM
from app.scoring.metrics.scores.class_pair_draws import one_vs_one_auc_draws, pairwise_univariate_draws
from app.scoring.metrics.scores.score_columns import averaged_codes, class_code, score_columns
from app.scoring.metrics.shared_declarations import (
    EXCLUDE_LABELS_OPTION,
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    UNIT_RANGE,
    choice_param,
)
from app.scoring.numeric.correct_rounding import weighted_sum
from app.scoring.numeric.exact import Floats, Integers, multiply, total
from app.scoring.tally import EvaluationContext

DECISION_LABEL_PARAM = Param(
    "label", "label", "the class whose score is the decision value", required_for=("multiclass",)
)
DIRECTION_PARAM = choice_param(
    "direction",
    "how the decision value should follow the declared order of the classes",
    ascending="the later a class is declared, the higher its instances should score",
    descending="the earlier a class is declared, the higher its instances should score",
)


def _wins_by_own_scores(ws: EvaluationContext, call: MetricCall) -> PairwiseWins:
    """The wins of each class by its own scores."""

    def count() -> PairwiseWins:
        return _count_wins(ws, score_columns(ws, call).values)

    return ws.shared(("wins", call.options[SCORE_DIRECTION_OPTION]), count)


def _wins_by_one_score(ws: EvaluationContext, call: MetricCall) -> PairwiseWins:
    """The wins of each class by the scores of one class."""
    columns, code = score_columns(ws, call), class_code(ws, call)

    def count() -> PairwiseWins:
        values = columns.values(code)
        return _count_wins(ws, lambda _: values)

    return ws.shared(("wins", call.options[SCORE_DIRECTION_OPTION], code), count)


def _count_wins(ws: EvaluationContext, column: Callable[[int], Floats]) -> PairwiseWins:
    """The wins by these scores; raises UndefinedError where too many classes occur."""
    try:
        return pairwise_wins(column, ws.case.gold.codes, len(ws.spec.classes), ws.case.weights)
    except TooManyClassesError as error:
        raise UndefinedError(str(error)) from None


def _compared_classes(ws: EvaluationContext, call: MetricCall, wins: PairwiseWins) -> tuple[list[int], tuple[str, ...]]:
    """The classes whose pairs count, and notes on the others (catalogue, row 16). Raises UndefinedError."""
    codes, notes = averaged_codes(ws, call)
    absent = [ws.spec.classes[code] for code in codes if wins.sizes[code] == 0]
    if absent:
        notes = (
            *notes,
            f"{len(absent)} of {len(codes)} labels left out (absent from gold): {join_names(absent)}",
        )
    codes = [code for code in codes if wins.sizes[code] > 0]
    if len(codes) < 2:
        raise UndefinedError(f"there are fewer than two classes to compare: {'; '.join(notes) or 'one is declared'}")
    return codes, notes


def _mean_over_pairs(
    numerator: Integers, denominator: Integers, weight: Integers | None, notes: tuple[str, ...]
) -> Result:
    """The mean over pairs of numerator / denominator, weighted where `weight` is given."""
    divisor = len(numerator) if weight is None else total(weight)
    return rounded_result(weighted_sum(numerator, denominator, weight) / divisor, notes)


def one_vs_one_auc(*, by_size: bool) -> Callable[[EvaluationContext, MetricCall], Result]:
    """The mean over pairs of classes of ½(A(i|j) + A(j|i)); `by_size` weights a pair by its instances."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        wins = _wins_by_own_scores(ws, call)
        codes, notes = _compared_classes(ws, call, wins)
        doubled, sizes = wins.doubled(call.params["ties"], codes), wins.sizes[codes]
        first, second = np.triu_indices(len(codes), 1)
        pairs = 4 * multiply(sizes[first], sizes[second])
        weight = sizes[first] + sizes[second] if by_size else None
        return _mean_over_pairs(doubled[first, second] + doubled[second, first], pairs, weight, notes)

    return compute


def pairwise_univariate(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over pairs of classes of the AUC of one decision value, in one direction for all pairs."""
    wins = _wins_by_one_score(ws, call)
    codes, notes = _compared_classes(ws, call, wins)
    doubled, sizes = wins.doubled(call.params["ties"], codes), wins.sizes[codes]
    first, second = np.triu_indices(len(codes), 1)
    pair_wins = doubled[second, first] if call.params["direction"] == "ascending" else doubled[first, second]
    return _mean_over_pairs(pair_wins, 2 * multiply(sizes[first], sizes[second]), None, notes)


_TIE_TERMS = {"half": r"+\tfrac{1}{2}[%s]", "full": "+[%s]", "zero": ""}


def _pair_equation(ties: str) -> str:
    """A(i|j) in LaTeX: the share of pairs in which the instance of i has the higher score for class i."""
    tied = _TIE_TERMS[ties].replace("%s", "s_{u,i}=s_{v,i}")
    return rf"A(i|j)=\frac{{1}}{{n_{{i}}n_{{j}}}}\sum_{{u\in i}}\sum_{{v\in j}}\left([s_{{u,i}}>s_{{v,i}}]{tied}\right)"


def _macro_equation(ties: str) -> str:
    return rf"\frac{{2}}{{c(c-1)}}\sum_{{i<j}}\tfrac{{1}}{{2}}\left(A(i|j)+A(j|i)\right),\quad {_pair_equation(ties)}"


def _weighted_equation(ties: str) -> str:
    means = r"\frac{\sum_{i<j}(n_{i}+n_{j})\tfrac{1}{2}\left(A(i|j)+A(j|i)\right)}{\sum_{i<j}(n_{i}+n_{j})}"
    return rf"{means},\quad {_pair_equation(ties)}"


def _univariate_equation(ties: str, direction: str) -> str:
    tied = _TIE_TERMS[ties].replace("%s", "s_{u}=s_{v}")
    sign = "<" if direction == "ascending" else ">"
    win_term = rf"\left([s_{{u}}{sign} s_{{v}}]{tied}\right)"
    return rf"\frac{{2}}{{c(c-1)}}\sum_{{i<j}}\frac{{1}}{{n_{{i}}n_{{j}}}}\sum_{{u\in i}}\sum_{{v\in j}}{win_term}"


_SYMBOLS = {
    "i": "runs over these classes, in the order declared",
    "j": "runs over those of these classes that are declared after i",
    "c": "number of classes that occur in gold, without excluded ones",
    "n_i": "instances of class i in gold",
    "n_j": "instances of class j in gold",
    "u, v": "run over the instances of class i and of class j",
}
_HAND_TILL_M = Metric(
    key="auc_ovo_macro",
    name="Hand & Till M",
    names=("multi-class AUC", "one-vs-one macro AUC", "MAUC", "hand_till"),
    equation=_macro_equation("half"),
    tasks=("multiclass",),
    needs=(SCORES,),
    direction="higher",
    granularity=PAIRS_OF_CLASSES,
    range=UNIT_RANGE,
    params=(TIES_PARAM,),
    options=(SCORE_DIRECTION_OPTION, EXCLUDE_LABELS_OPTION),
    properties=replace(SCORE_PROPERTIES, prevalence_sensitive=False),
    source="Hand & Till 2001 eq 7, with mid-ranks; Döring",
    example=replace(SCORED_MULTICLASS_EXAMPLE, value="61/72"),
    compute=one_vs_one_auc(by_size=False),
    compute_draws=one_vs_one_auc_draws(by_size=False),
    hints={"binary": "use auc", "multilabel": "use auc_macro"},
    symbols=_SYMBOLS | {"s_{u,i}": "score of class i for instance u, as sent"},
    peers={
        "scikit-learn": "roc_auc_score(multi_class='ovo', average='macro') requires that the scores of an instance sum to 1 "
        "and that every class occur",
        "pROC": "multiclass.roc with a matrix is the same; absent classes are dropped there too, with a warning",
        "Döring's code": "ranks by plain order, so that ties depend on the order of the instances",
    },
    equation_of_call=lambda call: _macro_equation(call.params["ties"]),
)
_WEIGHTED = replace(
    _HAND_TILL_M,
    key="auc_ovo_weighted",
    name="size-weighted one-vs-one AUC",
    names=("one-vs-one weighted AUC", "weighted multi-class AUC"),
    equation=_weighted_equation("half"),
    properties=replace(_HAND_TILL_M.properties, prevalence_sensitive=True),
    source="Ferri, Hernández-Orallo & Modroiu 2009; scikit-learn",
    example=replace(SCORED_MULTICLASS_EXAMPLE, value="109/128"),
    compute=one_vs_one_auc(by_size=True),
    compute_draws=one_vs_one_auc_draws(by_size=True),
    peers={
        "scikit-learn": "roc_auc_score(multi_class='ovo', average='weighted'), with the same requirements; it is not Hand & "
        "Till's M"
    },
    equation_of_call=lambda call: _weighted_equation(call.params["ties"]),
)
_UNIVARIATE = replace(
    _HAND_TILL_M,
    key="auc_pairwise_univariate",
    name="pairwise AUC of one decision value",
    names=("mean pairwise AUC", "multiclass.roc of a vector"),
    equation=_univariate_equation("half", "ascending"),
    params=(DECISION_LABEL_PARAM, DIRECTION_PARAM, TIES_PARAM),
    properties=replace(_HAND_TILL_M.properties, ordinal=True),
    source="pROC, multiclass.roc with a vector; Döring",
    example=replace(SCORED_MULTICLASS_EXAMPLE, value="3/4", params={"label": "cat"}),
    compute=pairwise_univariate,
    compute_draws=pairwise_univariate_draws,
    symbols=_SYMBOLS | {"s_u, s_v": "decision value of instances u and v: the score of the class that is named"},
    peers={
        "pROC": "multiclass.roc of a vector reverses each pair if that gives a higher value, unless a direction is given: "
        "'<' is ascending, '>' descending",
    },
    equation_of_call=lambda call: _univariate_equation(call.params["ties"], call.params["direction"]),
)
for _metric in (_HAND_TILL_M, _WEIGHTED, _UNIVARIATE):
    register(_metric)
