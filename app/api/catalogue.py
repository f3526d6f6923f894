"""The metric catalogue: all metrics as pages, and one metric with its parameters filled in."""

import json
import math
import threading
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

from fastapi import Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from app import errors
from app.api.caching.cached_reply import CachedReply
from app.api.dependencies import CallerDep, Cursor, Limit, paginate
from app.api.field_types import Page, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.openapi import examples
from app.scoring.catalogue.description import describe_metric, explain_call
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import find_metric, parse_metric

MetricString = Annotated[
    str,
    Path(
        description="A key, or a metric string such as f1_macro:label_set=gold, percent-encoded.", examples=["f1_macro"]
    ),
]

MAX_CACHED_PAGES = 16  # of up to 1.5 MB each; other pages are joined from the metrics, which are all cached

_PAGE_LOCK = threading.Lock()  # so that concurrent requests do not build the same page several times
router = api_router("metrics")


class Equation(BaseModel):
    """An equation in two notations."""

    latex: str
    mathml: str


class Value(BaseModel):
    """A value of a parameter or an option."""

    value: str = Field(examples=["worst"])
    meaning: str


class Choice(BaseModel):
    """An option of a metric, which selects a convention."""

    name: str = Field(examples=["zero_division"])
    meaning: str
    default: str
    values: list[Value] = Field(description="The possible values; empty if the value is a list of labels.")
    value: str = Field(description="The current value.")


class Parameter(BaseModel):
    """A parameter of a metric."""

    name: str = Field(examples=["k"])
    kind: str = Field(description="`number`, `whole` (a whole number), `choice` or `label`.", examples=["whole"])
    meaning: str
    default: str | None
    bounds: list[float | None] | None = Field(description="The lowest and the highest value; null for no limit.")
    values: list[Value]
    required_for: list[str] = Field(description="The tasks for which the parameter is required.")
    value: str | None = Field(description="The current value.")


class PresetSays(BaseModel):
    """The options that a preset sets for a metric."""

    name: str = Field(examples=["sklearn"])
    tool: str
    options: dict[str, str]


class Granularity(BaseModel):
    """How finely the values of a metric depend on the labels of single instances."""

    name: str = Field(examples=["class_tables"])
    meaning: str = Field(description="Completes the sentence 'its value …'.")
    separating: bool = Field(description="Whether its value may differ for every labelling of the gold.")


class IntervalOfMetric(BaseModel):
    """How the 95 % interval of a metric is computed, or why it has none."""

    kind: Literal["bootstrap", "proportion", "auc", "none"] = Field(examples=["bootstrap"])
    meaning: str


class MetricShape(BaseModel):
    """A metric, as declared or as configured by a metric string."""

    model_config = ConfigDict(extra="allow") | reply_example(examples.METRIC)

    key: str = Field(description="The metric string in canonical form.", examples=["f1_macro"])
    metric: str = Field(description="The key without parameters.", examples=["f1_macro"])
    family: str
    name: str
    names: list[str] = Field(description="Other common names.")
    equation: Equation = Field(description="General for a key alone; with the values of a metric string filled in.")
    symbols: dict[str, str] = Field(description="The meaning of each symbol in the equation.")
    conventions: list[str] = Field(description="The conventions that apply, one sentence each.")
    tasks: list[str]
    hints: dict[str, str] = Field(description="For other tasks, the metric to use instead.")
    needs: list[str]
    needs_meanings: dict[str, str]
    direction: str = Field(examples=["higher"])
    range: list[float | None] = Field(description="The lowest and the highest possible value; null for no bound.")
    params: list[Parameter]
    options: list[Choice]
    properties: dict[str, bool]
    significant_digits: int | None = Field(
        description="The digits to which values with logarithms, exponentials or powers are rounded; null if the exact "
        "value is rounded once, to binary64."
    )
    granularity: Granularity
    interval: IntervalOfMetric | None = Field(description="How its 95 % interval is computed; null for a table.")
    scalar: bool = Field(description="Whether the result is one number; otherwise it has data.")
    acceptable_sets: bool = Field(description="Whether gold may accept several labels for an instance.")
    weights: bool = Field(description="Whether instances may have weights.")
    source: str
    peers: dict[str, str] = Field(description="How other tools differ.")
    presets: list[PresetSays]
    example: dict[str, Any] = Field(description="A worked example: data, value and derivation.")


@router.get(
    "/metrics",
    summary="List all metrics",
    response_model=Page[MetricShape],
    responses=error_responses(),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_metrics(request: Request, _caller: CallerDep, limit: Limit = 200, cursor: Cursor = None) -> Response:
    """Returns every metric with its names, equation, needs, direction, range, parameters, options and source."""
    rows, following = paginate(list(CATALOGUE), str, limit=limit, cursor=cursor)
    with _PAGE_LOCK:
        page = _cached_page(tuple(rows), following)
    return page.response(",".join(request.headers.getlist("accept-encoding")))


@lru_cache(MAX_CACHED_PAGES)
def _cached_page(keys: tuple[str, ...], following: str | None) -> CachedReply:
    """An encoded page. The catalogue does not change while the process runs."""
    items = b",".join(map(_metric_json, keys))
    body = b'{"items":[%b],"next":%b}' % (items, json.dumps(following).encode())
    return CachedReply.build(body, "application/json", marks=frozenset(), expires_at=math.inf)


@cache
def _metric_json(key: str) -> bytes:
    return MetricShape.model_validate(describe_metric(CATALOGUE[key])).model_dump_json().encode()


@router.get(
    "/metrics/{key}",
    summary="Read a metric",
    response_model=MetricShape,
    responses=error_responses(errors.NotFound, errors.InvalidMetric),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_metric(key: MetricString, _caller: CallerDep) -> dict[str, Any]:
    """Returns one metric: by its key, or with the parameters and options of a metric string filled in."""
    name = key.partition(":")[0].strip()
    try:
        metric = find_metric(name)
    except errors.InvalidMetric as unknown:
        raise errors.NotFound(unknown.detail, remedy="GET /api/v1/metrics lists all.") from None
    return explain_call(parse_metric(key)) if ":" in key else describe_metric(metric)
