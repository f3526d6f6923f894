"""Random cases for property tests: few classes and instances, odd labels, absent classes, empty sets."""

from typing import Any

from hypothesis import strategies as st

from app.scoring.align import Case
from app.scoring.metric import CATALOGUE, Metric
from app.scoring.task import Task
from tests.scoring.build import case

NAMES = ("übel", "日本", "a b", "x|y", "é", "0", "none", "🙂")


@st.composite
def cases(draw: st.DrawFn, task: Task, *, most: int = 12) -> Case:
    m = 2 if task == "binary" else draw(st.integers(1, 5))
    classes = draw(st.permutations(NAMES))[:m]
    n = draw(st.integers(1, most))
    one: st.SearchStrategy[Any] = st.sampled_from(classes)
    if task == "multilabel":
        one = st.lists(one, unique=True, max_size=m)
    rows = st.lists(one, min_size=n, max_size=n)
    frequencies = draw(st.lists(st.integers(0, 9), min_size=m, max_size=m))
    parts = draw(st.lists(st.lists(st.integers(1, 9), min_size=m, max_size=m), min_size=n, max_size=n))
    scores = [[part / sum(row) for part in row] for row in parts]
    return case(
        task,
        classes,
        draw(rows),
        draw(rows),
        scores,
        train_frequencies=dict(zip(classes, frequencies, strict=True)),
    )


def asked(metric: Metric, of: Case) -> dict[str, Any]:
    """A metric with the parameters that it cannot do without."""
    params: dict[str, Any] = {}
    for param in metric.params:
        if param.name == "beta":
            params["beta"] = 0.5
        elif of.spec.task in param.required_for:
            params[param.name] = of.spec.classes[-1]
    return {"key": metric.key, "params": params}


PAIRS = [(key, task) for key, metric in CATALOGUE.items() for task in metric.tasks]
