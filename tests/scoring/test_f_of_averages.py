"""F of two averages that are both 0 is 0 under every zero_division rule."""

from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results

KEYS = ["f1_of_averages_macro", "f1_of_averages_weighted", "f1_of_averages_lfb_test", "f_beta_of_averages_macro:beta=2"]


@for_each("rule", ["worst", "0", "skip", "error", "1"])
@for_each("key", KEYS)
def test_f_of_two_averages_that_are_0_is_0(key: str, rule: str) -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "b"], ["b", "b", "a"])
    found = evaluate_metric(of, key, zero_division=rule)
    assert (found.value, found.reason) == (0.0, None)
    assert any("both 0" in note for note in found.notes)


@for_each("rule", ["worst", "skip", "error", "1"])
def test_of_label_sets_too(rule: str) -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["b"], ["a"]])
    found = results(of, ["f1_of_averages_samples"], {"zero_division": rule})
    assert found["f1_of_averages_samples"].value == 0.0


def test_the_note_names_what_is_0() -> None:
    of = case("multiclass", ["a", "b", "c"], ["a", "b", "c"], ["b", "a", "a"])
    key = "f_beta_of_averages_macro:beta=0"
    found = results(of, [key, "precision_macro"], {"zero_division": "1"})
    assert (found[key].value, found["precision_macro"].value) == (0.0, 1 / 3)
    assert "average recall is 0, and so is their F" in found[key].notes
