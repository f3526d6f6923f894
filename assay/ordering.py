"""The order of several systems, and how sure it is."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.order.html_report import html_report
from app.analysis.order.matrix import read_matrix
from app.analysis.order.order_predictions import gives_order, order_predictions
from app.analysis.order.order_report import order_systems
from app.analysis.order.rank_chart import chart_file
from app.offline import in_id_order
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.scoring.declaration.metric_syntax import pluralize
from assay.inputs import (
    InvalidInput,
    Settings,
    Table,
    by_position,
    column_names,
    index_of,
    items,
    parts_by_id,
    refusals,
    score_tables,
    text_of,
)


@dataclass(frozen=True, slots=True, repr=False)
class Order:
    """The report of `assay order --json`: rows best first, pairs, notes, and what a reader may conclude."""

    report: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Order({self.conclusion})"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a system: value, interval, rank, rank set, tie group, share of draws in which it is first."""
        return list(self.report["rows"])

    @property
    def conclusion(self) -> str:
        """What a reader may conclude, in a sentence."""
        return str(self.report["conclusion"])

    @property
    def rankings(self) -> Mapping[str, Any] | None:
        """Ranks by several metrics, tau-b, the pairs that flip, and stability; None for an order by one metric."""
        return self.report.get("rankings")

    def svg(self) -> str:
        """The chart of the rank sets."""
        return chart_file(self.report)

    def html(self, name: str = "systems") -> str:
        """A report to read in a browser; notebooks can show it."""
        return html_report(self.report, name=name)

    def _repr_html_(self) -> str:
        return self.svg().partition("?>")[2].strip()


def order(
    gold: Table,
    systems: Mapping[Any, Table],
    *,
    metric: str | Sequence[str] = "f1_macro",
    task: str | None = None,
    positive_label: str | None = None,
    classes: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    void: Sequence[Any] = (),
    draw_seed: str | int = "0",
    **metadata: Any,
) -> Order:
    """Put systems in order by a metric; `systems` maps names to predictions. Raises InvalidInput.

    With several metrics the first gives the order, and `Order.rankings` has the rankings by all of them.
    """
    if not isinstance(systems, Mapping):
        raise InvalidInput("`systems` must map names to predictions: {name: predictions}.")
    if not systems:
        raise InvalidInput("There are no systems to order.")
    metrics = [metric] if isinstance(metric, str) else list(metric)
    if not metrics:
        raise InvalidInput("There is no metric to order by.")
    settings = Settings(metrics, task, positive_label, classes, options or {}, void, metadata)
    outcomes = score_tables(gold, list(systems.values()), settings)
    cases, ids = {}, list[str]()
    for name, outcome in zip(map(text_of, systems), outcomes, strict=True):
        if name in cases:
            raise InvalidInput(f"Two systems have the name '{name}' as text. Rename one of them.")
        cases[name], ids = in_id_order(outcome)
    for call in outcomes[0].calls:
        if not gives_order(call):
            raise InvalidInput(f"'{call.text}' has no better direction, so it gives no order. Choose another metric.")
    of = settings.option_texts()
    with refusals():
        report = order_predictions(cases, ids, outcomes[0].calls, options=of, draw_seed=str(draw_seed))
    if "reason" in report:
        raise InvalidInput(f"{report['reason']} Choose another metric, or check the predictions.")
    return Order(report)


def order_table(
    results: Any,
    *,
    lower_is_better: bool = False,
    groups: Mapping[Any, Any] | Sequence[Any] | None = None,
    draw_seed: str | int = "0",
) -> Order:
    """Put systems in order by a table of results: a mapping from systems to their values on each instance.

    The values of a system are a mapping from instance ids, a series with these as its index, or a list in the same
    order for all. 0 and 1 mean wrong and right. A data frame has one column per system and one row per instance.
    `groups` maps instance ids to groups, or is a list in the order of the instances. Raises InvalidInput.
    """
    systems = _by_system(results)
    if not systems:
        raise InvalidInput("There are no systems to order.")
    first = next(iter(systems.values()))
    ids = list(first) if isinstance(first, Mapping) else list(range(len(first)))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["system", *ids])
    for name, values in systems.items():
        writer.writerow([name, *map(_cell, _in_order(name, values, ids))])
    with refusals():
        matrix = read_matrix(text.getvalue())
        known = None
        if groups is not None:
            by_id = groups if isinstance(groups, Mapping) else by_position("groups", groups, [*map(text_of, ids)])
            known = GOLD_METADATA_KINDS["groups"].parse(parts_by_id(by_id))
        return Order(order_systems(matrix, lower_is_better=lower_is_better, groups=known, draw_seed=str(draw_seed)))


def _by_system(results: Any) -> dict[Any, Any]:
    """The values of each system: a list, or a mapping from instance ids."""
    if hasattr(results, "columns"):
        names = column_names(results)
        columns = {name: items(results[name]) for name in names}
        ids = columns.pop("id", None) or index_of(results)
        return columns if ids is None else {name: _with_ids(ids, values) for name, values in columns.items()}
    if not isinstance(results, Mapping):
        detail = f"Results cannot be {type(results).__name__}, which has no names of systems."
        raise InvalidInput(f"{detail} Give a mapping {{system: values}}, or a data frame with one column per system.")
    return {name: _values(name, values) for name, values in results.items()}


def _values(system: Any, values: Any) -> Any:
    if isinstance(values, Mapping):
        return values
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        detail = f"The results of '{system}' are {type(values).__name__}: {str(values)[:40]!r}."
        raise InvalidInput(f"{detail} Give one value for each instance, not their mean: a list or a mapping from ids.")
    ids = index_of(values)
    return items(values) if ids is None else _with_ids(ids, items(values))


def _with_ids(ids: Sequence[Any], values: Sequence[Any]) -> Any:
    """By id, unless ids are repeated: then the reader must see all of them."""
    found = dict(zip(ids, values, strict=True))
    if len(found) < len(values):
        raise InvalidInput(
            "Instance ids are repeated in the index of the results. Give each instance an id of its own."
        )
    return found


def _in_order(system: Any, values: Any, ids: Sequence[Any]) -> list[Any]:
    """The values of a system in the order of the ids; None where it has none."""
    if not isinstance(values, Mapping):
        if len(values) != len(ids):
            detail = f"'{system}' has {pluralize(len(values), 'value')}, the first system {len(ids):,}."
            raise InvalidInput(f"{detail} Give one value for each instance.")
        return list(values)
    known = set(ids)
    unknown = [key for key in values if key not in known]
    if unknown:
        detail = f"'{system}' has a value for instance '{unknown[0]}', which the first system does not have."
        raise InvalidInput(f"{detail} Give all systems values for the same instances.")
    return [values.get(key) for key in ids]


def _cell(value: Any) -> str:
    """A number as text with all its digits; other text is left to the reader, which names its place."""
    try:
        return "" if value is None else repr(float(value))
    except (TypeError, ValueError):
        return str(value)
