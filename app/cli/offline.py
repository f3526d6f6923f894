"""Commands that need no service: score two files, check predictions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import inputs
from app.cli.options import AsJson, Task
from app.cli.output import FAILED, Output, Refused, clean, number, reporting, show_problems, table

if TYPE_CHECKING:
    from rich.console import Console

    from app.pipeline import OfflineOutcome, Source
    from app.scoring.metric import MetricCall, Result
    from app.scoring.task import TaskSpec


def _file(*names: str, help: str) -> Any:  # noqa: A002 (typer's own word)
    return typer.Option(*names, exists=True, dir_okay=False, readable=True, help=help)


_Gold = Annotated[Path, _file("--gold", "-g", help="True labels: .json, .jsonl or .csv, also .gz.")]
_Predictions = Annotated[Path, _file("--predictions", "-p", help="Predictions, in the same formats.")]
_Classes = Annotated[Path | None, _file("--classes", help="JSON list of all classes (default: those that occur).")]
_Frequencies = Annotated[Path | None, _file("--train-frequencies", help="JSON {label: count} of the training data.")]
_Weights = Annotated[Path | None, _file("--class-weights", help="JSON {label: weight}.")]
_Void = Annotated[Path | None, _file("--void", help="JSON list of ids that are not scored.")]
_Task = Annotated[Task | None, typer.Option("--task", help="Task type (default: as the gold looks).")]
_Positive = Annotated[str | None, typer.Option("--positive-label", help="The label that a binary task is about.")]
_Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="Metric to compute; repeat it (default: all that fit).")
]
_Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="Convention for all metrics, as name=value; repeat it.")
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
    per_class: Annotated[bool, typer.Option("--per-class", help="Show the counts and measures of each class.")] = False,
    confusion: Annotated[bool, typer.Option("--confusion", help="Show the confusion matrix.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score a file of predictions against a gold file on this machine, with the service's own scorer."""
    options = inputs.option_pairs(option or ())
    with reporting(as_json=as_json) as out:
        kind, notes = (task, []) if task is not None else inputs.infer_task(gold, positive_label)
        if kind == "binary" and positive_label is None:
            raise typer.BadParameter("a binary task needs it", param_hint="--positive-label")
        from app.pipeline import score_offline

        outcome = score_offline(
            _source(gold),
            _source(predictions),
            _choice(metric or (), options),
            task=kind,
            classes=None if classes is None else inputs.strings(classes),
            positive_label=positive_label,
            train_frequencies=None if train_frequencies is None else inputs.frequencies(train_frequencies),
            class_weights=None if class_weights is None else inputs.weights(class_weights),
            void=() if void is None else inputs.strings(void),
        )
        if outcome.case is None:
            _refuse(out, outcome)
        report = _report(outcome, notes, options, confusion=confusion)
        out.result(report, lambda console: _show(console, report, per_class=per_class))
        if not as_json:
            for note in report["notes"]:
                out.note(f"Note: {note}")


def _source(path: Path) -> "Source":
    from app.formats import file_kind
    from app.pipeline import Source

    return Source(path, file_kind(path.name, None, None))


def _choice(asked: Sequence[str], options: Mapping[str, str]) -> "Callable[[TaskSpec], Sequence[MetricCall]]":
    """Which metrics to compute, once the vocabulary is known."""
    from app.scoring.recipe import all_fitting, parse_metric

    def choose(spec: "TaskSpec") -> "Sequence[MetricCall]":
        if not asked:
            return all_fitting(spec, options)
        return [parse_metric(text, options=options, task=spec.task, classes=spec.classes) for text in asked]

    return choose


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


def _report(
    outcome: "OfflineOutcome", notes: Sequence[str], options: Mapping[str, str], *, confusion: bool
) -> dict[str, Any]:
    """The scores as JSON, at full precision; every null has a note that says why."""
    from app.scoring import report

    case = outcome.case
    assert case is not None
    results = outcome.scores["all"]
    said = [*notes, *outcome.notes]
    for call in outcome.calls:
        result = results[call.text]
        if result.value is None:
            said.append(f"{call.asked} is undefined: {result.reason}")
        said += [f"{call.asked}: {note}" for note in result.notes]
    found: dict[str, Any] = {
        "task": case.spec.task,
        "n": case.gold.n,
        "classes": list(case.spec.classes),
        "metrics": _values(outcome.calls, results),
        "per_class": report.per_class(case, options),
    }
    splits = {name: _values(outcome.calls, scores) for name, scores in outcome.scores.items() if name != "all"}
    if splits:
        found["splits"] = splits
    if confusion and case.spec.task == "multilabel":
        raise Refused("no_confusion", "A confusion matrix needs one label per instance.", "Leave --confusion away.")
    if confusion:
        found["confusion"] = report.confusion(case)
    return found | {"notes": list(dict.fromkeys(said))}


def _values(calls: "Sequence[MetricCall]", results: "Mapping[str, Result]") -> dict[str, float | None]:
    return {call.asked: results[call.text].value for call in calls}


def _show(console: "Console", report: Mapping[str, Any], *, per_class: bool) -> None:
    many = len(report["classes"])
    console.print(f"{report['task']}, {report['n']} instances, {many} classes")
    splits = report.get("splits", {})
    rows = (
        (key, number(value), *(number(values[key]) for values in splits.values()))
        for key, value in report["metrics"].items()
    )
    console.print(table(("metric", "value", *splits), rows, right=("value", *splits)))
    if per_class:
        measures = list(next(iter(report["per_class"].values()), {}))
        lines = ((label, *(number(row[name]) for name in measures)) for label, row in report["per_class"].items())
        console.print(table(("class", *measures), lines, right=measures))
    if "confusion" in report:
        matrix = report["confusion"]
        labels = [clean(label) for label in matrix["labels"]]
        body = ((label, *row) for label, row in zip(labels, matrix["matrix"], strict=True))
        console.print(table(("gold \\ predicted", *labels), body, right=labels))
