"""The Ladder of a phase, as boards and submissions state it while it limits feedback."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from app.api.field_types import Shape

LadderStep = float | Literal["auto"]
LadderRuleField = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "step": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "auto"}]},
            },
            "required": ["step"],
        }
    ),
]


class LadderShape(Shape):
    """The Ladder whose outputs are shown instead of scores."""

    step: LadderStep = Field(description="The step, or `auto` for the parameter-free variant.", examples=[0.01])
    meaning: str = Field(description="What is shown, in words.")


class LadderCheck(LadderShape):
    """What the Ladder of a recipe would mean."""

    heuristic: bool = Field(description="Whether no theorem bounds how far the best so far may be off.")
    guarantee: str = Field(description="What bounds it, or why nothing does.")


class LadderFeedbackShape(LadderShape):
    """What the Ladder told after one submission."""

    improved: bool | None = Field(
        description="Whether the submission was better than the team's best so far by more than the step. Null while "
        "that is not told."
    )
    waiting: bool = Field(
        description="Whether the output is withheld until all earlier submissions of the team have their final status."
    )
