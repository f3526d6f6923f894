"""The metric catalogue."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app import errors
from app.api import examples
from app.api.deps import CallerDep, Cursor, Limit, paged
from app.api.problems import OPEN, documented
from app.api.shapes import Page, shown
from app.api.strict import StrictRoute
from app.scoring.catalogue import describe
from app.scoring.metric import CATALOGUE

router = APIRouter(tags=["metrics"], route_class=StrictRoute)


class Equation(BaseModel):
    """An equation in two notations."""

    latex: str
    mathml: str


class MetricShape(BaseModel):
    """A metric as declared."""

    model_config = ConfigDict(extra="allow") | shown(examples.METRIC)

    key: str = Field(examples=["f1_macro"])
    name: str
    names: list[str]
    equation: Equation
    tasks: list[str]
    needs: list[str]
    direction: str = Field(examples=["higher"])
    range: list[float | None] | None
    params: list[dict[str, Any]]
    options: list[dict[str, Any]]
    source: str


@router.get(
    "/metrics", summary="List all metrics", response_model=Page[MetricShape], responses=documented(), openapi_extra=OPEN
)
def get_metrics(_who: CallerDep, limit: Limit = 200, cursor: Cursor = None) -> dict[str, Any]:
    """Every metric with names, equation, needs, direction, range, parameters, options and source."""
    rows, following = paged(list(CATALOGUE.values()), lambda metric: metric.key, limit=limit, cursor=cursor)
    return {"items": [describe(metric) for metric in rows], "next": following}


@router.get(
    "/metrics/{key}",
    summary="Read a metric",
    response_model=MetricShape,
    responses=documented(errors.NotFound),
    openapi_extra=OPEN,
)
def get_metric(key: str, _who: CallerDep) -> dict[str, Any]:
    """One metric of the catalogue."""
    metric = CATALOGUE.get(key)
    if metric is None:
        raise errors.NotFound(f"There is no metric '{key}'.", remedy="GET /api/v1/metrics lists all.")
    return describe(metric)
