"""The command that looks up metrics in the catalogue, without a service."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import AsJson, Task
from app.cli.terminal.metric_page import show_metric, show_presets, show_rows
from app.cli.terminal.output import CommandOutput, command_output
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import UNDEFINED

if TYPE_CHECKING:
    from rich.console import Console

    from app.scoring.declaration.metric import Metric

_DIRECTION_WORDS = {"higher": "higher", "lower": "lower", "none": UNDEFINED}
_Task = Annotated[
    Task | None, typer.Option("--task", metavar="TASK", help="Only metrics for binary, multiclass or multilabel tasks.")
]
_Needs = Annotated[
    list[str] | None,
    typer.Option("--needs", metavar="NEED", help="Only metrics that need this, e.g. scores or hierarchy; repeatable."),
]
_Search = Annotated[
    str | None, typer.Option("--search", metavar="WORDS", help="Only metrics with these words in key, name or source.")
]
_Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME", help="Show what a preset sets; with METRIC, the metric under it."),
]


def metrics(
    metric: Annotated[
        str | None,
        typer.Argument(metavar="METRIC", help="One metric, e.g. f1_macro or precision_at_k:k=5 (default: list all)."),
    ] = None,
    *,
    task: _Task = None,
    needs: _Needs = None,
    search: _Search = None,
    preset: _Preset = None,
    presets: Annotated[
        bool, typer.Option("--presets", help="List the presets, which set the conventions of other tools.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the metrics, or explain one: its equation, parameters, options, source and a worked example."""
    filtered = task is not None or needs or search is not None
    if (metric is not None or preset is not None or presets) and filtered:
        raise typer.BadParameter("--task, --needs and --search only filter the list of all metrics")
    if presets and (metric is not None or preset is not None):
        raise typer.BadParameter("--presets lists all presets; to show one, use --preset")
    with command_output(as_json=as_json) as out:
        if presets or (preset is not None and metric is None):
            _list_presets(out, preset)
        elif metric is None:
            _list_metrics(out, task, needs or (), search or "")
        else:
            _explain_metric(out, metric, preset)


def _list_metrics(out: CommandOutput, task: Task | None, needs: Sequence[str], search: str) -> None:
    from app.scoring.catalogue.description import describe_metric, search_metrics
    from app.scoring.declaration.requirements import NEED_MEANINGS

    unknown = [need for need in needs if need not in NEED_MEANINGS]
    if unknown:
        raise typer.BadParameter(f"'{unknown[0]}' is not one of {', '.join(NEED_MEANINGS)}", param_hint="--needs")
    matches = search_metrics(task, needs, search)
    # Descriptions take time to build, and only --json shows them.
    value = [describe_metric(metric) for metric in matches] if out.as_json else None
    out.result(value, lambda console: _show_list(console, matches))


def _explain_metric(out: CommandOutput, text: str, preset: str | None) -> None:
    from app.scoring.catalogue.description import default_call, describe_metric, explain_call
    from app.scoring.declaration.metric_parser import find_metric, parse_metric

    if ":" in text or preset is not None:
        entry = explain_call(parse_metric(text, options={} if preset is None else {"preset": preset}))
        out.result(entry, lambda console: show_metric(console, entry))
    else:
        metric = find_metric(text)
        out.result(describe_metric(metric), lambda console: show_metric(console, explain_call(default_call(metric))))


def _list_presets(out: CommandOutput, name: str | None) -> None:
    from app.scoring.catalogue.settings_description import describe_preset
    from app.scoring.declaration.convention_presets import PRESET_OPTION, PRESETS
    from app.scoring.declaration.metric_parser import parse_shared_options

    if name is None:
        presets = [describe_preset(preset) for preset in PRESETS.values()]
        out.result(presets, lambda console: show_presets(console, presets))
        return
    preset = describe_preset(PRESETS[parse_shared_options({PRESET_OPTION: name})[PRESET_OPTION]])
    out.result(preset, lambda console: show_presets(console, [preset]))


def _show_list(console: "Console", metrics: "Sequence[Metric]") -> None:
    """The metrics by family, each with its key, the better direction, and its name."""
    from app.scoring.metrics import FAMILY_BY_KEY

    for title, family in groupby(metrics, lambda metric: FAMILY_BY_KEY[metric.key].title):
        console.print(clean(title), style="bold", **PLAIN)
        show_rows(console, ((metric.key, _DIRECTION_WORDS[metric.direction], metric.name) for metric in family))
        console.print()
    count = "1 metric" if len(metrics) == 1 else f"{len(metrics)} metrics"
    console.print(f"{count}. assay metrics KEY explains one; --task, --needs, --search filter.", **PLAIN)
