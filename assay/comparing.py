"""The difference of two systems."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.offline import compare_outcomes
from app.scoring.uncertainty.paired import PairComparison as Comparison
from assay.inputs import InvalidInput, Settings, Table, refusals, score_tables

__all__ = ["Comparison", "compare"]


def compare(
    gold: Table,
    a: Table,
    b: Table,
    *,
    metrics: Sequence[str],
    task: str | None = None,
    positive_label: str | None = None,
    classes: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    void: Sequence[Any] = (),
    draw_seed: str | int = "0",
    rounds: int | None = None,
    **metadata: Any,
) -> dict[str, Comparison]:
    """Compare two systems by each metric: difference a - b, its interval, p-value, and what could have been shown.

    The arguments are those of `score`; `rounds` is the number of random rounds of the test. Raises InvalidInput.
    """
    settings = Settings(metrics, task, positive_label, classes, options or {}, void, metadata)
    outcomes = score_tables(gold, [a, b], settings)
    calls = outcomes[0].calls
    for call in calls:
        if not call.metric.scalar:
            raise InvalidInput(
                f"'{call.requested}' is not a single number, so it has no difference. Choose another metric."
            )
    with refusals():
        found = compare_outcomes(
            outcomes, calls, draw_seed=str(draw_seed), rounds=rounds, progress=lambda _done, _total: None
        )
    return {call.requested: found[call.text] for call in calls if call.text in found}
