"""Intervals of scores: their methods, their seeds, and clear answers for data that cannot say much."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.uncertainty.bootstrap_interval import Interval
from app.scoring.uncertainty.intervals import RARE_CLASSES_NOTE, intervals
from tests.scoring.case_builder import case
from tests.scoring.strategies import calls, cases
from tests.scoring.uncertainty.test_resampling import CLASSES, example

TEXTS = ("f1_macro", "accuracy", "error_rate", "f1_weighted", "mcc")


def found(
    of: EvaluationInput, texts: Sequence[str] = TEXTS, ids: Sequence[str] | None = None, seed: str = "0"
) -> dict[str, Interval]:
    wanted = [parse_metric(text, options={}, task=of.spec.task) for text in texts]
    values = {text: result.value for text, result in evaluate(of, wanted).items()}
    names = [f"{row:05}" for row in range(of.gold.n)] if ids is None else ids
    return intervals(of, wanted, values, names, draw_seed=seed, split="all", resamples=499)


def test_a_share_of_instances_has_the_exact_binomial_interval() -> None:
    of = example(100)
    right = int((of.gold.codes == of.predicted.codes).sum())
    theirs = stats.binomtest(right, 100).proportion_ci(0.95, method="exact")
    got = found(of)["accuracy"]
    assert (got.low, got.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    loss = found(of)["error_rate"]
    assert (loss.low, loss.high) == pytest.approx((1 - theirs.high, 1 - theirs.low), abs=1e-9)


def test_weights_and_groups_are_resampled() -> None:
    of = example(60)
    weighted = replace(of, weights=np.arange(1, 61, dtype=np.int64))
    assert found(weighted)["accuracy"].method.endswith("bootstrap")
    grouped = case("multiclass", CLASSES, list("abc") * 10, list("abb") * 10, groups=list("xyzuvw") * 5)
    assert found(grouped)["accuracy"].method.endswith("bootstrap")


def test_the_order_of_rows_and_classes_does_not_matter() -> None:
    of = example(80)
    ids = [f"{row:05}" for row in range(80)]
    order = np.random.default_rng(3).permutation(80)
    shuffled = found(of.take(order), ids=[ids[row] for row in order])
    assert shuffled == found(of, ids=ids)
    turned = replace(
        of,
        spec=replace(of.spec, classes=CLASSES[::-1]),
        gold=Labels(2 - of.gold.codes),
        predicted=Labels(2 - of.predicted.codes),
    )
    assert found(turned, ids=ids) == found(of, ids=ids)


def test_another_seed_gives_other_resamples_and_metrics_have_their_own() -> None:
    of = example(80)
    assert found(of) == found(of)
    assert found(of)["f1_macro"] != found(of, seed="1")["f1_macro"]
    assert found(of)["f1_macro"] == found(of, ["f1_macro"])["f1_macro"]


def test_many_rare_classes_are_flagged() -> None:
    names = [f"c{at}" for at in range(12)]
    of = case("multiclass", names, [*names, *["c0"] * 60], [*names, *["c0"] * 50, *["c1"] * 10])
    flagged = [text for text, interval in found(of).items() if RARE_CLASSES_NOTE in interval.notes]
    assert "f1_weighted" in flagged
    assert "accuracy" not in flagged  # its interval is exact


def test_one_instance_or_one_group_says_nothing() -> None:
    one = found(case("multiclass", CLASSES, ["a"], ["a"]))
    assert one["f1_macro"].low is None
    assert one["f1_macro"].reason == "One instance says nothing about others."
    assert one["accuracy"].low == pytest.approx(0.025)
    whole = found(case("multiclass", CLASSES, list("abc"), list("abb"), groups=["g"] * 3))
    assert whole["accuracy"].reason == "All instances are one group, so there is nothing to resample."


def test_a_perfect_system_has_no_interval_without_width_and_note() -> None:
    got = found(case("multiclass", CLASSES, list("abc") * 40, list("abc") * 40))
    for text, interval in got.items():
        assert interval.low != interval.high or interval.notes, text


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@settings(max_examples=3, deadline=None)
def test_every_metric_gives_an_interval_or_a_reason(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    wanted = [call for call in calls(of) if call.metric.scalar]
    values = {text: result.value for text, result in evaluate(of, wanted).items()}
    ids = [f"{row:05}" for row in range(of.gold.n)]
    got = intervals(of, wanted, values, ids, draw_seed="0", split="all", resamples=120)
    for text, interval in got.items():
        assert (interval.low is None) == (interval.reason is not None), text
        assert (interval.low is None) == (interval.high is None), text
        if interval.low is not None and interval.high is not None:
            assert interval.low <= interval.high
            assert interval.low < interval.high or interval.notes, text


def test_large_data_have_fewer_resamples_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    grouped = case("multiclass", CLASSES, list("abc") * 10, list("abb") * 10, groups=list("xyzuvw") * 5)
    assert found(grouped)["mcc"].draws == 499
    monkeypatch.setattr("app.scoring.uncertainty.intervals.MAX_ROW_RESAMPLES", 30 * 299)
    got = found(grouped)["mcc"]
    assert (got.draws, got.notes[-1]) == (299, "299 resamples instead of 499, to limit the computation.")
    monkeypatch.setattr("app.scoring.uncertainty.intervals.MAX_ROW_RESAMPLES", 1)
    assert found(grouped)["mcc"].draws == 199


def test_weights_of_zero_and_one_leave_instances_out_of_an_exact_interval() -> None:
    gold, predicted, weights = ["a"] * 20, ["a"] * 15 + ["b"] * 5, [1] * 18 + [0] * 2
    interval = found(case("multiclass", ("a", "b"), gold, predicted, weights=weights), ["accuracy"])["accuracy"]
    expected = stats.binomtest(15, 18).proportion_ci(method="exact")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
