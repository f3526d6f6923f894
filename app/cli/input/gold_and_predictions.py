"""Gold and predictions as offline commands are given them: two files, the task, and what stands beside the gold."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.cli.input import value_parsing
from app.cli.options import Task
from app.cli.terminal.output import EXIT_FAILED, CommandOutput
from app.cli.terminal.problem_tables import show_problems

if TYPE_CHECKING:
    from app.offline import OfflineOutcome
    from app.pipeline import SourceFile
    from app.scoring.declaration.metric import MetricCall
    from app.scoring.declaration.task import TaskSpec

    Choose = Callable[[TaskSpec, frozenset[str]], Sequence[MetricCall]]

# What cannot be said about predictions while the gold itself is in doubt.
_GOLD_DEPENDENT_CODES = frozenset({"unknown_id", "missing_instances", "unknown_label"})


@dataclass(frozen=True, slots=True)
class GoldAndPredictions:
    """What is scored: `notes` say what was taken for granted."""

    gold: "SourceFile"
    predictions: "SourceFile"
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
            metadata=self.beside,
            void=self.void,
            wants_scores=wants_scores,
            options=options,
        )

    def check_positive_label(self, outcome: "OfflineOutcome") -> None:
        """Say plainly that --positive-label names no label, where that is what is wrong with the gold."""
        if self.positive_label is None or not outcome.gold_problems:
            return
        from app.pipeline import load_gold, normalize_distinct

        found, _ = load_gold(self.gold, task="multiclass", classes=self.classes)
        if found is not None and normalize_distinct([self.positive_label])[0] not in found.spec.classes:
            value_parsing.refuse_positive_label(self.positive_label, found.spec.classes)


def read_gold_and_predictions(
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
) -> GoldAndPredictions:
    """Read what stands beside the two files; the task is guessed where nobody says it.

    `beside` names accessories of the gold and their files. Raises Refused, and BadParameter without a positive label.
    """
    kind, notes = (task, []) if task is not None else value_parsing.infer_task(gold, positive_label, gold_layout)
    named = None if classes is None else value_parsing.read_strings(classes)
    if kind == "binary" and positive_label is None:
        positive_label = value_parsing.default_positive_label(preset, named)
    if kind == "binary" and positive_label is None:
        raise typer.BadParameter("a binary task needs it", param_hint="--positive-label")
    return GoldAndPredictions(
        value_parsing.make_source(gold, gold_layout),
        value_parsing.make_source(predictions, layout),
        kind,
        positive_label,
        named,
        {name.replace("-", "_"): value for name, value in value_parsing.read_gold_metadata(beside or {}).items()},
        () if void is None else value_parsing.read_strings(void),
        notes,
    )


def metric_chooser(asked: Sequence[str], options: Mapping[str, str]) -> "Choose":
    """Which metrics to compute, once the vocabulary is known."""
    from app.scoring.declaration.metric_parser import applicable_metrics, check_options, parse_metric

    def choose(spec: "TaskSpec", has: frozenset[str]) -> "Sequence[MetricCall]":
        check_options(options, spec.classes)
        if not asked:
            return applicable_metrics(spec.task, options, has)
        calls = [parse_metric(text, options=options, task=spec.task, classes=spec.classes) for text in asked]
        value_parsing.check_hierarchy(spec, calls)
        return calls

    return choose


def wants_scores(asked: Sequence[str]) -> bool:
    """Whether a metric that was asked for needs scores, or all are wanted; else those beside labels are not looked at."""
    from app.errors import InvalidMetric
    from app.scoring.declaration.metric import RANKING, SCORES
    from app.scoring.declaration.metric_parser import find_metric

    if not asked:
        return True
    needs = set[str]()
    for text in asked:
        with suppress(InvalidMetric):  # which is said where the strings are read whole
            needs.update(find_metric(text.partition(":")[0].strip()).needs)
    return bool({SCORES, RANKING} & needs)


def report_problems_and_exit(out: CommandOutput, outcome: "OfflineOutcome") -> None:
    """Report the problems of both files in one answer, and end with status 1."""
    total: dict[str, int] = {}
    problems: list[dict[str, Any]] = []
    for name, found in (("gold", outcome.gold_problems), ("predictions", outcome.problems)):
        if name == "gold" or not outcome.gold_problems:
            beside: frozenset[str] = frozenset()
        else:
            beside = _GOLD_DEPENDENT_CODES
        listed = found.to_dict()
        for code, count in listed["total"].items():
            if code not in beside:
                total[code] = total.get(code, 0) + count
        problems += [{"file": name, **one} for one in listed["problems"] if one["code"] not in beside]
    stopped = {"total_at_least": True} if outcome.gold_problems.stopped or outcome.problems.stopped else {}
    report = {"valid": False, "total": total, **stopped, "problems": problems}
    if out.as_json:
        out.failure(report)
    else:
        show_problems(out.stderr_console, report)
    raise typer.Exit(EXIT_FAILED)
