"""The metric catalogue: the list of all metrics, and a page for each."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from fastapi import Query
from starlette.responses import Response

from app.actions.challenges.metric_use import challenges_with_metric
from app.api.catalogue import get_metric
from app.scoring.catalogue.description import describe_metric
from app.scoring.catalogue.worked_examples import example_data_rows, format_example_value
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.task import TaskKind
from app.scoring.metrics import FAMILIES
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()

TASKS: tuple[tuple[TaskKind, str], ...] = (
    ("binary", "two classes"),
    ("multiclass", "several classes"),
    ("multilabel", "sets of labels"),
)
BESIDE = ("positive_label", "train_frequencies", "class_weights", "cost_matrix", "hierarchy")


class MetricEntry(NamedTuple):
    """A metric in the list, with the words by which it is found."""

    key: str
    name: str
    tasks: tuple[str, ...]
    words: str


@cache
def _entries() -> tuple[tuple[str, str, tuple[MetricEntry, ...]], ...]:
    """Title, meaning and metrics of each family."""
    return tuple((family.title, family.meaning, tuple(map(_entry, family.keys))) for family in FAMILIES)


def _entry(key: str) -> MetricEntry:
    metric = CATALOGUE[key]
    words = " ".join([key, key.replace("_", " "), metric.name, *metric.names]).casefold()
    return MetricEntry(key, metric.name, tuple(metric.tasks), words)


@router.get("/catalogue")
def show_catalogue(
    page: PageDep,
    q: str = Query("", max_length=100),
    task: str = Query("", pattern="^(|binary|multiclass|multilabel)$"),
) -> Response:
    """All metrics by family, or those that a search finds."""
    asked = q.casefold().split()
    families = [
        (title, meaning, found)
        for title, meaning, entries in _entries()
        if (found := [each for each in entries if _is_found(each, asked, task)])
    ]
    count = sum(len(found) for _, _, found in families)
    return render(page, "catalogue.html", families=families, q=q, task=task, tasks=TASKS, count=count)


def _is_found(entry: MetricEntry, words: Sequence[str], task: str) -> bool:
    return (not task or task in entry.tasks) and all(word in entry.words for word in words)


@router.get("/catalogue/{key}")
def show_metric(page: PageDep, key: str) -> Response:
    """A metric, by its key or by a metric string with parameters and options. Raises NotFound, InvalidMetric."""
    described = get_metric(key, page.caller)
    metric = CATALOGUE[described["metric"]]
    with page.state.db.read() as session:
        used = challenges_with_metric(session, page.caller, metric.key)
    return render(page, "metric.html", metric=described, worked=worked_example(metric.key), used=used)


@cache
def worked_example(key: str) -> dict[str, Any]:
    """The example of a metric as tables: its data, what stands beside them, the counts, and the value."""
    metric = CATALOGUE[key]
    described, example = describe_metric(metric)["example"], metric.example
    given = {name: getattr(example, name) for name in BESIDE}
    beside = {name: value for name, value in given.items() if value is not None}
    return {
        "rows": example_data_rows(metric),
        "beside": [("classes", ", ".join(example.classes))]
        + [(name.replace("_", " "), ", ".join(_pieces(value))) for name, value in beside.items()]
        + [(name, str(value)) for name, value in example.params.items()],
        "classes": described.get("of_classes", []),
        "instances": [{"instance": at, **row} for at, row in enumerate(described.get("of_instances", []), 1)],
        "value": format_example_value(metric),
        "is_data": not metric.scalar,
    }


def _pieces(value: Any) -> Iterator[str]:
    """A mapping or a list of an example in words."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            inner = ", ".join(_pieces(item))
            yield f"{name}: ({inner})" if isinstance(item, Mapping) else f"{name}: {inner}"
    elif isinstance(value, (tuple, list)):
        yield " and ".join(map(str, value))
    else:
        yield str(value)
