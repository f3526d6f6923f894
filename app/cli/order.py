"""The command that says how sure the order of systems in a table is."""

import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.input import value_parsing
from app.cli.input.piped_files import spool_pipe
from app.cli.options import AsJson, DrawSeed, file_option
from app.cli.terminal.output import CommandError, CommandOutput, command_output

if TYPE_CHECKING:
    from app.analysis.order.matrix import ResultMatrix

_COLUMNS = ("system", "value", "low", "high", "rank", "rank_low", "rank_high", "tie_group", "first_share")
_Matrix = Annotated[
    Path,
    typer.Argument(
        callback=spool_pipe,
        metavar="MATRIX",
        help="CSV or TSV: a header of any name and instance ids; one row per system, its name first. - for stdin.",
    ),
]
_Lower = Annotated[bool, typer.Option("--lower-is-better", help="Values are losses or errors.")]
_Groups = Annotated[
    Path | None,
    file_option("--groups", help="JSON {id: group}: its document, patient, speaker. Groups are drawn whole."),
]
_Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Write a chart of the rank sets to this file.")
]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report to read in a browser.")]


def order(
    matrix: _Matrix,
    *,
    lower_is_better: _Lower = False,
    groups: _Groups = None,
    draw_seed: DrawSeed = "0",
    svg: _Svg = None,
    html: _Html = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say how sure an order is: intervals, rank sets and tie groups of the systems in a table of results."""
    if as_csv and as_json:
        raise typer.BadParameter("use only one of --csv and --json")
    with command_output(as_json=as_json) as out:
        from app.analysis.order.order_report import order_systems
        from app.cli.terminal.order_tables import show_order

        table = _read_table(matrix)
        known = None if groups is None else value_parsing.read_gold_metadata({"groups": groups})["groups"]
        with out.spinner("Drawing …"):
            report = order_systems(table, lower_is_better=lower_is_better, groups=known, draw_seed=draw_seed)
        _write_files(out, report, matrix.name, svg, html)
        if as_csv:
            _print_csv(report)
            out.notes([report["conclusion"], *report["notes"]])
            return
        out.result(report, lambda console: show_order(console, report))
        if not as_json:
            out.notes(report["notes"])


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
    writer.writerow(_COLUMNS)
    for row in report["rows"]:
        writer.writerow([escape_formula(row["system"]), *(row[name] for name in _COLUMNS[1:])])
