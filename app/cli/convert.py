"""The command that finds the counts behind published figures, or proves that there are none."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.input import value_parsing
from app.cli.options import AsJson, file_option
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandError, command_output
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import UNDEFINED, CellFormatter, Column, format_numbers, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from app.analysis.convert.measures import ZeroDivisionRule
    from app.analysis.convert.statements import FigureFormat, PublishedFigures

_MAX_LISTED_VALUES = 4
_COUNT_NAMES = ("tp", "fp", "fn", "tn")


def _figure_option(name: str) -> Any:
    return typer.Option(f"--{name}", metavar="FIGURE", help=f"Reported {name}, exactly as printed: 0.78, 78.3%, 7/10.")


_N = Annotated[int | None, typer.Option("--n", metavar="N", min=1, help="Number of instances.")]
_Positives = Annotated[
    int | None, typer.Option("--positives", metavar="N", min=0, help="Number of positive instances (default: unknown).")
]
_Figures = Annotated[
    list[str] | None,
    typer.Option("--figure", metavar="NAME=FIGURE", help="Other figure, such as mcc=0.61 or f1_macro=70%; repeatable."),
]
_Table = Annotated[
    Path | None,
    file_option("--table", help="CSV or JSON, one row per class: label, size, precision, recall … (docs/convert.md)."),
]
_Multilabel = Annotated[
    bool, typer.Option("--multilabel", help="Several labels per instance; sizes need not sum to N.")
]
_Percent = Annotated[bool, typer.Option("--percent", help="Figures without a % sign are percentages too.")]
_Decimals = Annotated[
    int | None,
    typer.Option("--decimals", metavar="N", min=0, max=20, help="Number of decimals, if trailing zeros were left out."),
]
_Cut = Annotated[bool, typer.Option("--cut", help="Figures are truncated, not rounded.")]
_Undefined = Annotated[
    str,
    typer.Option("--undefined", metavar="CONVENTION", help="Value of 0/0: 0, 1, skip, worst, or any (tries them all)."),
]
_First = Annotated[int, typer.Option("--first", metavar="N", min=0, max=1_000, help="Number of solutions to show.")]
_Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=10**9, help="Number of steps after which a search stops.")
]


def convert(
    *,
    n: _N = None,
    positives: _Positives = None,
    precision: Annotated[str | None, _figure_option("precision")] = None,
    recall: Annotated[str | None, _figure_option("recall")] = None,
    f1: Annotated[str | None, _figure_option("f1")] = None,
    accuracy: Annotated[str | None, _figure_option("accuracy")] = None,
    specificity: Annotated[str | None, _figure_option("specificity")] = None,
    figure: _Figures = None,
    table: _Table = None,
    multilabel: _Multilabel = False,
    percent: _Percent = False,
    decimals: _Decimals = None,
    cut: _Cut = False,
    undefined: _Undefined = "any",
    first: _First = 10,
    limit: _Limit = 10_000,
    as_json: AsJson = False,
) -> None:
    """Find all counts that fit published figures, or prove that there are none.

    Exit status 0: some counts fit. 1: none fit. 3: the search stopped at --limit, undecided.
    """
    own = {"precision": precision, "recall": recall, "f1": f1, "accuracy": accuracy, "specificity": specificity}
    figures = _collect_figures(own, figure or ())
    if positives is not None and table is not None:
        raise typer.BadParameter("not allowed with --table, which has the class sizes", param_hint="--positives")
    with command_output(as_json=as_json) as out:
        from app.analysis.convert.statements import FigureFormat, PublishedFigures
        from app.cli.input.figures_file import read_statements

        plain = PublishedFigures((), figures, n, positives, not multilabel)
        statements = {"": plain} if table is None else read_statements(table, plain)
        settings = {"conventions": _parse_conventions(undefined), "first": first, "limit": limit}
        reports = _report_each_system(statements, FigureFormat(percent, decimals, cut), settings)
        fits = _all_fit(reports.values())
        systems = {"fits": fits, "systems": [{"system": name} | report for name, report in reports.items()]}
        out.result(reports[""] if list(reports) == [""] else systems, lambda console: _show_reports(console, reports))
    if not fits:
        raise typer.Exit(EXIT_STILL_WAITING if fits is None else EXIT_FAILED)


def _collect_figures(own: Mapping[str, str | None], others: Sequence[str]) -> dict[str, str]:
    """The figures of the named options, such as --recall, and of --figure."""
    figures = {name: text for name, text in own.items() if text is not None}
    for name, text in value_parsing.parse_option_pairs(others, "--figure").items():
        if name in figures:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint="--figure")
        figures[name] = text
    return figures


def _parse_conventions(undefined: str) -> "tuple[ZeroDivisionRule, ...]":
    """The conventions for 0/0 that --undefined names."""
    from app.analysis.convert.measures import ZERO_DIVISION_RULES

    rules = tuple(rule for rule in ZERO_DIVISION_RULES if undefined in {rule, "any"})
    if not rules:
        detail = f"'{undefined}' is not one of {', '.join(ZERO_DIVISION_RULES)}, any"
        raise typer.BadParameter(detail, param_hint="--undefined")
    return rules


def _report_each_system(
    statements: "Mapping[str, PublishedFigures]", printing: "FigureFormat", settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The report on each system."""
    from app.analysis.convert.report import report
    from app.errors import InvalidContent

    reports = {}
    for name, figures in statements.items():
        try:
            reports[name] = report(figures, printing, **settings)
        except InvalidContent as error:
            where = f"{name}: " if name else ""
            raise CommandError(error.code, f"{where}{error.detail}", error.advice) from None
    return reports


def _all_fit(reports: Iterable[Mapping[str, Any]]) -> bool | None:
    """Whether all systems fit: false if one does not, null if one is undecided."""
    fits = [report["fits"] for report in reports]
    return False if False in fits else None if None in fits else True


def _show_reports(console: "Console", reports: Mapping[str, Mapping[str, Any]]) -> None:
    for number, (name, report) in enumerate(reports.items()):
        if number:
            console.print()
        lead = f"{clean(name)}: " if name else ""
        console.print(lead + _summary(report), **PLAIN)
        if report["fits"]:
            _show_counts(console, report)
            for other in report["otherwise"]:
                console.print(_summary({**report, **other}), **PLAIN)
                _show_counts(console, {**report, **other})
        elif report["fits"] is False:
            _show_conflict(console, report)


def _summary(report: Mapping[str, Any]) -> str:
    """The result in one sentence."""
    count, figures = report["count"], len(report["figures"])
    of = f"{figures} figure{'' if figures == 1 else 's'} of {report['n']} instances"
    if report["fits"] is None:
        return f"Undecided: the search for counts that fit {of} stopped; raise --limit to continue."
    if not report["fits"]:
        return f"No counts fit {of}."
    least = "" if report["complete"] else "At least "
    return f"{least}{count} {'table' if count == 1 else 'tables'} of counts fit{'s' * (count == 1)} {of}{_undefined_clause(report)}."


def _undefined_clause(report: Mapping[str, Any]) -> str:
    """The value of 0/0 under which the counts fit, unless they fit under any convention."""
    meanings = {"worst": "the worst value of its measure", "0": "0", "1": "1", "skip": "nothing (left out)"}
    if meanings.keys() <= set(report["undefined"]):
        return ""
    meanings |= {"rate=0": "0 in a rate of informedness", "rate=1": "1 in a rate of informedness"}
    return f" where 0/0 counts as {' or '.join(meanings[rule] for rule in report['undefined'])}"


def _show_counts(console: "Console", report: Mapping[str, Any]) -> None:
    """For two classes, the counts of the first, one line per solution; for more, one line per class with the ranges."""
    solutions, ranges = report["counts"], report["ranges"]
    if report["exclusive"] and solutions and len(solutions[0]) == 2:
        label = next(iter(solutions[0]))
        rows = [solution[label] for solution in solutions]
        title = f"counts of '{label}'" + (f", the first {len(rows)}" if len(rows) < report["count"] else "")
        show_table(console, _count_columns(rows, format_numbers), title=title)
        if ranges is not None and len(rows) < report["count"]:
            spans = (f"{key} {_format_range(ranges[label][key])}" for key in _COUNT_NAMES)
            console.print(f"In all of them: {', '.join(spans)}.", **PLAIN)
    elif ranges is not None:
        columns = _count_columns(ranges.values(), lambda spans: [_format_range(span) for span in spans])
        show_table(console, [Column("class", list(ranges), wrap=True), *columns])
    elif solutions:
        columns = _count_columns(solutions[0].values(), format_numbers)
        show_table(console, [Column("class", list(solutions[0]), wrap=True), *columns], title="one of the solutions")


def _count_columns(rows: Iterable[Mapping[str, Any]], formatter: CellFormatter) -> list[Column]:
    rows = list(rows)
    return [Column(key, [row[key] for row in rows], formatter, right=True) for key in _COUNT_NAMES]


def _format_range(ends: Sequence[int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _show_conflict(console: "Console", report: Mapping[str, Any]) -> None:
    """The figures that contradict each other, the nearest possible values, and what each would be if it alone were wrong."""
    conflict = report["conflict"]
    figures = conflict["figures"]
    if not figures:
        reason = "their predictions do not add up to one per instance, or they need different conventions for 0/0"
        console.print(f"Each class fits alone, but not all together: {reason}.", **PLAIN)
        return
    joint, others = conflict["joint"], "the figures of the classes, each of which fits alone"
    if len(figures) == 1:
        lead = f"This figure contradicts {others}" if joint else "No counts give this figure"
    else:
        lead = f"These figures contradict each other and {others}" if joint else "These figures contradict each other"
    console.print(f"{lead}:", **PLAIN)
    columns = [
        Column("figure", [_figure_name(figure) for figure in figures], wrap=True),
        Column("printed", [figure["printed"] for figure in figures], right=True),
        Column("nearest below", [_format_nearest(figure["below"]) for figure in figures], right=True),
        Column("nearest above", [_format_nearest(figure["above"]) for figure in figures], right=True),
        Column("if all others are right", [_format_if_wrong(figure["without"]) for figure in figures], wrap=True),
    ]
    show_table(console, columns)
    if report["fits_if_cut"]:
        console.print("All figures fit if they were truncated instead of rounded: use --cut.", **PLAIN)


def _figure_name(figure: Mapping[str, Any]) -> str:
    return str(figure["figure"]) if figure["label"] is None else f"{figure['figure']} of '{figure['label']}'"


def _format_nearest(nearest: Mapping[str, Any] | None) -> str:
    if nearest is None:
        return UNDEFINED
    return (
        nearest["printed"]
        if nearest["fraction"] in {None, nearest["printed"]}
        else f"{nearest['printed']} ({nearest['fraction']})"
    )


def _format_if_wrong(without: Mapping[str, Any]) -> str:
    """What a figure would be if it alone were wrong."""
    if not without["fits"]:
        return "no counts fit either" if without["fits"] is False else "undecided"
    if without["printed"] and len(without["printed"]) <= _MAX_LISTED_VALUES:
        return " or ".join(without["printed"])
    return f"{'' if without['complete'] else 'at least '}{without['count']} tables of counts fit"
