"""The order of several systems, and how sure it is."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.order.html_report import html_report
from app.analysis.order.matrix import read_matrix
from app.analysis.order.order_predictions import order_predictions
from app.analysis.order.order_report import order_systems
from app.analysis.order.rank_chart import chart_file
from app.offline import in_id_order
from assay.inputs import Settings, Table, score_tables


@dataclass(frozen=True, slots=True)
class Order:
    """The report of `assay order --json`: rows best first, pairs, notes, and what a reader may conclude."""

    report: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a system: value, interval, rank, rank set, tie group, share of draws in which it is first."""
        return list(self.report["rows"])

    @property
    def conclusion(self) -> str:
        """What a reader may conclude, in a sentence."""
        return str(self.report.get("conclusion") or self.report.get("reason"))

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
    systems: Mapping[str, Table],
    *,
    metric: str | Sequence[str] = "f1_macro",
    task: str | None = None,
    positive_label: str | None = None,
    classes: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    void: Sequence[Any] = (),
    draw_seed: str = "0",
    **metadata: Any,
) -> Order:
    """Put systems in order by a metric; `systems` maps names to predictions. Raises InvalidInput.

    With several metrics the first gives the order, and `Order.rankings` has the rankings by all of them.
    """
    if not systems:
        raise ValueError("There are no systems to order.")
    metrics = [metric] if isinstance(metric, str) else list(metric)
    settings = Settings(metrics, task, positive_label, classes, options or {}, void, metadata)
    outcomes = score_tables(gold, list(systems.values()), settings)
    cases, ids = {}, list[str]()
    for name, outcome in zip(systems, outcomes, strict=True):
        cases[name], ids = in_id_order(outcome)
    of = settings.option_texts()
    return Order(order_predictions(cases, ids, outcomes[0].calls, options=of, draw_seed=draw_seed))


def order_table(
    results: Any,
    *,
    lower_is_better: bool = False,
    groups: Mapping[str, str] | None = None,
    draw_seed: str = "0",
) -> Order:
    """Put systems in order by a table of results: a mapping from systems to their values on each instance.

    The values of a system are a mapping from instance ids, or a list in the same order for all. 0 and 1 mean wrong and
    right.
    """
    if not results:
        raise ValueError("There are no systems to order.")
    first = next(iter(results.values()))
    ids = list(first) if isinstance(first, Mapping) else list(range(len(first)))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["system", *ids])
    for name, values in results.items():
        row = [values.get(key) for key in ids] if isinstance(values, Mapping) else list(values)
        writer.writerow([name, *("" if value is None else repr(float(value)) for value in row)])
    matrix = read_matrix(text.getvalue())
    return Order(order_systems(matrix, lower_is_better=lower_is_better, groups=groups, draw_seed=draw_seed))
