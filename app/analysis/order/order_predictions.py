"""How sure the order of systems is whose predictions were scored against one gold, and how other metrics order them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.analysis.order.order_report import describe_order
from app.scoring.declaration.metric import MetricCall
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.board import BoardCase, board_uncertainty
from app.scoring.uncertainty.intervals import intervals
from app.scoring.uncertainty.rankings import side_by_side


def gives_order(call: MetricCall) -> bool:
    """Whether systems can be ordered by a metric: a number of which higher or lower values are better."""
    return call.metric.scalar and call.metric.direction != "none"


def order_predictions(
    cases: Mapping[str, EvaluationInput],
    ids: Sequence[str],
    calls: Sequence[MetricCall],
    *,
    options: Mapping[str, str] | None = None,
    draw_seed: str = "0",
    split: str = "all",
) -> dict[str, Any]:
    """The report on systems by name, like that on a table. `ids` names the instances of all inputs, in any order.

    The first metric gives the order. With more of them, `rankings` has the ranks by each and by the averages of F1 that
    share a name, and the pairs that flip; `options` are the conventions of those averages. Without any value there is
    a `reason` instead of an order.
    """
    calls = list({call.text: call for call in calls}.values())
    call = calls[0]
    systems = sorted(cases)
    entries = [BoardCase(name, cases[name]) for name in systems]
    found = board_uncertainty(entries, ids, call, draw_seed=draw_seed, split=split)
    head = {"metric": call.text, "direction": call.metric.direction, "split": split, "draw_seed": draw_seed}
    if found.sets is None or found.board is None:
        return head | {"rows": [], "pairs": [], "n": found.instances, "notes": [], "reason": found.reason}
    spans = []
    for name, value in zip(systems, found.board.values.tolist(), strict=True):
        known = {call.text: None if np.isnan(value) else value}
        spans.append(intervals(cases[name], [call], known, ids, draw_seed=draw_seed, split=split)[call.text])
    report = head | describe_order(systems, found.board, found.sets, spans, found.notes)
    if len(calls) == 1:
        return report
    ranked = side_by_side(entries, ids, calls, draw_seed=draw_seed, split=split, options=options).to_dict()
    rows = {row.pop("key"): row for row in ranked["rows"]}
    ranked["rows"] = [{"system": row["system"], **rows[row["system"]]} for row in report["rows"]]
    return report | {"rankings": ranked}
