"""The command that finds counts from published figures, or proves that there are none."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.input import value_parsing
from app.cli.options import AsJson, file_option
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandError, command_output
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import UNDEFINED, Column, format_numbers, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from app.analysis.convert.measures import ZeroDivisionRule
    from app.analysis.convert.statements import FigureFormat, PublishedFigures

_MAX_LISTED_VALUES = 4  # values that are listed
_COUNT_NAMES = ("tp", "fp", "fn", "tn")


def _figure_option(name: str) -> Any:
    return typer.Option(f"--{name}", metavar="FIGURE", help=f"Reported {name}, as it is printed: 0.78, 78.3%, 7/10.")


_N = Annotated[int | None, typer.Option("--n", metavar="N", min=1, help="Number of instances.")]
_Positives = Annotated[
    int | None,
    typer.Option("--positives", metavar="N", min=0, help="How many of them are positive (default: unknown)."),
]
_Figures = Annotated[
    list[str] | None,
    typer.Option("--figure", metavar="NAME=FIGURE", help="Any other figure, as mcc=0.61 or f1_macro=70%; repeat it."),
]
_Table = Annotated[
    Path | None,
    file_option("--table", help="CSV or JSON, a row per class: label, size, precision, recall … (docs/convert.md)."),
]
_Multilabel = Annotated[
    bool, typer.Option("--multilabel", help="An instance may have several labels; sizes need not sum to N.")
]
_Percent = Annotated[bool, typer.Option("--percent", help="Figures are percentages, also without the sign.")]
_Decimals = Annotated[
    int | None,
    typer.Option("--decimals", metavar="N", min=0, max=20, help="Decimals, where zeros at the end were left out."),
]
_Cut = Annotated[bool, typer.Option("--cut", help="Digits were cut off, not rounded.")]
_Undefined = Annotated[
    str,
    typer.Option("--undefined", metavar="CONVENTION", help="What 0/0 counts as: 0, 1, skip, worst, or any of these."),
]
_First = Annotated[
    int, typer.Option("--first", metavar="N", min=0, max=1_000, help="Show so many of the counts that fit.")
]
_Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=10**9, help="Steps after which a search is cut.")
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
    """Find all counts that fit published figures, or prove that none do.

    Exit status 0: some counts fit. 1: none do. 3: the search was cut before it was decided.
    """
    own = {"precision": precision, "recall": recall, "f1": f1, "accuracy": accuracy, "specificity": specificity}
    given = _collect_figures(own, figure or ())
    if positives is not None and table is not None:
        detail = "goes without --table, where the sizes of the classes say it"
        raise typer.BadParameter(detail, param_hint="--positives")
    with command_output(as_json=as_json) as out:
        from app.analysis.convert.statements import FigureFormat, PublishedFigures

        plain = PublishedFigures((), given, n, positives, not multilabel)
        stated = {"": plain} if table is None else _read_statements(table, plain)
        how = {"conventions": _parse_conventions(undefined), "first": first, "limit": limit}
        reports = _report_each_system(stated, FigureFormat(percent, decimals, cut), how)
        fits = _all_fit(reports.values())
        many = {"fits": fits, "systems": [{"system": name} | one for name, one in reports.items()]}
        out.result(reports[""] if list(reports) == [""] else many, lambda console: _show_reports(console, reports))
    if not fits:
        raise typer.Exit(EXIT_STILL_WAITING if fits is None else EXIT_FAILED)


def _collect_figures(own: Mapping[str, str | None], others: Sequence[str]) -> dict[str, str]:
    """The figures of options of their own and of --figure."""
    given = {name: text for name, text in own.items() if text is not None}
    for name, text in value_parsing.parse_option_pairs(others, "--figure").items():
        if name in given:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint="--figure")
        given[name] = text
    return given


def _read_statements(path: Path, plain: "PublishedFigures") -> "dict[str, PublishedFigures]":
    from app.cli.input.figures_file import read_statements

    return read_statements(path, plain)


def _parse_conventions(undefined: str) -> "tuple[ZeroDivisionRule, ...]":
    """The conventions for 0/0 that --undefined names."""
    from app.analysis.convert.measures import ZERO_DIVISION_RULES

    found = tuple(one for one in ZERO_DIVISION_RULES if undefined in {one, "any"})
    if not found:
        raise typer.BadParameter(
            f"'{undefined}' is none of {', '.join(ZERO_DIVISION_RULES)}, any", param_hint="--undefined"
        )
    return found


def _report_each_system(
    stated: "Mapping[str, PublishedFigures]", printing: "FigureFormat", how: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What is found out about each system."""
    from app.analysis.convert.report import report
    from app.errors import InvalidContent

    found = {}
    for name, one in stated.items():
        try:
            found[name] = report(one, printing, **how)
        except InvalidContent as fault:
            where = f"{name}: " if name else ""
            raise CommandError(fault.code, f"{where}{fault.detail}", fault.advice) from None
    return found


def _all_fit(reports: Iterable[Mapping[str, Any]]) -> bool | None:
    """Whether all fit: false where one does not, null where one is not decided."""
    found = [one["fits"] for one in reports]
    return False if False in found else None if None in found else True


def _show_reports(console: "Console", reports: Mapping[str, Mapping[str, Any]]) -> None:
    for place, (name, report) in enumerate(reports.items()):
        if place:
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
    """The answer in one sentence."""
    count, figures = report["count"], len(report["figures"])
    of = f"{figures} figure{'' if figures == 1 else 's'} of {report['n']} instances"
    if report["fits"] is None:
        return f"Not decided: the search for counts that fit {of} was cut; a greater --limit goes on."
    if not report["fits"]:
        return f"No counts fit {of}."
    least = "" if report["complete"] else "At least "
    return f"{least}{count} {'table' if count == 1 else 'tables'} of counts fit{'s' * (count == 1)} {of}{_undefined_clause(report)}."


def _undefined_clause(report: Mapping[str, Any]) -> str:
    """What 0/0 has to count as, where the counts do not fit whatever it is."""
    meanings = {"worst": "the worst value of its measure", "0": "0", "1": "1", "skip": "nothing (left out)"}
    if meanings.keys() <= set(report["undefined"]):
        return ""
    meanings |= {"rate=0": "0 in a rate of informedness", "rate=1": "1 in a rate of informedness"}
    return f" where 0/0 counts as {' or '.join(meanings[one] for one in report['undefined'])}"


def _show_counts(console: "Console", report: Mapping[str, Any]) -> None:
    """Of two classes the counts of the first, a line per solution; of more a line per class, with what they can be."""
    solutions, ranges = report["counts"], report["ranges"]
    if report["exclusive"] and solutions and len(solutions[0]) == 2:
        label = next(iter(solutions[0]))
        rows = [one[label] for one in solutions]
        title = f"counts of '{label}'" + (f", the first {len(rows)}" if len(rows) < report["count"] else "")
        columns = [Column(key, [row[key] for row in rows], format_numbers, right=True) for key in _COUNT_NAMES]
        show_table(console, columns, title=title)
        if ranges is not None and len(rows) < report["count"]:
            spans = (f"{key} {_format_range(ranges[label][key])}" for key in _COUNT_NAMES)
            console.print(f"In all of them: {', '.join(spans)}.", **PLAIN)
    elif ranges is not None:
        columns = [
            Column(key, [_format_range(row[key]) for row in ranges.values()], right=True) for key in _COUNT_NAMES
        ]
        show_table(console, [Column("class", list(ranges), wrap=True), *columns])
    elif solutions:
        columns = [
            Column(key, [row[key] for row in solutions[0].values()], format_numbers, right=True) for key in _COUNT_NAMES
        ]
        show_table(console, [Column("class", list(solutions[0]), wrap=True), *columns], title="one of them")


def _format_range(ends: Sequence[int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _show_conflict(console: "Console", report: Mapping[str, Any]) -> None:
    """The figures that contradict each other, what each could be, and which one by itself may be the slip."""
    conflict = report["conflict"]
    figures = conflict["figures"]
    if not figures:
        console.print(
            "Each class fits by itself, but not all together: as they stand, their predictions do not come to"
        )
        console.print("one per instance, or they need different conventions for 0/0.", **PLAIN)
        return
    together = (
        "the classes, each of which fits by itself, can have together" if conflict["joint"] else "counts can have"
    )
    lead = f"This figure is none that {together}" if len(figures) == 1 else "These contradict each other"
    if conflict["joint"] and len(figures) > 1:
        lead = "These contradict each other and the figures of the classes, each of which fits by itself"
    console.print(f"{lead}:", **PLAIN)
    columns = [
        Column("figure", [_figure_name(one) for one in figures], wrap=True),
        Column("printed", [one["printed"] for one in figures], right=True),
        Column("nearest below", [_format_nearest(one["below"]) for one in figures], right=True),
        Column("nearest above", [_format_nearest(one["above"]) for one in figures], right=True),
        Column("if all others are right", [_format_if_wrong(one["without"]) for one in figures], wrap=True),
    ]
    show_table(console, columns)
    if report["fits_if_cut"]:
        console.print("All of them fit if digits were cut off instead of rounded: --cut.", **PLAIN)


def _figure_name(one: Mapping[str, Any]) -> str:
    return str(one["figure"]) if one["label"] is None else f"{one['figure']} of '{one['label']}'"


def _format_nearest(near: Mapping[str, Any] | None) -> str:
    if near is None:
        return UNDEFINED
    return near["printed"] if near["fraction"] in {None, near["printed"]} else f"{near['printed']} ({near['fraction']})"


def _format_if_wrong(found: Mapping[str, Any]) -> str:
    """What a figure would be if it alone were wrong."""
    if not found["fits"]:
        return "no counts fit either" if found["fits"] is False else "not decided"
    if found["printed"] and len(found["printed"]) <= _MAX_LISTED_VALUES:
        return " or ".join(found["printed"])
    return f"{'' if found['complete'] else 'at least '}{found['count']} tables of counts fit"
