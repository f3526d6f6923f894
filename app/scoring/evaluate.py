"""Metrics of a case: counts once, then each metric's last step."""

from collections.abc import Sequence
from dataclasses import replace

from app.scoring import SCORER_VERSION
from app.scoring.align import Case
from app.scoring.metric import MetricCall, Result, undefined
from app.scoring.metrics.rules import UndefinedError
from app.scoring.tally import Workspace


def evaluate(case: Case, calls: Sequence[MetricCall]) -> dict[str, Result]:
    """The value of each metric by its canonical string; what the data do not define is None with the reason."""
    ws = Workspace(case)
    return {call.text: value_of(ws, call) for call in calls}


def value_of(ws: Workspace, call: MetricCall) -> Result:
    """One metric on counts that are shared with the others.

    Where gold lacks a declared class, and a perfect prediction so has not the metric's best value, a note gives the
    value that it has.
    """
    result = _value(ws, call)
    metric = call.metric
    if result.value is None or not metric.scalar or metric.direction == "none" or ws.perfect is None:
        return result
    ceiling = _value(ws.perfect, call).value
    if ceiling is None or ceiling == metric.range[metric.direction == "higher"]:
        return result
    note = f"the best attainable value with these gold labels is {ceiling:.6g}: they lack some of the classes"
    return replace(result, notes=(*result.notes, note))


def _value(ws: Workspace, call: MetricCall) -> Result:
    if ws.spec.task not in call.metric.tasks:
        return undefined(f"{call.metric.key} is not defined for {ws.spec.task} tasks")
    if ws.case.gold.n == 0:
        return undefined("there are no instances to score")
    try:
        return call.metric.compute(ws, call)
    except UndefinedError as problem:
        return undefined(str(problem))


__all__ = ["SCORER_VERSION", "Result", "evaluate", "value_of"]
