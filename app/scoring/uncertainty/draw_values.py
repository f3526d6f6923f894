"""The values of metrics in many draws, where a draw gives each row of an evaluation input a multiplicity.

A metric that declares `compute_draws` is computed for many draws at once. Every other one, and every option that such a
form does not cover, is evaluated by the engine for each draw, with the multiplicities as weights: the same definition,
more slowly.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.draw_context import Counts, DrawContext, Floats, NoDrawForm
from app.scoring.evaluate import evaluate_call, inapplicable_reason
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.tally import EvaluationContext

MAX_BLOCK_CELLS = 2**23
"""Rows × draws of one block, which bounds the memory."""


def block_size(rows: int) -> int:
    """How many draws one block holds for so many rows."""
    return max(1, MAX_BLOCK_CELLS // max(1, rows))


def blocks_of(multiplicities: Counts) -> Iterator[Counts]:
    """A matrix of rows × draws in blocks that `draw_values` takes."""
    size = block_size(len(multiplicities))
    for start in range(0, multiplicities.shape[1], size):
        yield multiplicities[:, start : start + size]


def draw_values(
    case: EvaluationInput,
    calls: Sequence[MetricCall],
    blocks: Iterable[Counts],
    gold_sums: dict[Hashable, Floats] | None = None,
) -> dict[str, Floats]:
    """The value of each metric in each draw by canonical string; NaN where the draw leaves it undefined.

    Each block is a matrix of rows × draws of whole numbers ≥ 0; a row with multiplicity 0 does not take part in a draw.
    `gold_sums` is shared by calls with the same single block for systems with the same gold (see `DrawContext`).
    """
    rows = EvaluationContext(case)
    assert rows.case.gold.n == case.gold.n, "instances without a known cell are left out before draws are made"
    parts: dict[str, list[Floats]] = {call.text: [] for call in calls}
    for block in blocks:
        for text, values in _block_values(rows, calls, block, gold_sums).items():
            parts[text].append(values)
    return {text: np.concatenate(values) if values else np.zeros(0) for text, values in parts.items()}


def _block_values(
    rows: EvaluationContext, calls: Sequence[MetricCall], block: Counts, gold_sums: dict[Hashable, Floats] | None
) -> dict[str, Floats]:
    try:
        draws = DrawContext(rows, block, gold_sums)
    except NoDrawForm:
        draws = None
    found: dict[str, Floats] = {}
    slow: list[MetricCall] = []
    for call in calls:
        if inapplicable_reason(rows, call.metric) is not None:
            found[call.text] = np.full(block.shape[1], np.nan)
            continue
        values = None if draws is None else _vectorized(draws, call)
        if values is None:
            slow.append(call)
        else:
            found[call.text] = np.where(draws.total > 0, values, np.nan) if draws is not None else values
    return found | _one_by_one(rows.case, slow, block)


def _vectorized(draws: DrawContext, call: MetricCall) -> Floats | None:
    """The values by the form for many draws; None where there is none."""
    if call.metric.compute_draws is None:
        return None
    try:
        return call.metric.compute_draws(draws, call)
    except NoDrawForm:
        return None
    except UndefinedError:  # for reasons that do not depend on the draw
        return np.full(draws.draws, np.nan)


def _one_by_one(case: EvaluationInput, calls: Sequence[MetricCall], block: Counts) -> dict[str, Floats]:
    """The values of each draw, evaluated by itself."""
    found = {call.text: np.full(block.shape[1], np.nan) for call in calls}
    if not calls:
        return found
    for at in range(block.shape[1]):
        draw = np.asarray(block[:, at], dtype=np.int64)
        weighted = EvaluationContext(_weighted(case, draw))
        repeated = None
        for call in calls:
            if call.metric.supports_weights:
                context = weighted
            else:
                repeated = repeated or EvaluationContext(case.take(np.repeat(np.arange(len(draw)), draw)))
                context = repeated
            value = evaluate_call(context, call).value
            found[call.text][at] = np.nan if value is None else value
    return found


def _weighted(case: EvaluationInput, draw: Counts) -> EvaluationInput:
    present = np.flatnonzero(draw)
    part, weights = case.take(present), draw[present]
    return replace(part, weights=weights if part.weights is None else part.weights * weights)
