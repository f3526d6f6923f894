"""The command that scores two files without a service."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.cli import inputs
from app.cli.layout import Column, numbers, score_column, show_table
from app.cli.notes import Notes
from app.cli.options import FORMATS, AsJson, Layout, Task, file_option
from app.cli.output import FAILED, Output, Refused, reporting
from app.cli.problems import show_problems
from app.cli.text import PLAIN

if TYPE_CHECKING:
    from rich.console import Console

    from app.pipeline import OfflineOutcome, Source
    from app.scoring.metric import MetricCall, Result
    from app.scoring.task import TaskSpec


_Gold = Annotated[Path, file_option("--gold", "-g", help=f"True labels: {FORMATS}.")]
_Predictions = Annotated[Path, file_option("--predictions", "-p", help="Predictions, in the same formats.")]
_Classes = Annotated[
    Path | None, file_option("--classes", help="JSON list of all classes (default: those that occur).")
]
_Frequencies = Annotated[
    Path | None, file_option("--train-frequencies", help="JSON {label: count} of the training data.")
]
_Weights = Annotated[Path | None, file_option("--class-weights", help="JSON {label: weight}.")]
_Void = Annotated[Path | None, file_option("--void", help="JSON list of ids that are not scored.")]
_Task = Annotated[
    Task | None,
    typer.Option("--task", metavar="TASK", help="binary, multiclass or multilabel (default: as the gold looks)."),
]
_Positive = Annotated[
    str | None, typer.Option("--positive-label", metavar="LABEL", help="The label that a binary task is about.")
]
_Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="METRIC", help="Metric to compute; repeat it (default: all that fit)."),
]
_Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Convention for all metrics, as name=value; repeat it."),
]

# What cannot be said about predictions while the gold itself is in doubt.
_HANGS_ON_GOLD = frozenset({"unknown_id", "missing_instances", "unknown_label"})


def score(
    *,
    gold: _Gold,
    predictions: _Predictions,
    task: _Task = None,
    positive_label: _Positive = None,
    classes: _Classes = None,
    train_frequencies: _Frequencies = None,
    class_weights: _Weights = None,
    void: _Void = None,
    metric: _Metrics = None,
    option: _Options = None,
    layout: Layout = None,
    gold_layout: Annotated[
        Literal["long"] | None, typer.Option("--gold-layout", metavar="LAYOUT", help="The same for the gold.")
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="Show the counts and measures of each class.")] = False,
    confusion: Annotated[bool, typer.Option("--confusion", help="Show the confusion matrix.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score a file of predictions against a gold file on this machine, with the service's own scorer."""
    options = inputs.option_pairs(option or ())
    with reporting(as_json=as_json) as out:
        kind, notes = (task, []) if task is not None else inputs.infer_task(gold, positive_label, gold_layout)
        if kind == "binary" and positive_label is None:
            raise typer.BadParameter("a binary task needs it", param_hint="--positive-label")
        from app.pipeline import score_offline

        outcome = score_offline(
            inputs.source(gold, gold_layout),
            inputs.source(predictions, layout),
            _choice(metric or (), options),
            task=kind,
            classes=None if classes is None else inputs.strings(classes),
            positive_label=positive_label,
            train_frequencies=None if train_frequencies is None else inputs.frequencies(train_frequencies),
            class_weights=None if class_weights is None else inputs.weights(class_weights),
            void=() if void is None else inputs.strings(void),
            wants_scores=_wants_scores(metric or ()),
            options=options,
        )
        if outcome.case is None:
            _check_positive(outcome, inputs.source(gold, gold_layout), positive_label, classes)
            _refuse(out, outcome)
        said = _notes(outcome, notes)
        report = _report(outcome, options, confusion=confusion) | {"notes": said.all()}
        out.result(report, lambda console: _show(console, report, per_class=per_class))
        if not as_json:
            for note in said.for_people():
                out.note(f"Note: {note}")


def _check_positive(
    outcome: "OfflineOutcome", gold: "Source", positive_label: str | None, classes: Path | None
) -> None:
    """Say plainly that --positive-label names no label, where that is what is wrong with the gold."""
    if positive_label is None or not outcome.gold_problems:
        return
    from app.pipeline import load_gold, normalized

    known = None if classes is None else inputs.strings(classes)
    found, _ = load_gold(gold, task="multiclass", classes=known)
    if found is not None and normalized([positive_label])[0] not in found.spec.classes:
        inputs.refuse_positive(positive_label, found.spec.classes)


def _choice(
    asked: Sequence[str], options: Mapping[str, str]
) -> "Callable[[TaskSpec, frozenset[str]], Sequence[MetricCall]]":
    """Which metrics to compute, once the vocabulary is known."""
    from app.scoring.asked import all_fitting, check_options, parse_metric

    def choose(spec: "TaskSpec", has: frozenset[str]) -> "Sequence[MetricCall]":
        check_options(options, spec.classes)
        if not asked:
            return all_fitting(spec.task, options, has)
        return [parse_metric(text, options=options, task=spec.task, classes=spec.classes) for text in asked]

    return choose


def _wants_scores(asked: Sequence[str]) -> bool:
    """Whether a metric that was asked for needs scores; else those beside labels are not looked at."""
    from app.scoring.metric import CATALOGUE, RANKING, SCORES

    keys = [text.partition(":")[0] for text in asked]
    return any({SCORES, RANKING} & set(CATALOGUE[key].needs) for key in keys if key in CATALOGUE)


def _refuse(out: Output, outcome: "OfflineOutcome") -> None:
    """Report the problems of both files in one answer, and end with status 1."""
    total: dict[str, int] = {}
    problems: list[dict[str, Any]] = []
    for name, found in (("gold", outcome.gold_problems), ("predictions", outcome.problems)):
        if name == "gold" or not outcome.gold_problems:
            beside: frozenset[str] = frozenset()
        else:
            beside = _HANGS_ON_GOLD
        listed = found.to_dict()
        for code, count in listed["total"].items():
            if code not in beside:
                total[code] = total.get(code, 0) + count
        problems += [{"file": name, **one} for one in listed["problems"] if one["code"] not in beside]
    report = {"valid": False, "total": total, "problems": problems}
    if out.as_json:
        out.failure(report)
    else:
        show_problems(out.aside, report)
    raise typer.Exit(FAILED)


def _notes(outcome: "OfflineOutcome", beside: Sequence[str]) -> Notes:
    """All that is to be said about the scores; every null has a note that says why."""
    said = Notes([*beside, *outcome.notes])
    for call in outcome.calls:
        result = outcome.scores["all"][call.text]
        if result.value is None:
            said.undefined(call.asked, str(result.reason))
        for note in result.notes:
            said.about(call.asked, note)
    return said


def _report(outcome: "OfflineOutcome", options: Mapping[str, str], *, confusion: bool) -> dict[str, Any]:
    """The scores as JSON, at full precision."""
    from app.scoring import report

    case = outcome.case
    assert case is not None
    found: dict[str, Any] = {
        "task": case.spec.task,
        "n": case.gold.n,
        "classes": list(case.spec.classes),
        "metrics": _values(outcome.calls, outcome.scores["all"]),
        "per_class": report.per_class(case, options),
    }
    splits = {name: _values(outcome.calls, scores) for name, scores in outcome.scores.items() if name != "all"}
    if splits:
        found["splits"] = splits
    if confusion and (case.spec.task == "multilabel" or case.acceptable):
        raise Refused("no_confusion", "A confusion matrix needs one label per instance.", "Leave --confusion away.")
    if confusion:
        found["confusion"] = report.confusion(case)
    return found


def _values(calls: "Sequence[MetricCall]", results: "Mapping[str, Result]") -> dict[str, float | None]:
    return {call.asked: results[call.text].value for call in calls}


def _show(console: "Console", report: Mapping[str, Any], *, per_class: bool) -> None:
    many = len(report["classes"])
    console.print(f"{report['task']}, {report['n']} instances, {many} classes", **PLAIN)
    keys = list(report["metrics"])
    splits = {name: [values[key] for key in keys] for name, values in report.get("splits", {}).items()}
    columns = [Column("metric", keys), score_column("value", list(report["metrics"].values()))]
    show_table(console, [*columns, *(score_column(name, values) for name, values in splits.items())])
    if per_class:
        console.print()
        _show_per_class(console, report["per_class"])
    if "confusion" in report:
        console.print()
        _show_confusion(console, report["confusion"])


def _show_per_class(console: "Console", rows: Mapping[str, Mapping[str, Any]]) -> None:
    measures = list(next(iter(rows.values()), {}))
    columns = [score_column(name, [row[name] for row in rows.values()], far=1) for name in measures]
    show_table(console, [Column("class", list(rows), wrap=True), *columns])


def _show_confusion(console: "Console", matrix: Mapping[str, Any]) -> None:
    counts = list(zip(*matrix["matrix"], strict=True))
    columns = [
        Column(label, counts[place], shown=numbers, right=True, far=1) for place, label in enumerate(matrix["labels"])
    ]
    show_table(console, [Column("gold \\ predicted", matrix["labels"], wrap=True), *columns])
