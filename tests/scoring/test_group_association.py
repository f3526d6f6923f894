"""Whether being right depends on the group: tables by hand, measures by scipy."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.task import TASK_KINDS, TaskKind, TaskSpec
from app.scoring.evaluation_input import EvaluationInput, Grouping
from tests.scoring.case_builder import case, evaluate_metric, labels, results, value
from tests.scoring.strategies import cases

scipy = import_module("scipy.stats.contingency")  # which has no types
MANY = settings(max_examples=80, deadline=None)
BOTH = ("chi_squared", "cramers_v")


def right(of: EvaluationInput, row: int) -> bool:
    gold, predicted = (side.take(np.array([row])).codes.tolist() for side in (of.gold, of.predicted))
    return set(gold) == set(predicted)


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@MANY
def test_they_are_those_of_right_or_wrong_by_group(task: TaskKind, data: st.DataObject) -> None:
    of = data.draw(cases(task))
    n = of.gold.n
    codes = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    groups = Grouping(("w", "x", "y", "z"), np.array(codes, dtype=np.int32))
    of = EvaluationInput(of.spec, of.gold, of.predicted, groups=groups)
    table = np.zeros((2, 4), dtype=int)
    for row, code in enumerate(codes):
        table[int(right(of, row)), code] += 1
    kept = table[:, table.any(axis=0)]
    found = results(of, BOTH)
    if not kept.any(axis=1).all() or kept.shape[1] < 2:
        assert all(result.value is None and result.reason for result in found.values())
        return
    expected = scipy.chi2_contingency(kept, correction=False).statistic
    assert found["chi_squared"].value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found["cramers_v"].value == pytest.approx(scipy.association(kept, method="cramer"), rel=1e-11, abs=1e-7)
    heavy = EvaluationInput(of.spec, of.gold, of.predicted, None, np.array(weights), None, groups)
    repeated = of.take(np.repeat(np.arange(n), weights))
    assert value(heavy, "cramers_v") == value(repeated, "cramers_v")
    assert "depends on the number of instances" in str(results(heavy, BOTH)["chi_squared"].reason)


def test_there_is_a_reason_where_there_is_nothing_to_compare() -> None:
    def reason(predicted: list[str], groups: list[str]) -> str | None:
        return evaluate_metric(case("binary", ["a", "b"], ["a", "b"], predicted, groups=groups), "cramers_v").reason

    assert reason(["a", "b"], ["x", "y"]) == "all instances are right, so the outcome is constant"
    assert reason(["b", "a"], ["x", "y"]) == "all instances are wrong, so the outcome is constant"
    assert reason(["a", "a"], ["x", "x"]) == "all instances are in one group"
    assert reason(["a", "a"], ["x", "y"]) is None
    assert evaluate_metric(case("binary", ["a", "b"], ["a"], ["a"]), "cramers_v").reason == (
        "no groups of the instances were given"
    )


def test_an_acceptable_answer_is_a_right_one() -> None:
    classes = ("a", "b", "c")
    gold = labels([["a", "b"], ["c"], ["b"], ["a"]], classes, multilabel=True)
    chosen = labels(["b", "c", "a", "beyond"], classes, multilabel=False)
    groups = Grouping(("x", "y"), np.array([0, 0, 1, 1], dtype=np.int32))
    of = EvaluationInput(TaskSpec("multiclass", classes), gold, chosen, groups=groups)
    assert value(of, "cramers_v") == 1.0
    assert value(of, "chi_squared") == 4.0


def test_sets_are_right_as_sets() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a", "a"], ["b", "beyond"]], groups=["x", "y"])
    assert value(of, "cramers_v", duplicates="multiset", unknown_label="count_as_fp") == 1.0
    assert value(of, "cramers_v", duplicates="multiset", unknown_label="drop") is None
