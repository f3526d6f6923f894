"""The input of offline commands: a gold file, a predictions file, the task, and the gold metadata."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.cli.input import value_parsing
from app.cli.input.pairs_file import LabelPairs
from app.cli.options import Task
from app.cli.terminal.output import EXIT_FAILED, CommandOutput
from app.cli.terminal.problem_tables import show_problems

if TYPE_CHECKING:
    from app.offline import OfflineOutcome
    from app.pipeline import SourceFile
    from app.scoring.declaration.metric import MetricCall
    from app.scoring.declaration.task import TaskSpec

    Choose = Callable[[TaskSpec, frozenset[str]], Sequence[MetricCall]]

# Problems of predictions that may be due to problems of the gold, and are not reported along with those.
_GOLD_DEPENDENT_CODES = frozenset({"unknown_id", "missing_instances", "unknown_label"})


@dataclass(frozen=True, slots=True)
class GoldAndPredictions:
    """The input of an offline command; `notes` list the assumptions made."""

    gold: "SourceFile"
    predictions: "SourceFile"
    task: Task
    positive_label: str | None
    classes: list[str] | None
    gold_metadata: Mapping[str, Any]
    void: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    pairs: LabelPairs | None = None
    """The file of pairs that both sources were written from; None where they are files of the user."""

    def score(self, choose: "Choose", options: Mapping[str, str], *, wants_scores: bool) -> "OfflineOutcome":
        """Score the predictions with the metrics that `choose` returns."""
        from app.offline import score_offline

        return score_offline(
            self.gold, self.predictions, choose, wants_scores=wants_scores, options=options, **self.task_settings()
        )

    def task_settings(self) -> dict[str, Any]:
        """What is known of the task besides the files: settings of `score_offline`."""
        return {
            "task": self.task,
            "classes": self.classes,
            "positive_label": self.positive_label,
            "metadata": self.gold_metadata,
            "void": self.void,
        }

    def check_positive_label(self, outcome: "OfflineOutcome") -> None:
        """Refuse --positive-label if the gold has problems because that is not one of its labels."""
        if self.positive_label is None or not outcome.gold_problems:
            return
        from app.pipeline import load_gold, normalize_distinct

        gold, _ = load_gold(self.gold, task="multiclass", classes=self.classes)
        if gold is not None and normalize_distinct([self.positive_label])[0] not in gold.spec.classes:
            value_parsing.refuse_unknown_label(self.positive_label, gold.spec.classes, "--positive-label")


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
    gold_metadata: Mapping[str, Path | None] | None = None,
    preset: str | None = None,
    pairs: LabelPairs | None = None,
) -> GoldAndPredictions:
    """Read the gold metadata, and infer the task if it is not given; the two files themselves are read when scored.

    `gold_metadata` maps kinds of gold metadata to their files; `pairs` is what both files were written from. Raises Refused, and BadParameter if a positive label is missing.
    """
    kind, notes = (task, []) if task is not None else value_parsing.infer_task(gold, positive_label, gold_layout)
    class_names = None if classes is None else value_parsing.read_strings(classes)
    if kind == "binary" and positive_label is None:
        positive_label = value_parsing.default_positive_label(preset, class_names)
    if kind == "binary" and positive_label is None:
        raise typer.BadParameter("required for a binary task", param_hint="--positive-label")
    return GoldAndPredictions(
        value_parsing.make_source(gold, gold_layout),
        value_parsing.make_source(predictions, layout),
        kind,
        positive_label,
        class_names,
        {
            name.replace("-", "_"): value
            for name, value in value_parsing.read_gold_metadata(gold_metadata or {}).items()
        },
        () if void is None else value_parsing.read_strings(void),
        [*(() if pairs is None else pairs.notes), *notes],
        pairs,
    )


def metric_chooser(metrics: Sequence[str], options: Mapping[str, str]) -> "Choose":
    """A function that returns the metrics to compute, for when the classes are known."""
    from app.scoring.declaration.metric_parser import applicable_metrics, check_options, parse_metric

    def choose(spec: "TaskSpec", has: frozenset[str]) -> "Sequence[MetricCall]":
        check_options(options, spec.classes)
        if not metrics:
            return applicable_metrics(spec.task, options, has)
        calls = [parse_metric(text, options=options, task=spec.task, classes=spec.classes) for text in metrics]
        value_parsing.check_hierarchy(spec, calls)
        return calls

    return choose


def wants_scores(metrics: Sequence[str]) -> bool:
    """Whether a metric needs scores, or all metrics are computed; otherwise scores next to labels are not read."""
    from app.errors import InvalidMetric
    from app.scoring.declaration.metric import RANKING, SCORES
    from app.scoring.declaration.metric_parser import find_metric

    if not metrics:
        return True
    needs = set[str]()
    for text in metrics:
        with suppress(InvalidMetric):  # reported later, when the metric is parsed
            needs.update(find_metric(text.partition(":")[0].strip()).needs)
    return bool({SCORES, RANKING} & needs)


def _locate_in_own_file(file: str, problem: Mapping[str, Any]) -> dict[str, Any]:
    return {"file": file, **problem}


def report_problems_and_exit(
    out: CommandOutput, files: GoldAndPredictions, outcome: "OfflineOutcome", *, predictions: str = "predictions"
) -> None:
    """Report the problems of both files together, and exit with status 1; `predictions` names the second file."""
    files.check_positive_label(outcome)
    total = Counter[str]()
    problems: list[dict[str, Any]] = []
    for name, file_problems in (("gold", outcome.gold_problems), (predictions, outcome.problems)):
        omitted = _GOLD_DEPENDENT_CODES if name == predictions and outcome.gold_problems else frozenset[str]()
        document = file_problems.to_dict()
        total.update({code: count for code, count in document["total"].items() if code not in omitted})
        listed = [problem for problem in document["problems"] if problem["code"] not in omitted]
        locate = _locate_in_own_file if files.pairs is None else files.pairs.locate
        problems += [locate(name, problem) for problem in listed]
    stopped = {"total_at_least": True} if outcome.gold_problems.stopped or outcome.problems.stopped else {}
    report = {"valid": False, "total": dict(total), **stopped, "problems": problems}
    if out.as_json:
        out.failure(report)
    else:
        show_problems(out.stderr_console, report)
    raise typer.Exit(EXIT_FAILED)
