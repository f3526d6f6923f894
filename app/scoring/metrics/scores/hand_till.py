"""AUCs of pairs of classes, averaged: Hand & Till's M on a score for each class, and pairs on one decision value."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from app.scoring.declaration.granularity import PAIRS_OF_CLASSES
from app.scoring.declaration.metric import SCORES, Metric, MetricCall, Param, Properties, Result, register, rounded_once
from app.scoring.metrics.labels.undefined_rules import UndefinedError, listed
from app.scoring.metrics.scores.auc import MULTICLASS, TIES
from app.scoring.metrics.scores.curve_areas import DIRECTION, EXCLUDE
from app.scoring.metrics.scores.score_columns import code_of, codes_kept, columns_of
from app.scoring.numeric.correct_rounding import weighted_sum
from app.scoring.numeric.exact import Floats, Integers, times, total
from app.scoring.pairwise_wins import TooManyError, Wins, wins_of
from app.scoring.tally import Workspace

COLUMN = Param("label", "label", "the class whose score is the decision value", required_for=("multiclass",))
ORDER = Param(
    "direction",
    "choice",
    "How the decision value should follow the order in which the classes are declared.",
    default="ascending",
    values=("ascending", "descending"),
    value_meanings=(
        "the later a class is declared, the higher its instances should score",
        "the earlier a class is declared, the higher its instances should score",
    ),
)


def _of_classes(ws: Workspace, call: MetricCall) -> Wins:
    """The wins of each class by its own scores."""

    def make() -> Wins:
        return _wins(ws, columns_of(ws, call).values)

    return ws.shared(("wins", call.options[DIRECTION]), make)


def _of_one_value(ws: Workspace, call: MetricCall) -> Wins:
    """The wins of each class by the scores of one class."""
    columns, code = columns_of(ws, call), code_of(ws, call)

    def make() -> Wins:
        values = columns.values(code)
        return _wins(ws, lambda _: values)

    return ws.shared(("wins", call.options[DIRECTION], code), make)


def _wins(ws: Workspace, column: Callable[[int], Floats]) -> Wins:
    """The wins by these scores; UndefinedError where too many classes occur."""
    try:
        return wins_of(column, ws.case.gold.codes, len(ws.spec.classes), ws.case.weights)
    except TooManyError as many:
        raise UndefinedError(str(many)) from None


def _present(ws: Workspace, call: MetricCall, wins: Wins) -> tuple[list[int], tuple[str, ...]]:
    """The classes whose pairs count, and notes on those that drop out (catalogue, row 16)."""
    codes, notes = codes_kept(ws, call)
    absent = [ws.spec.classes[code] for code in codes if wins.sizes[code] == 0]
    if absent:
        notes = (
            *notes,
            f"{len(absent)} of {len(codes)} labels absent from gold, their pairs dropped: {listed(absent)}",
        )
    codes = [code for code in codes if wins.sizes[code] > 0]
    if len(codes) < 2:
        raise UndefinedError(f"fewer than two classes to compare: {'; '.join(notes) or 'one is declared'}")
    return codes, notes


def _mean(numerator: Integers, denominator: Integers, weight: Integers | None, notes: tuple[str, ...]) -> Result:
    """The mean over pairs of numerator / denominator, or its mean by weight."""
    divisor = len(numerator) if weight is None else total(weight)
    return rounded_once(weighted_sum(numerator, denominator, weight) / divisor, notes)


def over_pairs(*, by_size: bool) -> Callable[[Workspace, MetricCall], Result]:
    """The mean over pairs of classes of ½(A(i|j) + A(j|i)); `by_size` weighs a pair by its instances."""

    def compute(ws: Workspace, call: MetricCall) -> Result:
        wins = _of_classes(ws, call)
        codes, notes = _present(ws, call, wins)
        doubled, sizes = wins.doubled(call.params["ties"], codes), wins.sizes[codes]
        first, second = np.triu_indices(len(codes), 1)
        pairs = 4 * times(sizes[first], sizes[second])
        weight = sizes[first] + sizes[second] if by_size else None
        return _mean(doubled[first, second] + doubled[second, first], pairs, weight, notes)

    return compute


def pairwise_univariate(ws: Workspace, call: MetricCall) -> Result:
    """The mean over pairs of classes of the AUC of one decision value, in one direction for all pairs."""
    wins = _of_one_value(ws, call)
    codes, notes = _present(ws, call, wins)
    doubled, sizes = wins.doubled(call.params["ties"], codes), wins.sizes[codes]
    first, second = np.triu_indices(len(codes), 1)
    won = doubled[second, first] if call.params["direction"] == "ascending" else doubled[first, second]
    return _mean(won, 2 * times(sizes[first], sizes[second]), None, notes)


_TIED = {"half": r"+\tfrac{1}{2}[%s]", "full": "+[%s]", "zero": ""}


def _one(ties: str) -> str:
    """A(i|j) in LaTeX: in how many pairs an instance of i has more of the score of i than one of j."""
    tied = _TIED[ties].replace("%s", "s_{u,i}=s_{v,i}")
    return rf"A(i|j)=\frac{{1}}{{n_{{i}}n_{{j}}}}\sum_{{u\in i}}\sum_{{v\in j}}\left([s_{{u,i}}>s_{{v,i}}]{tied}\right)"


def _macro(ties: str) -> str:
    return rf"\frac{{2}}{{c(c-1)}}\sum_{{i<j}}\tfrac{{1}}{{2}}\left(A(i|j)+A(j|i)\right),\quad {_one(ties)}"


def _weighted(ties: str) -> str:
    means = r"\frac{\sum_{i<j}(n_{i}+n_{j})\tfrac{1}{2}\left(A(i|j)+A(j|i)\right)}{\sum_{i<j}(n_{i}+n_{j})}"
    return rf"{means},\quad {_one(ties)}"


def _univariate(ties: str, direction: str) -> str:
    tied = _TIED[ties].replace("%s", "s_{u}=s_{v}")
    sign = "<" if direction == "ascending" else ">"
    won = rf"\left([s_{{u}}{sign} s_{{v}}]{tied}\right)"
    return rf"\frac{{2}}{{c(c-1)}}\sum_{{i<j}}\frac{{1}}{{n_{{i}}n_{{j}}}}\sum_{{u\in i}}\sum_{{v\in j}}{won}"


_SYMBOLS = {
    "i": "runs over these classes, in the order declared",
    "j": "runs over those of these classes that are declared after i",
    "c": "number of classes that occur in gold, less excluded ones",
    "n_i": "instances of class i in gold",
    "n_j": "instances of class j in gold",
    "u, v": "run over the instances of class i and of class j",
}
_M = Metric(
    key="auc_ovo_macro",
    name="Hand & Till M",
    names=("multi-class AUC", "one-vs-one macro AUC", "MAUC", "hand_till"),
    equation=_macro("half"),
    tasks=("multiclass",),
    needs=(SCORES,),
    direction="higher",
    granularity=PAIRS_OF_CLASSES,
    range=(0.0, 1.0),
    params=(TIES,),
    options=(DIRECTION, EXCLUDE),
    properties=Properties(symmetric=False, prevalence_sensitive=False, count_based=False),
    source="Hand & Till 2001 eq 7, with mid-ranks; Döring",
    example=replace(MULTICLASS, value="61/72"),
    compute=over_pairs(by_size=False),
    hints={"binary": "say auc", "multilabel": "say auc_macro"},
    symbols=_SYMBOLS | {"s_{u,i}": "score of class i for instance u, as sent"},
    peers={
        "scikit-learn": "roc_auc_score(multi_class='ovo', average='macro') asks that the scores of an instance sum to 1 "
        "and that every class occur",
        "pROC": "multiclass.roc with a matrix is the same; absent classes are dropped there too, with a warning",
        "Döring's code": "ranks by plain order, so that ties depend on the order of the instances",
    },
    shown=lambda call: _macro(call.params["ties"]),
)
_WEIGHTED = replace(
    _M,
    key="auc_ovo_weighted",
    name="size-weighted one-vs-one AUC",
    names=("one-vs-one weighted AUC", "weighted multi-class AUC"),
    equation=_weighted("half"),
    properties=replace(_M.properties, prevalence_sensitive=True),
    source="Ferri, Hernández-Orallo & Modroiu 2009; scikit-learn",
    example=replace(MULTICLASS, value="109/128"),
    compute=over_pairs(by_size=True),
    peers={
        "scikit-learn": "roc_auc_score(multi_class='ovo', average='weighted'), under the same demands; it is not Hand & "
        "Till's M"
    },
    shown=lambda call: _weighted(call.params["ties"]),
)
_UNIVARIATE = replace(
    _M,
    key="auc_pairwise_univariate",
    name="pairwise AUC of one decision value",
    names=("mean pairwise AUC", "multiclass.roc of a vector"),
    equation=_univariate("half", "ascending"),
    params=(COLUMN, ORDER, TIES),
    properties=replace(_M.properties, ordinal=True),
    source="pROC, multiclass.roc with a vector; Döring",
    example=replace(MULTICLASS, value="3/4", params={"label": "cat"}),
    compute=pairwise_univariate,
    symbols=_SYMBOLS | {"s_u, s_v": "decision value of instances u and v: the score of the class that is named"},
    peers={
        "pROC": "multiclass.roc of a vector turns each pair round where that gives more, unless it is told a direction: "
        "'<' is ascending, '>' descending",
    },
    shown=lambda call: _univariate(call.params["ties"], call.params["direction"]),
)
for _metric in (_M, _WEIGHTED, _UNIVARIATE):
    register(_metric)
