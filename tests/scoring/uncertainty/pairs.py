"""Pairs of systems for tests, and their comparison."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.uncertainty.paired import PairComparison, compare_systems
from tests.scoring.case_builder import case
from tests.scoring.strategies import calls, cases, cases_with_odd_predictions


def ids_of(of: EvaluationInput) -> list[str]:
    return [f"i{row:06}" for row in range(of.gold.n)]


def compare(
    a: EvaluationInput, b: EvaluationInput, *metrics: str, draw_seed: str = "0", **settings: Any
) -> dict[str, PairComparison]:
    """The comparison by metric string."""
    parsed = {text: parse_metric(text, task=a.spec.task) for text in metrics}
    found = compare_calls(a, b, list(parsed.values()), draw_seed=draw_seed, **settings)
    return {text: found[call.text] for text, call in parsed.items()}


def compare_calls(
    a: EvaluationInput, b: EvaluationInput, wanted: Sequence[MetricCall], *, draw_seed: str = "0", **settings: Any
) -> dict[str, PairComparison]:
    more: dict[str, Any] = {"resamples": 150, "ids": ids_of(a)} | settings
    return compare_systems(a, b, wanted, more.pop("ids"), draw_seed=draw_seed, split="all", **more)


def two_systems(
    random: np.random.Generator, n: int, classes: int, rights: tuple[float, float] = (0.7, 0.7)
) -> tuple[EvaluationInput, EvaluationInput]:
    """Two multi-class systems that are right with these chances, else give a random label."""
    names = [f"c{at}" for at in range(classes)]
    gold = random.integers(0, classes, n)
    of = case("multiclass", names, [names[code] for code in gold], [names[code] for code in gold])
    first, second = (
        replace(
            of,
            predicted=Labels(np.where(random.random(n) < right, gold, random.integers(0, classes, n)).astype(np.int32)),
        )
        for right in rights
    )
    return first, second


@st.composite
def pairs(draw: st.DrawFn, task: TaskKind, *, most: int = 6) -> tuple[EvaluationInput, EvaluationInput]:
    """Two systems on the same instances, with odd labels and scores, with or without groups."""
    first = draw(cases_with_odd_predictions(task) if draw(st.booleans()) else cases(task))
    n = min(first.gold.n, most)
    first = first.take(np.arange(n))
    if not draw(st.booleans()):
        first = replace(first, groups=None)
    rows = np.array(draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)), dtype=np.int64)
    assert first.scores is not None
    return first, replace(first, predicted=first.predicted.take(rows), scores=first.scores[rows])


def scalar_calls(of: EvaluationInput) -> list[MetricCall]:
    return [call for call in calls(of) if call.metric.scalar]
