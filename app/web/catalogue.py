"""The catalogue of metrics: all of them by family, and a page for each, also with parameters and options filled in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Query
from starlette.responses import Response

from app.actions.challenges.read_agreed_recipes import challenges_with_metric
from app.api.catalogue import get_metric
from app.scoring.catalogue import worked_examples
from app.scoring.catalogue.common_metrics import COMMON_METRIC_KEYS
from app.scoring.catalogue.description import search_metrics, task_hints
from app.scoring.catalogue.settings_description import describe_accepted_values, describe_bounds
from app.scoring.declaration.metric import CATALOGUE, Metric
from app.scoring.metrics import FAMILIES, FAMILY_BY_KEY
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()

Task = Literal["binary", "multiclass", "multilabel"]
TASKS: dict[Task, str] = {"binary": "two classes", "multiclass": "several classes", "multilabel": "label sets"}
PROPERTIES = {
    "symmetric": "Swapping gold and predictions does not change the value.",
    "prevalence_sensitive": "Replicating the instances of one class may change the value.",
    "count_based": "It is a function of integer counts.",
    "ordinal": "The order in which the classes are declared may change the value.",
}


class Variant(NamedTuple):
    """A metric derived from a measure, such as an average of it, by what its key adds to that of the measure."""

    key: str
    ending: str
    name: str


class Measure(NamedTuple):
    """A metric with those derived from it."""

    metric: Metric
    variants: list[Variant]


@dataclass(frozen=True, slots=True)
class ShownFamily:
    """A family with its metrics that were found, by measure."""

    name: str
    title: str
    meaning: str
    measures: list[Measure]


@router.get("/catalogue")
def show_catalogue(
    page: PageDep,
    words: Annotated[str, Query(alias="q", max_length=200)] = "",
    task: Annotated[Task | Literal[""], Query()] = "",
) -> Response:
    """All metrics by family, or those with some words and for a task."""
    found = search_metrics(task or None, words=words)
    keys = {metric.key for metric in found}
    families = [
        ShownFamily(family.name, family.title, family.meaning, _measures(family.keys, keys)) for family in FAMILIES
    ]
    common = [] if words else [key for key in COMMON_METRIC_KEYS[task or "multiclass"] if key in keys]
    return render(
        page,
        "catalogue.html",
        families=[family for family in families if family.measures],
        count=len(found),
        total=len(CATALOGUE),
        common=[CATALOGUE[key] for key in common],
        words=words,
        task=task,
        tasks=TASKS,
    )


@router.get("/catalogue/{key}")
def show_metric(key: str, page: PageDep) -> Response:
    """A metric by its key or by a metric string; raises NotFound and InvalidMetric."""
    described = get_metric(key, page.caller)
    metric = CATALOGUE[described["metric"]]
    with page.state.db.read() as session:
        uses, has_more = challenges_with_metric(session, page.caller, metric.key)
    return render(
        page,
        "metric.html",
        described=described,
        metric=metric,
        family=FAMILY_BY_KEY[metric.key].name,
        is_call=described["key"] != metric.key,
        range_words=describe_bounds(described["range"]) if metric.scalar else "a table or a curve",
        params=[(param, describe_accepted_values(param)) for param in described["params"]],
        properties=[text for name, text in PROPERTIES.items() if described["properties"][name]],
        hints=task_hints(metric),
        relatives=relatives(metric.key),
        example=_example(metric, described["example"]),
        uses=uses,
        has_more_uses=has_more,
        tasks=TASKS,
    )


def _measures(keys: Sequence[str], found: Collection[str]) -> list[Measure]:
    """The metrics of a family that were found, those of one measure together: first its own metric, if it was found."""
    by_root: dict[str, list[str]] = {}
    for key in keys:
        if key in found:
            by_root.setdefault(_root(key, keys), []).append(key)
    return [
        Measure(
            CATALOGUE[first],
            [Variant(key, key.removeprefix(root), CATALOGUE[key].name) for key in others],
        )
        for root, (first, *others) in by_root.items()
    ]


def relatives(key: str) -> list[str]:
    """The keys of the same measure: other averages of it, in the order of the catalogue."""
    keys = FAMILY_BY_KEY[key].keys
    root = _root(key, keys)
    return [other for other in keys if other != key and _root(other, keys) == root]


def _root(key: str, keys: Sequence[str]) -> str:
    """The shortest key to which this one adds a suffix."""
    return next((other for other in sorted(keys, key=len) if key.startswith(f"{other}_")), key)


def _example(metric: Metric, described: dict[str, Any]) -> dict[str, Any]:
    """The worked example as tables: its data, what was counted, and the value."""
    beside = ("positive_label", "train_frequencies", "hierarchy", "cost_matrix", "class_weights")
    return {
        "rows": worked_examples.example_data_rows(metric),
        "classes": described.get("of_classes", []),
        "instances": [
            {"instance": number} | row for number, row in enumerate(described.get("of_instances", []), start=1)
        ],
        "value": worked_examples.format_example_value(metric),
        "params": described["params"],
        "beside": {name.replace("_", " "): described[name] for name in beside if name in described},
    }
