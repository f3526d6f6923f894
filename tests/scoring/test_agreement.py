"""Agreement beyond chance and means of recalls: undefined values, and labels outside the vocabulary."""

from tests.scoring.case_builder import case, evaluate_metric, value

ABC = ["a", "b", "c"]


def test_one_class_on_both_sides_leaves_no_agreement_beyond_chance() -> None:
    of = case("multiclass", ABC, ["a", "a"], ["a", "a"])
    for key in ("cohen_kappa", "cohen_kappa:weights=linear", "scott_pi"):
        assert evaluate_metric(of, key).reason == (
            "gold and predictions consist of the same single class, so chance agreement is 1 (0/0)"
        )
    assert value(of, "gwet_ac1") == 1.0


def test_a_vocabulary_of_one_class() -> None:
    of = case("multiclass", ["a"], ["a", "a"], ["a", "a"])
    assert evaluate_metric(of, "gwet_ac1").reason == "there is only one class, so chance agreement is 0/0"


def test_classes_that_do_not_occur_count_among_those_of_ac1_alone() -> None:
    gold, predicted = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
    short, long = case("multiclass", ["a", "b"], gold, predicted), case("multiclass", ABC, gold, predicted)
    for key in ("cohen_kappa", "scott_pi"):
        assert value(short, key) == value(long, key)
    # agreement 3/4, shares 3/8 and 5/8: chance 30/64 over K - 1
    assert value(short, "gwet_ac1") == (3 / 4 - 30 / 64) / (1 - 30 / 64)
    assert value(long, "gwet_ac1") == (3 / 4 - 15 / 64) / (1 - 15 / 64)


def test_what_is_no_class_is_a_category_of_its_own() -> None:
    outside = case("multiclass", ["a", "b"], ["a", "a", "b", "b"], ["a", "strange", "b", "b"])
    nothing = case("multiclass", ["a", "b"], ["a", "a", "b", "b"], ["a", None, "b", "b"])
    third = case("multiclass", ABC, ["a", "a", "b", "b"], ["a", "c", "b", "b"])
    for key in ("cohen_kappa", "scott_pi", "mcc"):
        assert value(outside, key, unknown_label="count_as_fp") == value(third, key), key
        assert value(nothing, key, missing="empty_prediction") == value(third, key), key
    # the shares of a and b are 3/8 and 4/8, and K - 1 is 1: chance is 31/64, a quotient of integers
    assert value(outside, "gwet_ac1", unknown_label="count_as_fp") == (48 - 31) / (64 - 31)


def test_weighted_kappa_goes_by_the_declared_order() -> None:
    gold, predicted = ["a", "b", "c", "c"], ["b", "b", "c", "a"]
    there, back = (case("multiclass", classes, gold, predicted) for classes in (ABC, ABC[::-1]))
    other = case("multiclass", ["b", "a", "c"], gold, predicted)
    for weights in ("linear", "quadratic"):
        text = f"cohen_kappa:weights={weights}"
        assert value(there, text) == value(back, text) != value(other, text)
    # 3 places in all; of the 4 times 4 pairs of a gold and a predicted label 14 places
    assert value(there, "cohen_kappa:weights=linear") == 1 / 7


def test_the_adjusted_balanced_accuracy_takes_chance_as_nought() -> None:
    of = case("multiclass", ABC, ["a", "b", "b"], ["a", "a", "a"])
    assert value(of, "balanced_accuracy") == 0.5
    assert value(of, "balanced_accuracy:adjusted=true") == 0.0
    assert value(of, "balanced_accuracy", adjusted="true") == 0.0
    wrong = case("multiclass", ABC, ["a", "b"], ["c", "c"])
    assert value(wrong, "balanced_accuracy:adjusted=true") == -1.0
    text = "balanced_accuracy:adjusted=true,exclude_labels=a"
    assert "0/0" in (evaluate_metric(of, text).reason or "")


def test_one_class_never_found_makes_the_geometric_mean_nought() -> None:
    of = case("multiclass", ABC, ["a", "a", "b", "b"], ["a", "b", "a", "a"])
    assert value(of, "gmean_recall") == 0.0
    assert value(of, "gmean_recall", exclude_labels="b") == 0.5
    assert value(case("multiclass", ABC, ["a", "b"], ["a", "b"]), "gmean_recall") == 1.0
