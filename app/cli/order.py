"""The command that says how sure the order of systems in a table is."""

import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.input import value_parsing
from app.cli.input.piped_files import spool_pipe
from app.cli.input.prediction_folder import order_folder
from app.cli.options import (
    AsJson,
    Classes,
    DrawSeed,
    Options,
    PositiveLabel,
    TaskType,
    file_option,
    gold_metadata_options,
)
from app.cli.terminal.output import CommandError, CommandOutput, command_output

if TYPE_CHECKING:
    from app.analysis.order.matrix import ResultMatrix

_COLUMNS = ("system", "value", "low", "high", "rank", "rank_low", "rank_high", "tie_group", "first_share")


def _spool_table(ctx: typer.Context, value: Path) -> Path | None:
    return value if value.is_dir() else spool_pipe(ctx, value)


_Matrix = Annotated[
    Path,
    typer.Argument(
        callback=_spool_table,
        metavar="MATRIX",
        help="CSV or TSV: a header of any name and instance ids; one row per system, its name first. - for stdin. "
        "Or a folder of prediction files, with --gold.",
    ),
]
_Lower = Annotated[bool, typer.Option("--lower-is-better", help="Values are losses or errors.")]
_Gold = Annotated[
    Path | None,
    file_option("--gold", "-g", help="Gold, if the argument is a folder of prediction files, one file a system."),
]
_Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="METRIC",
        help="What systems are ordered by (default: f1_macro). Repeat it to see the rankings by other metrics beside it.",
    ),
]
_Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Write a chart of the rank sets to this file.")
]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report to read in a browser.")]


@gold_metadata_options()
def order(
    matrix: _Matrix,
    *,
    lower_is_better: _Lower = False,
    gold: _Gold = None,
    metric: _Metrics = None,
    task: TaskType = None,
    positive_label: PositiveLabel = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    option: Options = None,
    draw_seed: DrawSeed = "0",
    svg: _Svg = None,
    html: _Html = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say how sure an order is: intervals, rank sets and tie groups of the systems in a table or folder of results."""
    if as_csv and as_json:
        raise typer.BadParameter("use only one of --csv and --json")
    with command_output(as_json=as_json) as out:
        from app.cli.terminal.order_tables import show_order

        if matrix.is_dir():
            settings: dict[str, Any] = {"task": task, "positive_label": positive_label, "classes": classes}
            settings |= {"gold_metadata": gold_metadata}
            if lower_is_better:
                raise typer.BadParameter("the metric of a folder has its own direction", param_hint="--lower-is-better")
            pairs = value_parsing.parse_option_pairs(option or ())
            report = order_folder(
                out, matrix, gold, settings, metrics=metric or ["f1_macro"], options=pairs, draw_seed=draw_seed
            )
        else:
            _refuse_unused(gold=gold, metric=metric, task=task, positive_label=positive_label, classes=classes)
            _refuse_unused(option=option, **{name: path for name, path in gold_metadata.items() if name != "groups"})
            report = _order_table(out, matrix, gold_metadata["groups"], draw_seed, lower_is_better=lower_is_better)
        _write_files(out, report, matrix.name, svg, html)
        if as_csv:
            _print_csv(report)
            out.notes([report["conclusion"], *report["notes"]])
            return
        out.result(report, lambda console: show_order(console, report))
        if not as_json:
            out.notes(report["notes"])


def _refuse_unused(**given: Any) -> None:
    """Refuse options that a table has no use for."""
    for name, value in given.items():
        if value is not None:
            hint = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("applies to a folder of prediction files, not to a table", param_hint=hint)


def _order_table(
    out: CommandOutput, matrix: Path, groups: Path | None, draw_seed: str, *, lower_is_better: bool
) -> dict[str, Any]:
    from app.analysis.order.order_report import order_systems

    table = _read_table(matrix)
    known = None if groups is None else value_parsing.read_gold_metadata({"groups": groups})["groups"]
    with out.spinner("Drawing …"):
        return order_systems(table, lower_is_better=lower_is_better, groups=known, draw_seed=draw_seed)


def _read_table(path: Path) -> "ResultMatrix":
    from app.analysis.order.matrix import read_matrix

    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    try:
        text = value_parsing.read_text(path)
    except UnicodeDecodeError:
        raise CommandError("syntax", f"{path} is not text in UTF-8.", "Save the table as CSV in UTF-8.") from None
    header = text.partition("\n")[0]
    separators = [mark for mark in ("\t", ";", ",") if mark in header]
    return read_matrix(text, "\t" if name.endswith((".tsv", ".tab")) else ([*separators, ","])[0])


def _write_files(out: CommandOutput, report: Mapping[str, Any], name: str, svg: Path | None, html: Path | None) -> None:
    from app.analysis.order.html_report import html_report
    from app.analysis.order.rank_chart import chart_file

    makers: list[tuple[Path | None, Callable[[], str]]] = [
        (svg, lambda: chart_file(report)),
        (html, lambda: html_report(report, name=name)),
    ]
    for path, make in makers:
        if path is not None:
            path.write_text(make(), encoding="utf-8")
            out.note(f"Written: {path}")


def _print_csv(report: Mapping[str, Any]) -> None:
    from app.text.spreadsheet_cells import escape_formula

    writer = csv.writer(sys.stdout, lineterminator="\n")
    rankings = report.get("rankings", {"metrics": [], "rows": []})
    others = [each["metric"] for each in rankings["metrics"]][1:]
    ranks = {row["system"]: [row["ranks"][metric] for metric in others] for row in rankings["rows"]}
    writer.writerow([*_COLUMNS, *(f"rank by {metric}" for metric in others)])
    for row in report["rows"]:
        name = row["system"]
        writer.writerow([escape_formula(name), *(row[column] for column in _COLUMNS[1:]), *ranks.get(name, ())])
