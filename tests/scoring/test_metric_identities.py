"""Equations between metrics that the literature states."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case, results
from tests.scoring.strategies import cases

SOME = settings(max_examples=60, deadline=None)


def values(of: EvaluationInput, *keys: str) -> list[float]:
    found = [result.value for result in results(of, keys).values()]
    assert all(value is not None for value in found)
    return [value for value in found if value is not None]


@given(of=cases("multiclass"))
@SOME
def test_with_one_label_per_instance_pooled_values_are_accuracy(of: EvaluationInput) -> None:
    assert len(set(values(of, "precision_micro", "recall_micro", "f1_micro", "f_beta_micro:beta=3", "accuracy"))) == 1


@given(of=cases("multiclass"))
@SOME
def test_support_weighted_recall_is_pooled_recall_to_the_bit(of: EvaluationInput) -> None:
    weighted, micro = values(of, "recall_weighted", "recall_micro")
    assert weighted == micro


@given(of=cases("multilabel"))
@SOME
def test_one_versus_rest_accuracy_pools_as_it_averages(of: EvaluationInput) -> None:
    micro, macro, hamming = values(of, "accuracy_ovr_micro", "accuracy_ovr_macro", "hamming_loss")
    assert abs(micro - macro) <= 4e-16
    assert abs(micro + hamming - 1) <= 2e-16


@given(of=cases("multiclass"))
@SOME
def test_one_hot_hamming_loss_is_two_mths_of_the_error_rate(of: EvaluationInput) -> None:
    hamming, error = values(of, "hamming_loss", "error_rate")
    assert abs(hamming - 2 / len(of.spec.classes) * error) <= 2e-16 or len(of.spec.classes) == 1


@given(of=cases("multilabel"), average=st.sampled_from(["macro", "samples"]))
@SOME
def test_the_f_of_averages_is_never_below_the_average_f(of: EvaluationInput, average: str) -> None:
    of_averages, averaged = values(of, f"f1_of_averages_{average}", f"f1_{average}")
    assert of_averages >= averaged - 4e-16


@given(of=cases("multiclass"))
@SOME
def test_training_frequencies_equal_to_the_test_ones_make_lfb_the_pooled_recall(of: EvaluationInput) -> None:
    gold = [of.spec.classes[code] for code in of.gold.codes]
    predicted = [of.spec.classes[code] for code in of.predicted.codes]
    frequencies = {name: gold.count(name) for name in of.spec.classes}
    same = case("multiclass", of.spec.classes, gold, predicted, train_frequencies=frequencies)
    lfb, micro, lfb_f1, weighted_f1 = values(same, "recall_lfb_train", "recall_micro", "f1_lfb_train", "f1_weighted")
    assert lfb == micro
    assert lfb_f1 == weighted_f1


@given(of=cases("binary"))
@SOME
def test_the_other_class_of_a_binary_task_turns_recall_into_specificity(of: EvaluationInput) -> None:
    found = results(of, ["specificity", f"recall:label={of.spec.classes[1].replace('|', '%7C')}"])
    first, second = (result.value for result in found.values())
    assert first == second


@given(of=cases("multiclass"))
@SOME
def test_fixed_and_free_beta_agree(of: EvaluationInput) -> None:
    for average in ("macro", "weighted"):
        fixed, free = values(of, f"f2_{average}", f"f_beta_{average}:beta=2")
        assert fixed == free
        fixed, free = values(of, f"f0_5_of_averages_{average}", f"f_beta_of_averages_{average}:beta=0.50")
        assert fixed == free
