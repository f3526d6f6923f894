"""The metric catalogue."""

import json
import math
import threading
from functools import cache, lru_cache
from typing import Annotated, Any

from fastapi import Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from app import errors
from app.api.caching.board_cache import CachedReply
from app.api.dependencies import CallerDep, Cursor, Limit, paginate
from app.api.field_types import Page, reply_example
from app.api.json_body import api_router
from app.api.openapi import examples
from app.api.problems import TOKEN_OPTIONAL, error_responses
from app.scoring.catalogue.description import describe_metric, explain_call
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import find_metric, parse_metric

MetricString = Annotated[
    str,
    Path(
        description="A key, or a metric string such as f1_macro:label_set=gold, percent-encoded.", examples=["f1_macro"]
    ),
]

MAX_CACHED_PAGES = (
    16  # that are kept, of up to 1.5 MB; others are put together anew from the metrics, which are all kept
)

_PAGE_LOCK = threading.Lock()  # many who ask at once do not make the same page many times
router = api_router("metrics")


class Equation(BaseModel):
    """An equation in two notations."""

    latex: str
    mathml: str


class Value(BaseModel):
    """A word that a parameter or an option may have, and what it does."""

    value: str = Field(examples=["worst"])
    meaning: str


class Choice(BaseModel):
    """A convention option of a metric."""

    name: str = Field(examples=["zero_division"])
    meaning: str
    default: str
    values: list[Value] = Field(description="Empty where it is a list of labels.")
    value: str = Field(description="The value in force.")


class Parameter(BaseModel):
    """A parameter of a metric."""

    name: str = Field(examples=["k"])
    kind: str = Field(description="number, whole (a whole number), choice or label.", examples=["whole"])
    meaning: str
    default: str | None
    bounds: list[float | None] | None = Field(description="Least and greatest value, null where there is none.")
    values: list[Value]
    required_for: list[str] = Field(description="The tasks for which it must be given.")
    value: str | None = Field(description="The value in force.")


class PresetSays(BaseModel):
    """What a preset sets for a metric."""

    name: str = Field(examples=["sklearn"])
    tool: str
    options: dict[str, str]


class Granularity(BaseModel):
    """How finely a metric answers to the labels of single instances."""

    name: str = Field(examples=["class_tables"])
    meaning: str = Field(description="Completes the sentence 'its value …'.")
    separating: bool = Field(description="Whether its value may differ for every labelling of the gold.")


class MetricShape(BaseModel):
    """A metric: as declared, or as a metric string asks for it."""

    model_config = ConfigDict(extra="allow") | reply_example(examples.METRIC)

    key: str = Field(description="The metric string in canonical form.", examples=["f1_macro"])
    metric: str = Field(description="The key alone.", examples=["f1_macro"])
    family: str
    name: str
    names: list[str] = Field(description="Other names in the field.")
    equation: Equation = Field(description="General for a key alone, else with what the string sets filled in.")
    symbols: dict[str, str] = Field(description="What each letter of the equation means.")
    conventions: list[str] = Field(description="The conventions in force, one sentence for each.")
    tasks: list[str]
    hints: dict[str, str] = Field(description="For other tasks, the metric that is meant.")
    needs: list[str]
    needs_meanings: dict[str, str]
    direction: str = Field(examples=["higher"])
    range: list[float | None] = Field(description="Least and greatest value, null where there is no bound.")
    params: list[Parameter]
    options: list[Choice]
    properties: dict[str, bool]
    significant_digits: int | None = Field(
        description="To how many digits values are rounded that take logarithms, exponentials or powers; null where "
        "the exact value is rounded once, to binary64."
    )
    granularity: Granularity
    scalar: bool = Field(description="Whether it is one number; else its result has data.")
    acceptable_sets: bool = Field(description="Whether gold may give several right answers to an instance.")
    weights: bool = Field(description="Whether instances may have weights.")
    source: str
    peers: dict[str, str] = Field(description="Of other tools, where they differ.")
    presets: list[PresetSays]
    example: dict[str, Any] = Field(description="Worked: data, value, and what the value comes from.")


@router.get(
    "/metrics",
    summary="List all metrics",
    response_model=Page[MetricShape],
    responses=error_responses(),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_metrics(request: Request, _who: CallerDep, limit: Limit = 200, cursor: Cursor = None) -> Response:
    """Every metric with names, equation, needs, direction, range, parameters, options and source."""
    rows, following = paginate(list(CATALOGUE), str, limit=limit, cursor=cursor)
    with _PAGE_LOCK:
        page = _cached_page(tuple(rows), following)
    return page.response(",".join(request.headers.getlist("accept-encoding")))


@lru_cache(MAX_CACHED_PAGES)
def _cached_page(keys: tuple[str, ...], following: str | None) -> CachedReply:
    """A page as it is sent. The catalogue is the same as long as the process lives."""
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
def get_metric(key: MetricString, _who: CallerDep) -> dict[str, Any]:
    """One metric of the catalogue: a key, or a metric string whose parameters and options are filled in."""
    name = key.partition(":")[0].strip()
    try:
        metric = find_metric(name)
    except errors.InvalidMetric as unknown:
        raise errors.NotFound(unknown.detail, remedy="GET /api/v1/metrics lists all.") from None
    return explain_call(parse_metric(key)) if ":" in key else describe_metric(metric)
