"""The command that looks up the catalogue of metrics, without a service."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import AsJson, Task
from app.cli.terminal.metric_page import show_metric, show_presets, show_rows
from app.cli.terminal.output import Output, reporting
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import UNDEFINED

if TYPE_CHECKING:
    from rich.console import Console

    from app.scoring.declaration.metric import Metric

_BETTER = {"higher": "higher", "lower": "lower", "none": UNDEFINED}
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
    with reporting(as_json=as_json) as out:
        if presets or (preset is not None and metric is None):
            _presets(out, preset)
        elif metric is None:
            _list(out, task, needs or (), search or "")
        else:
            _one(out, metric, preset)


def _list(out: Output, task: Task | None, needs: Sequence[str], search: str) -> None:
    from app.scoring.catalogue.description import describe, matching
    from app.scoring.declaration.requirements import MEANINGS

    unknown = [need for need in needs if need not in MEANINGS]
    if unknown:
        raise typer.BadParameter(f"'{unknown[0]}' is none of {', '.join(MEANINGS)}", param_hint="--needs")
    found = matching(task, needs, search)
    out.result(
        [describe(metric) for metric in found] if out.as_json else None, lambda console: _show_list(console, found)
    )


def _one(out: Output, asked: str, preset: str | None) -> None:
    from app.scoring.catalogue.description import default_call, describe, explain
    from app.scoring.declaration.metric_parser import find, parse_metric

    if ":" in asked or preset is not None:
        entry = explain(parse_metric(asked, options={} if preset is None else {"preset": preset}))
        out.result(entry, lambda console: show_metric(console, entry))
    else:
        metric = find(asked)
        out.result(describe(metric), lambda console: show_metric(console, explain(default_call(metric))))


def _presets(out: Output, name: str | None) -> None:
    from app.scoring.catalogue.settings_index import describe_preset
    from app.scoring.declaration.metric_parser import agreed
    from app.scoring.declaration.presets import PRESET, PRESETS

    if name is None:
        every = [describe_preset(preset) for preset in PRESETS.values()]
        out.result(every, lambda console: show_presets(console, every))
        return
    one = describe_preset(PRESETS[agreed({PRESET: name})[PRESET]])
    out.result(one, lambda console: show_presets(console, [one]))


def _show_list(console: "Console", found: "Sequence[Metric]") -> None:
    """Families under their titles; of each metric the key, which way is better, and the name."""
    from app.scoring.metrics import FAMILY_OF

    for title, family in groupby(found, lambda one: FAMILY_OF[one.key].title):
        console.print(clean(title), style="bold", **PLAIN)
        show_rows(console, ((one.key, _BETTER[one.direction], one.name) for one in family))
        console.print()
    counted = "1 metric" if len(found) == 1 else f"{len(found)} metrics"
    console.print(f"{counted}. assay metrics KEY explains one; --task, --needs, --search choose.", **PLAIN)
