"""The rules by which the labels of a phase are read: its own task, positive label and classes, or the challenge's."""

from typing import NamedTuple, cast

from app.scoring.declaration.task import TaskKind
from app.store.tables import Challenge, GoldVersion, Phase


class LabelRules(NamedTuple):
    """Task, positive label and declared classes; without declared classes, each gold has those of its labels."""

    task: TaskKind
    positive_label: str | None
    classes: list[str] | None


def of_challenge(challenge: Challenge) -> LabelRules:
    """The rules that the challenge states for all phases without rules of their own."""
    return LabelRules(cast("TaskKind", challenge.task), challenge.positive_label, challenge.classes)


def of_phase(phase: Phase) -> LabelRules:
    """The rules of a phase; the positive label of the challenge stays unless the phase has one or another task."""
    return combine(of_challenge(phase.challenge), phase.task, phase.positive_label, phase.classes)


def combine(shared: LabelRules, task: str | None, positive_label: str | None, classes: list[str] | None) -> LabelRules:
    """The rules of a phase that states these itself, in a challenge with these shared rules."""
    kind = cast("TaskKind", task or shared.task)
    positive_label = positive_label or (shared.positive_label if kind == "binary" else None)
    return LabelRules(kind, positive_label, classes if shared.classes is None else shared.classes)


def of_gold(version: GoldVersion) -> LabelRules:
    """The rules under which a version of the gold was read."""
    return LabelRules(cast("TaskKind", version.task), version.positive_label, version.classes)
