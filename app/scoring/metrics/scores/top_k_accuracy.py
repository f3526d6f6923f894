"""Top-k accuracy: whether the right label is among the k labels with the best scores."""

from app.scoring.declaration.distinct_value_bounds import HITS
from app.scoring.declaration.interval_method import PROPORTION
from app.scoring.declaration.metric import SCORES, Example, MetricCall, Param, Result
from app.scoring.label_ranking import LabelRanks, RelevantLabels, rank_by_scores
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.rankings.ranking_inputs import TIES_PARAM, InstanceRatios, mean_ratio, mean_ratio_draws
from app.scoring.metrics.scores.oriented_scores import Scores, positive_code, scores_of
from app.scoring.metrics.shared_declarations import (
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    SINGLE_LABEL_TASKS,
    UNIT_RANGE,
    declare_metric,
)
from app.scoring.probability_rows import scores_of_both_classes
from app.scoring.ranking_ties import hit_probability
from app.scoring.tally import EvaluationContext


def top_k_accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of instances whose right label, or any acceptable one, is among the k best."""
    k, m = int(call.params["k"]), len(ws.spec.classes)
    mean = mean_ratio(_hits)(ws, call)
    notes = (f"k={k} covers all {m} classes",) if k >= m else ()
    return Result(mean.value, None, notes)


def _hits(ws: EvaluationContext, call: MetricCall) -> InstanceRatios:
    """The probability that a right label of each instance is among the k best: 0 or 1 unless ties are averaged."""
    direction = call.options["score_direction"]
    ranks = ws.shared(("ranks of classes", direction), lambda: _class_ranks(ws, call))
    return InstanceRatios(*hit_probability(ranks, int(call.params["k"]), call.params["ties"]))


def _class_ranks(ws: EvaluationContext, call: MetricCall) -> LabelRanks:
    return rank_by_scores(_scores_of_both(ws, call), RelevantLabels.from_gold(ws.case.gold, len(ws.spec.classes)))


def _scores_of_both(ws: EvaluationContext, call: MetricCall) -> Scores:
    """The scores of all classes; a single score s of the positive label gives the other class 1 - s."""
    scores = scores_of(ws, call)
    if scores.shape[1] > 1 or ws.spec.task != "binary":
        return scores
    lower = call.options["score_direction"] == "lower"
    positive_scores = 0.0 - scores[:, 0] if lower else scores[:, 0]
    if (positive_scores < 0).any() or (positive_scores > 1).any():
        raise UndefinedError(
            "a single score s is compared with 1 - s, which requires scores from 0 to 1; give scores of both classes"
        )
    both = scores_of_both_classes(positive_scores, positive_code(ws))
    return 0.0 - both if lower else both


declare_metric(
    key="top_k_accuracy",
    name="top-k accuracy",
    names=("top-k categorical accuracy", "hit rate at k", "top_k_accuracy_score", "accuracy at k"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} [r_{i}\le \param{k}]",
    tasks=SINGLE_LABEL_TASKS,
    needs=(SCORES,),
    direction="higher",
    granularity=HITS,
    range=UNIT_RANGE,
    params=(
        Param(
            "k",
            "whole",
            "how many of the top-ranked classes count",
            bounds=(1, 1_000_000),
            required_for=SINGLE_LABEL_TASKS,
        ),
        TIES_PARAM,
    ),
    options=(SCORE_DIRECTION_OPTION,),
    properties=SCORE_PROPERTIES,
    source="Russakovsky et al. 2015, ImageNet large scale visual recognition challenge; ties: McSherry & Najork 2008",
    example=Example(
        task="multiclass",
        classes=("cat", "dog", "mouse"),
        gold=("cat", "dog", "mouse"),
        predicted=("cat", "cat", "cat"),
        value="2/3",
        params={"k": "2"},
        scores=((0.5, 0.25, 0.25), (0.5, 0.375, 0.125), (0.5, 0.375, 0.125)),
    ),
    compute=top_k_accuracy,
    compute_draws=mean_ratio_draws(_hits),
    interval=PROPORTION,
    hints={"multilabel": "for label sets use precision_at_k or recall_at_k"},
    acceptable=True,
    symbols={
        "r_i": "rank of the gold class of instance i; if several are acceptable, the best rank",
        "k": "number of top-ranked classes that count",
    },
    peers={
        "scikit-learn": "top_k_accuracy_score ranks the class declared later ahead of one with an equal score: "
        "use ties=last. In a binary task it takes one score, with the threshold at 0 if a score is outside [0, 1]",
        "torchmetrics": "accuracy with top_k; torch.topk decides the order of equal scores",
    },
    instance_mean=True,
)
