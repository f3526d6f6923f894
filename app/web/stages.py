"""The stages of challenges on the first page, in their order."""

from dataclasses import dataclass
from typing import Literal

from app.actions.challenges.list_by_stage import ListedChallenge

Stage = Literal["open", "coming", "past", "archived"]
STAGES: dict[Stage, str] = {
    "open": "Open challenges",
    "coming": "Coming challenges",
    "past": "Past challenges",
    "archived": "Archived challenges",
}
FIRST_STAGES: tuple[Stage, ...] = ("open", "coming", "past")


@dataclass(frozen=True, slots=True)
class ShownStage:
    """The challenges of a stage that a page shows, and the cursor of those that follow."""

    name: Stage
    rows: list[ListedChallenge]
    following: str | None

    @property
    def title(self) -> str:
        """The heading."""
        return STAGES[self.name]
