"""A recipe as organizers send it; the scorer validates its content."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from app.api.field_types import (
    Body,
    request_example,
    require_plain_json,
)

# Recipes are validated by the scorer, which reports every fault with its location. The schemas here are documentation.
_METRIC_OBJECT_SCHEMA = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": {"type": "string", "examples": ["f_beta_macro"]},
        "params": {"type": "object", "examples": [{"beta": 0.5}]},
        "options": {"type": "object", "examples": [{"zero_division": "0"}]},
        "name": {"type": "string", "description": "The column title on the leaderboard."},
    },
}
_METRIC_SCHEMA = {"anyOf": [{"type": "string", "examples": ["f1_macro"]}, _METRIC_OBJECT_SCHEMA]}
_DIGITS_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 17}, {"const": "full"}], "default": 6}
_DISCLOSURE_SCHEMA = {
    "type": "object",
    "description": "How many significant digits participants and visitors see.",
    "properties": {"digits": _DIGITS_SCHEMA},
}

_STEP_SCHEMA = {"anyOf": [{"type": "number", "minimum": 1e-6, "maximum": 1e6}, {"const": "auto"}]}
_LADDER_SCHEMA = {
    "anyOf": [{"type": "object", "required": ["step"], "properties": {"step": _STEP_SCHEMA}}, {"type": "null"}]
}
MAX_METRICS = 500


def _limit_metrics(value: Any) -> Any:
    if isinstance(value, list) and len(value) > MAX_METRICS:
        raise ValueError(f"has {len(value)} metrics; at most {MAX_METRICS} are computed")
    return value


MetricField = Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema(_METRIC_SCHEMA)]
MetricsField = Annotated[
    Any,
    AfterValidator(require_plain_json),
    AfterValidator(_limit_metrics),
    WithJsonSchema({"type": "array", "maxItems": MAX_METRICS, "items": _METRIC_SCHEMA}),
]
OptionsField = Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema({"type": "object"})]
DecisionField = Annotated[
    Any,
    AfterValidator(require_plain_json),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string"}, {"type": "null"}]}),
]


class RecipeBody(Body):
    """The metrics and ranking rules of a challenge."""

    model_config = request_example(
        primary="f1_macro",
        metrics=["f1_macro", {"key": "f_beta_macro", "params": {"beta": 0.5}, "name": "F0.5"}, "accuracy"],
        tie_breakers=["accuracy"],
        options={"zero_division": "0"},
        selection="best",
        disclosure={"digits": 6},
    )

    primary: MetricField = Field(examples=["f1_macro"])
    metrics: MetricsField = Field(default_factory=list, examples=[["f1_macro", "accuracy"]])
    tie_breakers: MetricsField = Field(default_factory=list)
    options: OptionsField = Field(default_factory=dict, description="Options that apply to all metrics.")
    selection: Annotated[
        Any, AfterValidator(require_plain_json), WithJsonSchema({"enum": ["best", "latest", "selected"]})
    ] = "best"
    selection_max: Annotated[
        Any, AfterValidator(require_plain_json), WithJsonSchema({"type": ["integer", "null"], "minimum": 1})
    ] = Field(None, description="With `selected`: how many submissions a team may select. Default: no limit.")
    decision: DecisionField = Field(None, description="How labels follow from scores in files without labels.")
    disclosure: Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema(_DISCLOSURE_SCHEMA)] = Field(
        default_factory=lambda: {"digits": 6}
    )
    ladder: Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema(_LADDER_SCHEMA)] = Field(
        None,
        description="Limits feedback by the Ladder (Blum and Hardt 2015) until the final release: teams and visitors see "
        "the best so far of each team, which changes only by more than `step`; `auto` is the parameter-free variant. "
        "Default: scores are shown.",
        examples=[{"step": 0.01}],
    )
