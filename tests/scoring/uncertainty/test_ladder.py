"""The Ladder: its outputs against the algorithms of Blum and Hardt (2015), written out again, and their properties."""

import statistics
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.declaration.ladder_rule import LadderRule, is_instance_mean
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.uncertainty.ladder import (
    count_told_values,
    failure_bound,
    fold_ladder,
    fold_ladder_of_losses,
    guaranteed_error,
    largest_squared_error,
    output_bits,
)
from app.scoring.uncertainty.ladder_wording import announce_guarantee, describe_guarantee
from tests.each_case import for_each
from tests.scoring.case_builder import case as build_case

AUTO = LadderRule(None)
SIZE = 40
means = st.integers(0, SIZE).map(lambda right: right / SIZE)
steps = st.sampled_from(["0.01", "0.025", "0.1", "0.3"]).map(lambda text: LadderRule(Fraction(text)))


def told(
    values: Sequence[float | None], rule: LadderRule, direction: str = "lower", n: int = SIZE
) -> list[float | None]:
    return [output.value for output in fold_ladder(values, rule, direction, n)]


def algorithm_1(losses: list[float], step: Fraction) -> list[float]:
    """The Ladder mechanism as printed: R₀ = ∞; if R(f) < R - η then R becomes [R(f)] to a multiple of η."""
    best, outputs = Fraction(10**9), []
    for loss in losses:
        exact = Fraction(str(loss))
        if exact < best - step:
            best = round(exact / step) * step
        outputs.append(float(best))
    return outputs


def algorithm_3(losses: list[list[int]]) -> list[float]:
    """The parameter-free Ladder as printed, for losses of 0 and 1, with the variance of the standard library."""
    n, outputs = len(losses[0]), list[float]()
    best, last = Fraction(sum(losses[0]), n), losses[0]  # R₀ is infinite
    for vector in losses:
        differences = [Fraction(one - other) for one, other in zip(vector, last, strict=True)]
        gain = best - Fraction(sum(vector), n)
        if gain > 0 and gain**2 > statistics.variance(differences) / n:
            best, last = Fraction(sum(vector), n), vector
        outputs.append(float(best))
    return outputs


@given(st.lists(means, max_size=12), steps)
def test_fixed_steps_are_algorithm_1(losses: list[float], rule: LadderRule) -> None:
    assert rule.step is not None
    assert told(losses, rule) == algorithm_1(losses, rule.step)


@given(st.lists(st.lists(st.integers(0, 1), min_size=9, max_size=9), min_size=1, max_size=8))
def test_the_variant_without_parameters_is_algorithm_3(losses: list[list[int]]) -> None:
    outputs = [output.value for output in fold_ladder_of_losses(losses)]
    assert outputs == pytest.approx(algorithm_3(losses), abs=0)


@given(st.lists(st.lists(st.integers(0, 1), min_size=7, max_size=7), min_size=2, max_size=2))
def test_from_values_alone_a_comparison_is_at_least_as_strict_as_from_losses(losses: list[list[int]]) -> None:
    values: list[float | None] = [sum(row) / 7 for row in losses]
    strict = fold_ladder(values, AUTO, "lower", 7)[1].released
    assert not strict or fold_ladder_of_losses(losses)[1].released


@given(st.lists(st.lists(st.floats(0, 1), min_size=6, max_size=6), min_size=2, max_size=2))
def test_the_largest_error_bounds_that_of_any_losses_with_these_means(rows: list[list[float]]) -> None:
    one, other = np.array(rows)
    bound = largest_squared_error(Fraction(float(one.mean())), Fraction(float(other.mean())), 6)
    assert bound is not None
    assert np.var(one - other, ddof=1) / 6 <= float(bound) + 1e-12


@given(st.lists(st.none() | means, max_size=12), steps | st.just(AUTO))
def test_outputs_only_improve_and_depend_on_nothing_that_follows(values: list[float | None], rule: LadderRule) -> None:
    outputs = fold_ladder(values, rule, "higher", SIZE)
    for place in range(len(values)):
        assert fold_ladder(values[: place + 1], rule, "higher", SIZE) == outputs[: place + 1]
    numbers = [output.value for output in outputs if output.value is not None]
    assert numbers == sorted(numbers)
    unit = rule.step or Fraction(1, SIZE)
    assert all(float(round(Fraction(str(number)) / unit) * unit) == number for number in numbers)
    assert [output.releases for output in outputs] == list(np.cumsum([output.released for output in outputs]))
    assert len(set(numbers)) == (outputs[-1].releases if outputs else 0)


@given(st.lists(means, max_size=12), steps)
def test_losses_and_their_complements_improve_at_the_same_submissions_where_steps_divide_1(
    values: list[float], rule: LadderRule
) -> None:
    if rule.step is None or (1 / rule.step).denominator != 1:
        return
    lower = fold_ladder(values, rule, "lower", SIZE)
    complements = [float(1 - Fraction(str(value))) for value in values]
    higher = fold_ladder(complements, rule, "higher", SIZE)
    assert [output.released for output in lower] == [output.released for output in higher]


def test_a_step_is_exact_in_decimals() -> None:
    rule = LadderRule(Fraction("0.01"))
    assert told([0.62, 0.63, 0.6301], rule, "higher") == [0.62, 0.62, 0.63]
    assert told([None, 0.5, None, 0.2], rule, "higher") == [None, 0.5, 0.5, 0.5]
    assert told([float("nan"), 0.5], rule, "higher") == [None, 0.5]


def test_one_instance_never_gets_a_second_release_without_a_step() -> None:
    assert told([1.0, 0.0], AUTO, "lower", 1) == [1.0, 1.0]
    assert [output.value for output in fold_ladder_of_losses([[1.0], [0.0]])] == [1.0, 1.0]


def test_the_theorem_says_nothing_where_the_step_is_small_for_the_data() -> None:
    assert guaranteed_error(1_000, 100, 0.01) > 0.7
    assert guaranteed_error(10_000, 100, 0.05) == pytest.approx(0.1504276, abs=1e-6)
    error = guaranteed_error(10_000, 100, 0.05) - 0.05
    assert failure_bound(10_000, 100, 0.05, error) == pytest.approx(0.05)
    assert failure_bound(100, 100, 0.01, 0.1) == 1.0


@given(st.integers(0, 6), st.integers(0, 6))
def test_the_bits_count_every_sequence_of_outputs(values: int, submissions: int) -> None:
    """All strictly improving sequences, listed: the state is the best value told so far."""
    ways = {0: 1}
    for _ in range(submissions):
        following: dict[int, int] = {}
        for best, count in ways.items():
            for value in (best, *range(best + 1, values + 1)):
                following[value] = following.get(value, 0) + count
        ways = following
    assert 2 ** output_bits(values, submissions) == pytest.approx(sum(ways.values()))


@given(st.lists(means, min_size=1, max_size=10), steps)
def test_no_more_values_are_told_than_the_bits_count(values: list[float], rule: LadderRule) -> None:
    assert rule.step is not None
    possible = {float(round(Fraction(str(right / SIZE)) / rule.step) * rule.step) for right in range(SIZE + 1)}
    assert len(possible) <= count_told_values(rule, (0.0, 1.0), SIZE)
    assert set(told(values, rule)) <= possible


MEANS = sorted(metric.key for metric in CATALOGUE.values() if metric.instance_mean)


def test_the_usual_means_over_instances_are_declared() -> None:
    assert {"accuracy", "error_rate", "zero_one_loss", "subset_accuracy", "hamming_loss", "f1_samples"} <= set(MEANS)
    assert not {"f1_macro", "auc", "log_loss", "mcc", "balanced_accuracy"} & set(MEANS)


@pytest.mark.parametrize("key", MEANS)
@given(seed=st.integers(0, 10**6))
def test_declared_means_are_the_means_of_their_values_on_single_instances(key: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    metric, names = CATALOGUE[key], ("a", "b", "c")
    task = metric.tasks[-1]
    if task == "multilabel":
        gold, predicted = ([[name for name in names if random.random() < 0.4] for _ in range(5)] for _ in range(2))
    else:
        gold, predicted = (list(random.choice(names, 5)) for _ in range(2))
    scores = random.random((5, 3))
    given = {"k": 2, "beta": 2}
    params = [f"{param.name}={given[param.name]}" for param in metric.params if param.name in given]
    text = f"{key}:{','.join(params)}" if params else key
    call = parse_metric(text, task=task)
    assert is_instance_mean(call)

    def value(rows: list[int]) -> float:
        some = scores[rows].tolist()
        case = build_case(task, names, [gold[row] for row in rows], [predicted[row] for row in rows], scores=some)
        result = evaluate(case, [call])[call.text].value
        assert result is not None
        return result

    single = [value([row]) for row in range(5)]
    assert all(0 <= each <= 1 for each in single)
    assert value(list(range(5))) == pytest.approx(sum(single) / 5)


@for_each("text", ["f1_samples:both_empty=skip", "f1_macro", "auc"])
def test_what_leaves_instances_out_is_no_mean_over_all(text: str) -> None:
    assert not is_instance_mean(parse_metric(text))


def test_the_word_heuristic_stands_wherever_no_theorem_holds() -> None:
    rule, accuracy, macro = LadderRule(Fraction("0.05")), parse_metric("accuracy"), parse_metric("f1_macro")
    assert "heuristic" not in describe_guarantee(rule, accuracy, instances=10_000, submissions=100)
    assert "at most 0.150" in describe_guarantee(rule, accuracy, instances=10_000, submissions=100)
    assert "excludes nothing" in describe_guarantee(rule, accuracy, instances=100, submissions=100)
    assert "heuristic" in describe_guarantee(rule, accuracy, weighted=True, instances=10_000, submissions=100)
    assert "groups" in describe_guarantee(rule, accuracy, grouped=True, instances=10_000, submissions=100)
    for unproven in ((rule, macro), (AUTO, accuracy)):
        assert "heuristic" in describe_guarantee(unproven[0], unproven[1], instances=10_000, submissions=100)
        assert "heuristic" in announce_guarantee(unproven[0], unproven[1])
