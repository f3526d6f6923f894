"""Two named systems: the golden vector, exact McNemar, symmetry, groups, and input that leaves little to compare."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidContent
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluation_input import EvaluationInput, Grouping, Labels
from app.scoring.uncertainty.paired import GROUPS_EXCHANGEABLE, INSTANCES_EXCHANGEABLE
from app.scoring.uncertainty.randomization import affordable_rounds
from app.scoring.uncertainty.small_samples import exact_mcnemar
from tests.each_case import for_each
from tests.golden.reference_data import challenge_folder, load_vector
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case
from tests.scoring.uncertainty.pairs import compare, compare_calls, ids_of, pairs, scalar_calls, two_systems
from tests.scoring.uncertainty.real_systems import read_system


def from_labels(gold: str, a: str, b: str, **more: object) -> tuple[EvaluationInput, EvaluationInput]:
    """Two systems whose labels are single letters."""
    classes = sorted({*gold, *a, *b})
    first, second = (case("multiclass", classes, [*gold], [*labels], **more) for labels in (a, b))  # type: ignore[arg-type]
    return first, second


# ---- known values --------------------------------------------------------------------------------


@needs_shared
def test_the_golden_vector_exactly() -> None:
    data = load_vector("approx_randomization_small")
    gold = [row["gold"] for row in data["instances"]]
    a, b = (
        case("multiclass", data["labels"], gold, [row[name] for row in data["instances"]])
        for name in ("system_a", "system_b")
    )
    found = compare(a, b, *data["expected"])
    for text, expected in data["expected"].items():
        comparison = found[text]
        assert comparison.a == pytest.approx(expected["score_a"], abs=1e-11)
        assert comparison.b == pytest.approx(expected["score_b"], abs=1e-11)
        assert comparison.difference == pytest.approx(expected["difference"], abs=1e-11)
        assert comparison.p_value == expected["p_two_sided"]
        assert (comparison.rounds, comparison.exact) == (expected["permutations"], True)


@for_each("only_a, only_b, p_value", [(18, 18, 1.0), (33, 31, 0.901), (37, 31, 0.545), (26, 25, 1.0), (31, 28, 0.795)])
def test_exact_mcnemar(only_a: int, only_b: int, p_value: float) -> None:
    n = only_a + only_b + 40
    right = [True] * only_a + [False] * only_b
    a, b = from_labels("x" * n, "".join("yx"[r] for r in right) + "x" * 40, "".join("xy"[r] for r in right) + "x" * 40)
    found = compare(a, b, "accuracy", rounds=199)["accuracy"]
    assert found.mcnemar_p is not None
    assert round(found.mcnemar_p, 3) == p_value
    assert found.mcnemar_p == exact_mcnemar(only_b, only_a)
    assert found.p_value == pytest.approx(found.mcnemar_p, abs=0.11)  # 199 random rounds of the same test
    assert compare(a, b, "f1_macro", rounds=19)["f1_macro"].mcnemar_p is None


def test_a_random_test_comes_close_to_mcnemar_and_says_how_many_rounds() -> None:
    a, b = two_systems(np.random.default_rng(5), 400, 4, (0.75, 0.66))
    found = compare(a, b, "accuracy", "f1_macro")
    accuracy = found["accuracy"]
    assert (accuracy.rounds, accuracy.exact) == (9_999, False)
    assert accuracy.p_value == pytest.approx(accuracy.mcnemar_p, abs=0.01)
    assert accuracy.p_value is not None
    assert (accuracy.p_value * 10_000) % 1 == pytest.approx(0, abs=1e-9)  # (r + 1) / (R + 1)
    assert accuracy.null_hypothesis == INSTANCES_EXCHANGEABLE
    low, high = accuracy.low, accuracy.high
    assert low is not None
    assert high is not None
    assert low < 0.75 - 0.66 < high


def test_the_smallest_difference_is_2_8_standard_deviations() -> None:
    """For accuracy each of d discordant instances adds ±1/n after an exchange: the deviation is √d / n."""
    a, b = two_systems(np.random.default_rng(6), 500, 2, (0.8, 0.8))
    found = compare(a, b, "accuracy")["accuracy"]
    assert found.discordant is not None
    expected = (1.959964 + 0.841621) * found.discordant**0.5 / 500
    assert found.smallest_difference == pytest.approx(expected, rel=0.03)


# ---- what must not matter ------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_the_order_of_the_systems_mirrors_the_comparison(task: TaskKind, data: st.DataObject) -> None:
    a, b = data.draw(pairs(task))
    wanted = scalar_calls(a)[data.draw(st.integers(0, 11)) :: 12]
    there, back = compare_calls(a, b, wanted, rounds=25), compare_calls(b, a, wanted, rounds=25)
    for text, one in there.items():
        other = back[text]
        assert (one.p_value, one.rounds, one.exact) == (other.p_value, other.rounds, other.exact), text
        assert (one.mcnemar_p, one.discordant) == (other.mcnemar_p, other.discordant), text
        assert (one.a, one.b) == (other.b, other.a), text
        if one.low is not None and one.high is not None:
            assert (other.low, other.high) == (-one.high, -one.low), text


def test_random_rounds_are_mirrored_too() -> None:
    a, b = two_systems(np.random.default_rng(7), 300, 5)
    there, back = (compare(*both, "f1_macro", "cohen_kappa", rounds=299) for both in ((a, b), (b, a)))
    for text, one in there.items():
        assert one.low is not None
        assert one.high is not None
        assert (one.p_value, one.low, one.high) == (back[text].p_value, -(back[text].high or 0), -(back[text].low or 0))


def test_neither_the_order_of_rows_nor_that_of_classes_changes_a_digit() -> None:
    a, b = two_systems(np.random.default_rng(8), 200, 4)
    metrics = ("accuracy", "f1_macro", "f1_weighted")
    expected = compare(a, b, *metrics, rounds=499)
    order = np.random.default_rng(9).permutation(200)
    ids = ids_of(a)
    found = compare(a.take(order), b.take(order), *metrics, ids=[ids[row] for row in order], rounds=499)
    assert found == expected
    turned = [
        replace(
            of,
            spec=replace(of.spec, classes=of.spec.classes[::-1]),
            gold=Labels(3 - of.gold.codes),
            predicted=Labels(3 - of.predicted.codes),
        )
        for of in (a, b)
    ]
    for text, one in compare(turned[0], turned[1], *metrics, rounds=499).items():
        assert one.p_value == expected[text].p_value
        assert (one.low, one.high) == pytest.approx((expected[text].low, expected[text].high))


def test_the_seed_matters_and_a_metric_does_not_depend_on_the_others() -> None:
    a, b = two_systems(np.random.default_rng(10), 300, 3)
    alone = compare(a, b, "f1_macro", rounds=499)["f1_macro"]
    assert compare(a, b, "accuracy", "f1_macro", rounds=499)["f1_macro"] == alone
    assert compare(a, b, "f1_macro", rounds=499, draw_seed="1")["f1_macro"].p_value != alone.p_value


def test_instances_of_weight_0_do_not_count() -> None:
    a, b = two_systems(np.random.default_rng(11), 120, 3)
    weights = np.ones(120, dtype=np.int64)
    weights[::3] = 0
    kept = np.flatnonzero(weights)
    weighted = [replace(of, weights=weights) for of in (a, b)]
    plain = [replace(of.take(kept), weights=weights[kept]) for of in (a, b)]
    ids = ids_of(a)
    found = compare(weighted[0], weighted[1], "f1_macro", rounds=299)
    assert found == compare(plain[0], plain[1], "f1_macro", rounds=299, ids=[ids[row] for row in kept])


def test_cells_that_the_gold_leaves_open_do_not_count() -> None:
    """Predictions of such cells make no difference, and an instance with nothing else is left out."""
    classes, gold = ["a", "b"], [["a"], ["b"], [], ["a"]]
    a = case("multilabel", classes, gold, [["a"], ["b"], ["a"], ["a", "b"]])
    b = case("multilabel", classes, gold, [["a"], [], ["b"], ["a"]])
    unknown = Labels(np.array([0, 1, 1], dtype=np.int32), np.array([0, 0, 0, 2, 3]))
    one, other = (replace(of, unknown=unknown) for of in (a, b))
    found = compare(one, other, "f1_micro:unknown_cells=skip")["f1_micro:unknown_cells=skip"]
    assert (found.discordant, found.p_value, found.rounds) == (1, 1.0, 2)


# ---- groups --------------------------------------------------------------------------------------


def grouped(of: EvaluationInput, codes: np.ndarray) -> EvaluationInput:
    return replace(of, groups=Grouping([f"g{at}" for at in range(codes.max() + 1)], codes.astype(np.int32)))


def test_whole_groups_are_exchanged() -> None:
    """One group has all errors of a and another all of b: swapping instances would call that chance, groups too few."""
    a, b = from_labels("x" * 60, "y" * 20 + "x" * 40, "x" * 60)
    single = compare(a, b, "accuracy")["accuracy"]
    assert single.p_value is not None
    assert single.p_value < 0.01
    codes = np.repeat(np.arange(3), 20)
    found = compare(grouped(a, codes), grouped(b, codes), "accuracy")["accuracy"]
    assert (found.p_value, found.rounds, found.exact, found.discordant, found.discordant_groups) == (
        1.0,
        2,
        True,
        20,
        1,
    )
    assert found.null_hypothesis == GROUPS_EXCHANGEABLE
    assert found.mcnemar_p is None
    assert found.smallest_difference is None
    assert any("Too few groups" in note for note in found.notes)
    assert any("McNemar" in note for note in found.notes)


def test_a_group_that_holds_everything_can_show_nothing() -> None:
    a, b = from_labels("xyxyxyxy" * 4, "xyxyxyxy" * 4, "yyyyyyyy" * 4)
    codes = np.zeros(32, dtype=np.int64)
    found = compare(grouped(a, codes), grouped(b, codes), "f1_macro")["f1_macro"]
    assert (found.p_value, found.low, found.high) == (1.0, None, None)
    assert any("Too few groups" in note for note in found.notes)
    assert any("one group" in note for note in found.notes)


@for_each("text", ["f1_macro", "cohen_kappa"])
def test_a_group_of_each_instance_is_like_no_groups(text: str) -> None:
    a, b = two_systems(np.random.default_rng(12), 10, 3, (0.8, 0.5))
    codes = np.arange(10)
    alone, whole = compare(a, b, text)[text], compare(grouped(a, codes), grouped(b, codes), text)[text]
    assert (alone.exact, alone.p_value) == (True, whole.p_value)


# ---- little to compare ---------------------------------------------------------------------------


def test_identical_systems() -> None:
    a, _ = two_systems(np.random.default_rng(13), 50, 3)
    found = compare(a, a, "accuracy", "f1_macro")
    for comparison in found.values():
        assert (comparison.difference, comparison.p_value, comparison.exact) == (0.0, 1.0, True)
        assert (comparison.low, comparison.high, comparison.smallest_difference) == (0.0, 0.0, None)
        assert any("same outputs" in note for note in comparison.notes)
        assert any("without width" in note for note in comparison.notes)
    assert found["accuracy"].mcnemar_p == 1.0


@for_each("groups", [None, ["x", "y", "x", "z"]])
def test_identical_label_sets_and_scores(groups: list[str] | None) -> None:
    sets = [["a"], ["b"], ["a", "b"], []]
    scores = [[0.9, 0.2], [0.3, 0.4], [0.8, 0.7], [0.1, 0.2]]
    of = case("multilabel", ["a", "b"], [["a"], ["a", "b"], ["b"], []], sets, scores, groups=groups)
    for comparison in compare(of, of, "f1_macro", "auc_macro", "mrr", "log_loss_multilabel", "coverage").values():
        assert (comparison.difference, comparison.p_value, comparison.rounds, comparison.discordant) == (0.0, 1.0, 1, 0)


def test_many_instances_get_fewer_rounds_unless_some_are_asked_for() -> None:
    call = parse_metric("f1_macro", task="multiclass")
    assert affordable_rounds(call, 100_000) == 9_999
    assert 199 < affordable_rounds(call, 10_000_000) < 9_999
    assert affordable_rounds(call, 10**9) == 199


def test_one_instance() -> None:
    a, b = from_labels("x", "x", "y")
    found = compare(a, b, "accuracy")["accuracy"]
    assert (found.difference, found.p_value, found.low, found.high) == (1.0, 1.0, None, None)
    assert any("One instance" in note for note in found.notes)
    assert any("Too few instances" in note for note in found.notes)


def test_one_class() -> None:
    a, b = from_labels("xxxx", "xxxx", "xxxx")
    assert compare(a, b, "f1_macro")["f1_macro"].p_value == 1.0


def test_a_null_value_has_a_reason_and_no_p_value() -> None:
    a, b = from_labels("xyxy", "yyyy", "xyyy")
    found = compare(a, b, "auc_ovr_macro", "precision:label=x,zero_division=error")
    for comparison in found.values():
        assert (comparison.difference, comparison.p_value, comparison.low, comparison.rounds) == (
            None,
            None,
            None,
            None,
        )
        assert str(comparison.reason).startswith("The metric is null for at least one system: ")
    assert (found["auc_ovr_macro"].a, found["precision:label=x,zero_division=error"].b) == (None, 1.0)


def test_exchanges_without_a_value_count_as_reaching_the_difference() -> None:
    """If b's predictions of x are all exchanged, a part without any has no precision."""
    a, b = from_labels("xxyyy", "xyxyy", "yxyxy")
    found = compare(a, b, "precision:label=x,zero_division=error")
    comparison = found["precision:label=x,zero_division=error"]
    assert comparison.p_value is not None
    assert any("is null after" in note for note in comparison.notes)


@for_each("rounds", [0, -1, 2_000_000])
def test_impossible_numbers_of_rounds_are_refused(rounds: int) -> None:
    a, b = two_systems(np.random.default_rng(14), 30, 3)
    with pytest.raises(InvalidContent, match="rounds"):
        compare(a, b, "accuracy", rounds=rounds)


def test_few_rounds_cannot_show_anything() -> None:
    a, b = two_systems(np.random.default_rng(15), 200, 3, (0.9, 0.3))
    found = compare(a, b, "accuracy", rounds=9)["accuracy"]
    assert (found.p_value, found.smallest_difference) == (0.1, None)
    assert any("9 rounds" in note for note in found.notes)


# ---- real systems --------------------------------------------------------------------------------


@needs_shared
def test_two_systems_of_a_shared_task() -> None:
    if not challenge_folder("germeval2018-coarse").is_dir():
        pytest.skip("the challenge germeval2018-coarse is not among the reference material")
    a, b = (read_system("germeval2018-coarse", f"RuG_coarse_{number}") for number in (1, 2))
    found = compare(a, b, "accuracy", "f1_macro", resamples=499)
    accuracy = found["accuracy"]
    right = [of.gold.codes == of.predicted.codes for of in (a, b)]
    assert accuracy.mcnemar_p == exact_mcnemar(int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum()))
    assert accuracy.p_value == pytest.approx(accuracy.mcnemar_p, abs=0.015)
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.difference is not None
    assert accuracy.low <= accuracy.difference <= accuracy.high
    assert found["f1_macro"].exact is False
