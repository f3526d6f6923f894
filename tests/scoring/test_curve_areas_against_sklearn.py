"""Areas, curves and pairs of classes against scikit-learn, on scores with many ties."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, det_curve, precision_recall_curve, roc_auc_score, roc_curve

from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case, evaluate_metric, value

FEW = settings(max_examples=40, deadline=None)
CLOSE = 1e-12
CLASSES = ("a", "b", "c", "d")


def draw_scores(seed: int, instances: int, labels: int, *, levels: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Scores of few levels and a class per row, each class at least twice."""
    chance = np.random.default_rng(seed)
    truth = np.concatenate([np.repeat(np.arange(labels), 2), chance.integers(0, labels, instances)])
    scores = chance.integers(0, levels, (len(truth), labels)).astype(float)
    scores[np.arange(len(truth)), truth] += chance.integers(0, 3, len(truth))
    return truth, (scores + 0.5) / (scores + 0.5).sum(axis=1, keepdims=True)


def binary(seed: int, *, columns: int = 1) -> tuple[EvaluationInput, np.ndarray, np.ndarray, np.ndarray]:
    """An input with weights, and the same data for scikit-learn: truth, scores, weights."""
    truth, both = draw_scores(seed, 60, 2)
    scores = np.round(both * 12) / 12
    weights = np.random.default_rng(seed).integers(1, 5, len(truth))
    gold = ["yes" if code else "no" for code in truth]
    sent = scores[:, 1:] if columns == 1 else scores
    of = case("binary", ["no", "yes"], gold, gold, sent.tolist(), positive_label="yes", weights=weights.tolist())
    return of, truth, scores[:, 1], weights


def multiclass(seed: int) -> tuple[EvaluationInput, np.ndarray, np.ndarray]:
    truth, scores = draw_scores(seed, 80, 4)
    gold = [CLASSES[code] for code in truth]
    return case("multiclass", CLASSES, gold, gold, scores.tolist()), truth, scores


def multilabel(seed: int) -> tuple[EvaluationInput, np.ndarray, np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    truth = np.concatenate([np.zeros((1, 4)), np.ones((1, 4)), chance.random((60, 4)) < [0.1, 0.3, 0.5, 0.9]]).astype(
        int
    )
    scores = (chance.integers(0, 9, truth.shape) + 2 * truth) / 8
    weights = chance.integers(1, 5, len(truth))
    gold = [[name for name, has in zip(CLASSES, row, strict=True) if has] for row in truth]
    of = case("multilabel", CLASSES, gold, gold, scores.tolist(), weights=weights.tolist())
    return of, truth, scores, weights


SEEDS = st.integers(0, 10**6)


@given(seed=SEEDS)
@FEW
def test_binary_areas(seed: int) -> None:
    of, truth, scores, weights = binary(seed)
    expected = {
        "auc": roc_auc_score(truth, scores, sample_weight=weights),
        "average_precision": average_precision_score(truth, scores, sample_weight=weights),
        "auc:label=no": roc_auc_score(1 - truth, -scores, sample_weight=weights),
        "average_precision:label=no": average_precision_score(1 - truth, -scores, sample_weight=weights),
        **{
            f"partial_auc:max_fpr={most},standardized=true": roc_auc_score(
                truth, scores, sample_weight=weights, max_fpr=most
            )
            for most in (0.1, 0.25, 0.9, 1)
        },
    }
    precision, recall, _ = precision_recall_curve(truth, scores, sample_weight=weights)
    expected["auprc_trapezoid"] = auc(recall, precision)
    for text, number in expected.items():
        assert value(of, text) == pytest.approx(number, abs=CLOSE), text
    both = binary(seed, columns=2)[0]
    for text in ("auc", "average_precision", "auprc_trapezoid"):
        assert value(both, text) == value(of, text)


@given(seed=SEEDS)
@FEW
def test_areas_averaged_over_labels(seed: int) -> None:
    of, truth, scores, weights = multilabel(seed)
    for average in ("macro", "micro", "weighted"):
        given_ = {"average": average, "sample_weight": weights}
        assert value(of, f"auc_{average}") == pytest.approx(roc_auc_score(truth, scores, **given_), abs=CLOSE)
        expected = average_precision_score(truth, scores, **given_)
        assert value(of, f"average_precision_{average}") == pytest.approx(expected, abs=CLOSE)
    alone = roc_auc_score(truth[:, 2], scores[:, 2], sample_weight=weights)
    assert value(of, "auc:label=c") == pytest.approx(alone, abs=CLOSE)


@given(seed=SEEDS)
@FEW
def test_areas_of_exclusive_classes(seed: int) -> None:
    of, truth, scores = multiclass(seed)
    for kind, average in (
        ("ovr", "macro"),
        ("ovr", "weighted"),
        ("ovr", "micro"),
        ("ovo", "macro"),
        ("ovo", "weighted"),
    ):
        expected = roc_auc_score(truth, scores, multi_class=kind, average=average)
        assert value(of, f"auc_{kind}_{average}") == pytest.approx(expected, abs=CLOSE), (kind, average)
    for average in ("macro", "micro", "weighted"):
        expected = average_precision_score(np.eye(4)[truth], scores, average=average)
        assert value(of, f"average_precision_{average}") == pytest.approx(expected, abs=CLOSE), average
    per_class = roc_auc_score(truth, scores, multi_class="ovr", average=None)
    assert value(of, "auc_ovr:label=d") == pytest.approx(per_class[3], abs=CLOSE)


def curve_of(of: EvaluationInput, text: str) -> dict[str, Any]:
    found: dict[str, Any] = evaluate_metric(of, text).data["curves"][0]
    return found


@given(seed=SEEDS)
@FEW
def test_curves(seed: int) -> None:
    of, truth, scores, weights = binary(seed)
    fpr, tpr, thresholds = roc_curve(truth, scores, sample_weight=weights, drop_intermediate=False)
    ours = curve_of(of, "roc_curve")
    assert ours["fpr"] == pytest.approx(fpr.tolist(), abs=CLOSE)
    assert ours["tpr"] == pytest.approx(tpr.tolist(), abs=CLOSE)
    assert ours["threshold"] == [None, *thresholds[1:].tolist()]
    precision, recall, thresholds = precision_recall_curve(truth, scores, sample_weight=weights)
    ours = curve_of(of, "pr_curve")
    assert ours["recall"] == pytest.approx(recall[::-1].tolist(), abs=CLOSE)
    assert ours["precision"] == pytest.approx(precision[::-1].tolist(), abs=CLOSE)
    assert ours["threshold"] == [None, *thresholds[::-1].tolist()]
    fpr, fnr, thresholds = det_curve(truth, scores, sample_weight=weights)
    ours = curve_of(of, "det_curve")
    at = {threshold: point for *point, threshold in zip(ours["fpr"], ours["fnr"], ours["threshold"], strict=True)}
    for *point, threshold in zip(fpr.tolist(), fnr.tolist(), thresholds.tolist(), strict=True):
        assert at[threshold if np.isfinite(threshold) else None] == pytest.approx(point, abs=CLOSE)


@given(seed=SEEDS)
@FEW
def test_points_of_precision_and_recall_that_are_dropped(seed: int) -> None:
    of, truth, scores, weights = binary(seed)
    _, recall, theirs = precision_recall_curve(truth, scores, sample_weight=weights, drop_intermediate=True)
    ours = curve_of(of, "pr_curve:collinear=drop")["threshold"][1:]
    # the point at no threshold begins the run of those that find nothing; scikit-learn adds it when it has dropped
    nothing = [threshold for threshold, found in zip(theirs, recall[:-1], strict=True) if found == 0]
    kept = [threshold for threshold in theirs.tolist() if threshold not in nothing[1:]]
    assert ours == kept[::-1]


@given(seed=SEEDS)
@FEW
def test_points_may_be_dropped_without_moving_the_line(seed: int) -> None:
    of, truth, scores, weights = binary(seed)
    fewer = curve_of(of, "roc_curve:collinear=drop")
    assert auc(fewer["fpr"], fewer["tpr"]) == pytest.approx(value(of, "auc"), abs=CLOSE)
    theirs = roc_curve(truth, scores, sample_weight=weights)
    assert fewer["points"] == len(fewer["threshold"]) <= len(theirs[0])


def test_scikit_learn_disagrees_where_the_catalogue_says_so() -> None:
    gold = ["a", "a", "b", "b"]
    of = case(
        "multiclass", ["a", "b", "c"], gold, gold, [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.5, 0.2], [0.5, 0.4, 0.1]]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = np.eye(3)[[0, 0, 1, 1]]
        assert np.isnan(roc_auc_score(truth, of.scores, average="macro"))
        theirs = average_precision_score(truth, of.scores, average="macro")
    ours = value(of, "average_precision_macro")
    assert ours is not None
    assert ours * 2 / 3 == pytest.approx(theirs, abs=CLOSE)
    assert value(of, "auc_ovr_macro") is not None
