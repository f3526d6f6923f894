"""Randomization of a pair: against brute force, merged against unmerged cells, and its level under the null hypothesis."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ks_2samp, rankdata

from app.scoring.declaration.metric import CATALOGUE, MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.draw_context import NoDrawForm
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Grouping, Labels
from app.scoring.uncertainty.exchange import Exchange, Pair, coins, doubled_rows
from app.scoring.uncertainty.exchanged_tallies import exchanged_tallies
from app.scoring.uncertainty.randomization import MergedDifferences, Randomization, RowDifferences
from app.scoring.uncertainty.rank_scores import seen_by
from app.scoring.uncertainty.seeds import derive_seed, random_source
from tests.each_case import for_each
from tests.hypothesis_profiles import is_thorough
from tests.scoring.strategies import parsed_call
from tests.scoring.uncertainty.pairs import compare_calls, pairs, scalar_calls, two_systems

Floats = np.ndarray
SEED = derive_seed("0", "pair")


# ---- exact enumeration against brute force -------------------------------------------------------


def as_ranks(scores: Floats, seen: str) -> Floats:
    """The scores that are exchanged, by scipy."""
    if seen == "ranks of instances":
        return np.asarray(rankdata(scores, axis=0))
    if seen == "pooled ranks":
        return np.asarray(rankdata(scores, axis=None)).reshape(scores.shape)
    return scores


def mixed(a: EvaluationInput, b: EvaluationInput, swapped: Floats) -> EvaluationInput:
    """The first system with the outputs of the second on the rows that are swapped."""
    n = a.gold.n
    rows = np.where(swapped, np.arange(n) + n, np.arange(n))
    one, other = a.predicted.as_sets(), b.predicted.as_sets()
    assert one.offsets is not None
    assert other.offsets is not None
    offsets = np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]])
    taken = Labels(np.concatenate([one.codes, other.codes]), offsets).take(rows)
    if a.predicted.offsets is None:
        codes = np.full(n, -1, dtype=np.int32)
        codes[taken.rows] = taken.codes
        taken = Labels(codes)
    assert a.scores is not None
    assert b.scores is not None
    return replace(a, predicted=taken, scores=np.concatenate([a.scores, b.scores])[rows])


def brute_force(a: EvaluationInput, b: EvaluationInput, wanted: list[MetricCall]) -> dict[str, float]:
    """The share of all swaps of instances or groups whose difference is as large as the observed one, or null."""
    units = np.arange(a.gold.n) if a.groups is None else a.groups.codes.astype(np.int64)
    differences: dict[str, list[float]] = {call.text: [] for call in wanted}
    for swaps in itertools.product([False, True], repeat=int(units.max()) + 1):
        swapped = np.array(swaps)[units]
        one, other = (evaluate(mixed(a, b, part), wanted) for part in (swapped, ~swapped))
        for text, found in differences.items():
            values = one[text].value, other[text].value
            found.append(np.nan if values[0] is None or values[1] is None else values[0] - values[1])
    return {
        text: float(np.mean([not abs(each) < abs(found[0]) - 1e-9 for each in found]))
        for text, found in differences.items()
    }


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_few_instances_are_enumerated_as_by_brute_force_for_every_metric(task: TaskKind, data: st.DataObject) -> None:
    a, b = data.draw(pairs(task, most=4))
    first = data.draw(st.integers(0, 9))
    wanted = scalar_calls(a)[first::10]
    found = compare_calls(a, b, wanted, rounds=1, resamples=1)
    by_view: dict[str, list[MetricCall]] = {}
    for call in wanted:
        by_view.setdefault(seen_by(call, a), []).append(call)
    for seen, some in by_view.items():
        assert a.scores is not None
        assert b.scores is not None
        expected = brute_force(
            replace(a, scores=as_ranks(a.scores, seen)), replace(b, scores=as_ranks(b.scores, seen)), some
        )
        for text, p_value in expected.items():
            if found[text].p_value is not None:
                assert found[text].exact
                assert found[text].p_value == pytest.approx(p_value, abs=1e-12), text


# ---- merged cells --------------------------------------------------------------------------------

MERGING = sorted(key for key, metric in CATALOGUE.items() if metric.merges_cells and metric.compute_draws is not None)


def test_the_usual_averages_and_agreement_are_functions_of_the_one_vs_rest_counts() -> None:
    assert {"accuracy", "f1_macro", "f1_micro", "f1_weighted", "precision_macro", "balanced_accuracy"} <= set(MERGING)
    assert {"confusion_matrix", "expected_cost", "f1_cv_mean", "auc_ovr_macro"}.isdisjoint(MERGING)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)  # each makes all exchanges for forty metrics
def test_the_counts_of_merged_cells_give_the_differences_of_rows(task: TaskKind, data: st.DataObject) -> None:
    """After the same exchange: the instances of a merged cell that have its first label are known by the rows."""
    a, b = data.draw(pairs(task))
    a, b = (replace(each, weights=data.draw(st.none() | st.just(np.arange(1, a.gold.n + 1)))) for each in (a, b))
    b = replace(b, weights=a.weights)
    pair = Pair.of(a, b, "labels")
    tallies = exchanged_tallies(pair)
    if tallies is None:
        assert any((part.codes >= len(a.spec.classes)).any() for part in (a.gold, a.predicted, b.predicted))
        return
    for key in MERGING:
        metric = CATALOGUE[key]
        if task not in metric.tasks:
            continue
        call = parsed_call(metric, a, {})
        merged, rows = MergedDifferences(tallies), RowDifferences(doubled_rows(pair, one_by_one=True))
        one = merged.differences(call, [merged.exchange.identity()])
        other = rows.differences(call, [rows.exchange.identity()])
        assert one == pytest.approx(other, abs=1e-10, nan_ok=True), key
        # All exchanges, each as often as it occurs: the cells of a merged number hold that many instances.
        every = np.sort(rows.differences(call, [rows.exchange.every()]))
        again = np.sort(merged.differences(call, [every_number(merged.exchange)]))
        assert again == pytest.approx(every, abs=1e-10, nan_ok=True), key


def test_counts_alone_do_not_pretend_to_know_rows() -> None:
    """A metric that asks for more than the counts gets rows instead."""
    a, b = two_systems(np.random.default_rng(17), 40, 3)
    tallies = exchanged_tallies(Pair.of(a, b, "labels"))
    assert tallies is not None
    draws, _ = tallies.parts(tallies.exchange.identity())
    asks: list[Callable[[], object]] = [
        lambda: draws.weights,
        lambda: draws.sum_rows(np.ones(40, dtype=bool)),
        lambda: draws.mean_of(np.ones(40)),
        lambda: draws.sum_by("gold", a.gold.codes, 3),
        lambda: draws.with_rows(draws.rows),
    ]
    for ask in asks:
        with pytest.raises(NoDrawForm):
            ask()


def every_number(exchange: Exchange) -> np.ndarray:
    """The numbers of a cells-by-exchange matrix, for every exchange of single instances or groups."""
    if exchange.unit_of_cell is not None:
        return exchange.every()
    owner = np.repeat(np.arange(len(exchange.counts)), exchange.counts)
    bits = (np.arange(2 ** len(owner))[None, :] >> np.arange(len(owner))[:, None]) & 1
    numbers = np.zeros((len(exchange.counts), bits.shape[1]), dtype=np.int64)
    np.add.at(numbers, owner, bits)
    return numbers


# ---- distributions -------------------------------------------------------------------------------


def per_instance(a: EvaluationInput, b: EvaluationInput, call: MetricCall, rounds: int) -> np.ndarray:
    """Differences after swapping instance by instance, without cells."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(rounds):
        swapped = random.random(a.gold.n) < 0.5
        one, other = (
            np.where(swapped, b.predicted.codes, a.predicted.codes),
            np.where(swapped, a.predicted.codes, b.predicted.codes),
        )
        values = [evaluate(replace(a, predicted=Labels(codes)), [call])[call.text].value for codes in (one, other)]
        assert values[0] is not None
        assert values[1] is not None
        found.append(values[0] - values[1])
    return np.array(found)


@for_each("text, merge", [("f1_macro", True), ("f1_macro", False), ("accuracy", True), ("cohen_kappa", False)])
def test_cells_have_the_null_distribution_of_instances(text: str, *, merge: bool) -> None:
    a, b = two_systems(np.random.default_rng(2), 250, 5)
    call = parse_metric(text, task="multiclass")
    pair = Pair.of(a, b, "labels")
    tallies = exchanged_tallies(pair)
    assert tallies is not None
    parts = MergedDifferences(tallies) if merge else RowDifferences(doubled_rows(pair))
    cells = parts.differences(call, [parts.exchange.random(random_source(SEED), 2_000)])
    assert ks_2samp(cells, per_instance(a, b, call, 1_000 if is_thorough() else 300)).pvalue > 0.01


def test_merged_cells_are_far_fewer_than_instances() -> None:
    a, b = two_systems(np.random.default_rng(3), 20_000, 6)
    tallies = exchanged_tallies(Pair.of(a, b, "labels"))
    assert tallies is not None
    assert (
        len(tallies.exchange.counts) == 6 * 5 // 2 * 3
    )  # each pair of labels: the first, the second or neither is right
    assert doubled_rows(Pair.of(a, b, "labels")).rows == 2 * 6 * 15 + 36


def test_coins_are_fair_independent_and_the_same_in_blocks() -> None:
    tossed = coins(random_source(SEED), 70, 3_000)
    assert tossed.shape == (70, 3_000)
    assert abs(tossed.mean() - 0.5) < 0.005
    assert abs(np.corrcoef(tossed) - np.eye(70)).max() < 0.1
    source = random_source(SEED)
    assert (np.concatenate([coins(source, 70, 1_000), coins(source, 70, 2_000)], axis=1) == tossed).all()


# ---- the level -----------------------------------------------------------------------------------

Maker = Callable[[np.random.Generator], tuple[EvaluationInput, EvaluationInput]]


def few(random: np.random.Generator) -> tuple[EvaluationInput, EvaluationInput]:
    return two_systems(random, 14, 3)


def several(random: np.random.Generator) -> tuple[EvaluationInput, EvaluationInput]:
    return two_systems(random, 150, 6)


def grouped(random: np.random.Generator) -> tuple[EvaluationInput, EvaluationInput]:
    """Outputs that depend on the group: all its instances share the chance of being right."""
    a, b = two_systems(random, 120, 3, (1.0, 1.0))
    groups = Grouping([f"g{at:02}" for at in range(20)], np.repeat(np.arange(20, dtype=np.int32), 6))
    systems = []
    for each in (a, b):
        right = (random.random(20) ** 0.5)[groups.codes] > random.random(120)
        wrong = random.integers(0, 3, 120)
        systems.append(
            replace(each, predicted=Labels(np.where(right, a.gold.codes, wrong).astype(np.int32)), groups=groups)
        )
    return systems[0], systems[1]


@pytest.mark.ci
@for_each("maker", [few, several, grouped])
@for_each("text", ["accuracy", "f1_macro"])
def test_exchangeable_systems_are_called_different_no_more_often_than_the_level(maker: Maker, text: str) -> None:
    simulated = 400 if is_thorough() else 100
    random, call = np.random.default_rng(4), parse_metric(text, task="multiclass")
    p_values = []
    for at in range(simulated):
        test = Randomization(Pair.of(*maker(random), "labels"))
        p_values.append(test.test(call, random_source(derive_seed(str(at), "pair")), 199).p_value)
    for level in (0.01, 0.05, 0.1, 0.2, 0.5):
        rejected = sum(p_value <= level for p_value in p_values)
        assert binomtest(rejected, simulated, level, alternative="greater").pvalue > 0.001, level
    if text == "f1_macro" and maker is not few:  # nearly continuous
        for level in (0.1, 0.2, 0.5):
            rejected = sum(p_value <= level for p_value in p_values)
            assert binomtest(rejected, simulated, level).pvalue > 0.001, level
