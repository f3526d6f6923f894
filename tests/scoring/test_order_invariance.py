"""No order of declarations or rows changes a bit of a value, except where a metric depends on the order."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Grouping, Labels
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.scoring.reports.detailed_report import build_detailed_report
from tests.scoring.strategies import OPTION_VALUES, calls, cases
from tests.scoring.test_metric_properties import reorder_classes

FEW = settings(max_examples=5, deadline=None)  # each computes every metric twice
BY_ORDER = {"ties": {"declared", "last"}, "links": {"hemkit"}}
"""Values of settings that name an order, or go by one."""


def shuffle(items: Sequence[Any], random: Random) -> list[Any]:
    return random.sample(items, len(items))


def shuffle_sets(labels: Labels, random: Random) -> Labels:
    """The labels of each set in another order."""
    if labels.offsets is None:
        return labels
    parts = np.split(labels.codes, labels.offsets[1:-1])
    return Labels(
        np.array([code for part in parts for code in shuffle(part.tolist(), random)], np.int32), labels.offsets
    )


def reorder_groups(parts: Grouping | None, random: Random) -> Grouping | None:
    """The same parts, named in another order."""
    if parts is None:
        return None
    order = shuffle(range(len(parts.names)), random)
    return Grouping(tuple(parts.names[at] for at in order), np.argsort(order).astype(np.int32)[parts.codes])


def rearrange(of: EvaluationInput, random: Random) -> EvaluationInput:
    """The same input with rows, classes, labels, parents and gold metadata in another order."""
    rows = np.array(shuffle(range(of.gold.n), random), dtype=np.int64)
    found = reorder_classes(of.take(rows), shuffle(range(len(of.spec.classes)), random))
    spec = found.spec
    assert spec.hierarchy is not None
    assert spec.train_frequencies is not None
    assert spec.cost_matrix is not None
    nodes = shuffle(list(spec.hierarchy.to_json().items()), random)
    costs = shuffle(list(spec.cost_matrix.items()), random)
    return replace(
        found,
        spec=replace(
            spec,
            hierarchy=Hierarchy.from_parents({node: shuffle(above, random) for node, above in nodes}),
            train_frequencies=dict(shuffle(list(spec.train_frequencies.items()), random)),
            cost_matrix={gold: dict(shuffle(list(row.items()), random)) for gold, row in costs},
        ),
        gold=shuffle_sets(found.gold, random),
        predicted=shuffle_sets(found.predicted, random),
        folds=reorder_groups(found.folds, random),
        groups=reorder_groups(found.groups, random),
    )


def order_free_calls(of: EvaluationInput, options: dict[str, str]) -> list[MetricCall]:
    """The metrics that claim to know no order."""
    free = {name: value for name, value in options.items() if value not in BY_ORDER.get(name, set())}
    return [call for call in calls(of, free) if call.metric.scalar and not call.metric.properties.ordinal]


@st.composite
def drawn_inputs(draw: st.DrawFn, task: TaskKind) -> tuple[EvaluationInput, dict[str, str], Random]:
    """An input, in half of all cases with weights; options, and a source of orders."""
    of, options, random = draw(cases(task)), draw(OPTION_VALUES), Random(draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        of = replace(of, weights=np.array([random.randint(0, 4) for _ in range(of.gold.n)], dtype=np.int64))
    return of, options, random


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@FEW
def test_no_order_changes_a_bit(task: TaskKind, data: st.DataObject) -> None:
    of, options, random = data.draw(drawn_inputs(task))
    metrics = order_free_calls(of, options)
    here, there = evaluate(of, metrics), evaluate(rearrange(of, random), metrics)
    moved = {call.text: (here[call.text].value, there[call.text].value) for call in metrics}
    assert {text: values for text, values in moved.items() if values[0] != values[1]} == {}


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@FEW
def test_the_order_of_the_instances_changes_no_result_at_all(task: TaskKind, data: st.DataObject) -> None:
    # Without a service, rows stay in the order of the gold file.
    of, options, random = data.draw(drawn_inputs(task))
    metrics, moved = calls(of, options), of.take(np.array(shuffle(range(of.gold.n), random), dtype=np.int64))
    assert evaluate(moved, metrics) == evaluate(of, metrics)
    assert build_detailed_report(moved, options) == build_detailed_report(of, options)
