"""AUC, its parts and its variance, pairs of classes and precision-recall areas as pROC and ROCR have them."""

import itertools
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, value

CLOSE = 1e-12


@cache
def recorded() -> dict[str, Any]:
    """What tests/oracles/r/proc_rocr.R printed."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "r" / "proc_rocr.json").read_text(encoding="utf-8"))
    return found


def binary(scores: list[float]) -> EvaluationInput:
    gold = ["yes" if true else "no" for true in recorded()["truth"]]
    return case("binary", ["yes", "no"], gold, gold, [[score] for score in scores])


def multiclass(*, without: str | None = None) -> EvaluationInput:
    kept = [row for row, name in enumerate(recorded()["class"]) if name != without]
    gold = [recorded()["class"][row] for row in kept]
    return case("multiclass", recorded()["classes"], gold, gold, [recorded()["scores"][row] for row in kept])


def decision_values(classes: list[str]) -> EvaluationInput:
    """The one decision value, as the scores of the class declared first; the others' scores are never looked at."""
    gold = recorded()["class"]
    scores = [[number, *[0.0] * (len(classes) - 1)] for number in recorded()["value"]]
    return case("multiclass", classes, gold, gold, scores)


@for_each("at", range(4))
def test_the_auc_and_its_variance(at: int) -> None:
    expected = recorded()["binary"][at]
    of = binary(expected["scores"])
    assert value(of, "auc") == pytest.approx(expected["auc"], abs=CLOSE)
    assert value(of, "auc") == pytest.approx(expected["rocr_auc"], abs=CLOSE)
    assert value(of, "delong_variance") == pytest.approx(expected["delong_variance"], abs=CLOSE)


@for_each("at", range(4))
@for_each("limit", ["0.25", "0.7"])
def test_the_area_of_a_part(at: int, limit: str) -> None:
    expected = recorded()["binary"][at]
    of = binary(expected["scores"])
    assert value(of, f"partial_auc:max_fpr={limit}") == pytest.approx(expected[f"partial_auc_{limit}"], abs=CLOSE)
    if limit == "0.25":
        assert value(of, "partial_auc:max_fpr=0.25") == pytest.approx(expected["rocr_auc_0.25"], abs=CLOSE)
    corrected = value(of, f"partial_auc:max_fpr={limit},standardized=true")
    there = expected[f"partial_auc_{limit}_standardized"]
    assert corrected is not None
    if there is None:  # pROC does not correct what is below chance
        assert corrected < 0.5
    else:
        assert corrected == pytest.approx(there, abs=CLOSE)


def curve_of(scores: list[float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = evaluate_metric(binary(scores), "pr_curve").data["curves"][0]
    return found


@for_each("at", range(4))
def test_the_points_of_the_precision_recall_curve(at: int) -> None:
    expected = recorded()["binary"][at]
    curve = curve_of(expected["scores"])
    assert curve["recall"] == pytest.approx(expected["recall"], abs=CLOSE)
    assert curve["precision"][1:] == pytest.approx(expected["precision"][1:], abs=CLOSE)
    assert (curve["precision"][0], expected["precision"][0]) == (1.0, None)  # declared here, undefined there


def as_rocr(curve: dict[str, Any]) -> float:
    """The area by the rules of ROCR 1.0-11, slip included: of points with one recall the best, leaps interpolated."""
    positives = curve["positives"]
    best: dict[int, float] = {}
    for recall, precision in zip(curve["recall"], curve["precision"], strict=True):
        found = round(recall * positives)
        best.setdefault(found, found / precision - found if precision else math.inf)
    tp, fp = list(best), list(best.values())
    recalls = [found / positives for found in tp]
    precisions = [1.0 if not found else found / (found + wrong) for found, wrong in best.items()]
    for at in range(len(tp) - 1):
        leap = tp[at + 1] - tp[at]
        if leap > 2:
            skew = (fp[at + 1] - fp[at]) / leap
            steps = range(1, leap + 1)
            # the slip: the lists have grown before, but the new points go where the first lists had this one
            recalls[at + 1 : at + 1] = [(tp[at] + step) / positives for step in steps]
            precisions[at + 1 : at + 1] = [(tp[at] + s) / (tp[at] + s + fp[at] + skew * s) for s in steps]
    widths = [after - before for before, after in itertools.pairwise(recalls)]
    heights = [(a + b) / 2 for a, b in itertools.pairwise(precisions)]
    return math.fsum(w * h for w, h in zip(widths, heights, strict=True))


@for_each("at", range(4))
def test_where_rocrs_area_under_the_precision_recall_curve_differs_it_is_for_the_reasons_named(at: int) -> None:
    expected = recorded()["binary"][at]
    assert as_rocr(curve_of(expected["scores"])) == pytest.approx(expected["rocr_aucpr"], abs=CLOSE)
    ours = value(binary(expected["scores"]), "auprc_trapezoid")
    assert ours is not None
    assert (abs(ours - expected["rocr_aucpr"]) > 1e-4) == (at > 0)  # in the first data negatives never stand alone


def test_the_area_under_the_precision_recall_curve_is_rocrs_where_its_rules_do_not_matter() -> None:
    gold = ["yes", "yes", "no", "yes", "no", "no"]
    of = case("binary", ["yes", "no"], gold, gold, [[score / 32] for score in (29, 26, 26, 13, 10, 6)])
    assert value(of, "auprc_trapezoid") == pytest.approx(recorded()["few_aucpr"], abs=CLOSE)


def test_pairs_of_classes_on_their_own_scores() -> None:
    assert value(multiclass(), "auc_ovo_macro") == pytest.approx(recorded()["matrix"], abs=CLOSE)
    without = evaluate_metric(multiclass(without="top"), "auc_ovo_macro")
    assert without.value == pytest.approx(recorded()["matrix_without_top"], abs=CLOSE)
    assert without.notes == ("1 of 4 labels left out (absent from gold): top",)


def test_pairs_of_classes_on_one_decision_value() -> None:
    of = decision_values(["low", "middle", "high", "top"])
    ascending = value(of, "auc_pairwise_univariate:label=low")
    assert ascending == pytest.approx(recorded()["vector_ascending"], abs=CLOSE)
    descending = value(of, "auc_pairwise_univariate:label=low,direction=descending")
    assert descending == pytest.approx(recorded()["vector_descending"], abs=CLOSE)
    assert recorded()["vector_auto"] > max(recorded()["vector_ascending"], recorded()["vector_descending"])
    other = decision_values(["middle", "low", "high", "top"])
    found = value(other, "auc_pairwise_univariate:label=middle")
    assert found == pytest.approx(recorded()["vector_other_order_ascending"], abs=CLOSE)
