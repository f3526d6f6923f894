"""Each convention option does what its declaration says, on counts computed by hand."""

from typing import Any

import pytest

from app.scoring.declaration.options import OPTIONS
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.per_class_report import confusion, per_class_report
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results, value

# a: tp 2 fn 1 fp 1; b: tp 1 fn 1 fp 1; c: in gold once, never predicted; d: predicted once, not in gold; e: nowhere
CLASSES = ["a", "b", "c", "d", "e"]
GOLD = ["a", "a", "a", "b", "b", "c"]
PREDICTED = ["a", "a", "d", "b", "a", "b"]


def single(**spec: Any) -> EvaluationInput:
    return case("multiclass", CLASSES, GOLD, PREDICTED, **spec)


def test_a_macro_mean_covers_every_declared_class_by_default() -> None:
    assert value(single(), "recall_macro") == pytest.approx((2 / 3 + 1 / 2) / 5)
    assert value(single(), "precision_macro") == pytest.approx((2 / 3 + 1 / 2) / 5)


@for_each("rule, classes", [("gold", 3), ("predicted", 3), ("gold_or_predicted", 4), ("declared", 5), ("training", 2)])
def test_the_label_set_decides_the_divisor(rule: str, classes: int) -> None:
    of = single(train_frequencies={"a": 7, "b": 1})
    assert value(of, "recall_macro", label_set=rule) == pytest.approx((2 / 3 + 1 / 2) / classes)


def test_the_label_set_leaves_pooled_and_weighted_averages_alone() -> None:
    for key in ("f1_micro", "f1_weighted"):
        assert value(single(), key, label_set="gold") == value(single(), key)


@for_each(
    "rule, precision, recall",
    [
        ("worst", (2 / 3 + 1 / 2) / 5, (2 / 3 + 1 / 2) / 5),
        ("0", (2 / 3 + 1 / 2) / 5, (2 / 3 + 1 / 2) / 5),
        ("1", (2 / 3 + 1 / 2 + 2) / 5, (2 / 3 + 1 / 2 + 2) / 5),
        ("skip", (2 / 3 + 1 / 2) / 3, (2 / 3 + 1 / 2) / 3),
    ],
)
def test_zero_division_replaces_or_skips_a_ratio_of_nothing(rule: str, precision: float, recall: float) -> None:
    assert value(single(), "precision_macro", zero_division=rule) == pytest.approx(precision)
    assert value(single(), "recall_macro", zero_division=rule) == pytest.approx(recall)


def test_zero_division_error_gives_null_with_a_reason() -> None:
    found = results(single(), ["precision_macro", "precision_micro"], {"zero_division": "error"})
    assert found["precision_macro"].value is None
    assert "0/0" in (found["precision_macro"].reason or "")
    assert found["precision_micro"].value == pytest.approx(3 / 6)


def test_the_notes_list_the_classes_where_the_rule_fired() -> None:
    notes = evaluate_metric(single(), "precision_macro").notes
    assert any("0/0 for c, e" in note and "counted as 0" in note for note in notes)


def test_absent_labels_lower_the_best_attainable_value_and_the_notes_say_so() -> None:
    perfect = case("multiclass", CLASSES, GOLD, GOLD)
    found = evaluate_metric(perfect, "f1_macro")
    assert found.value == pytest.approx(3 / 5)
    assert (
        "the best attainable value with these gold labels is 0.6, because they lack some of the classes" in found.notes
    )


@for_each(
    "text, gold, predicted, best",
    [
        ("precision_macro", ["b", "c"], ["a", "b"], "0.666667"),
        ("f1_macro", ["a", "a"], ["a", "b"], "0.333333"),
        ("specificity_macro", ["a", "a"], ["a", "a"], "0.666667"),
        ("error_rate", ["a", "a"], ["a", "b"], None),
        ("precision_macro:label_set=gold_or_predicted", ["b", "c"], ["a", "b"], None),
        ("f1_weighted", ["b", "c"], ["a", "b"], None),
        ("specificity_macro:label_set=gold_or_predicted", ["a", "a"], ["c", "a"], None),
    ],
)
def test_the_best_attainable_value_is_that_of_a_perfect_prediction_whatever_was_predicted(
    text: str, gold: list[str], predicted: list[str], best: str | None
) -> None:
    notes = evaluate_metric(case("multiclass", ["a", "b", "c"], gold, predicted), text).notes
    said = [note for note in notes if "best attainable" in note]
    assert bool(said) == (best is not None)
    if best:
        assert best in said[0]


def test_a_beta_of_many_digits_is_exact_where_nothing_was_hit() -> None:
    """The coefficients of β outgrow 64 bits; all counts they multiply are 0."""
    for beta in ("0.3333333333333333", "3.1415926535", "1e-10", "1e-17"):
        metrics = [f"{key}:beta={beta}" for key in ("f_beta_macro", "f_beta_weighted", "f_beta_micro")]
        found = results(case("multiclass", ["a", "b"], ["a", "b"], ["b", "a"]), metrics)
        assert {result.value for result in found.values()} == {0.0}


def test_exclude_labels_none_leaves_nothing_out_unless_a_class_is_called_so() -> None:
    plain = results(
        case("multiclass", ["a", "b"], ["a", "b"], ["a", "a"]), ["f1_macro", "f1_macro:exclude_labels=none"]
    )
    assert len({result.value for result in plain.values()}) == 1
    of = case("multiclass", ["a", "none"], ["a", "none"], ["a", "a"])
    named = results(of, ["f1_macro", "f1_macro:exclude_labels=none"])
    assert len({result.value for result in named.values()}) == 2


def test_a_long_list_of_classes_is_cut_in_the_notes() -> None:
    of = case("multiclass", [f"k{i}" for i in range(40)], ["k0"], ["k0"])
    notes = evaluate_metric(of, "f1_macro").notes
    assert any(note.endswith("k10 and 29 more") or "and 29 more" in note for note in notes)
    assert all(len(note) < 300 for note in notes)


@for_each("rule, expected", [("worst", 0.0), ("0", 0.0), ("1", 1.0), ("skip", None), ("error", None)])
def test_a_single_ratio_of_nothing_follows_the_rule(rule: str, expected: float | None) -> None:
    assert value(single(), "f1:label=e", zero_division=rule) == expected


def test_absent_labels_can_leave_the_mean() -> None:
    assert value(single(), "recall_macro", absent_gold="skip") == pytest.approx((2 / 3 + 1 / 2) / 3)
    found = evaluate_metric(single(), "f1_macro", absent_gold="skip")
    assert any("left out by absent_gold=skip: d, e" in note for note in found.notes)


def test_excluded_labels_leave_the_average_but_their_instances_stay() -> None:
    # without a: b has tp 1, fp 1, fn 1; c has fn 1; the instance of b predicted as a still costs b's recall
    assert value(single(), "recall_macro:exclude_labels=a|c|d|e") == pytest.approx(1 / 2)
    assert value(single(), "recall_micro:exclude_labels=a") == pytest.approx(1 / 3)
    assert value(single(), "precision_micro:exclude_labels=a") == pytest.approx(1 / 3)
    assert value(single(), "recall_weighted:exclude_labels=a") == pytest.approx((2 * 0.5 + 0) / 3)
    assert value(single(), "balanced_accuracy:exclude_labels=a") == pytest.approx((1 / 2 + 0) / 2)
    assert value(single(), "accuracy:exclude_labels=a") == pytest.approx(3 / 6)


def test_an_excluded_label_that_is_no_class_is_not_passed_over() -> None:
    found = evaluate_metric(single(), "f1_macro:exclude_labels=zebra")
    assert found.value is None
    assert "zebra" in (found.reason or "")


def test_a_label_outside_the_vocabulary_is_a_false_positive_without_a_class() -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "b"], ["a", "?", "b"])
    counted, dropped = {"unknown_label": "count_as_fp"}, {"unknown_label": "drop"}
    assert value(of, "precision_micro", **counted) == pytest.approx(2 / 3)
    assert value(of, "precision_micro", **dropped) == 1.0
    for rule in (counted, dropped):
        assert value(of, "accuracy", **rule) == pytest.approx(2 / 3)
        assert value(of, "precision_macro", **rule) == 1.0
        assert value(of, "recall_macro", **rule) == pytest.approx(3 / 4)


def test_unknown_labels_of_a_set_enlarge_it() -> None:
    of = case("multilabel", ["a", "b"], [["a"], []], [["a", "?", "!"], ["?"]])
    counted, dropped = {"unknown_label": "count_as_fp"}, {"unknown_label": "drop"}
    keys = ["precision_samples", "precision_micro", "subset_accuracy", "hamming_loss"]
    found = results(of, keys, counted)
    assert [found[key].value for key in keys] == pytest.approx([1 / 6, 1 / 4, 0.0, 3 / 4])
    found = results(of, keys, dropped)
    assert [found[key].value for key in keys] == [1.0, 1.0, 1.0, 0.0]


def test_a_missing_prediction_costs_recall_alone() -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "b", "b"], ["a", None, "b", "b"])
    found = results(of, ["precision_micro", "recall_micro", "accuracy", "recall_macro", "hamming_loss"])
    assert [result.value for result in found.values()] == [1.0, 0.75, 0.75, 0.75, 0.125]
    table = confusion(of)
    assert table["matrix"] == [[1, 0], [0, 2]]
    assert table["nothing"] == [1, 0]


def test_kappa_and_mcc_take_nothing_and_unknown_for_categories_of_their_own() -> None:
    gold, predicted = ["a", "a", "b", "b", "b"], ["a", None, "b", "?", "a"]
    ours = case("multiclass", ["a", "b"], gold, predicted)
    spelled = case("multiclass", ["a", "b", "-", "?"], gold, [label or "-" for label in predicted])
    for key in ("cohen_kappa", "mcc"):
        assert value(ours, key, unknown_label="count_as_fp") == value(spelled, key)


@for_each("rule, expected", [("0", (1 + 0 + 0) / 3), ("skip", 1.0)])
def test_one_empty_set_is_the_worst_or_leaves_the_average(rule: str, expected: float) -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"], []], [["a"], [], ["b"]])
    for key in ("precision_samples", "recall_samples", "f1_samples", "jaccard_samples", "f1_of_averages_samples"):
        assert value(of, key, one_empty=rule) == pytest.approx(expected), key


def test_per_instance_specificity_follows_zero_division() -> None:
    of = case("multilabel", ["a", "b"], [["a", "b"], ["a"]], [["a"], ["a"]])
    assert value(of, "specificity_samples") == 0.5
    assert value(of, "specificity_samples", zero_division="skip") == 1.0
    assert value(of, "specificity_samples", both_empty="skip", one_empty="skip") == 0.5


def test_repeated_labels_count_as_often_as_they_are_sent_if_asked() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a", "a", "b"], ["b"]])
    assert value(of, "precision_micro", duplicates="set") == pytest.approx(2 / 3)
    assert value(of, "precision_micro", duplicates="multiset") == pytest.approx(2 / 4)
    assert value(of, "precision_samples", duplicates="multiset") == pytest.approx((1 / 3 + 1) / 2)
    assert value(of, "hamming_loss", duplicates="multiset") == pytest.approx(1 / 4)


def test_lfb_train_needs_frequencies_and_weighs_by_them() -> None:
    assert evaluate_metric(single(), "f1_lfb_train").reason is not None
    of = single(train_frequencies={"a": 3, "b": 1})
    assert value(of, "recall_lfb_train") == pytest.approx((3 * 2 / 3 + 1 / 2) / 4)
    assert any("weight is 0: c, d, e" in note for note in evaluate_metric(of, "f1_lfb_train").notes)


def test_training_labels_that_are_not_declared_are_ignored_aloud() -> None:
    of, wider = single(train_frequencies={"a": 3, "b": 1}), single(train_frequencies={"a": 3, "b": 1, "z": 9})
    assert value(wider, "f1_lfb_train") == value(of, "f1_lfb_train")
    assert any("ignored: z" in note for note in evaluate_metric(wider, "f1_lfb_train").notes)


def test_weighted_accuracy_normalises_its_weights_over_the_classes_that_occur() -> None:
    weights = {"a": 0.1, "b": 0.2, "c": 0.7, "d": 5.0, "e": 5.0}
    assert value(single(class_weights=weights), "weighted_accuracy") == pytest.approx(0.1 * 2 / 3 + 0.2 / 2)
    assert value(single(), "weighted_accuracy") == value(single(), "balanced_accuracy") == pytest.approx(7 / 18)
    lacking = evaluate_metric(single(class_weights={"a": 1.0}), "weighted_accuracy")
    assert lacking.value is None
    assert "b, c" in (lacking.reason or "")


def test_degenerate_agreement_is_null_or_a_flagged_zero() -> None:
    of = case("multiclass", ["a", "b"], ["a", "a"], ["a", "a"])
    found = results(of, ["cohen_kappa", "mcc"])
    assert found["cohen_kappa"].value is None
    assert "0/0" in (found["cohen_kappa"].reason or "")
    assert found["mcc"].value == 0.0
    assert found["mcc"].notes


def test_pooled_measures_warn_that_they_are_accuracy() -> None:
    found = results(single(), ["f1_micro", "f1_micro:exclude_labels=a", "jaccard_micro"])
    assert any("accuracy" in note for note in found["f1_micro"].notes)
    assert not any("accuracy" in note for note in found["f1_micro:exclude_labels=a"].notes)
    assert not any("accuracy" in note for note in found["jaccard_micro"].notes)


def test_no_instances_no_number() -> None:
    for task in ("binary", "multiclass", "multilabel"):
        of = case(task, ["a", "b"], [], [])
        for text, result in results(of, ["f1_macro", "hamming_loss"]).items():
            assert result.value is None, text
            assert result.reason == "there are no instances to score"
        assert per_class_report(of)["a"]["support"] == 0


def test_every_option_is_explained() -> None:
    for option in OPTIONS.values():
        assert option.meaning
        assert len(option.value_meanings) == len(option.values)
        assert not option.values or option.default in option.values
