"""Cases as they might have been: doubtful predictions changed to one label, or another share of positive instances.

Van Asch 2013, section 6.2.1 (Table 8: predictions that are likely to be wrong are all changed to one label; the upper
bound changes exactly those that are wrong) and eq 31 (scores at another class proportion).
"""

from dataclasses import replace
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.numeric.exact import total
from app.scoring.probability_rows import complements

_MAX_TOTAL_WEIGHT = 2**53  # the sum of all weights stays below it
Mask = NDArray[np.bool_]


def confidences(case: EvaluationInput, *, lower: bool = False) -> NDArray[np.float64]:
    """How sure each prediction is: the score of the predicted label; NaN where nothing was predicted.

    A single score of the positive label speaks with 1 less it for the other one. `lower`: lower scores are surer, so all
    are negated. Raises InvalidContent for sets of labels, and where the predictions give no scores.
    """
    if case.spec.task == "multilabel":
        raise InvalidContent("The label of a set has no confidence of its own.", remedy="Use a single-label task.")
    if case.scores is None:
        remedy = "Give a score for each class; the columns of a table that has labels too are told by declared classes."
        raise InvalidContent("The predictions give no scores, so none is less sure than another.", remedy=remedy)
    codes, scores = case.predicted.codes, case.scores
    known = (codes >= 0) & (codes < len(case.spec.classes))
    if scores.shape[1] == 1:
        positive = case.spec.classes.index(case.spec.positive_label or "")
        own = np.where(codes == positive, scores[:, 0], complements(scores[:, 0]))
    else:
        own = scores[np.arange(len(codes)), np.where(known, codes, 0)]
    return np.where(known, -own if lower else own, np.nan)


def below_threshold(confidence: NDArray[np.float64], cut: float) -> Mask:
    """The predictions that are less sure than the cut."""
    return np.asarray(confidence < cut)  # NaN is not


def least_confident(confidence: NDArray[np.float64], share: Fraction, weights: NDArray[np.int64] | None = None) -> Mask:
    """The least sure share of all predictions, by weight; equally sure ones at its end are left out, as no order may decide."""
    heavy = np.ones(len(confidence), dtype=np.int64) if weights is None else weights
    known = ~np.isnan(confidence)
    levels, places = np.unique(confidence[known], return_inverse=True)
    sizes = np.zeros(len(levels), dtype=np.int64)
    np.add.at(sizes, places, heavy[known])
    fitting = int(np.searchsorted(np.cumsum(sizes), total(heavy) * share.numerator // share.denominator, side="right"))
    return known if fitting == len(levels) else below_threshold(confidence, float(levels[fitting]))


def wrong_predictions(case: EvaluationInput) -> Mask:
    """The predictions of a single-label case that are wrong or missing."""
    return np.asarray(case.gold.codes != case.predicted.codes)


def relabel(case: EvaluationInput, mask: Mask, label: int) -> EvaluationInput:
    """The case with these predictions changed to one label; scores stay as they are."""
    return replace(case, predicted=Labels(np.where(mask, np.int32(label), case.predicted.codes)))


def prevalence_of(case: EvaluationInput) -> Fraction | None:
    """The share of positive instances of a binary case, by weight; None where it has no instances."""
    positive, weights = _positive_mask(case)
    return Fraction(total(weights[positive]), total(weights)) if total(weights) else None


def _positive_mask(case: EvaluationInput) -> tuple[Mask, NDArray[np.int64]]:
    """Which instances are positive, and their weights. Raises InvalidContent where the task is not binary."""
    if case.spec.task != "binary" or case.acceptable:
        remedy = "Give --task binary and --positive-label."
        raise InvalidContent("Only a binary task has a share of positive instances.", remedy=remedy)
    positive = np.asarray(case.gold.codes == case.spec.classes.index(case.spec.positive_label or ""))
    return positive, np.ones(case.gold.n, dtype=np.int64) if case.weights is None else case.weights


def reweight_to_prevalence(case: EvaluationInput, prevalence: Fraction) -> EvaluationInput:
    """A binary case whose instances weigh so that the positive class has this share, and both recalls stay.

    Each class is as if it had been repeated; what metrics of the case give is Van Asch's eq 31 for any of them. Raises
    InvalidContent where a class has no instances, the share is not between 0 and 1, or weights become too large.
    """
    positive, weights = _positive_mask(case)
    if not 0 < prevalence < 1:
        remedy = "Give a share between 0 and 1, such as 0.05."
        raise InvalidContent("The share of positive instances has to lie between 0 and 1.", remedy=remedy)
    own, rest = total(weights[positive]), total(weights[~positive])
    if not own or not rest:
        remedy = "Both classes have to occur in the gold."
        raise InvalidContent("A class without instances cannot be weighed.", remedy=remedy)
    each = prevalence.numerator * rest, (prevalence.denominator - prevalence.numerator) * own
    common = gcd(*each)
    heavy, light = each[0] // common, each[1] // common
    if heavy * own + light * rest >= _MAX_TOTAL_WEIGHT:
        remedy = "Give the share with fewer digits."
        raise InvalidContent("At this share the instances would weigh more than can be counted exactly.", remedy=remedy)
    found = weights * np.where(positive, np.int64(heavy), np.int64(light))
    if (found == found[0]).all():  # as in gold, the same weight everywhere is none
        return replace(case, weights=None, weight_unit=Fraction(1))
    return replace(case, weights=found)
