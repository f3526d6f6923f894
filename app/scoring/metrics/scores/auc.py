"""The area under the ROC curve: of one label, averaged over labels, pooled."""

from collections.abc import Mapping
from dataclasses import replace

from app.scoring.declaration.distinct_value_bounds import PAIRS, PAIRS_BY_CLASS, POOLED_PAIRS
from app.scoring.declaration.interval_method import AUC, BOOTSTRAP
from app.scoring.declaration.metric import SCORES, Example, Metric, MetricCall, register
from app.scoring.declaration.task import TaskKind
from app.scoring.metrics.example_data import BINARY_EXAMPLE
from app.scoring.metrics.scores.area_draws import label_area_draws, mean_area_draws, pooled_area_draws
from app.scoring.metrics.scores.curve_areas import AreaMeasure, label_area, mean_area, pooled_area
from app.scoring.metrics.scores.draw_ranks import roc_area_draws
from app.scoring.metrics.shared_declarations import (
    EXCLUDE_LABELS_OPTION,
    LABEL_PARAM,
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    UNIT_RANGE,
    choice_param,
)
from app.scoring.score_ranks import ScoreRanks, doubled_wins

TIES_PARAM = choice_param(
    "ties",
    "how a positive and a negative with the same score count",
    half="half a win",
    full="a win, as in Zhang & Zhou's definition with ≥",
    zero="no win",
)
_WIN_TERMS = {
    "half": r"\left([s_{u}>s_{v}]+\tfrac{1}{2}[s_{u}=s_{v}]\right)",
    "full": r"[s_{u}\ge s_{v}]",
    "zero": r"[s_{u}>s_{v}]",
}
AUC_SYMBOLS = {
    "s_u, s_v": "scores of the label for instances u and v",
    "u∈+": "runs over the positives: instances whose gold has the label",
    "v∈-": "runs over the negatives, the other instances",
    "n_+, n_-": "number of positives and of negatives",
}
AVERAGED_LABELS_SYMBOLS = {"D": "declared labels with both positives and negatives in gold, without excluded ones"}
AUC_SOURCE = "Hanley & McNeil 1982; Mann & Whitney 1947; Döring"
AUC_TASKS: tuple[TaskKind, ...] = ("binary", "multilabel")
SCORED_BINARY_EXAMPLE = replace(
    BINARY_EXAMPLE,
    gold=("spam", "spam", "ham", "spam", "ham", "ham"),
    predicted=("spam", "spam", "spam", "ham", "ham", "ham"),
    scores=((0.9,), (0.8,), (0.8,), (0.4,), (0.3,), (0.2,)),
)
SCORED_MULTILABEL_EXAMPLE = Example(
    task="multilabel",
    classes=("art", "law"),
    gold=(("art",), ("art", "law"), ("law",), (), ("art",)),
    predicted=(("art",), ("law",), ("law",), (), ("art",)),
    value="",
    scores=((0.9, 0.3), (0.4, 0.8), (0.5, 0.6), (0.2, 0.6), (0.7, 0.1)),
)
SCORED_MULTICLASS_EXAMPLE = Example(
    task="multiclass",
    classes=("mouse", "dog", "cat"),
    gold=("cat", "cat", "cat", "dog", "dog", "mouse", "mouse", "mouse"),
    predicted=("cat", "cat", "dog", "dog", "cat", "mouse", "dog", "mouse"),
    value="",
    scores=(
        (0.1, 0.3, 0.6),
        (0.3, 0.2, 0.5),
        (0.3, 0.5, 0.2),
        (0.2, 0.5, 0.3),
        (0.1, 0.4, 0.5),
        (0.6, 0.3, 0.1),
        (0.4, 0.4, 0.2),
        (0.5, 0.1, 0.4),
    ),
)
_PEERS = {
    "scikit-learn": "roc_auc_score; nan with a warning if gold has only one class, and a mean over labels is nan if "
    "one of them is",
    "torchmetrics": "AUROC; 0 if gold has only one class",
    "Mulan, Zhang & Zhou": "count a tie as a win: use ties=full",
}


def _wins_and_pairs(ranks: ScoreRanks, call: MetricCall) -> tuple[int, int]:
    return doubled_wins(ranks, call.params["ties"]), 2 * ranks.positives * ranks.negatives


ROC_AREA = AreaMeasure(_wins_and_pairs, roc_area_draws, needs_negatives=True)


def auc_equation(ties: str) -> str:
    """The LaTeX equation of the AUC of one label."""
    return rf"\frac{{1}}{{n_{{+}}n_{{-}}}}\sum_{{u\in +}}\sum_{{v\in -}} {_WIN_TERMS[ties]}"


def _macro_equation(ties: str) -> str:
    return rf"\frac{{1}}{{|D|}}\sum_{{j\in D}} \mathrm{{AUC}}_{{j}},\quad \mathrm{{AUC}}_{{j}}={auc_equation(ties)}"


def _weighted_equation(ties: str) -> str:
    means = r"\frac{1}{\sum_{j\in D} n_{j}}\sum_{j\in D} n_{j}\,\mathrm{AUC}_{j}"
    return rf"{means},\quad \mathrm{{AUC}}_{{j}}={auc_equation(ties)}"


_AUC = Metric(
    key="auc",
    name="AUC",
    names=("area under the ROC curve", "AUROC", "ROC AUC", "c-statistic", "concordance"),
    equation=auc_equation("half"),
    tasks=AUC_TASKS,
    needs=(SCORES,),
    direction="higher",
    granularity=PAIRS,
    floor=3,
    range=UNIT_RANGE,
    params=(LABEL_PARAM, TIES_PARAM),
    options=(SCORE_DIRECTION_OPTION,),
    properties=replace(SCORE_PROPERTIES, prevalence_sensitive=False),
    source=AUC_SOURCE,
    example=replace(SCORED_BINARY_EXAMPLE, value="5/6"),
    compute=label_area(ROC_AREA),
    compute_draws=label_area_draws(ROC_AREA.draws),
    interval=AUC,
    hints={"multiclass": "use auc_ovr:label=… for one class against the rest, auc_ovr_macro or auc_ovo_macro for all"},
    symbols=AUC_SYMBOLS,
    peers=_PEERS | {"pROC": "auc; reverses the direction if that gives a higher value, unless a direction is given"},
    equation_of_call=lambda call: auc_equation(call.params["ties"]),
)
_MACRO = replace(
    _AUC,
    key="auc_macro",
    granularity=PAIRS_BY_CLASS,
    name="macro AUC",
    names=("mean AUC over labels", "AUC-macro", "macro AUROC"),
    equation=_macro_equation("half"),
    params=(TIES_PARAM,),
    options=(SCORE_DIRECTION_OPTION, EXCLUDE_LABELS_OPTION),
    properties=SCORE_PROPERTIES,
    source="Zhang & Zhou 2014 sec. 2.2.3 (with ties=full)",
    example=replace(SCORED_MULTILABEL_EXAMPLE, value="7/8"),
    compute=mean_area(ROC_AREA),
    compute_draws=mean_area_draws(ROC_AREA.draws),
    interval=BOOTSTRAP,
    hints={"multiclass": "use auc_ovr_macro or auc_ovo_macro"},
    symbols=AUC_SYMBOLS | AVERAGED_LABELS_SYMBOLS,
    peers=_PEERS,
    equation_of_call=lambda call: _macro_equation(call.params["ties"]),
)
_WEIGHTED = replace(
    _MACRO,
    key="auc_weighted",
    granularity=PAIRS_BY_CLASS,
    name="support-weighted AUC",
    names=("weighted AUC", "weighted AUROC"),
    equation=_weighted_equation("half"),
    source="scikit-learn, roc_auc_score(average='weighted')",
    example=replace(SCORED_MULTILABEL_EXAMPLE, value="13/15"),
    compute=mean_area(ROC_AREA, by_support=True),
    compute_draws=mean_area_draws(ROC_AREA.draws, by_support=True),
    hints={"multiclass": "use auc_ovr_weighted"},
    equation_of_call=lambda call: _weighted_equation(call.params["ties"]),
)
_MICRO = replace(
    _MACRO,
    key="auc_micro",
    granularity=POOLED_PAIRS,
    name="micro AUC",
    names=("pooled AUC", "AUC-micro", "micro AUROC"),
    equation=auc_equation("half"),
    example=replace(SCORED_MULTILABEL_EXAMPLE, value="9/10"),
    compute=pooled_area(ROC_AREA),
    compute_draws=pooled_area_draws(ROC_AREA.draws),
    hints={"multiclass": "use auc_ovr_micro"},
    symbols={
        "s_u, s_v": "scores of pairs u and v of an instance and a label",
        "u∈+": "runs over the pairs in which the gold of the instance has the label",
        "v∈-": "runs over the other pairs",
        "n_+, n_-": "number of such pairs and of the others",
    },
    equation_of_call=lambda call: auc_equation(call.params["ties"]),
)


def _one_vs_rest(metric: Metric, source: str, value: str, params: Mapping[str, str] | None = None) -> Metric:
    """The same measure for exclusive classes, each class against the rest."""
    return replace(
        metric,
        key=metric.key.replace("auc", "auc_ovr", 1),
        name=f"one-vs-rest {metric.name}",
        names=tuple(f"one-vs-rest {other}" for other in metric.names),
        tasks=("multiclass",),
        properties=SCORE_PROPERTIES,
        source=source,
        example=replace(SCORED_MULTICLASS_EXAMPLE, value=value, params=params or {}),
        hints=dict.fromkeys(AUC_TASKS, f"use {metric.key}"),
    )


for _metric in (_AUC, _MACRO, _WEIGHTED, _MICRO):
    register(_metric)
register(_one_vs_rest(_AUC, AUC_SOURCE, "11/15", {"label": "cat"}))
register(_one_vs_rest(_MACRO, "Fawcett 2006 sec. 9; Döring (one against all)", "77/90"))
register(_one_vs_rest(_WEIGHTED, "Provost & Domingos 2001", "103/120"))
register(_one_vs_rest(_MICRO, "scikit-learn, roc_auc_score(average='micro')", "217/256"))
