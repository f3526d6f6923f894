"""The requests and replies of item analysis."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from app.actions.items.choose_systems import AnalyzedBoard, Scope
from app.analysis.items.report import MEANINGS
from app.api.field_types import Body, Label, Shape, TeamReferenceShape, reply_example, request_example
from app.api.openapi import item_examples as examples
from app.api.reasons import OptionalReason

MAX_CHANGES = 10_000
Split = Literal["all", "public", "private"]


class ItemSystemShape(Shape):
    """A system that was analysed: a submission. Pairs and rows name systems by their position in this list, from 0."""

    submission: str
    team: TeamReferenceShape
    baseline: bool
    rank: int | None = Field(description="Its rank on the board of the split; null if it has none.")


class AnalysisHead(Shape):
    """What an item analysis is about."""

    challenge: str
    phase: str
    split: str
    submissions: Scope
    gold_version: int
    recipe_version: int
    scorer_version: int
    systems: list[ItemSystemShape]
    left_out: int = Field(
        description="How many further systems were left out: at most 200 are analysed, and 20 million answers."
    )


def head_of(slug: str, phase: str, board: AnalyzedBoard) -> dict[str, Any]:
    """The fields of the head."""
    systems = [
        {
            "submission": each.submission,
            "team": {"id": each.team, "name": each.team_name},
            "baseline": each.baseline,
            "rank": each.rank,
        }
        for each in board.systems
    ]
    names = ("split", "gold_version", "recipe_version", "scorer_version", "left_out")
    fields = {name: getattr(board, name) for name in names}
    return {"challenge": slug, "phase": phase, "submissions": board.scope, "systems": systems} | fields


class AnswerShape(Shape):
    """An answer to an instance, and how many systems gave it."""

    labels: list[str] | None = Field(description="One label, or the set of a multi-label task; null for no answer.")
    votes: int
    right: bool


class ItemShape(Shape):
    """An instance, and how the systems did on it."""

    id: str
    gold: list[str] = Field(description="The label, the set of labels, or the acceptable answers.")
    right: int = Field(description="How many systems are right.")
    systems: int
    right_share: float = Field(description=MEANINGS["right_share"])
    suspicion: float = Field(description=MEANINGS["suspicion"])
    discrimination: float | None = Field(description=f"{MEANINGS['discrimination']} Null where undefined.")
    total_correlation: float | None = Field(description=MEANINGS["total_correlation"])
    agreement: float | None = Field(description=MEANINGS["agreement"])
    error_agreement: float | None = Field(description=MEANINGS["error_agreement"])
    answers: list[AnswerShape] = Field(description="The most frequent answers, the most frequent first.")
    more_answers: int = Field(description="How many further answers were given.")
    label_right_share: float | None = Field(
        None, description="In multi-label tasks: the share of labels that were decided right, over all systems."
    )


class LabelErrorsShape(Shape):
    """How often all systems together are wrong about one label of a multi-label task."""

    label: str
    in_gold: int = Field(description="How often the gold has it, counted once for each system.")
    missed: int = Field(description="How often a system does not give it where the gold has it.")
    false: int = Field(description="How often a system gives it where the gold does not have it.")


class ItemCounts(Shape):
    """How many instances belong to each selection."""

    all: int
    suspect: int
    none_right: int
    all_right: int
    negative: int


class ItemsShape(AnalysisHead):
    """Instances with the answers of the systems, in the order asked for."""

    model_config = reply_example(examples.ITEMS)

    instances: int
    counts: ItemCounts
    selected: int = Field(description="How many instances belong to the selection.")
    labels: list[LabelErrorsShape] | None = Field(
        None, description="In multi-label tasks, where an instance is right if the whole set is, each label alone."
    )
    meanings: dict[str, str] = Field(description="What the statistics mean, in words.")
    items: list[ItemShape]
    next: str | None = Field(description="Pass it as `cursor` to get the next page. Null on the last page.")


class PairShape(Shape):
    """Two systems by their positions, and how far they agree."""

    a: int
    b: int
    agreement: float = Field(description="The share of instances with the same answer.")
    kappa: float | None = Field(description="Cohen's kappa; null where agreement by chance is certain.")
    error_overlap: float | None = Field(
        description="Of the instances that either gets wrong, the share that both do; null without errors."
    )
    both_wrong: int
    same_wrong: int = Field(description="On how many instances both give the same wrong answer.")


class AgreementShape(AnalysisHead):
    """How far systems agree, all together and pair by pair."""

    model_config = reply_example(examples.AGREEMENT)

    instances: int
    fleiss_kappa: float | None = Field(description="Fleiss' kappa of all systems; null where undefined.")
    wrong: list[int] = Field(description="How many instances each system gets wrong.")
    pairs: list[PairShape]


class ErrorPairShape(Shape):
    """Two systems of different teams, and the errors that they share."""

    a: int
    b: int
    reported: bool = Field(description="Whether they share more than independent systems do, by the thresholds.")
    identical: bool = Field(description="Whether all answers, and the scores where there are some, are the same.")
    agreement: float = Field(description="The share of instances with the same answer.")
    either_wrong: int
    both_wrong: int
    same_wrong: int
    overlap: float | None = Field(
        description="Of the instances that either gets wrong, the share with the same wrong answer."
    )
    expected: float = Field(description="The number of equal wrong answers to expect if the two were independent.")
    deviations: float | None = Field(description="How many standard deviations `same_wrong` is above it.")


class NearDuplicatesShape(AnalysisHead):
    """Pairs of systems of different teams whose errors are the same."""

    model_config = reply_example(examples.NEAR_DUPLICATES)

    instances: int
    compared: int = Field(description="How many pairs of systems of different teams there are.")
    reported: int
    thresholds: dict[str, float]
    meaning: str
    pairs: list[ErrorPairShape] = Field(description="The reported pairs, then the next ones, 20 in all at least.")
    left_out_pairs: int


class ItemChange(Body):
    """An instance with its new gold: `label`, `labels`, or null, which voids it."""

    id: Annotated[str, Field(min_length=1, max_length=2000)]
    label: Label | None = None
    labels: Annotated[list[Label], Field(max_length=10_000)] | None = None

    @model_validator(mode="after")
    def _require_one_field(self) -> "ItemChange":
        if len(self.model_fields_set & {"label", "labels"}) != 1:
            raise ValueError("needs either label or labels; null voids the instance")
        return self

    def record(self) -> dict[str, Any]:
        """The change in the form of a scoring process."""
        labels = self.labels if self.label is None else [self.label]
        return {"id": self.id, "labels": labels}


class RelabellingBody(OptionalReason):
    """Instances with new labels, and why it is asked, which the audit trail keeps."""

    model_config = Body.model_config | request_example(changes=examples.CHANGES)

    changes: Annotated[list[ItemChange], Field(min_length=1, max_length=MAX_CHANGES)]


class RankMove(Shape):
    """A rank before and after; null without a rank."""

    before: int | None
    after: int | None


class ValueMove(Shape):
    """A value before and after; null where the metric has none."""

    before: float | None
    after: float | None


class MoveRow(Shape):
    """A system before and after the relabelling."""

    system: int
    rank: RankMove
    move: int | None = Field(description="By how many ranks it would rise; negative if it would fall.")
    values: dict[str, ValueMove]


class ChangeCounts(Shape):
    """What the changes do to instances."""

    relabelled: int
    voided: int
    unchanged: int = Field(description="How many were listed with the labels that they have.")


class SizeMove(Shape):
    """How many instances are scored before and after."""

    before: int
    after: int


class RelabellingShape(AnalysisHead):
    """What a relabelling would move."""

    model_config = reply_example(examples.RELABELLING)

    changes: ChangeCounts
    instances: SizeMove
    ranked_by: list[str]
    metrics: list[str]
    moved: int = Field(description="How many rows would have another rank.")
    rows: list[MoveRow] = Field(description="All rows, by their rank after the changes.")
    meaning: str
