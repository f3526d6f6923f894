"""The command that compares two systems on the same gold, without a service."""

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
from app.cli.input.piped_files import spool_pipe
from app.cli.options import (
    AsJson,
    Classes,
    DrawSeed,
    Gold,
    GoldLayout,
    Layout,
    Options,
    PositiveLabel,
    Preset,
    TaskType,
    VoidIds,
    gold_metadata_options,
)
from app.cli.terminal.comparison_tables import show_comparison
from app.cli.terminal.notes import ScoreNotes
from app.cli.terminal.output import CommandOutput, command_output

if TYPE_CHECKING:
    from app.offline import OfflineOutcome
    from app.scoring.declaration.metric import MetricCall

_MAX_ROUNDS = 1_000_000


def _spool_both(ctx: typer.Context, value: list[Path]) -> list[Path]:
    return [path for each in value if (path := spool_pipe(ctx, each)) is not None]


_Both = Annotated[
    list[Path],
    typer.Option(
        "--predictions",
        "-p",
        metavar="FILE",
        callback=_spool_both,
        help="Predictions of a system; give it twice, first for a, then for b.",
    ),
]
_Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", metavar="METRIC", help="Metric to compare; repeatable (default: the common ones that apply)."
    ),
]
_Rounds = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        metavar="N",
        min=1,
        max=_MAX_ROUNDS,
        help="Random rounds of the test (default: 9999, fewer for metrics that take long).",
    ),
]
_All = Annotated[bool, typer.Option("--all", help="Compare all metrics that apply, not only the common ones.")]


@gold_metadata_options()
def compare(
    *,
    gold: Gold,
    predictions: _Both,
    task: TaskType = None,
    positive_label: PositiveLabel = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    void: VoidIds = None,
    metric: _Metrics = None,
    option: Options = None,
    preset: Preset = None,
    layout: Layout = None,
    gold_layout: GoldLayout = None,
    show_all: _All = False,
    draw_seed: DrawSeed = "0",
    rounds: _Rounds = None,
    as_json: AsJson = False,
) -> None:
    """Compare two systems: the difference of their scores, its interval, and whether it could be chance."""
    _check_both(predictions)
    if show_all and metric:
        raise typer.BadParameter("not allowed with --metric", param_hint="--all")
    options = value_parsing.parse_option_pairs(option or ()) | ({"preset": preset} if preset else {})
    with command_output(as_json=as_json) as out:
        files = read_gold_and_predictions(
            gold,
            predictions[0],
            gold_layout=gold_layout,
            layout=layout,
            task=task,
            positive_label=positive_label,
            classes=classes,
            void=void,
            gold_metadata=gold_metadata,
            preset=options.get("preset"),
        )
        outcomes = _score_both(out, files, value_parsing.make_source(predictions[1], layout), metric or (), options)
        applicable = _applicable_calls(outcomes, explicit=bool(metric))
        calls = applicable if metric or show_all else _common_calls(outcomes, applicable)
        notes = ScoreNotes([*files.notes, *outcomes[0].notes, *outcomes[1].notes])
        report = _compare(out, outcomes, calls, notes, draw_seed=draw_seed, rounds=rounds)
        report["files"] = {"a": str(predictions[0]), "b": str(predictions[1])}
        omitted = len(applicable) - len(calls)
        out.result(report, lambda console: show_comparison(console, report, omitted))
        if not as_json:
            out.notes(notes.condensed())


def _check_both(predictions: Sequence[Path]) -> None:
    """Refuse another number of prediction files than two."""
    if len(predictions) == 2:
        return
    found = "there is only one" if len(predictions) == 1 else f"there are {len(predictions)}"
    raise typer.BadParameter(f"needed twice, once for each system; {found}", param_hint="--predictions")


def _score_both(
    out: CommandOutput,
    files: GoldAndPredictions,
    second: Any,
    metrics: Sequence[str],
    options: Mapping[str, str],
) -> "list[OfflineOutcome]":
    """Both files scored against the same gold; the problems of the first that has some end the command."""
    from app.offline import score_systems_offline

    outcomes = score_systems_offline(
        files.gold,
        [files.predictions, second],
        metric_chooser(metrics, options),
        wants_scores=wants_scores(metrics),
        options=options,
        **files.task_settings(),
    )
    for outcome, name in zip(outcomes, ("predictions a", "predictions b"), strict=True):
        if outcome.case is None:
            report_problems_and_exit(out, files, outcome, predictions=name)
    return outcomes


def _applicable_calls(outcomes: "list[OfflineOutcome]", *, explicit: bool) -> "list[MetricCall]":
    """The metrics that were named, else all that apply to both systems."""
    first, second = outcomes
    if explicit:
        return list(first.calls)
    texts = {call.text for call in second.calls}
    return [call for call in first.calls if call.text in texts and call.metric.scalar]


def _common_calls(outcomes: "list[OfflineOutcome]", calls: "list[MetricCall]") -> "list[MetricCall]":
    """The common ones of these metrics; all of them if none is common."""
    from app.scoring.catalogue.common_metrics import select_common_metrics

    case = outcomes[0].case
    assert case is not None
    return select_common_metrics(case.spec.task, calls) or calls


def _compare(
    out: CommandOutput,
    outcomes: "list[OfflineOutcome]",
    calls: "Sequence[MetricCall]",
    notes: ScoreNotes,
    *,
    draw_seed: str,
    rounds: int | None,
) -> dict[str, Any]:
    """The comparison as JSON; adds the notes on each metric."""
    from app.offline import compare_outcomes
    from app.scoring.uncertainty.paired import SMALLEST_DIFFERENCE_DEFINITION, null_hypothesis

    with out.count_bar("Comparing") as progress:
        found = compare_outcomes(outcomes, calls, draw_seed=draw_seed, rounds=rounds, progress=progress)
    case = outcomes[0].case
    assert case is not None
    metrics = {}
    for call in calls:
        if call.text not in found:
            notes.add_for_metric(call.requested, "it is not a single number, so there is no difference")
            continue
        comparison = found[call.text]
        metrics[call.requested] = comparison.to_dict()
        if comparison.reason is not None:
            notes.add_for_metric(call.requested, comparison.reason)
        for note in comparison.notes:
            notes.add_for_metric(call.requested, note)
    return {
        "task": case.spec.task,
        "n": case.gold.n,
        "classes": list(case.spec.classes),
        "metrics": metrics,
        "null_hypothesis": null_hypothesis(case),
        "smallest_difference_definition": SMALLEST_DIFFERENCE_DEFINITION,
        "draw_seed": draw_seed,
        "notes": notes.all(),
    }
