"""Hypothetical variants of a case: doubtful predictions changed to one label, or another share of positive instances.

Van Asch 2013, section 6.2.1 (Table 8: predictions whose expected accuracy is low are all changed to one label; the upper
bound changes exactly the wrong ones) and eq 31 (scores at another class proportion).
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

_MAX_TOTAL_WEIGHT = 2**53  # sums of weights stay exact in binary64
Mask = NDArray[np.bool_]


def confidences(case: EvaluationInput, *, lower: bool = False) -> NDArray[np.float64]:
    """The confidence of each prediction: the score of the predicted label; NaN where nothing was predicted.

    With a single score s of the positive label, the other label has 1 - s. `lower`: lower scores are more confident, so all
    scores are negated. Raises InvalidContent for label sets, and where the predictions have no scores.
    """
    if case.spec.task == "multilabel":
        raise InvalidContent(
            "The labels of a set have no confidence.", remedy="Use a task with one label per instance."
        )
    if case.scores is None:
        remedy = "Give a score for each class; in a table that also has labels, score columns are recognized by declared classes."
        raise InvalidContent("The predictions have no scores, so their confidence is unknown.", remedy=remedy)
    codes, scores = case.predicted.codes, case.scores
    has_prediction = (codes >= 0) & (codes < len(case.spec.classes))
    if scores.shape[1] == 1:
        positive = case.spec.classes.index(case.spec.positive_label or "")
        confidence = np.where(codes == positive, scores[:, 0], complements(scores[:, 0]))
    else:
        confidence = scores[np.arange(len(codes)), np.where(has_prediction, codes, 0)]
    return np.where(has_prediction, -confidence if lower else confidence, np.nan)


def below_threshold(confidence: NDArray[np.float64], threshold: float) -> Mask:
    """The predictions with a confidence below the threshold."""
    return np.asarray(confidence < threshold)  # False for NaN


def least_confident(confidence: NDArray[np.float64], share: Fraction, weights: NDArray[np.int64] | None = None) -> Mask:
    """The least confident share of all predictions, by weight.

    Equally confident predictions at the end of the share are all left out, so that the order of instances never decides.
    """
    instance_weights = np.ones(len(confidence), dtype=np.int64) if weights is None else weights
    has_prediction = ~np.isnan(confidence)
    levels, positions = np.unique(confidence[has_prediction], return_inverse=True)
    sizes = np.zeros(len(levels), dtype=np.int64)
    np.add.at(sizes, positions, instance_weights[has_prediction])
    included_levels = int(
        np.searchsorted(np.cumsum(sizes), total(instance_weights) * share.numerator // share.denominator, side="right")
    )
    if included_levels == len(levels):
        return has_prediction
    return below_threshold(confidence, float(levels[included_levels]))


def expected_wrong(
    case: EvaluationInput, confidence: NDArray[np.float64], accuracy: Fraction, weights: NDArray[np.int64] | None = None
) -> Mask:
    """The predictions whose expected accuracy is below `accuracy`: the cut of Van Asch's script finagle.

    The expected accuracy is the function of the confidence c that never falls as c rises and fits the predictions best:
    it minimizes Σ w_i ([p_i = y_i] - a(c_i))² (isotonic regression). It is below t exactly up to the smallest c that
    maximizes Σ_{c_i ≤ c} w_i (t - [p_i = y_i]), so whole numbers decide and equally confident predictions stay together.
    """
    instance_weights = np.ones(len(confidence), dtype=np.int64) if weights is None else weights
    has_prediction = ~np.isnan(confidence)
    levels, positions = np.unique(confidence[has_prediction], return_inverse=True)
    sizes, right = np.zeros(len(levels), dtype=object), np.zeros(len(levels), dtype=object)
    own_weights = instance_weights[has_prediction].astype(object)
    np.add.at(sizes, positions, own_weights)
    np.add.at(right, positions, own_weights * ~wrong_predictions(case)[has_prediction])
    surplus = np.concatenate([[0], np.cumsum(accuracy.numerator * sizes - accuracy.denominator * right)])
    cut = int(surplus.argmax())
    return np.asarray(confidence <= levels[cut - 1]) if cut else np.zeros(len(confidence), dtype=bool)


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
    """The positive instances, and the weights of all. Raises InvalidContent where the task is not binary."""
    if case.spec.task != "binary" or case.acceptable:
        remedy = "Give --task binary and --positive-label."
        raise InvalidContent("Only a binary task has a share of positive instances.", remedy=remedy)
    positive = np.asarray(case.gold.codes == case.spec.classes.index(case.spec.positive_label or ""))
    return positive, np.ones(case.gold.n, dtype=np.int64) if case.weights is None else case.weights


def reweight_to_prevalence(case: EvaluationInput, prevalence: Fraction) -> EvaluationInput:
    """A binary case reweighted so that the positive class has this share; both recalls stay the same.

    The weights act as if each class were replicated, so metrics of the case follow Van Asch's eq 31. Raises
    InvalidContent where a class has no instances, the share is not between 0 and 1, or weights become too large.
    """
    positive, weights = _positive_mask(case)
    if not 0 < prevalence < 1:
        remedy = "Give a share between 0 and 1, such as 0.05."
        raise InvalidContent("The share of positive instances must be between 0 and 1.", remedy=remedy)
    positive_weight, negative_weight = total(weights[positive]), total(weights[~positive])
    if not positive_weight or not negative_weight:
        remedy = "Give gold in which both classes occur."
        raise InvalidContent("A class without instances cannot be reweighted.", remedy=remedy)
    factors = prevalence.numerator * negative_weight, (prevalence.denominator - prevalence.numerator) * positive_weight
    common = gcd(*factors)
    positive_factor, negative_factor = factors[0] // common, factors[1] // common
    if positive_factor * positive_weight + negative_factor * negative_weight >= _MAX_TOTAL_WEIGHT:
        remedy = "Give the share with fewer digits."
        raise InvalidContent("At this share the sum of weights exceeds the range of exact integers.", remedy=remedy)
    new_weights = weights * np.where(positive, np.int64(positive_factor), np.int64(negative_factor))
    if (new_weights == new_weights[0]).all():  # equal weights everywhere mean no weights, as when gold is read
        return replace(case, weights=None, weight_unit=Fraction(1))
    return replace(case, weights=new_weights)
