"""How sure the order of a board is, for one metric and one split: one bootstrap that all ranked rows share.

All rows get the same instance weights in each draw (or the same weights of groups), so differences of rows are paired.
The weights follow from the draw seed, the split and the metric alone: a row that is added changes no draw of another.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import MetricCall
from app.scoring.draw_context import Counts
from app.scoring.evaluate import evaluate_call
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.tally import EvaluationContext
from app.scoring.uncertainty.board_plan import BoardPlan, plan_board
from app.scoring.uncertainty.board_tests import BoardTests
from app.scoring.uncertainty.draw_values import draw_values
from app.scoring.uncertainty.draws import unit_draws
from app.scoring.uncertainty.intervals import has_rare_classes
from app.scoring.uncertainty.paired import scored_ids
from app.scoring.uncertainty.rank_sets import Board, RankSets, rank_sets, widening_note
from app.scoring.uncertainty.resampling import group_places, in_order_of, prediction_codes
from app.scoring.uncertainty.seeds import RandomSource, derive_seed, random_source
from app.scoring.uncertainty.small_samples import Confirm

Floats = NDArray[np.float64]
BLOCK_CELLS = 2**24
"""Instances × draws that are in memory at a time."""
MAX_INSTANCE_DRAWS = 2 * 10**9
"""Instances × draws of one board; beyond it there are fewer draws."""
MAX_LISTED = 100
"""Pairs of so many first rows are listed."""


@dataclass(frozen=True, slots=True)
class BoardCase:
    """A ranked row: its key, and its evaluation input; all rows have the same instances in the same order."""

    key: str
    case: EvaluationInput


@dataclass(frozen=True, slots=True)
class BoardUncertainty:
    """The rank sets of a board, and the differences of its first rows.

    `keys` are those of the rows that were given, `values` their scores. `reason` says why there are no rank sets.
    """

    metric: str
    split: str
    keys: tuple[str, ...]
    values: tuple[float | None, ...]
    instances: int
    groups: int | None
    board: Board | None = None
    sets: RankSets | None = None
    differences: tuple["Difference", ...] = ()
    reason: str | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON: rows by descending score, pairs of the first rows."""
        sets = None if self.sets is None else self.sets.to_dict()
        rows = [
            {"key": key, "value": value} | ({} if sets is None else sets["rows"][at])
            for at, (key, value) in enumerate(zip(self.keys, self.values, strict=True))
        ]
        for row in rows:
            row["better_than"] = [self.keys[at] for at in cast("list[int]", row.get("better_than", []))]
        return {
            "metric": self.metric,
            "split": self.split,
            "n": self.instances,
            "groups": self.groups,
            "draws": None if sets is None else sets["draws"],
            "rows": rows,
            "pairs": [pair.to_dict() for pair in self.differences],
            "notes": [*self.notes, *([] if sets is None else sets["notes"])],
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference a - b of two rows, with the interval of this pair alone.

    `different`: whether the board calls the rows different; None where the pair was not compared. `p_value` is that of
    the exact test where one was made. `too_few`: the instances cannot tell.
    """

    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    different: bool | None
    p_value: float | None = None
    too_few: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        names = ("a", "b", "difference", "low", "high", "different", "p_value", "too_few")
        return {name: getattr(self, name) for name in names}


def board_uncertainty(
    entries: Sequence[BoardCase], ids: Sequence[str], call: MetricCall, *, draw_seed: str, split: str
) -> BoardUncertainty:
    """The rank sets of rows that were scored against the same gold; rows without a value have none.

    `ids` names the instances of all rows, in any order.
    """
    cases = aligned_cases(entries, ids)
    values = [evaluate_call(EvaluationContext(case), call).value for case in cases]
    facts: dict[str, Any] = {
        "metric": call.text,
        "split": split,
        "keys": tuple(entry.key for entry in entries),
        "values": tuple(values),
        "instances": cases[0].gold.n if cases else 0,
        "groups": group_count(cases),
    }
    reason = _reason_without(values, call)
    if reason is not None:
        return BoardUncertainty(**facts, reason=reason)
    plan = draw_plan(len(cases), facts["instances"])
    draws = board_draws(cases, [call], derive_seed(draw_seed, "board", split, call.text), plan.draws)[call.text]
    tester = BoardTests(cases, scored_ids(entries[0].case, ids), call, draw_seed=draw_seed, split=split)
    board = board_of(cases, call, values, draws, tester.test)
    sets = rank_sets(board)
    differences = _differences(facts["keys"], values, draws, sets)
    notes = list(plan.notes)
    if facts["groups"] is not None:
        single = [BoardCase(entry.key, replace(entry.case, groups=None)) for entry in entries]
        of_instances = board_uncertainty(single, ids, call, draw_seed=draw_seed, split=split).sets
        notes += [] if of_instances is None else [widening_note(sets, of_instances)]
    return BoardUncertainty(**facts, board=board, sets=sets, differences=tuple(differences), notes=tuple(notes))


def aligned_cases(entries: Sequence[BoardCase], ids: Sequence[str]) -> list[EvaluationInput]:
    """The inputs of all rows with the instances in the order of their ids, without those of weight 0."""
    return [in_order_of(entry.case, ids).without_zero_weights() for entry in entries]


def board_of(
    cases: Sequence[EvaluationInput],
    call: MetricCall,
    values: Sequence[float | None],
    draws: Floats,
    confirm: Confirm | None,
) -> Board:
    """What the rank sets of one metric are made from."""
    return Board(
        values=np.array([np.nan if value is None else value for value in values]),
        draws=draws,
        differing=differing_units(cases, call),
        instances=cases[0].gold.n,
        groups=group_count(cases),
        direction=cast("Literal['higher', 'lower']", call.metric.direction),
        rare_classes=has_rare_classes(cases[0]),
        confirm=confirm,
    )


def group_count(cases: Sequence[EvaluationInput]) -> int | None:
    """How many groups there are; None without groups."""
    if not cases or cases[0].groups is None:
        return None
    return len(np.unique(cases[0].groups.codes))


def _reason_without(values: Sequence[float | None], call: MetricCall) -> str | None:
    """Why there are no rank sets; None if there are."""
    if not values:
        return "No row is ranked."
    if call.metric.direction == "none":
        return f"{call.metric.key} has no better direction, so it gives no order."
    if all(value is None for value in values):
        return "No row has a value."
    if call.metric.interval.kind == "none":
        return call.metric.interval.reason
    return None


def draw_plan(rows: int, instances: int) -> BoardPlan:
    """How many draws a board of so many rows and instances gets."""
    plan = plan_board(rows)
    fewer = max(2_000, MAX_INSTANCE_DRAWS // max(1, instances))
    if fewer >= plan.draws:
        return plan
    note = f"With {instances:,} instances, {fewer:,} draws are made, to limit the computation."
    return BoardPlan(fewer, plan.leaders, (*plan.notes, note))


def board_draws(
    cases: Sequence[EvaluationInput], calls: Sequence[MetricCall], seed: bytes, draws: int
) -> dict[str, Floats]:
    """The values of all rows in the same draws, by metric: rows × draws."""
    found = {call.text: np.empty((len(cases), draws)) for call in calls}
    start = 0
    for block in _shared_blocks(cases[0], random_source(seed), draws):
        end, gold_sums = start + block.shape[1], dict[Hashable, Floats]()
        for at, case in enumerate(cases):
            for text, values in draw_values(case, calls, [block], gold_sums).items():
                found[text][at, start:end] = values
        start = end
    return found


def _shared_blocks(case: EvaluationInput, random: RandomSource, draws: int) -> Iterator[Counts]:
    """The multiplicities of instances × draws, as float32 where that is exact, a block of draws at a time."""
    n = case.gold.n
    size = max(1, BLOCK_CELLS // max(1, n))
    groups = None if case.groups is None else group_places(case.groups)
    for start in range(0, draws, size):
        count = min(size, draws - start)
        if groups is None:
            yield np.ascontiguousarray(unit_draws(random, n, count), dtype=np.float32 if n < 2**24 else np.float64)
        else:
            yield np.ascontiguousarray(unit_draws(random, groups.count, count)[groups.of_row], dtype=np.float64)


def differing_units(cases: Sequence[EvaluationInput], call: MetricCall) -> NDArray[np.int64]:
    """On how many instances, or groups where there are any, each two rows differ: rows × rows."""
    size = len(cases)
    codes = _small_codes(np.array([prediction_codes(case, call) for case in cases]))
    counts = np.zeros((size, size), dtype=np.int64)
    groups = None if cases[0].groups is None else group_places(cases[0].groups)
    if groups is not None:
        codes = codes[:, np.argsort(groups.of_row, kind="stable")]
    for at in range(size - 1):
        differs = codes[at + 1 :] != codes[at]
        if groups is not None:
            differs = np.logical_or.reduceat(differs, groups.starts, axis=1)
        counts[at, at + 1 :] = counts[at + 1 :, at] = differs.sum(axis=1)
    return counts


def _small_codes(codes: NDArray[np.int64]) -> NDArray[np.integer]:
    """The same codes in the smallest type, so that comparing them is fast."""
    low, high = int(codes.min(initial=0)), int(codes.max(initial=0))
    return codes.astype(np.int16) if low >= -(2**15) and high < 2**15 else codes


def _differences(
    keys: Sequence[str], values: Sequence[float | None], draws: Floats, sets: RankSets
) -> Iterator[Difference]:
    """The differences of the first rows, each with the rows after it."""
    rows = sorted((row for row in range(len(keys)) if sets.rows[row].rank_low is not None), key=_order_of(sets))
    rows = rows[:MAX_LISTED]
    for place, a in enumerate(rows):
        others = rows[place + 1 :]
        if not others:
            continue
        lows, highs = _percentiles(draws[a] - draws[others])
        for at, b in enumerate(others):
            first, second = values[a], values[b]
            assert first is not None
            assert second is not None
            different = bool(sets.better[a, b] or sets.better[b, a]) if sets.compared[a, b] else None
            test = sets.tests.get((a, b)) or sets.tests.get((b, a))
            yield Difference(
                keys[a],
                keys[b],
                first - second,
                lows[at],
                highs[at],
                different,
                None if test is None else test.p_value,
                (a, b) in sets.too_few or (b, a) in sets.too_few,
            )


def _order_of(sets: RankSets) -> Any:
    return lambda row: (sets.rows[row].rank, row)


def _percentiles(differences: Floats) -> tuple[list[float | None], list[float | None]]:
    """The percentile interval of each row of differences, without interpolation; None where draws are null."""
    count = differences.shape[1]
    below = max(0, (count + 1) // 40 - 1)
    parts = np.partition(differences, [below, count - 1 - below], axis=1)
    null = np.asarray(np.isnan(differences).any(axis=1))
    lows, highs = parts[:, below], parts[:, count - 1 - below]
    return (
        [None if missing else float(low) for low, missing in zip(lows, null, strict=True)],
        [None if missing else float(high) for high, missing in zip(highs, null, strict=True)],
    )
