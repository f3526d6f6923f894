"""The tables of `assay what-if`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, describe_size
from app.cli.terminal.table_layout import Column, score_column, show_table
from app.text.visible_labels import visible_label

if TYPE_CHECKING:
    from rich.console import Console

_AVERAGES = ("macro", "micro", "lfb_train")


def show_what_if(console: "Console", report: Mapping[str, Any]) -> None:
    """Print the results of the changes that were tried; if there were none, the costs per label."""
    console.print(describe_size(report), **PLAIN)
    if report["changed"] is not None:
        _show_changed_predictions(console, report["changed"], weighted=report["weighted"])
    if report["prevalence"] is not None:
        prevalence, share = report["prevalence"], f"{report['prevalence']['share']:.6g}"
        title = f"share of positive instances: {prevalence['share_now']:.6g} now, {share} tried"
        _show_comparison(console, prevalence["metrics"], {"now": "now", f"at {share}": "at_prevalence"}, title)
    if report["change"] is not None:
        _show_average_change(console, report["averages"], report["change"])
    elif report["changed"] is None and report["prevalence"] is None:
        for average in ("macro", "lfb_train"):
            _show_costs(console, report["costs"], average, weighted=report["weighted"])


def _show_changed_predictions(console: "Console", changed: Mapping[str, Any], *, weighted: bool) -> None:
    label = changed["target_label"]
    columns = {"now": "now"}
    title = f"all wrong predictions changed to '{label}'"
    if "doubtful" in changed:
        columns["changed"] = "changed"
        doubtful, moved, before, after = (changed[key] for key in ("doubtful", "moved", "right_before", "right_after"))
        title = f"{doubtful} doubtful predictions, {moved} of them changed to '{label}': "
        if weighted:
            title = f"doubtful predictions of weight {doubtful}, {moved} of it changed to '{label}': "
        title += f"{before} right before, {after} after the change"
        if changed["expected_accuracy"] is not None:
            console.print(_describe_cut(changed), **PLAIN)
    _show_comparison(console, changed["metrics"], columns | {"upper bound": "upper"}, title)


def _describe_cut(changed: Mapping[str, Any]) -> str:
    """Where the cut by expected accuracy lies."""
    accuracy = f"{changed['expected_accuracy']:.6g}"
    if changed["last_score"] is None:
        return f"the expected accuracy is below {accuracy} at no score"
    return f"the most confident score with an expected accuracy below {accuracy} is {changed['last_score']:.6g}"


def _show_comparison(
    console: "Console", metrics: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str], title: str
) -> None:
    shown = [score_column(name, [row[key] for row in metrics.values()]) for name, key in columns.items()]
    show_table(console, [Column("metric", list(metrics)), *shown], title=title)


def _show_average_change(console: "Console", averages: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """Print the averages of precision and recall, and their changes."""
    names = [name for name in _AVERAGES if averages["recall"][name] is not None]
    columns = [Column("average", names)]
    for measure in ("precision", "recall"):
        columns.append(score_column(measure, [_change_value(averages[measure][name]) for name in names]))
        columns.append(score_column("change", [_change_value(change[measure][name]) for name in names]))
        columns.append(Column("exactly", [_format_fraction(change[measure][name]) for name in names], drop_priority=1))
    show_table(console, columns)


def _show_costs(console: "Console", costs: Mapping[str, Any], average: str, *, weighted: bool) -> None:
    """Print how an average changes if a label gives or receives false positives (precision) or gains true ones (recall)."""
    rows = costs["labels"].values()
    if all(row["receives"][average] is None for row in rows):
        return
    change = "a prediction changes" if costs["count"] == 1 else f"{costs['count']} predictions change"
    change = f"predictions of weight {costs['count']} change" if weighted else change
    columns = [Column("class", [visible_label(name) for name in costs["labels"]], wrap=True)]
    columns += [score_column(name, [row[name] for row in rows], drop_priority=1) for name in ("tp", "fp", "fn")]
    precisions = {"gives fp: precision": "gives", "receives fp: precision": "receives"}
    for name, key in precisions.items():
        columns.append(score_column(name, [_change_value(row[key] and row[key][average]) for row in rows]))
    gains = [_change_value(row["gains"] and row["gains"]["recall"][average]) for row in rows]
    columns.append(score_column("gains tp: recall", gains))
    show_table(console, columns, title=f"{average} averages where {change}")


def _change_value(exact: Mapping[str, Any] | None) -> float | None:
    return None if exact is None else exact["value"]


def _format_fraction(exact: Mapping[str, Any] | None) -> str:
    return "" if exact is None else str(exact["fraction"])
