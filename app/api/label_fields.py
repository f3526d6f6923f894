"""The fields of challenges and phases that say how labels are read and scored."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.field_types import Body, Label, is_label, limit_invalid_values
from app.api.recipe_body import RecipeBody

TaskName = Literal["binary", "multiclass", "multilabel"]
PositiveLabel = Annotated[Label | None, Field(description="For binary tasks: the label that counts as positive.")]
Classes = Annotated[list[Label], limit_invalid_values(is_label), Field(max_length=1_000_000)] | None


class PhaseRules(Body):
    """Rules that a phase may have of its own, free to change until something is submitted to it."""

    task: TaskName | None = Field(None, description="Default: the task of the challenge.")
    positive_label: PositiveLabel = None
    classes: Classes = Field(
        None,
        description="The label vocabulary, if the challenge declares none. Default: the labels of the gold, sorted.",
    )
    recipe: RecipeBody | None = Field(None, description="Default: the recipe of the challenge.")
