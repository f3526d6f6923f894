"""Gold and predictions as offline commands are given them: two files, the task, and what stands beside the gold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.cli import inputs
from app.cli.options import Task

if TYPE_CHECKING:
    from app.offline import OfflineOutcome
    from app.pipeline import Source
    from app.scoring.metric import MetricCall
    from app.scoring.task import TaskSpec

    Choose = Callable[[TaskSpec, frozenset[str]], Sequence[MetricCall]]


@dataclass(frozen=True, slots=True)
class TwoFiles:
    """What is scored: `notes` say what was taken for granted."""

    gold: "Source"
    predictions: "Source"
    task: Task
    positive_label: str | None
    classes: list[str] | None
    beside: Mapping[str, Any]
    void: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)

    def score(self, choose: "Choose", options: Mapping[str, str], *, wants_scores: bool) -> "OfflineOutcome":
        """Score them with the metrics that `choose` names."""
        from app.offline import score_offline

        return score_offline(
            self.gold,
            self.predictions,
            choose,
            task=self.task,
            classes=self.classes,
            positive_label=self.positive_label,
            beside=self.beside,
            void=self.void,
            wants_scores=wants_scores,
            options=options,
        )

    def check_positive(self, outcome: "OfflineOutcome") -> None:
        """Say plainly that --positive-label names no label, where that is what is wrong with the gold."""
        if self.positive_label is None or not outcome.gold_problems:
            return
        from app.pipeline import load_gold, normalized

        found, _ = load_gold(self.gold, task="multiclass", classes=self.classes)
        if found is not None and normalized([self.positive_label])[0] not in found.spec.classes:
            inputs.refuse_positive(self.positive_label, found.spec.classes)


def two_files(
    gold: Path,
    predictions: Path,
    *,
    gold_layout: str | None = None,
    layout: str | None = None,
    task: Task | None = None,
    positive_label: str | None = None,
    classes: Path | None = None,
    void: Path | None = None,
    beside: Mapping[str, Path | None] | None = None,
    preset: str | None = None,
) -> TwoFiles:
    """Read what stands beside the two files; the task is guessed where nobody says it.

    `beside` names accessories of the gold and their files. Raises Refused, and BadParameter without a positive label.
    """
    kind, notes = (task, []) if task is not None else inputs.infer_task(gold, positive_label, gold_layout)
    named = None if classes is None else inputs.strings(classes)
    if kind == "binary" and positive_label is None:
        positive_label = inputs.first_positive(preset, named)
    if kind == "binary" and positive_label is None:
        raise typer.BadParameter("a binary task needs it", param_hint="--positive-label")
    return TwoFiles(
        inputs.source(gold, gold_layout),
        inputs.source(predictions, layout),
        kind,
        positive_label,
        named,
        {name.replace("-", "_"): value for name, value in inputs.accessories(beside or {}).items()},
        () if void is None else inputs.strings(void),
        notes,
    )
