"""The rule of selection, as boards, releases and submissions state it."""

from typing import Literal

from pydantic import Field

from app.api.field_types import Shape


class SelectionRule(Shape):
    """Which submission of a team counts."""

    rule: Literal["best", "latest", "selected"]
    max: int | None = Field(description="How many submissions a team may select; null without limit.")
    meaning: str
