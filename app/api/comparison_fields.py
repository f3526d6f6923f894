"""The shapes of two boards beside each other, before and after a switch to other versions."""

from typing import Any, Literal

from pydantic import Field

from app.api.field_types import Shape


class ComparedTeam(Shape):
    """A team as the board shows it."""

    id: str | None = Field(description="Null where a pseudonym hides the team, and for a team that is gone.")
    name: str


class ComparedValue(Shape):
    """The value of one metric."""

    value: float | None


class ComparedSide(Shape):
    """The row of a team on one of the two boards."""

    submission: str | None
    rank: int | None
    tied: int | None
    scores: dict[str, ComparedValue]


class ComparedRow(Shape):
    """A team before and after."""

    team: ComparedTeam
    baseline: bool
    mark: str | None
    change: Literal["same", "up", "down", "entered", "left"] | None = Field(
        description="What happened to the rank; null for a row without one, such as a baseline."
    )
    move: int | None = Field(description="By how many ranks it rises; negative if it falls.")
    before: ComparedSide | None
    after: ComparedSide | None


class ComparisonCounts(Shape):
    """How much of a board changes."""

    ranked_before: int
    ranked_after: int
    moved: int = Field(description="How many ranks change.")
    largest_move: int
    entered: int
    left: int = Field(description="How many teams lose their rank.")
    other_submission: int = Field(description="For how many teams another submission counts than before.")


class Leaders(Shape):
    """The teams of rank 1."""

    before: list[ComparedTeam]
    after: list[ComparedTeam]
    changed: bool


class Primaries(Shape):
    """The metrics that rank the boards."""

    before: str
    after: str


class BoardDifference(Shape):
    """One board before and after, in the order of the later one."""

    primary: Primaries
    counts: ComparisonCounts
    leaders: Leaders
    rows: list[ComparedRow]


class GoldChangesShape(Shape):
    """What changes from one version of the gold to the other."""

    counts: dict[str, int] = Field(
        description="Instances that are `relabelled`, `reweighted`, `voided` (no longer scored), `restored` (scored "
        "again) and `moved` to another split."
    )
    before: dict[str, list[int]] | None = Field(
        description="By split: how many instances have each class, in the order of the classes. For organizers."
    )
    after: dict[str, list[int]] | None
    metadata: list[str] = Field(description="The kinds of metadata that differ, such as `class_weights`.")


def differences(parts: dict[str, Any]) -> dict[str, BoardDifference]:
    """The differences of the boards of several splits as a reply."""
    return {split: BoardDifference.model_validate(part) for split, part in parts.items()}
