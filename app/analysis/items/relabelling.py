"""What a relabelling would move: gold with some instances relabelled or void, and ranks and values before and after.

Nothing is stored. A system is scored twice from its predictions, once against each gold, by the functions that score it
on a board, so a value after the change is the one that a version with these changes would give.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule, redecide_subset
from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.standings import BoardEntry, Standing, ranking_key, standings

MAX_FAULTS = 20


@dataclass(frozen=True, slots=True)
class LabelChange:
    """An instance and the labels that it is to have; None voids it: it is not scored."""

    id: str
    labels: tuple[str, ...] | None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "LabelChange":
        """The change of an object with `id` and `label`, or `labels`; null voids the instance."""
        label = value.get("label")
        labels = value.get("labels") if label is None else [label]
        return cls(str(value["id"]), None if labels is None else tuple(labels))


@dataclass(frozen=True, slots=True)
class Relabelling:
    """Gold of n instances after some changes: the labels of all, and the row numbers of those that are still scored.

    `changes` has the position, the labels before and those after of each instance that really changes.
    """

    labels: Labels
    kept: NDArray[np.int64]
    changes: Sequence[tuple[int, tuple[str, ...], tuple[str, ...] | None]]
    unchanged: int

    def case(self, case: EvaluationInput, rule: ConfiguredDecisionRule | None) -> EvaluationInput:
        """The input of a system against the changed gold; a decision `rule` that depends on gold is applied again."""
        return redecide_subset(rule, replace(case, gold=self.labels).take(self.kept))

    def summary(self) -> dict[str, int]:
        """How many instances are relabelled, voided, and listed without a change."""
        voided = sum(after is None for _, _, after in self.changes)
        return {"relabelled": len(self.changes) - voided, "voided": voided, "unchanged": self.unchanged}


def relabel(
    spec: TaskSpec, gold: Labels, ids: Sequence[str], changes: Sequence[LabelChange], unknown: Labels | None = None
) -> Relabelling:
    """Apply changes to the gold of `ids`; raises InvalidContent that lists the faults.

    Refused are ids that the gold does not score or that are listed twice, labels outside the classes, several labels in
    binary tasks, no label in single-label tasks, instances with unknown cells, and changes that leave nothing to score.
    In a multi-class task several labels are acceptable answers, which make the gold one of sets.
    """
    rows, codes = {name: row for row, name in enumerate(ids)}, {name: code for code, name in enumerate(spec.classes)}
    partly_unknown = set() if unknown is None else set(np.flatnonzero(unknown.sizes).tolist())
    faults: list[dict[str, str]] = []
    wanted: dict[int, tuple[int, ...] | None] = {}
    for at, change in enumerate(changes):
        row = rows.get(change.id)
        fault = _fault(spec, change, row, codes, seen=row in wanted)
        if fault is None and row in partly_unknown:
            fault = "has unknown cells, which a change of labels does not say anything about"
        if fault is not None:
            faults.append({"pointer": f"/changes/{at}", "detail": f"'{change.id}' {fault}"})
            continue
        assert row is not None
        wanted[row] = None if change.labels is None else tuple(sorted({codes[label] for label in change.labels}))
    if faults:
        more = f" and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
        listed = "; ".join(fault["detail"] for fault in faults[:MAX_FAULTS])
        raise InvalidContent(f"{listed}{more}.", errors=faults[:MAX_FAULTS])
    result = _apply(spec, gold, wanted)
    if not len(result.kept):
        raise InvalidContent("All instances would be void.", remedy="Leave at least one instance to be scored.")
    return result


def _fault(spec: TaskSpec, change: LabelChange, row: int | None, codes: Mapping[str, int], *, seen: bool) -> str | None:
    if row is None:
        return "is no scored id of the gold"
    if seen:
        return "is listed twice"
    for label in change.labels or ():
        if label not in codes:
            return f"would get the label '{label}', which is none of the classes"
    count = None if change.labels is None else len(set(change.labels))
    if spec.task != "multilabel" and count == 0:
        return "would have no label; null voids it"
    if spec.task == "binary" and count is not None and count > 1:
        return "would have several labels, which a binary task does not allow"
    return None


def _apply(spec: TaskSpec, gold: Labels, wanted: Mapping[int, tuple[int, ...] | None]) -> Relabelling:
    sets = gold.as_sets()
    assert sets.offsets is not None
    bounds, codes = sets.offsets, sets.codes
    before = {row: tuple(sorted(set(codes[bounds[row] : bounds[row + 1]].tolist()))) for row in wanted}
    real = {row: after for row, after in wanted.items() if after != before[row]}
    name = spec.classes

    def texts(found: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(name[code] for code in found)

    changes = [
        (row, texts(before[row]), None if after is None else texts(after)) for row, after in sorted(real.items())
    ]
    void = [row for row, after in real.items() if after is None]
    kept = np.setdiff1d(np.arange(gold.n), np.array(void, dtype=np.int64))
    new = {row: after for row, after in real.items() if after is not None}
    if gold.offsets is None and all(len(after) == 1 for after in new.values()):
        single = gold.codes.copy()
        for row, after in new.items():
            single[row] = after[0]
        return Relabelling(Labels(single), kept, changes, len(wanted) - len(real))
    parts = np.split(codes, bounds[1:-1])
    for row, after in new.items():
        parts[row] = np.array(after, dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    joined = np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, dtype=np.int32)
    return Relabelling(Labels(joined, offsets), kept, changes, len(wanted) - len(real))


@dataclass(frozen=True, slots=True)
class ScoredTwice:
    """The results of a system by canonical metric string, before and after a relabelling."""

    key: str
    baseline: bool
    before: Mapping[str, Result]
    after: Mapping[str, Result]


def score_twice(
    key: str,
    case: EvaluationInput,
    relabelling: Relabelling,
    calls: Sequence[MetricCall],
    *,
    rule: ConfiguredDecisionRule | None = None,
    baseline: bool = False,
) -> ScoredTwice:
    """Score a system against the gold that it has in `case`, and against the changed one."""
    return ScoredTwice(key, baseline, evaluate(case, calls), evaluate(relabelling.case(case, rule), calls))


def describe_moves(
    systems: Sequence[ScoredTwice], calls: Sequence[MetricCall], ranked_by: Sequence[str]
) -> dict[str, Any]:
    """The rows of all systems by their rank after the change, with ranks and values before and after.

    `ranked_by`: the canonical strings of the primary metric and, after it, of the tie-breakers.
    """
    by_text = {call.text: call for call in calls}
    chosen = [by_text[text] for text in ranked_by]
    before = _standings([(each.key, each.baseline, each.before) for each in systems], chosen)
    after = _standings([(each.key, each.baseline, each.after) for each in systems], chosen)
    old_ranks = {standing.entry.submission: standing.rank for standing in before}
    by_key = {each.key: each for each in systems}
    rows = [_row(by_key[one.entry.submission], old_ranks[one.entry.submission], one.rank, calls) for one in after]
    moved = sum(row["rank"]["before"] != row["rank"]["after"] for row in rows)
    return {"ranked_by": list(ranked_by), "metrics": list(by_text), "moved": moved, "rows": rows}


def _standings(
    systems: Sequence[tuple[str, bool, Mapping[str, Result]]], ranked_by: Sequence[MetricCall]
) -> list[Standing]:
    def entry(key: str, baseline: bool, results: Mapping[str, Result]) -> BoardEntry:
        keys = [ranking_key(call.metric.direction, _number(results[call.text])) for call in ranked_by]
        return BoardEntry(key, key, baseline, tuple(keys))

    return standings(entry(key, baseline, results) for key, baseline, results in systems)


def _number(result: Result) -> float | None:
    return result.value if isinstance(result.value, int | float) else None


def _row(system: ScoredTwice, old: int | None, new: int | None, calls: Sequence[MetricCall]) -> dict[str, Any]:
    values = {
        call.text: {"before": _number(system.before[call.text]), "after": _number(system.after[call.text])}
        for call in calls
        if call.metric.scalar
    }
    move = None if old is None or new is None else old - new
    return {
        "system": system.key,
        "baseline": system.baseline,
        "rank": {"before": old, "after": new},
        "move": move,
        "values": values,
    }
