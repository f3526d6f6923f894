"""The tables of `assay score`: the scores, the common metrics first, then classes and confusion matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, describe_size
from app.cli.terminal.table_layout import Column, format_numbers, score_column, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from app.scoring.declaration.metric import MetricCall
    from app.scoring.declaration.task import TaskKind

_MAX_DATA_ROWS = 50  # shown of the data of one metric


@dataclass(frozen=True, slots=True)
class ScoreTableOptions:
    """What is shown of the scores; `chosen` says that the metrics were named, `every` that all of them are wanted."""

    chosen: bool
    every: bool
    per_class: bool
    confusion: bool

    def groups(self, task: "TaskKind", calls: "Sequence[MetricCall]") -> "list[tuple[str, list[MetricCall]]]":
        """The metrics to show under their titles: those that were named, else the common ones, then families."""
        from app.scoring.catalogue.common_metrics import select_common_metrics
        from app.scoring.metrics import FAMILY_BY_KEY

        if self.chosen:
            return [("", [*calls])]
        first = select_common_metrics(task, calls)
        if first and not self.every:
            return [("", first)]
        rest = (call for call in calls if call not in first)
        families = groupby(rest, lambda call: FAMILY_BY_KEY[call.metric.key].title)
        return [("Common metrics", first), *((title, [*family]) for title, family in families)]


def show_scores(
    console: "Console",
    report: Mapping[str, Any],
    groups: "Sequence[tuple[str, Sequence[MetricCall]]]",
    shown: ScoreTableOptions,
) -> None:
    """Print the scores in these groups, then what else was asked for."""
    console.print(describe_size(report), **PLAIN)
    data = report.get("data", {})
    for title, calls in groups:
        _show_group(console, report, title, [call.requested for call in calls if call.requested not in data])
    left_out = len(report["metrics"]) - sum(len(calls) for _, calls in groups)
    if left_out and not shown.chosen:
        console.print(f"{left_out} more metrics fit these data: --all shows them by family, --metric one.", **PLAIN)
    for key, value in data.items():
        _show_data(console, key, value)
    if shown.per_class:
        console.print()
        _show_per_class(console, report["per_class"])
    if "confusion" in report:
        console.print()
        _show_confusion(console, report["confusion"])


def _show_group(console: "Console", report: Mapping[str, Any], title: str, keys: Sequence[str]) -> None:
    """A table of these metrics, with a column for each split."""
    if not keys:
        return
    if title:
        console.print(f"\n{title}", style="bold", **PLAIN)
    splits = {name: [values[key] for key in keys] for name, values in report.get("splits", {}).items()}
    columns = [Column("metric", keys), score_column("value", [report["metrics"][key] for key in keys])]
    show_table(console, [*columns, *(score_column(name, values) for name, values in splits.items())])


def _show_data(console: "Console", key: str, value: Any) -> None:
    """The data of a metric that is no number, as a table; the first rows of many."""
    from app.scoring.reports.detailed_report import table_rows

    console.print(f"\n{key}", **PLAIN)
    if value is None:
        return
    rows = list(islice(table_rows(value), _MAX_DATA_ROWS + 1))
    columns = [score_column(name, [row.get(name) for row in rows[:_MAX_DATA_ROWS]]) for name in rows[0]] if rows else []
    show_table(console, columns)
    if len(rows) > _MAX_DATA_ROWS:
        console.print("… more rows: --json", **PLAIN)


def _show_per_class(console: "Console", rows: Mapping[str, Mapping[str, Any]]) -> None:
    measures = list(next(iter(rows.values()), {}))
    columns = [score_column(name, [row[name] for row in rows.values()], drop_priority=1) for name in measures]
    show_table(console, [Column("class", list(rows), wrap=True), *columns])


def _show_confusion(console: "Console", matrix: Mapping[str, Any]) -> None:
    counts = list(zip(*matrix["matrix"], strict=True))
    columns = [
        Column(label, counts[place], formatter=format_numbers, right=True, drop_priority=1)
        for place, label in enumerate(matrix["labels"])
    ]
    show_table(console, [Column("gold \\ predicted", matrix["labels"], wrap=True), *columns])
