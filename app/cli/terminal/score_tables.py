"""The tables of `assay score`: scores, with the common metrics first, then per-class measures and confusion matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, describe_size
from app.cli.terminal.table_layout import Column, format_numbers, score_column, show_table
from app.text.visible_labels import visible_label

if TYPE_CHECKING:
    from rich.console import Console

    from app.scoring.declaration.metric import MetricCall
    from app.scoring.declaration.task import TaskKind

_MAX_DATA_ROWS = 50  # of one metric
_INTERVAL_COLUMNS = (("95 % from", "low"), ("to", "high"))


@dataclass(frozen=True, slots=True)
class ScoreTableOptions:
    """Which scores are shown; `explicit`: the metrics were requested by name, `show_all`: all metrics are shown, not only the common ones."""

    explicit: bool
    show_all: bool
    per_class: bool
    confusion: bool

    def groups(self, task: "TaskKind", calls: "Sequence[MetricCall]") -> "list[tuple[str, list[MetricCall]]]":
        """The metrics to show by title: the requested ones, else the common ones, with `show_all` followed by the families."""
        from app.scoring.catalogue.common_metrics import select_common_metrics
        from app.scoring.metrics import FAMILY_BY_KEY

        if self.explicit:
            return [("", [*calls])]
        common = select_common_metrics(task, calls)
        if common and not self.show_all:
            return [("", common)]
        others = (call for call in calls if call not in common)
        families = groupby(others, lambda call: FAMILY_BY_KEY[call.metric.key].title)
        return [("Common metrics", common), *((title, [*family]) for title, family in families)]


def show_scores(
    console: "Console",
    report: Mapping[str, Any],
    groups: "Sequence[tuple[str, Sequence[MetricCall]]]",
    options: ScoreTableOptions,
) -> None:
    """Print the scores by group, then the data of metrics without a single value, and the other requested tables."""
    console.print(describe_size(report), **PLAIN)
    data = report.get("data", {})
    for title, calls in groups:
        _show_group(console, report, title, [call.requested for call in calls if call.requested not in data])
    _show_interval_notes(console, report)
    omitted = len(report["metrics"]) - sum(len(calls) for _, calls in groups)
    if omitted and not options.explicit:
        console.print(f"{omitted} more metrics apply: --all shows them by family, --metric one.", **PLAIN)
    for key, value in data.items():
        _show_data(console, key, value)
    if options.per_class:
        console.print()
        _show_per_class(console, report["per_class"])
    if "confusion" in report:
        console.print()
        _show_confusion(console, report["confusion"])


def _show_group(console: "Console", report: Mapping[str, Any], title: str, keys: Sequence[str]) -> None:
    """Print a table of metrics, with a column for each split."""
    if not keys:
        return
    if title:
        console.print(f"\n{title}", style="bold", **PLAIN)
    splits = {name: [values[key] for key in keys] for name, values in report.get("splits", {}).items()}
    columns = [Column("metric", keys), score_column("value", [report["metrics"][key] for key in keys])]
    if "intervals" in report:
        ends = [report["intervals"].get(key, {}) for key in keys]
        columns += [score_column(name, [end.get(part) for end in ends]) for name, part in _INTERVAL_COLUMNS]
    show_table(console, [*columns, *(score_column(name, values) for name, values in splits.items())])


def _show_interval_notes(console: "Console", report: Mapping[str, Any]) -> None:
    """Print why intervals are missing, and what their notes say; equal sentences once, with the metrics they are about."""
    about: dict[str, list[str]] = {}
    for key, interval in report.get("intervals", {}).items():
        for sentence in filter(None, (interval["reason"], *interval["notes"])):
            about.setdefault(sentence, []).append(key)
    for sentence, keys in about.items():
        console.print(f"{', '.join(keys)}: {sentence}", style="dim", **PLAIN)


def _show_data(console: "Console", key: str, value: Any) -> None:
    """Print the first rows of the data of a metric that has no single value."""
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
    show_table(console, [Column("class", [visible_label(name) for name in rows], wrap=True), *columns])


def _show_confusion(console: "Console", matrix: Mapping[str, Any]) -> None:
    counts = list(zip(*matrix["matrix"], strict=True))
    labels = [visible_label(label) for label in matrix["labels"]]
    columns = [
        Column(label, column, format_numbers, right=True, drop_priority=1)
        for label, column in zip(labels, counts, strict=False)
    ]
    show_table(console, [Column("gold \\ predicted", labels, wrap=True), *columns])
