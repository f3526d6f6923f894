"""Resampling of cells, instances and groups: the same distribution, whatever the order of rows and classes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.draw_context import Counts
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.uncertainty.draw_values import draw_values
from app.scoring.uncertainty.draws import unit_draws
from app.scoring.uncertainty.resampling import Resampling, collapse, in_order_of
from app.scoring.uncertainty.seeds import random_source
from tests.each_case import for_each
from tests.scoring.case_builder import case

CLASSES = ("a", "b", "c")
CALLS = [parse_metric(text, options={}, task="multiclass") for text in ("f1_macro", "accuracy", "mcc")]


def example(n: int, seed: int = 1) -> EvaluationInput:
    random = np.random.default_rng(seed)
    gold = random.integers(0, 3, n).astype(np.int32)
    wrong = random.integers(0, 3, n)
    predicted = np.where(random.random(n) < 0.7, gold, wrong).astype(np.int32)
    return replace(case("multiclass", CLASSES, [], []), gold=Labels(gold), predicted=Labels(predicted))


def all_blocks(of: Resampling, seed: bytes, draws: int) -> Counts:
    return np.concatenate(list(of.blocks(random_source(seed), draws)), axis=1)


def test_cells_stand_for_all_instances_and_do_not_depend_on_the_order_of_classes() -> None:
    of = example(500)
    cells = collapse(of)
    assert cells.counts.sum() == 500
    assert len(cells.counts) <= 9
    turned = replace(
        of,
        spec=replace(of.spec, classes=CLASSES[::-1]),
        gold=Labels(2 - of.gold.codes),
        predicted=Labels(2 - of.predicted.codes),
    )
    other = collapse(turned)
    assert other.counts.tolist() == cells.counts.tolist()
    assert (2 - other.case.gold.codes).tolist() == cells.case.gold.codes.tolist()


@for_each("call", CALLS)
def test_cells_have_the_distribution_of_instances(call: object) -> None:
    of = example(200)
    by_cells = Resampling.of(of, CALLS)
    assert by_cells.counts is not None
    values = draw_values(by_cells.case, CALLS, by_cells.blocks(random_source(b"cells"), 2_000))
    by_rows = draw_values(of, CALLS, [unit_draws(random_source(b"rows"), 200, 2_000)])
    for text in values:
        assert stats.ks_2samp(values[text], by_rows[text]).pvalue > 0.01, text


def test_resamples_agree_with_scipy() -> None:
    of = example(200)
    right = (of.gold.codes == of.predicted.codes).astype(np.float64)
    theirs = stats.bootstrap((right,), np.mean, n_resamples=2_000, rng=np.random.default_rng(5))
    ours = draw_values(of, CALLS[1:2], [unit_draws(random_source(b"scipy"), 200, 2_000)])["accuracy"]
    assert stats.ks_2samp(ours, theirs.bootstrap_distribution).pvalue > 0.01


def test_folds_and_weights_stay_apart() -> None:
    of = case("multiclass", CLASSES, list("aabb"), list("aabb"), weights=[1, 2, 1, 1], folds=list("xxxy"))
    assert collapse(of).counts.tolist() == [1, 1, 1, 1]
    of = case("multiclass", CLASSES, list("aabb"), list("aabb"), weights=[1, 1, 1, 1], folds=list("xxyy"))
    assert collapse(of).counts.tolist() == [2, 2]


def test_groups_are_drawn_whole_in_the_order_of_their_names() -> None:
    of = case("multiclass", CLASSES, list("aabbc"), list("ababc"), groups=["q", "p", "q", "r", "p"])
    drawn = Resampling.of(of, CALLS)
    assert (drawn.unit, drawn.units) == ("group", 3)
    block = all_blocks(drawn, b"groups", 50)
    assert (block[0] == block[2]).all()
    assert (block[1] == block[4]).all()
    groups = unit_draws(random_source(b"groups"), 3, 50)
    assert (block[1] == groups[0]).all()
    assert (block[3] == groups[2]).all()


def test_blocks_of_any_size_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    of = replace(example(40), scores=np.random.default_rng(1).random((40, 3)))
    calls = [parse_metric("auc_ovr_macro", options={}, task="multiclass")]
    for some in (CALLS, calls):
        drawn = Resampling.of(of, some)
        whole = all_blocks(drawn, b"block", 30)
        monkeypatch.setattr("app.scoring.uncertainty.resampling.block_size", lambda _rows: 7)
        assert (all_blocks(drawn, b"block", 30) == whole).all()
        monkeypatch.undo()


def test_rows_come_in_the_order_of_their_ids() -> None:
    of = case("multiclass", CLASSES, list("abc"), list("abc"))
    turned = in_order_of(of, ["z", "x", "y"])
    assert turned.gold.codes.tolist() == [1, 2, 0]
    assert in_order_of(of, ["x", "y", "z"]) is of
