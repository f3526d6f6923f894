"""The same submissions ranked by several metrics, side by side: ranks, Kendall's tau-b, the pairs that flip, stability.

Averaging choices share names and reorder systems. A pair flips between two metrics if one ranks it strictly one way and
the other strictly the other way. It is a significant flip if the rank sets of both metrics call the two rows different.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidMetric
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.requirements import needs_met_by, unmet_need_reason
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.board import BoardCase, aligned_cases, board_draws, board_of, draw_plan
from app.scoring.uncertainty.board_tests import BoardTests
from app.scoring.uncertainty.paired import scored_ids
from app.scoring.uncertainty.rank_sets import RankSets, rank_sets
from app.scoring.uncertainty.seeds import derive_seed
from app.scoring.uncertainty.small_samples import Pair, PairTest

Floats = NDArray[np.float64]
DRAWS = 2_000
MAX_FLIPS = 1_000
"""So many flips are listed, the significant ones first; the counts hold all of them."""
_MAX_TAU_NUMBERS = 2 * 10**8  # pairs of rows × draws, for the stability of one ranking
_DECIMALS = 12  # of draws, so that ties do not depend on the order in which classes are summed
CONFUSED_AVERAGES = (
    "f1_macro",
    "f1_of_averages_macro",
    "f1_micro",
    "f1_weighted",
    "f1_lfb_train",
    "f1_samples",
    "f1_of_averages_samples",
)
"""The averages of F1 that the literature calls by the same names."""


@dataclass(frozen=True, slots=True)
class Flip:
    """Two rows that two metrics rank the other way round: the first metric ranks `a` before `b`."""

    a: str
    b: str
    metrics: tuple[str, str]
    significant: bool


@dataclass(frozen=True, slots=True)
class Stability:
    """How a ranking holds under resampling: tau-b between it and those of the draws, and how often its leader leads."""

    tau_mean: float | None
    tau_low: float | None
    tau_high: float | None
    same_first: float | None


@dataclass(frozen=True, slots=True)
class Rankings:
    """Ranks by row and metric (1 is best, None without a value), tau-b with its number of rows, flips and stability."""

    split: str
    instances: int
    keys: tuple[str, ...]
    calls: tuple[MetricCall, ...]
    recipe: tuple[str, ...]
    values: dict[str, tuple[float | None, ...]]
    ranks: dict[str, tuple[int | None, ...]]
    tau: dict[str, dict[str, float | None]]
    tau_rows: dict[str, dict[str, int]]
    flips: tuple[Flip, ...]
    flip_counts: dict[str, dict[str, int]]
    significant_flips: int
    stability: dict[str, Stability]
    draws: int
    notes: tuple[str, ...] = ()
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "split": self.split,
            "n": self.instances,
            "draws": self.draws,
            "metrics": [
                {
                    "metric": call.text,
                    "name": call.title or call.metric.name,
                    "direction": call.metric.direction,
                    "in_recipe": call.text in self.recipe,
                }
                for call in self.calls
            ],
            "rows": [
                {
                    "key": key,
                    "values": {text: values[at] for text, values in self.values.items()},
                    "ranks": {text: ranks[at] for text, ranks in self.ranks.items()},
                }
                for at, key in enumerate(self.keys)
            ],
            "tau": self.tau,
            "tau_rows": self.tau_rows,
            "flips": [
                {"a": flip.a, "b": flip.b, "metrics": list(flip.metrics), "significant": flip.significant}
                for flip in self.flips
            ],
            "flip_counts": self.flip_counts,
            "significant_flips": self.significant_flips,
            "stability": {
                text: {name: getattr(one, name) for name in ("tau_mean", "tau_low", "tau_high", "same_first")}
                for text, one in self.stability.items()
            },
            "notes": list(self.notes),
            "reason": self.reason,
        }


def confused_calls(case: EvaluationInput, calls: Sequence[MetricCall], options: Mapping[str, str]) -> list[MetricCall]:
    """The averages of F1 that fit the data and are not among `calls`, under the options of the recipe."""
    found, has, known = [], needs_met_by(case), {call.text for call in calls}
    for text in CONFUSED_AVERAGES:
        try:
            call = parse_metric(text, options=options, task=case.spec.task)
        except InvalidMetric:
            continue
        if call.text not in known and unmet_need_reason(call.metric, has) is None:
            found.append(call)
    return found


def side_by_side(
    entries: Sequence[BoardCase],
    ids: Sequence[str],
    calls: Sequence[MetricCall],
    *,
    draw_seed: str,
    split: str,
    options: Mapping[str, str] | None = None,
) -> Rankings:
    """The rankings of rows that were scored against the same gold, by these metrics and the confused averages.

    `ids` names the instances of all rows, in any order; `options` are those of the recipe.
    """
    recipe = tuple(call.text for call in calls)
    cases = aligned_cases(entries, ids)
    if not cases:
        return _empty(split, recipe, "No row is ranked.")
    calls = [call for call in calls if call.metric.scalar and call.metric.direction != "none"]
    calls = [*calls, *confused_calls(cases[0], calls, options or {})]
    plan = draw_plan(len(cases), cases[0].gold.n)
    results = [evaluate(case, calls) for case in cases]
    values = {call.text: tuple(result[call.text].value for result in results) for call in calls}
    keys = {call.text: _keys(values[call.text], call) for call in calls}
    draws = board_draws(cases, calls, derive_seed(draw_seed, "rankings", split, ""), min(plan.draws, DRAWS))
    sets, flipping = {}, _flipping(keys)
    for call in calls:
        tester = BoardTests(cases, scored_ids(entries[0].case, ids), call, draw_seed=draw_seed, split=split)
        confirm = partial(_confirm_flips, tester, flipping)
        sets[call.text] = rank_sets(board_of(cases, call, values[call.text], draws[call.text], confirm))
    names = tuple(entry.key for entry in entries)
    flips = _find_flips(names, keys, sets)
    taus = {(one, other): tau_b(keys[one], keys[other]) for one in keys for other in keys}
    notes = [] if flips.total <= MAX_FLIPS else [f"{flips.total:,} flips; the first {MAX_FLIPS:,} are listed."]
    return Rankings(
        split=split,
        instances=cases[0].gold.n,
        keys=names,
        calls=tuple(calls),
        recipe=recipe,
        values=values,
        ranks={text: _ranks(some) for text, some in keys.items()},
        tau={one: {other: taus[one, other][0] for other in keys} for one in keys},
        tau_rows={one: {other: taus[one, other][1] for other in keys} for one in keys},
        flips=flips.listed,
        flip_counts=flips.counts,
        significant_flips=flips.significant,
        stability={call.text: _stability(keys[call.text], draws[call.text], call) for call in calls},
        draws=min(plan.draws, DRAWS),
        notes=tuple(notes),
    )


def _empty(split: str, recipe: tuple[str, ...], reason: str) -> Rankings:
    return Rankings(split, 0, (), (), recipe, {}, {}, {}, {}, (), {}, 0, {}, 0, reason=reason)


def _keys(values: Sequence[float | None], call: MetricCall) -> Floats:
    """Values of which smaller is better, NaN without a value."""
    numbers = np.array([np.nan if value is None else value for value in values])
    return -numbers if call.metric.direction == "higher" else numbers


def _ranks(keys: Floats) -> tuple[int | None, ...]:
    """1 + the number of better rows; equal values share a rank."""
    ordered = np.sort(keys[~np.isnan(keys)])
    return tuple(None if np.isnan(key) else 1 + int(np.searchsorted(ordered, key)) for key in keys)


def tau_b(first: Floats, second: Floats) -> tuple[float | None, int]:
    """Kendall's tau-b of two rankings, and the number of rows that have a value in both.

    None where one of the rankings puts all these rows at the same place. Source: Kendall 1945, The treatment of ties in
    ranking problems.
    """
    both = ~(np.isnan(first) | np.isnan(second))
    n = int(both.sum())
    one, other = (np.sign(keys[both][:, None] - keys[both][None, :]) for keys in (first, second))
    sizes = float((one * one).sum()) * float((other * other).sum())
    return (None if sizes == 0 else float((one * other).sum()) / sizes**0.5), n


def _flipping(keys: Mapping[str, Floats]) -> NDArray[np.bool_]:
    """Rows × rows: whether any two of these metrics rank the pair strictly the other way round."""
    before = after = np.zeros((0, 0), dtype=bool)
    for some in keys.values():
        first = some[:, None] < some[None, :]
        before, after = (first, first.T) if not before.size else (before | first, after | first.T)
    return before & after


def _confirm_flips(
    tester: BoardTests, flipping: NDArray[np.bool_], pairs: Sequence[Pair], family: int
) -> list[PairTest]:
    """Exact tests of the pairs that flip. The others count as p = 1, which can only make the tests of these stricter."""
    asked = [pair for pair in pairs if flipping[pair]]
    tests = dict(zip(asked, tester.test(asked, family), strict=True))
    return [tests.get(pair, PairTest(1.0, 1.0)) for pair in pairs]


@dataclass(frozen=True, slots=True)
class _Flips:
    """The first flips, significant ones first, and how many there are for each two metrics."""

    listed: tuple[Flip, ...]
    counts: dict[str, dict[str, int]]
    total: int
    significant: int


def _find_flips(names: Sequence[str], keys: Mapping[str, Floats], sets: Mapping[str, RankSets]) -> _Flips:
    """Every pair of rows that two metrics rank strictly the other way round."""
    listed: dict[bool, list[Flip]] = {True: [], False: []}
    counts, total, found = {one: dict.fromkeys(keys, 0) for one in keys}, 0, 0
    for one, other in itertools.combinations(keys, 2):
        flips = (keys[one][:, None] < keys[one][None, :]) & (keys[other][:, None] > keys[other][None, :])
        significant = flips & sets[one].better & sets[other].better.T
        counts[one][other] = counts[other][one] = int(flips.sum())
        total, found = total + counts[one][other], found + int(significant.sum())
        for meaning, some in ((True, significant), (False, flips & ~significant)):
            for a, b in np.argwhere(some)[: MAX_FLIPS - len(listed[meaning])].tolist():
                listed[meaning].append(Flip(names[a], names[b], (one, other), meaning))
    return _Flips((*listed[True], *listed[False])[:MAX_FLIPS], counts, total, found)


def _stability(keys: Floats, draws: Floats, call: MetricCall) -> Stability:
    rows = ~np.isnan(keys)
    size = int(rows.sum())
    if size < 2:
        return Stability(None, None, None, None)
    in_draws = (-draws if call.metric.direction == "higher" else draws)[rows]
    in_draws = np.round(in_draws[:, ~np.isnan(in_draws).any(axis=0)], _DECIMALS)
    leader, kept = keys[rows].argmin(), max(1, min(in_draws.shape[1], _MAX_TAU_NUMBERS // size**2))
    taus = [tau_b(keys[rows], draw)[0] for draw in in_draws[:, :kept].T]
    known = sorted(tau for tau in taus if tau is not None)
    if not known:
        return Stability(None, None, None, None)
    below = max(0, (len(known) + 1) // 40 - 1)
    first = float((in_draws[leader] == in_draws.min(axis=0)).mean())
    return Stability(float(np.mean(known)), known[below], known[-1 - below], first)
