"""The command that scores predictions against a gold file, without a service."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.archived_scores import score_archive
from app.cli.input import value_parsing
from app.cli.input.gold_and_predictions import (
    GoldAndPredictions,
    metric_chooser,
    read_gold_and_predictions,
    report_problems_and_exit,
    wants_scores,
)
from app.cli.input.pairs_file import PairsOptions
from app.cli.options import (
    AsJson,
    Classes,
    DrawSeed,
    GoldLayout,
    Layout,
    Metrics,
    OptionalGold,
    OptionalPredictions,
    Options,
    Pairs,
    PairsLabelSeparator,
    PairsSeparator,
    PositiveLabel,
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


_PerClass = Annotated[bool, typer.Option("--per-class", help="Show counts and measures per class.")]
_Confusion = Annotated[bool, typer.Option("--confusion", help="Show the confusion matrix.")]
_All = Annotated[
    bool,
    typer.Option(
        "--all", help="Show all metrics by family, not only the common ones; with --archive, all submissions (default)."
    ),
]
_Archive = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Compute the scores of an archive of a phase again, and compare them with those in it.",
    ),
]
_Submission = Annotated[
    list[str] | None,
    typer.Option("--submission", metavar="ID", help="With --archive: only this submission; may be repeated."),
]
_Intervals = Annotated[
    bool,
    typer.Option("--ci", help="Show a 95 % interval of each score: what it might be on all instances like these."),
]
_Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        dir_okay=False,
        help="Write a detailed report to a .json file (classes, confusion, curves, calibration, folds) or .csv file (classes).",
    ),
]


@gold_metadata_options()
def score(
    *,
    gold: OptionalGold = None,
    predictions: OptionalPredictions = None,
    pairs: Pairs = None,
    separator: PairsSeparator = None,
    label_separator: PairsLabelSeparator = None,
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
    show_all: _All = False,
    report: _Report = None,
    ci: _Intervals = False,
    draw_seed: DrawSeed = "0",
    archive: _Archive = None,
    submission: _Submission = None,
    as_json: AsJson = False,
) -> None:
    """Score predictions against a gold file on this machine, with the same scorer as the service."""
    if archive is not None or submission:
        others = (gold, predictions, pairs, metric, option, preset, report, ci)
        score_archive(archive, submission or (), others=others, as_json=as_json)
        return
    options = value_parsing.parse_option_pairs(option or ()) | ({"preset": preset} if preset else {})
    of_pairs = PairsOptions(pairs, separator, label_separator)
    with command_output(as_json=as_json) as out, of_pairs.files(gold, predictions, layout or gold_layout) as given:
        tables = _checked_options(ScoreTableOptions(bool(metric), show_all, per_class, confusion), report)
        files = read_gold_and_predictions(
            given.gold,
            given.predictions,
            gold_layout=gold_layout,
            layout=layout,
            task=task,
            positive_label=positive_label,
            classes=classes,
            void=void,
            gold_metadata=gold_metadata,
            preset=options.get("preset"),
            pairs=given.pairs,
        )
        _score_files(out, files, metric or (), options, tables=tables, report_to=report, seed=draw_seed if ci else None)


def _checked_options(table_options: ScoreTableOptions, report: Path | None) -> ScoreTableOptions:
    """The options, unless they conflict or the format of the report is unknown."""
    if table_options.show_all and table_options.explicit:
        raise typer.BadParameter("not allowed with --metric", param_hint="--all")
    if report is not None and report.suffix.lower() not in {".json", ".csv"}:
        raise typer.BadParameter(f"'{report.name}' must end in .json or .csv", param_hint="--report")
    return table_options


def _score_files(
    out: CommandOutput,
    files: GoldAndPredictions,
    metrics: Sequence[str],
    options: Mapping[str, str],
    *,
    tables: ScoreTableOptions,
    report_to: Path | None,
    seed: str | None,
) -> None:
    needs_scores = report_to is not None or wants_scores(metrics)
    outcome = files.score(metric_chooser(metrics, options), options, wants_scores=needs_scores)
    if outcome.case is None:
        report_problems_and_exit(out, files, outcome)
    notes = _collect_notes(outcome, files.notes, outcome.calls).all()
    report = _build_report(outcome, options, confusion=tables.confusion) | {"notes": notes}
    if report_to is not None:
        _write_report(outcome, options, notes, report_to)
    groups = tables.groups(report["task"], outcome.calls)
    if seed is not None:
        shown = outcome.calls if out.as_json else [call for _, calls in groups for call in calls]
        report |= _build_intervals(outcome, shown, seed)
    out.result(report, lambda console: show_scores(console, report, groups, tables))
    if not out.as_json:
        shown = [call for _, calls in groups for call in calls]
        out.notes(_collect_notes(outcome, files.notes, shown).condensed())


def _collect_notes(outcome: "OfflineOutcome", general: Sequence[str], calls: "Sequence[MetricCall]") -> ScoreNotes:
    """The notes on these scores; every undefined value has one that gives the reason."""
    notes = ScoreNotes([*general, *outcome.notes])
    for call in calls:
        result = outcome.scores["all"][call.text]
        if result.value is None and result.data is None:
            notes.add_undefined(call.requested, str(result.reason))
        for note in result.notes:
            notes.add_for_metric(call.requested, note)
    return notes


def _build_report(outcome: "OfflineOutcome", options: Mapping[str, str], *, confusion: bool) -> dict[str, Any]:
    """The scores as JSON, at full precision."""
    from app.scoring.crosstab import confusion as confusion_of
    from app.scoring.numeric.unscaled_counts import scale_weighted_counts
    from app.scoring.reports.detailed_report import per_class_table

    case = outcome.case
    assert case is not None
    report: dict[str, Any] = {
        "task": case.spec.task,
        "n": case.gold.n,
        "classes": list(case.spec.classes),
        "metrics": _metric_values(outcome.calls, outcome.scores["all"]),
        "per_class": per_class_table(case, options),
    }
    data = {call.requested: outcome.scores["all"][call.text].data for call in outcome.calls if not call.metric.scalar}
    if data:
        report["data"] = data
    splits = {name: _metric_values(outcome.calls, scores) for name, scores in outcome.scores.items() if name != "all"}
    if splits:
        report["splits"] = splits
    if confusion and (case.spec.task == "multilabel" or case.acceptable):
        raise CommandError("no_confusion", "A confusion matrix needs one label per instance.", "Omit --confusion.")
    if confusion:
        report["confusion"] = scale_weighted_counts(confusion_of(case), case.weight_unit)
    return report


def _build_intervals(outcome: "OfflineOutcome", calls: "Sequence[MetricCall]", draw_seed: str) -> dict[str, Any]:
    """The intervals as JSON, by metric as it was requested, for all instances and each split."""
    found = outcome.intervals(calls, draw_seed)
    by_split = {
        split: {call.requested: some[call.text].to_dict() for call in calls if call.text in some}
        for split, some in found.items()
    }
    report: dict[str, Any] = {"intervals": by_split.pop("all"), "draw_seed": draw_seed}
    return report | ({"split_intervals": by_split} if by_split else {})


def _write_report(outcome: "OfflineOutcome", options: Mapping[str, str], notes: Sequence[str], path: Path) -> None:
    """Write the detailed report to a file, as CSV or JSON according to its suffix."""
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
    report = build_detailed_report(outcome.case, options, ["per_class"] if as_csv else None)
    with path.open("w", encoding="utf-8", newline="") as target:
        if as_csv:
            write_csv(report, "per_class", target)
        else:
            json.dump(head | report, target, ensure_ascii=False, allow_nan=False)


def _metric_values(calls: "Sequence[MetricCall]", results: "Mapping[str, Result]") -> dict[str, float | None]:
    return {call.requested: results[call.text].value for call in calls}
