"""Versions of gold labels in replies, and how they differ."""

from pydantic import Field

from app.actions.versions.read_switches import SwitchView
from app.api.field_types import Moment, Shape, reply_example
from app.api.openapi import gold_examples
from app.api.recipes import InferenceShape
from app.api.switches import BLOCKED_DESCRIPTION, BlockedShape, SwitchProgress, SwitchShape, switch_shape
from app.store.tables import GoldVersion


class GoldChangeCounts(Shape):
    """How many instances changed in each way; one may be counted several times."""

    relabelled: int = Field(description="Scored in both versions, with other labels.")
    reweighted: int = Field(description="Scored in both versions, with other weights.")
    voided: int = Field(description="No longer scored.")
    restored: int = Field(description="Scored now, and void before.")
    moved: int = Field(description="In another split.")


class GoldClassCounts(Shape):
    """How many instances have each class before and after, by split (`all` without splits), in the order of classes."""

    before: dict[str, list[int]]
    after: dict[str, list[int]]


class GoldDifference(Shape):
    """How a version of the gold differs from the one that it follows, in numbers."""

    base: int = Field(description="The version that it is compared with.")
    counts: GoldChangeCounts
    changed: int = Field(description="How many instances changed.")
    class_counts: GoldClassCounts
    metadata: list[str] = Field(description="The kinds of metadata that differ.")


class GoldShape(Shape):
    """A version of the gold labels."""

    model_config = reply_example(gold_examples.GOLD)

    version: int
    status: str = Field(examples=["active"])
    instances: int
    classes: list[str]
    has_splits: bool
    public_instances: int | None = Field(description="How many instances are public; null without splits.")
    weighted: bool | None = Field(description="Whether instances have weights.")
    void_instances: int | None = Field(description="How many instances are not scored.")
    sha256: str
    commitment: str | None = Field(None, description="The commitment that receipts name; null until it is computed.")
    size: int
    format: str
    train_frequencies: dict[str, int] | None = None
    class_weights: dict[str, float] | None = None
    accessories: list[str] = Field(description="The kinds of metadata that this version has.")
    notes: list[str]
    draw_seed: str = Field(description="The public seed of all resampling with this gold; it is never drawn again.")
    created_at: Moment
    activated_at: Moment | None
    remarks: list[str] = Field(default_factory=list, description="Remarks for the organizer.")
    difference: GoldDifference | None = Field(
        None, description="How the version differs from the one that was active when it was uploaded; null for others."
    )
    inference: InferenceShape | None = Field(
        None, description="After activation: what scores can reveal about this gold."
    )
    switch: SwitchShape | None = Field(None, description="While it is `activating`: the pending switch of the board.")
    progress: SwitchProgress | None = Field(None, description="How far the switch has come; null without one.")
    eta: float | None = Field(None, description="Seconds until all submissions are scored, estimated.")
    blocked_by: list[BlockedShape] = Field(default_factory=list, description=BLOCKED_DESCRIPTION)


def gold_shape(version: GoldVersion, remarks: list[str] | None = None) -> GoldShape:
    """The shape of a stored version; called within its session."""
    columns = {name: getattr(version, name) for name in GoldShape.model_fields if hasattr(version, name)}
    metadata = version.accessories
    small = {name: metadata.get(name) for name in ("train_frequencies", "class_weights")}
    return GoldShape.model_validate(columns | small | {"accessories": sorted(metadata), "remarks": remarks or []})


def with_switch(shape: GoldShape, view: SwitchView | None) -> GoldShape:
    """The shape of a version together with the pending switch to it."""
    if view is None:
        return shape
    switch = switch_shape(view)
    shown = {"switch": switch, "progress": switch.progress, "eta": switch.eta, "blocked_by": switch.blocked_by}
    return shape.model_copy(update=shown)
