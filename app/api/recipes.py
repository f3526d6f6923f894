"""The shape of a recipe in force, with the bound of how much of the gold its scores can tell at most."""

import math
from typing import Any, Literal

from pydantic import Field

from app.actions.access import Caller
from app.actions.challenges.inference_bounds import PhaseInferenceBound, read_inference_bounds
from app.api.field_types import Shape, reply_example
from app.api.openapi import examples
from app.scoring.disclosure.inference_bound import MetricBound
from app.scoring.disclosure.wording import describe_inference_bound, round_bits_up, suggest_reductions
from app.store.session import ReadSession
from app.store.tables import Challenge, Recipe


class MetricInference(Shape):
    """What one value of a metric can tell."""

    key: str = Field(description="The metric string.", examples=["f1_macro"])
    granularity: str = Field(description="How its values depend on single labels.", examples=["class_tables"])
    bits: float = Field(description="At the digits shown.")
    ranked_bits: float = Field(description="With the board, which ranks at full precision.")


class InferenceShape(Shape):
    """How much of its gold a phase gives away at most: for one team, and on average over labellings."""

    model_config = reply_example(examples.INFERENCE)

    phase: str
    split: Literal["all", "public"] | None = Field(description="What the numbers are of; null while ids are not known.")
    instances: int | None = Field(description="Ids that are known to the reader; organizers: those of the split.")
    classes: int | None
    labels: int | None = Field(description="Labels to be known; of label sets, one for each instance and class.")
    labels_at_most: int | None = Field(description="How many of them a team can come to know.")
    submissions: int | None = Field(description="How many a team can have scored; null where nothing ends them.")
    digits: int | None = Field(description="Significant digits shown; null for full precision.")
    metrics: list[MetricInference]
    reports: dict[str, float | None] = Field(description="The bits of each report; null where nothing bounds them.")
    bits_per_submission: float | None = Field(description="null where nothing bounds it.")
    bits_after_close: float | None = Field(
        description="What a board tells once that is shown after the close; null where nothing bounds it."
    )
    bits_at_most: float | None = Field(description="Of all submissions of a team; null where nothing bounds it.")
    teams_counted: int = Field(
        description="Rows of others that one on a board after the close is counted among, at least."
    )
    teams_limited: bool = Field(description="Whether organizers decide who has a team; each tells as much again.")
    statement: str = Field(description="The bound in words.")
    lowered_by: list[str]


class RecipeShape(Shape):
    """A recipe with its version."""

    model_config = reply_example(examples.RECIPE)

    version: int
    status: Literal["draft", "active", "retired"]
    primary: Any = Field(examples=["f1_macro"])
    metrics: list[Any] = Field(examples=[["f1_macro", "accuracy"]])
    tie_breakers: list[Any]
    options: dict[str, Any]
    selection: str
    decision: Any = None
    disclosure: dict[str, Any]
    inference: list[InferenceShape] = Field(
        description="Of each phase, how much of its gold labels the scores can tell at most, and what lowers it."
    )


def inference_shape(found: PhaseInferenceBound) -> InferenceShape:
    """A bound as a reply."""
    bound = found.bound
    sizes, rules = bound.sizes, bound.rules
    known: dict[str, Any] = {"instances": None, "classes": None, "labels": None, "labels_at_most": None}
    if sizes is not None:
        known = {"instances": sizes.instances, "classes": sizes.classes, "labels": sizes.labels}
        known["labels_at_most"] = bound.labels
    return InferenceShape(
        phase=found.phase,
        split=found.split,
        **known,
        submissions=rules.submissions,
        digits=bound.digits,
        metrics=[_metric_inference(one) for one in bound.metrics],
        reports={name: _finite_bits(bits) for name, bits in bound.reports.items()},
        bits_per_submission=_finite_bits(bound.per_submission),
        bits_after_close=_finite_bits(bound.once),
        bits_at_most=_finite_bits(bound.total),
        teams_counted=rules.rivals,
        teams_limited=rules.closed_teams,
        statement=describe_inference_bound(bound),
        lowered_by=suggest_reductions(bound),
    )


def _finite_bits(bits: float) -> float | None:
    return None if math.isinf(bits) else round_bits_up(bits)


def _metric_inference(one: MetricBound) -> MetricInference:
    return MetricInference(
        key=one.call.text,
        granularity=one.call.metric.granularity.name,
        bits=round_bits_up(one.shown),
        ranked_bits=round_bits_up(one.ranked),
    )


def recipe_shape(session: ReadSession, who: Caller, challenge: Challenge, recipe: Recipe) -> RecipeShape:
    """A stored recipe as a reply."""
    bounds = [inference_shape(one) for one in read_inference_bounds(session, who, challenge, recipe)]
    added = {"version": recipe.version, "status": recipe.status, "inference": bounds}
    return RecipeShape.model_validate({**recipe.body, **added})
