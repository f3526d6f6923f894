"""The reply of a recipe, with upper bounds on what its scores can reveal about the gold."""

import math
from typing import Any, Literal

from pydantic import Field

from app.actions.access import Caller
from app.actions.challenges.inference_bounds import PhaseInferenceBound, read_inference_bounds
from app.actions.challenges.replace_recipe import RecipeInForce
from app.actions.submissions.board_scores import describe_selection
from app.actions.submissions.ladder_board import stored_ladder_meaning
from app.actions.versions.recipe_versions import pending_switches_to
from app.api.field_types import Shape, reply_example
from app.api.ladder_fields import LadderRuleField
from app.api.openapi import examples
from app.api.openapi.inference_example import INFERENCE
from app.scoring.disclosure.inference_bound import MetricBound
from app.scoring.disclosure.wording import describe_inference_bound, round_bits_up, suggest_reductions
from app.store.session import ReadSession


class MetricInference(Shape):
    """What one value of a metric can reveal about the gold."""

    key: str = Field(description="The metric string.", examples=["f1_macro"])
    granularity: str = Field(description="How finely its values depend on single labels.", examples=["class_tables"])
    bits: float = Field(description="Bits per value, at the digits shown.")
    ranked_bits: float = Field(description="Bits per value together with the board, which ranks at full precision.")


class InferenceShape(Shape):
    """An upper bound on what the scores of a phase reveal about its gold to one team, on average over labellings."""

    model_config = reply_example(INFERENCE)

    phase: str
    split: Literal["all", "public"] | None = Field(
        description="The split that the numbers refer to; null while the ids are not known."
    )
    instances: int | None = Field(description="How many ids the reader knows; for organizers, all ids of the split.")
    classes: int | None
    labels: int | None = Field(
        description="How many labels can be learned; with label sets, one per instance and class."
    )
    labels_at_most: int | None = Field(description="How many of them a team can learn at most.")
    labels_without_ladder: int | None = Field(
        None, description="How many it could learn at most without the Ladder; null if there is no Ladder."
    )
    submissions: int | None = Field(description="How many submissions a team may have scored; null for no limit.")
    digits: int | None = Field(description="How many significant digits are shown; null for full precision.")
    metrics: list[MetricInference]
    reports: dict[str, float | None] = Field(description="Bits per report; null if nothing bounds them.")
    bits_per_submission: float | None = Field(description="Bits per submission; null if nothing bounds them.")
    bits_after_close: float | None = Field(
        description="Bits that a board after the close adds; null if nothing bounds them."
    )
    bits_at_most: float | None = Field(description="Bits of all submissions of a team; null if nothing bounds them.")
    teams_counted: int = Field(description="The minimum number of other rows assumed on a board after the close.")
    teams_limited: bool = Field(description="Whether organizers approve teams; each further team learns as much again.")
    statement: str = Field(description="The bound in words.")
    lowered_by: list[str]


class SwitchReference(Shape):
    """A pending switch of the board of a phase."""

    phase: str
    number: int


class RecipeShape(Shape):
    """A recipe with its version."""

    model_config = reply_example(examples.RECIPE)

    version: int
    status: Literal["draft", "activating", "active", "retired"]
    phase: str | None = Field(description="The phase whose own recipe it is; null for the one that phases share.")
    primary: Any = Field(examples=["f1_macro"])
    metrics: list[Any] = Field(examples=[["f1_macro", "accuracy"]])
    tie_breakers: list[Any]
    options: dict[str, Any]
    selection: str
    selection_max: int | None = Field(None, description="How many submissions a team may select; null without limit.")
    selection_meaning: str = Field(description="Which submission of a team counts, in words.")
    decision: Any = None
    disclosure: dict[str, Any]
    ladder: LadderRuleField | None = Field(None, description="What limits feedback; null if scores are shown.")
    ladder_meaning: str | None = Field(None, description="What is shown instead of scores, in words.")
    inference: list[InferenceShape] = Field(
        description="For each phase that it scores, an upper bound on what the scores reveal about its gold, and how to lower it."
    )
    switches: list[SwitchReference] = Field(
        default_factory=list, description="While it is `activating`: the pending switch of each phase."
    )


def inference_shape(phase_bound: PhaseInferenceBound) -> InferenceShape:
    """An inference bound as a reply."""
    bound = phase_bound.bound
    sizes, rules = bound.sizes, bound.rules
    return InferenceShape(
        phase=phase_bound.phase,
        split=phase_bound.split,
        instances=sizes and sizes.instances,
        classes=sizes and sizes.classes,
        labels=sizes and sizes.labels,
        labels_at_most=sizes and bound.labels,
        labels_without_ladder=sizes and bound.without_ladder and bound.without_ladder.labels,
        submissions=rules.submissions,
        digits=bound.digits,
        metrics=[_metric_inference(metric_bound) for metric_bound in bound.metrics],
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


def _metric_inference(bound: MetricBound) -> MetricInference:
    return MetricInference(
        key=bound.call.text,
        granularity=bound.call.metric.granularity.name,
        bits=round_bits_up(bound.shown),
        ranked_bits=round_bits_up(bound.ranked),
    )


def recipe_shape(session: ReadSession, caller: Caller, stored: RecipeInForce) -> RecipeShape:
    """A stored recipe as a reply."""
    recipe, phase = stored.recipe, stored.phase
    rule = describe_selection(
        recipe.body["selection"], recipe.body.get("selection_max"), recipe.body.get("tie_breakers", ())
    )
    bounds = map(inference_shape, read_inference_bounds(session, caller, stored.challenge, stored.phases))
    added: dict[str, Any] = {"version": recipe.version, "status": recipe.status, "inference": list(bounds)}
    switches = pending_switches_to(session, recipe)
    if switches:
        added["status"] = "activating"
        added["switches"] = [{"phase": slug, "number": number} for slug, number in switches]
    added["phase"] = None if phase is None else phase.slug
    added["selection_meaning"] = rule["meaning"]
    added["ladder_meaning"] = stored_ladder_meaning(recipe.body)
    return RecipeShape.model_validate({**recipe.body, **added})
