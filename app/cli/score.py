"""The command that scores two files without a service."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.input import value_parsing
from app.cli.input.gold_and_predictions import (
    GoldAndPredictions,
    metric_chooser,
    read_gold_and_predictions,
    report_problems_and_exit,
    wants_scores,
)
from app.cli.options import (
    AsJson,
    Classes,
    Gold,
    GoldLayout,
    Layout,
    Metrics,
    Options,
    PositiveLabel,
    Predictions,
    Preset,
    TaskType,
    VoidIds,
    gold_metadata_options,
)
from app.cli.terminal.notes import ScoreNotes
from app.cli.terminal.output import CommandError, CommandOutput, command_output
from app.cli.terminal.score_tables import ScoreTableOptions, show_scores

if TYPE_CHECKING:
    from app.offline import OfflineOutcome
    from app.scoring.declaration.metric import MetricCall, Result


_PerClass = Annotated[bool, typer.Option("--per-class", help="Show the counts and measures of each class.")]
_Confusion = Annotated[bool, typer.Option("--confusion", help="Show the confusion matrix.")]
_All = Annotated[
    bool, typer.Option("--all", help="Without --metric: show all metrics by family, not only the common ones.")
]
_Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        dir_okay=False,
        help="Write the detailed report: classes, confusion, curves, calibration, folds as .json, or the classes as .csv.",
    ),
]


@gold_metadata_options()
def score(
    *,
    gold: Gold,
    predictions: Predictions,
    task: TaskType = None,
    positive_label: PositiveLabel = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    void: VoidIds = None,
    metric: Metrics = None,
    option: Options = None,
    preset: Preset = None,
    layout: Layout = None,
    gold_layout: GoldLayout = None,
    per_class: _PerClass = False,
    confusion: _Confusion = False,
    every: _All = False,
    report: _Report = None,
    as_json: AsJson = False,
) -> None:
    """Score a file of predictions against a gold file on this machine, with the service's own scorer."""
    options = value_parsing.parse_option_pairs(option or ()) | ({"preset": preset} if preset else {})
    with command_output(as_json=as_json) as out:
        _check_options(report, every=every, metrics=metric)
        files = read_gold_and_predictions(
            gold,
            predictions,
            gold_layout=gold_layout,
            layout=layout,
            task=task,
            positive_label=positive_label,
            classes=classes,
            void=void,
            beside=gold_metadata,
            preset=options.get("preset"),
        )
        _score_and_show(
            out,
            files,
            metric or (),
            options,
            shown=ScoreTableOptions(bool(metric), every, per_class, confusion),
            path=report,
        )


def _check_options(report: Path | None, *, every: bool, metrics: Sequence[str] | None) -> None:
    """Refuse --all beside --metric, and a file for the report whose name does not say the format."""
    if every and metrics:
        raise typer.BadParameter("it lists all metrics; leave --metric away", param_hint="--all")
    if report is not None and report.suffix.lower() not in {".json", ".csv"}:
        raise typer.BadParameter(f"'{report.name}' must end in .json or .csv", param_hint="--report")


def _score_and_show(
    out: CommandOutput,
    files: GoldAndPredictions,
    asked: Sequence[str],
    options: Mapping[str, str],
    *,
    shown: ScoreTableOptions,
    path: Path | None,
) -> None:
    outcome = files.score(metric_chooser(asked, options), options, wants_scores=wants_scores(asked) or path is not None)
    if outcome.case is None:
        files.check_positive_label(outcome)
        report_problems_and_exit(out, outcome)
    said = _collect_notes(outcome, files.notes, outcome.calls)
    report = _build_report(outcome, options, confusion=shown.confusion) | {"notes": said.all()}
    if path is not None:
        _write_report(outcome, options, said.all(), path)
    groups = shown.groups(report["task"], outcome.calls)
    out.result(report, lambda console: show_scores(console, report, groups, shown))
    if not out.as_json:
        listed = [call for _, calls in groups for call in calls]
        for note in _collect_notes(outcome, files.notes, listed).condensed():
            out.note(f"Note: {note}")


def _collect_notes(outcome: "OfflineOutcome", beside: Sequence[str], calls: "Sequence[MetricCall]") -> ScoreNotes:
    """All that is to be said about these scores; every null has a note that says why."""
    said = ScoreNotes([*beside, *outcome.notes])
    for call in calls:
        result = outcome.scores["all"][call.text]
        if result.value is None and result.data is None:
            said.undefined(call.requested, str(result.reason))
        for note in result.notes:
            said.add_for_metric(call.requested, note)
    return said


def _build_report(outcome: "OfflineOutcome", options: Mapping[str, str], *, confusion: bool) -> dict[str, Any]:
    """The scores as JSON, at full precision."""
    from app.scoring.crosstab import confusion as confusion_of
    from app.scoring.numeric.weight_scaling import scale_weighted_counts
    from app.scoring.reports.detailed_report import per_class_table

    case = outcome.case
    assert case is not None
    found: dict[str, Any] = {
        "task": case.spec.task,
        "n": case.gold.n,
        "classes": list(case.spec.classes),
        "metrics": _metric_values(outcome.calls, outcome.scores["all"]),
        "per_class": per_class_table(case, options),
    }
    data = {call.requested: outcome.scores["all"][call.text].data for call in outcome.calls if not call.metric.scalar}
    if data:
        found["data"] = data
    splits = {name: _metric_values(outcome.calls, scores) for name, scores in outcome.scores.items() if name != "all"}
    if splits:
        found["splits"] = splits
    if confusion and (case.spec.task == "multilabel" or case.acceptable):
        raise CommandError(
            "no_confusion", "A confusion matrix needs one label per instance.", "Leave --confusion away."
        )
    if confusion:
        found["confusion"] = scale_weighted_counts(confusion_of(case), case.weight_unit)
    return found


def _write_report(outcome: "OfflineOutcome", options: Mapping[str, str], notes: Sequence[str], path: Path) -> None:
    """Write the detailed report to a file, in the format that its name says."""
    import json

    from app.scoring import SCORER_VERSION
    from app.scoring.reports.detailed_report import build_detailed_report, write_csv

    assert outcome.case is not None
    as_csv = path.suffix.lower() == ".csv"
    head = {
        "scorer_version": SCORER_VERSION,
        "options": dict(options),
        "notes": list(notes),
        "metrics": _metric_values(outcome.calls, outcome.scores["all"]),
    }
    found = build_detailed_report(outcome.case, options, ["per_class"] if as_csv else None)
    with path.open("w", encoding="utf-8", newline="") as target:
        if as_csv:
            write_csv(found, "per_class", target)
        else:
            json.dump(head | found, target, ensure_ascii=False, allow_nan=False)


def _metric_values(calls: "Sequence[MetricCall]", results: "Mapping[str, Result]") -> dict[str, float | None]:
    return {call.requested: results[call.text].value for call in calls}
