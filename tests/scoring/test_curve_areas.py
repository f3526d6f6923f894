"""Conventions of areas, curves and pairs of classes: labels that count, ties, directions, undefined values."""

import json
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidMetric
from app.scoring import class_pair_wins
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric import CATALOGUE, PROBABILITIES, SCORES
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, reason, value
from tests.scoring.strategies import cases, metric_object

FAMILY = tuple(
    key
    for key in CATALOGUE
    if key.startswith(("auc", "average_precision", "partial_auc", "delong", "equal_error", "specificity_at"))
    and not key.endswith("_samples")
)
CURVES = ("roc_curve", "pr_curve", "det_curve")
AREAS = tuple(key for key in FAMILY if CATALOGUE[key].direction == "higher")

LABELS = case(
    "multilabel",
    ["art", "law", "war", "all"],
    [["art", "all"], ["art", "law", "all"], ["law", "all"], ["all"]],
    [[], [], [], []],
    [[0.9, 0.3, 0.1, 0.5], [0.4, 0.8, 0.2, 0.5], [0.5, 0.6, 0.1, 0.5], [0.2, 0.6, 0.3, 0.5]],
)
SINGLE = case("binary", ["spam", "ham"], ["spam", "ham", "spam", "ham"], ["spam"] * 4, [[0.9], [0.2], [0.4], [0.4]])
PAIR = case(
    "binary",
    ["spam", "ham"],
    ["spam", "ham", "spam", "ham"],
    ["spam"] * 4,
    [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.4, 0.6]],
)
THREE = case(
    "multiclass",
    ["low", "middle", "high", "top"],
    ["low", "low", "middle", "middle", "high", "high"],
    ["low"] * 6,
    [
        [0.6, 0.2, 0.2, 0.0], [0.5, 0.3, 0.2, 0.0], [0.5, 0.4, 0.1, 0.0], [0.2, 0.5, 0.3, 0.0],
        [0.1, 0.2, 0.7, 0.0], [0.3, 0.1, 0.6, 0.0],
    ],
)  # fmt: skip


def notes(of: EvaluationInput, text: str) -> tuple[str, ...]:
    return evaluate_metric(of, text).notes


def exact_value(of: EvaluationInput, text: str, **options: str) -> Fraction:
    found = value(of, text, **options)
    assert found is not None, reason(of, text, **options)
    return Fraction(found).limit_denominator(10_000)


def test_labels_without_both_kinds_leave_the_mean_and_are_counted() -> None:
    assert exact_value(LABELS, "auc_macro") == (Fraction(3, 4) + Fraction(7, 8)) / 2
    assert notes(LABELS, "auc_macro") == (
        "1 of 4 labels left out (never right in gold): war",
        "1 of 4 labels left out (always right in gold): all",
    )
    # average precision of a label that is always right is 1 by definition, whatever the scores
    assert exact_value(LABELS, "average_precision_macro") == (Fraction(5, 6) + Fraction(5, 6) + 1) / 3
    assert notes(LABELS, "average_precision_macro") == ("1 of 4 labels left out (never right in gold): war",)
    assert exact_value(LABELS, "auc_weighted") == (2 * Fraction(3, 4) + 2 * Fraction(7, 8)) / 4
    assert value(LABELS, "auc:label=war") is None
    assert reason(LABELS, "auc:label=war") == "'war' is never right in gold"
    assert reason(LABELS, "roc_curve:label=all") == (
        "there is no curve: 1 of 1 labels left out (always right in gold): all"
    )


def test_excluded_labels_leave_means_and_pools() -> None:
    assert exact_value(LABELS, "auc_macro:exclude_labels=art") == Fraction(7, 8)
    assert exact_value(LABELS, "auc_micro:exclude_labels=art|war|all") == Fraction(7, 8)
    assert notes(LABELS, "auc_micro:exclude_labels=art|war|all") == ("left out by exclude_labels: art, war, all",)
    assert reason(LABELS, "auc_macro:exclude_labels=art|law") == (
        "no label is left to average over: 1 of 2 labels left out (never right in gold): war; "
        "1 of 2 labels left out (always right in gold): all"
    )
    assert "no label is left" in str(reason(LABELS, "auc_micro", exclude_labels="art|law|war|all"))
    assert "not declared: peace" in str(reason(LABELS, "auc_macro", exclude_labels="peace"))
    curves = evaluate_metric(LABELS, "pr_curve:exclude_labels=art").data["curves"]
    assert [curve["label"] for curve in curves] == ["law", "all"]
    assert exact_value(THREE, "auc_ovo_macro:exclude_labels=middle") == 1


def test_ties_count_half_a_whole_or_nothing() -> None:
    assert [exact_value(SINGLE, f"auc:ties={ties}") for ties in ("half", "full", "zero")] == [
        Fraction(7, 8),
        1,
        Fraction(3, 4),
    ]
    assert parse_metric("auc:ties=half", task="binary").text == "auc"
    assert exact_value(SINGLE, "auc", ties="full") == 1
    low, middle = Fraction(7, 8), 1  # of low against middle by either's scores: one tie of four on low's
    assert exact_value(THREE, "auc_ovo_macro:ties=half,exclude_labels=high") == (low + middle) / 2
    assert exact_value(THREE, "auc_ovo_macro:ties=zero,exclude_labels=high") == (Fraction(3, 4) + middle) / 2


def test_one_score_ranks_both_classes() -> None:
    for text in ("auc", "auc:label=ham", "auc_macro", "auc_weighted", "average_precision:label=ham"):
        assert value(SINGLE, text) == value(PAIR, text), text
    said = "'ham' is ranked by the scores of the positive label, lowest first"
    assert notes(SINGLE, "auc_macro") == (said,)
    assert notes(PAIR, "auc_macro") == notes(SINGLE, "auc") == ()
    assert exact_value(PAIR, "auc_micro") == Fraction(7, 8)
    for text in ("auc_micro", "average_precision_micro", "auprc_trapezoid_micro"):
        assert value(SINGLE, text) == value(PAIR, text), text
        for turned in (False, True):
            assert value(as_distances(SINGLE, turned), text, score_direction="lower") == value(SINGLE, text)
            beyond = replace(SINGLE, scores=np.array([[0.9], [0.2], [0.4], [-0.1 if turned else 1.1]]))
            assert "pooling needs both classes" in str(reason(beyond, text))
    assert notes(SINGLE, "auc_micro") == ("the score of 'ham' is 1 minus that of the positive label",)
    assert exact_value(SINGLE, "auc_micro:exclude_labels=ham") == exact_value(SINGLE, "auc")
    assert value(replace(SINGLE, spec=replace(SINGLE.spec, positive_label="ham")), "auc_micro") == pytest.approx(1 / 8)
    curve = evaluate_metric(SINGLE, "roc_curve:label=ham").data["curves"][0]
    assert curve["threshold"] == [None, 0.2, 0.4, 0.9]


def as_distances(of: EvaluationInput, turned: bool) -> EvaluationInput:
    """The same ranks by scores of which lower ones are surer: one column, or both."""
    assert of.scores is not None
    return replace(of, scores=np.hstack([1 - of.scores, of.scores]) if turned else 1 - of.scores)


def test_where_lower_scores_are_surer_ranks_turn_and_thresholds_stay_as_sent() -> None:
    for text in ("auc", "auc:label=ham"):
        assert exact_value(SINGLE, text, score_direction="lower") == 1 - exact_value(SINGLE, text)
    assert exact_value(SINGLE, "average_precision", score_direction="lower") == exact_value(
        case("binary", ["spam", "ham"], ["spam", "ham", "spam", "ham"], ["spam"] * 4, [[-0.9], [-0.2], [-0.4], [-0.4]]),
        "average_precision",
    )
    curves = evaluate_metric(SINGLE, "roc_curve", score_direction="lower").data["curves"]
    assert curves[0]["threshold"] == [None, 0.2, 0.4, 0.9]
    both = (
        exact_value(THREE, "auc_pairwise_univariate:label=high"),
        exact_value(THREE, "auc_pairwise_univariate:label=high,direction=descending", score_direction="lower"),
    )
    assert both[0] == both[1]


def test_pairs_of_classes_drop_the_absent() -> None:
    assert exact_value(THREE, "auc_ovo_macro") == ((Fraction(7, 8) + 1) / 2 + 1 + 1) / 3
    said = ("1 of 4 labels left out (absent from gold): top",)
    assert notes(THREE, "auc_ovo_macro") == notes(THREE, "auc_pairwise_univariate:label=high") == said
    alone = case("multiclass", ["a", "b"], ["a", "a"], ["a", "a"], [[0.1, 0.2], [0.3, 0.4]])
    assert reason(alone, "auc_ovo_macro") == (
        "there are fewer than two classes to compare: 1 of 2 labels left out (absent from gold): b"
    )
    assert reason(alone, "auc_ovr_macro") == (
        "no label is left to average over: 1 of 2 labels left out (always right in gold): a; "
        "1 of 2 labels left out (never right in gold): b"
    )


def test_classes_that_do_not_occur_cost_nothing_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert THREE.scores is not None
    many = 20_000
    wide = np.zeros((6, many))
    wide[:, :4] = THREE.scores
    names = (*THREE.spec.classes, *(f"c{code}" for code in range(many - 4)))
    of = replace(THREE, spec=replace(THREE.spec, classes=names), scores=wide)
    tracemalloc.start()
    for text in ("auc_ovo_macro", "auc_ovo_weighted", "auc_pairwise_univariate:label=high"):
        assert value(of, text) == value(THREE, text)
    assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    tracemalloc.stop()
    monkeypatch.setattr(class_pair_wins, "MAX_CLASSES", 2)
    assert reason(of, "auc_ovo_macro") == "the pairs of 3 classes are too many; at most 2 may occur"


def test_one_decision_value_has_a_direction_and_follows_the_order_declared() -> None:
    ascending = exact_value(THREE, "auc_pairwise_univariate:label=high")
    assert ascending == (Fraction(1, 2) + 1 + 1) / 3  # low and middle: 0.2, 0.2 against 0.1, 0.3
    assert exact_value(THREE, "auc_pairwise_univariate:label=high,direction=descending") == 1 - ascending
    with pytest.raises(InvalidMetric, match="the class whose score is the decision value"):
        parse_metric("auc_pairwise_univariate", task="multiclass")


@for_each(
    "text, task, hint",
    [
        ("auc", "multiclass", "auc_ovr:label"),
        ("auc_macro", "multiclass", "auc_ovr_macro or auc_ovo_macro"),
        ("auc_micro", "multiclass", "auc_ovr_micro"),
        ("auc_weighted", "multiclass", "auc_ovr_weighted"),
        ("auc_ovr:label=a", "binary", "use auc"),
        ("auc_ovr_macro", "multilabel", "use auc_macro"),
        ("auc_ovo_macro", "binary", "use auc"),
        ("auc_ovo_weighted", "multilabel", "use auc_macro"),
        ("delong_variance", "multiclass", "the AUC of a binary task"),
    ],
)
def test_the_name_of_another_task_is_refused_with_a_hint(text: str, task: TaskKind, hint: str) -> None:
    with pytest.raises(InvalidMetric, match=hint):
        parse_metric(text, task=task)


def test_a_label_has_to_be_named_where_there_are_several() -> None:
    for text in ("auc", "average_precision", "auprc_trapezoid", "equal_error_rate", "partial_auc:max_fpr=0.1"):
        with pytest.raises(InvalidMetric, match="the class to evaluate"):
            parse_metric(text, task="multilabel")
    for text, needed in (("partial_auc", "max_fpr"), ("specificity_at_sensitivity", "sensitivity")):
        with pytest.raises(InvalidMetric, match=f"needs {needed}="):
            parse_metric(text, task="binary")
        with pytest.raises(InvalidMetric, match="from 0 to 1"):
            parse_metric(f"{text}:{needed}=1.5", task="binary")


def test_points_and_parts_of_the_roc_curve() -> None:
    assert exact_value(SINGLE, "partial_auc:max_fpr=1") == exact_value(SINGLE, "auc")
    assert exact_value(SINGLE, "partial_auc:max_fpr=0.25") == Fraction(1, 8) * (1 + Fraction(1, 2)) / 2 * 2 - Fraction(
        1, 32
    )
    assert reason(SINGLE, "partial_auc:max_fpr=0") == "max_fpr=0 leaves no area"
    assert exact_value(SINGLE, "specificity_at_sensitivity:sensitivity=0.5") == 1
    assert exact_value(SINGLE, "specificity_at_sensitivity:sensitivity=0.51") == Fraction(1, 2)
    assert exact_value(SINGLE, "specificity_at_sensitivity:sensitivity=0") == 1
    assert exact_value(SINGLE, "equal_error_rate") == Fraction(1, 4)  # half way along the tie
    assert exact_value(SINGLE, "equal_error_rate", score_direction="lower") == Fraction(3, 4)


def test_the_variance_needs_two_of_each_and_no_weights() -> None:
    few = case("binary", ["a", "b"], ["a", "b", "b"], ["a", "b", "b"], [[0.3], [0.1], [0.2]])
    assert reason(few, "delong_variance") == "it needs at least two positives and two negatives"
    heavy = EvaluationInput(SINGLE.spec, SINGLE.gold, SINGLE.predicted, SINGLE.scores, np.full(4, 2))
    assert "depends on the number of instances" in str(reason(heavy, "delong_variance"))
    assert exact_value(SINGLE, "delong_variance") == Fraction(1, 64) + Fraction(1, 64)


def test_what_lacks_scores_or_has_sets_of_answers_has_no_value() -> None:
    torn = case("binary", ["a", "b"], ["a", "b"], ["a", "b"], [[float("nan")], [0.1]])
    assert reason(torn, "auc") == "1 instance has no scores"
    none = case("binary", ["a", "b"], ["a", "b"], ["a", "b"])
    assert reason(none, "pr_curve") == "the predictions have no scores"
    sets = EvaluationInput(THREE.spec, THREE.gold.as_sets(), THREE.predicted, THREE.scores)
    for text in ("auc_ovr_macro", "auc_ovo_macro", "average_precision_macro", "roc_curve"):
        assert "sets of acceptable answers" in str(reason(sets, text))


def test_zeros_of_either_sign_are_one_score() -> None:
    of = case("binary", ["a", "b"], ["a", "b", "a"], ["a"] * 3, [[-0.0], [0.0], [0.5]])
    assert exact_value(of, "auc") == Fraction(3, 4)
    found = evaluate_metric(of, "roc_curve").data
    assert json.dumps(found["curves"][0]["threshold"]) == "[null, 0.5, 0.0]"


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_areas_follow_the_ranks_alone(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    assert of.scores is not None
    ranks = np.unique(of.scores, return_inverse=True)[1].reshape(of.scores.shape)
    calls = [
        parse_metric(metric_object(CATALOGUE[key], of), task=task) for key in AREAS if task in CATALOGUE[key].tasks
    ]
    moved = EvaluationInput(of.spec, of.gold, of.predicted, (ranks * 3 - 7).astype(np.float64))
    assert evaluate(of, calls) == evaluate(moved, calls)


@for_each("key", CURVES)
def test_the_worked_example_of_a_curve_is_its_data(key: str) -> None:
    shown = CATALOGUE[key].example
    of = case(shown.task, shown.classes, shown.gold, shown.predicted, shown.scores, positive_label=shown.positive_label)
    assert evaluate_metric(of, key).data == json.loads(shown.value)


def test_the_equation_of_a_call_shows_its_settings() -> None:
    asked_for: list[tuple[str, TaskKind]] = [
        ("auc:ties=full", "binary"),
        ("auc_ovo_macro:ties=zero", "multiclass"),
        ("partial_auc:max_fpr=0.25", "binary"),
        ("partial_auc:max_fpr=0.25,standardized=true", "binary"),
        ("specificity_at_sensitivity:sensitivity=0.9", "binary"),
        ("auc_pairwise_univariate:label=a,direction=descending", "multiclass"),
    ]
    shown = {text: describe_call(parse_metric(text, task=task))["equation"]["latex"] for text, task in asked_for}
    assert r"\ge s_{v}" in shown["auc:ties=full"]
    assert "tfrac{1}{2}[" not in shown["auc_ovo_macro:ties=zero"]
    assert shown["partial_auc:max_fpr=0.25"].startswith(r"\int_{0}^{0.25}")
    assert "(0.25)^{2}" in shown["partial_auc:max_fpr=0.25,standardized=true"]
    assert r"\ge 0.9" in shown["specificity_at_sensitivity:sensitivity=0.9"]
    assert r"s_{u}> s_{v}" in shown["auc_pairwise_univariate:label=a,direction=descending"]


def test_every_metric_of_ranks_takes_scores_as_they_are() -> None:
    for key in (*FAMILY, *CURVES):
        metric = CATALOGUE[key]
        assert SCORES in metric.needs, key
        assert PROBABILITIES not in metric.needs, key
        assert "score_direction" in metric.options, key
        assert not metric.acceptable, key
        assert metric.peers, key


@for_each("key", ["auc_micro", "average_precision_micro", "auprc_trapezoid_micro"])
def test_pooling_many_heavy_labels_stays_exact(key: str) -> None:
    names = [f"c{at:04}" for at in range(4096)]
    scores = np.random.default_rng(5).integers(0, 99, (4, len(names))) / 100
    light = case("multilabel", names, [[names[at]] for at in range(4)], [[]] * 4, scores.tolist(), weights=[1, 2, 1, 3])
    assert light.weights is not None
    heavy = replace(light, weights=light.weights * 2**50)
    assert value(heavy, key) == value(light, key)
