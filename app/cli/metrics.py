"""The command that looks up the catalogue of metrics, without a service."""

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
    Task | None, typer.Option("--task", metavar="TASK", help="Only those for binary, multiclass or multilabel tasks.")
]
_Needs = Annotated[
    list[str] | None,
    typer.Option("--needs", metavar="NEED", help="Only those that need this, e.g. scores or hierarchy; repeat it."),
]
_Search = Annotated[
    str | None, typer.Option("--search", metavar="WORDS", help="Only those with these words in keys, names or sources.")
]
_Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME", help="What a preset sets; with METRIC, that metric under the preset."),
]


def metrics(
    metric: Annotated[
        str | None,
        typer.Argument(metavar="METRIC", help="One metric, e.g. f1_macro or precision_at_k:k=5; none lists all."),
    ] = None,
    *,
    task: _Task = None,
    needs: _Needs = None,
    search: _Search = None,
    preset: _Preset = None,
    presets: Annotated[
        bool, typer.Option("--presets", help="List the presets: the conventions of named tools.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look up the catalogue of metrics: equation as used, parameters, options, source, worked example."""
    chosen = task is not None or needs or search is not None
    if (metric is not None or preset is not None or presets) and chosen:
        raise typer.BadParameter("--task, --needs and --search choose from the list of all metrics")
    if presets and (metric is not None or preset is not None):
        raise typer.BadParameter("--presets lists all of them; name one with --preset")
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
        raise typer.BadParameter(f"'{unknown[0]}' is none of {', '.join(NEED_MEANINGS)}", param_hint="--needs")
    found = search_metrics(task, needs, search)
    out.result(
        [describe_metric(metric) for metric in found] if out.as_json else None,
        lambda console: _show_list(console, found),
    )


def _explain_metric(out: CommandOutput, asked: str, preset: str | None) -> None:
    from app.scoring.catalogue.description import default_call, describe_metric, explain_call
    from app.scoring.declaration.metric_parser import find_metric, parse_metric

    if ":" in asked or preset is not None:
        entry = explain_call(parse_metric(asked, options={} if preset is None else {"preset": preset}))
        out.result(entry, lambda console: show_metric(console, entry))
    else:
        metric = find_metric(asked)
        out.result(describe_metric(metric), lambda console: show_metric(console, explain_call(default_call(metric))))


def _list_presets(out: CommandOutput, name: str | None) -> None:
    from app.scoring.catalogue.settings_index import describe_preset
    from app.scoring.declaration.metric_parser import parse_shared_options
    from app.scoring.declaration.presets import PRESET_OPTION, PRESETS

    if name is None:
        every = [describe_preset(preset) for preset in PRESETS.values()]
        out.result(every, lambda console: show_presets(console, every))
        return
    one = describe_preset(PRESETS[parse_shared_options({PRESET_OPTION: name})[PRESET_OPTION]])
    out.result(one, lambda console: show_presets(console, [one]))


def _show_list(console: "Console", found: "Sequence[Metric]") -> None:
    """Families under their titles; of each metric the key, which way is better, and the name."""
    from app.scoring.metrics import FAMILY_BY_KEY

    for title, family in groupby(found, lambda one: FAMILY_BY_KEY[one.key].title):
        console.print(clean(title), style="bold", **PLAIN)
        show_rows(console, ((one.key, _DIRECTION_WORDS[one.direction], one.name) for one in family))
        console.print()
    counted = "1 metric" if len(found) == 1 else f"{len(found)} metrics"
    console.print(f"{counted}. assay metrics KEY explains one; --task, --needs, --search choose.", **PLAIN)
