"""What it costs to change predictions: exact changes of averaged precision and recall (Van Asch 2013, section 6).

A false positive that moves to another label changes the precision of both; a false negative that becomes a true
positive changes the recall of its label and, through the label that was predicted instead, two precisions. Equations
16 to 25 are taken with their signs corrected: the label that gives false positives counts them as negative (eq 17, 18),
and in eq 25 the numerator is fp, or the shift is δ/N where each instance has one label. 0/0 counts as 0. Where gold gives
its instances weights, every count is a sum of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent
from app.scoring.declaration.options import DEFAULTS
from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Labels
from app.scoring.numeric.exact import total
from app.scoring.numeric.weight_scaling import to_json_number
from app.scoring.tally import EvaluationContext

ChangeKind = Literal["move", "correct", "gain"]
Amount = int | Fraction
"""A number of predictions, or of weighted ones the weight that gold gives them."""


@dataclass(frozen=True, slots=True)
class AveragedValues:
    """An average of precision or recall, or its change: over the declared labels, pooled, and by training frequency.

    None where it is not determined, or for `lfb_train` where there are no training frequencies.
    """

    macro: Fraction | None
    micro: Fraction | None
    lfb_train: Fraction | None


@dataclass(frozen=True, slots=True)
class PrecisionRecallAverages:
    """How the averages change."""

    precision: AveragedValues
    recall: AveragedValues


@dataclass(frozen=True, slots=True)
class LabelChangeCosts:
    """What it costs that one label gives or receives false positives, or gains true positives; None where it cannot."""

    gives: AveragedValues | None
    receives: AveragedValues
    gains: PrecisionRecallAverages | None


@dataclass(frozen=True, slots=True)
class PredictionChange:
    """Some predictions that change.

    `move`: `count` false positives of `giver` become false positives of `receiver`. `correct`: they become true positives
    of it, as `receiver` is right there. `gain`: false negatives of `receiver` become true positives. A gain of data with
    one label per instance leaves open which label is no longer predicted, if there was one. A negative count of a correct or gain takes
    true positives away. Labels are positions in the classes.
    """

    kind: ChangeKind
    giver: int | None
    receiver: int
    count: Amount


@dataclass(frozen=True, slots=True)
class WhatIfCounts:
    """True and false positives and false negatives per declared label, and what the averages need besides.

    `outside` counts predicted labels outside the vocabulary; `exclusive`: one label per instance. `unpredicted` counts,
    for each label, the misses of exclusive labels at which nothing was predicted; where it is empty there are none.
    """

    tp: tuple[Amount, ...]
    fp: tuple[Amount, ...]
    fn: tuple[Amount, ...]
    frequencies: tuple[int, ...] | None
    outside: Amount = 0
    exclusive: bool = True
    unpredicted: tuple[Amount, ...] = ()

    @classmethod
    def of(cls, case: EvaluationInput, options: Mapping[str, str] = DEFAULTS) -> "WhatIfCounts":
        """The counts of a case, as options have its unknown and repeated labels read. Raises InvalidContent."""
        if case.acceptable:
            detail = "Gold that gives sets of acceptable answers has no false positives of a label."
            raise InvalidContent(detail, remedy="Give gold with one label per instance, or with sets of labels.")
        reading = {**options, "empty_label": DEFAULTS["empty_label"]}
        ws = EvaluationContext(case)
        tally = ws.tally(reading)
        tp, fp, fn = (tuple(_in_weight_units(case, int(one)) for one in column) for column in tally.classes.columns[:3])
        given = ws.train_frequencies
        frequencies = None if given is None or not given.any() else tuple(map(int, given))
        outside, exclusive = _in_weight_units(case, tally.outside_fp), case.spec.task != "multilabel"
        return cls(tp, fp, fn, frequencies, outside, exclusive, _count_unpredicted(case, reading) if exclusive else ())

    def averages(self) -> PrecisionRecallAverages:
        """Precision and recall as they are."""
        precision = [_ratio_or_zero(tp, tp + fp) for tp, fp in zip(self.tp, self.fp, strict=True)]
        recall = [_ratio_or_zero(tp, tp + fn) for tp, fn in zip(self.tp, self.fn, strict=True)]
        right = sum(self.tp)
        pooled = _ratio_or_zero(right, right + sum(self.fp) + self.outside), _ratio_or_zero(right, right + sum(self.fn))
        return PrecisionRecallAverages(
            self._average_values(precision, pooled[0]), self._average_values(recall, pooled[1])
        )

    def _average_values(self, values: Sequence[Fraction], pooled: Fraction | None) -> AveragedValues:
        """The plain mean and the mean by training frequency of one value per label."""
        macro = sum(values, Fraction(0)) / len(values)
        if self.frequencies is None:
            return AveragedValues(macro, pooled, None)
        weighted = sum((f * value for f, value in zip(self.frequencies, values, strict=True)), Fraction(0))
        return AveragedValues(macro, pooled, weighted / sum(self.frequencies))

    def marginal_costs(self, label: int, count: Amount = 1) -> LabelChangeCosts:
        """The marginal costs of one label for `count` predictions (eq 16, 19, 22, 23, 24 and 25)."""
        nothing = Fraction(0)
        gives = None
        if count <= self.fp[label]:
            gives = self._one_label_change(label, self._precision_change(label, 0, -count), nothing)
        receives = self._one_label_change(label, self._precision_change(label, 0, count), nothing)
        if count > self.fn[label]:
            return LabelChangeCosts(gives, receives, None)
        more = self._added_predictions(label, count)
        pooled = self._micro_change(count, more)
        precision = AveragedValues(None, pooled[0], None)
        if more == count:
            precision = self._one_label_change(label, self._precision_change(label, count, 0), pooled[0])
        recall = self._one_label_change(label, _ratio_or_zero(count, self.tp[label] + self.fn[label]), pooled[1])
        return LabelChangeCosts(gives, receives, PrecisionRecallAverages(precision, recall))

    def _one_label_change(self, label: int, value: Fraction, pooled: Fraction | None) -> AveragedValues:
        """How averages change where the value of one label alone does."""
        lfb = None if self.frequencies is None else value * self.frequencies[label] / sum(self.frequencies)
        return AveragedValues(value / len(self.tp), pooled, lfb)

    def _added_predictions(self, label: int, gained: Amount) -> Amount | None:
        """How many more predictions there are where so many misses of a label become right; None where that is not said.

        The label is one more of its set, or takes the place of another one unless nothing was predicted.
        """
        if not self.exclusive:
            return gained
        without = self.unpredicted[label] if self.unpredicted else 0
        least, most = max(0, gained - (self.fn[label] - without)), max(0, min(gained, without))
        return least if least == most else None

    def _micro_change(self, right: Amount, more: Amount | None) -> tuple[Fraction | None, Fraction]:
        """How pooled precision and recall change with so many more true positives and predictions."""
        tp, chosen = sum(self.tp), sum(self.tp) + sum(self.fp) + self.outside
        precision = None if more is None else _ratio_or_zero(tp + right, chosen + more) - _ratio_or_zero(tp, chosen)
        return precision, _ratio_or_zero(right, tp + sum(self.fn))

    def combined_change(self, steps: Iterable[PredictionChange]) -> PrecisionRecallAverages:
        """How the averages change when all steps are taken together (eq 17, 18 and 21). Raises InvalidContent."""
        tp, fp = list[Amount]([0] * len(self.tp)), list[Amount]([0] * len(self.fp))
        gained = list[Amount]([0] * len(self.tp))
        for step in steps:
            (fp if step.kind == "move" else tp)[step.receiver] += step.count
            if step.giver is not None:
                fp[step.giver] -= step.count
            else:
                gained[step.receiver] += step.count
        for label in range(len(tp)):
            if self.fp[label] + fp[label] < 0 or not -self.tp[label] <= tp[label] <= self.fn[label]:
                raise InvalidContent("More predictions change than there are.", remedy="Lower the counts.")
        precision = [self._precision_change(label, tp[label], fp[label]) for label in range(len(tp))]
        recall = [_ratio_or_zero(right, self.tp[label] + self.fn[label]) for label, right in enumerate(tp)]
        more = [self._added_predictions(label, count) for label, count in enumerate(gained)]
        told = [count for count in more if count is not None]
        pooled = self._micro_change(sum(tp), sum(told) if len(told) == len(more) else None)
        averaged = self._average_values(precision, pooled[0])
        return PrecisionRecallAverages(
            averaged
            if more == gained
            else AveragedValues(None, pooled[0], None),  # else some label is predicted less often
            self._average_values(recall, pooled[1]),
        )

    def _precision_change(self, label: int, right: Amount, wrong: Amount) -> Fraction:
        """How the precision of a label changes with so many more true and false positives."""
        tp, chosen = self.tp[label], self.tp[label] + self.fp[label]
        return _ratio_or_zero(tp + right, chosen + right + wrong) - _ratio_or_zero(tp, chosen)


def _ratio_or_zero(part: Amount, whole: Amount) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)


def _in_weight_units(case: EvaluationInput, count: int) -> Amount:
    """What a number that was counted stands for: so many units of weight, where instances have weights."""
    return count if case.weights is None else count * case.weight_unit


def _count_unpredicted(case: EvaluationInput, options: Mapping[str, str]) -> tuple[Amount, ...]:
    """How many instances of each label have no prediction."""
    chosen = case.predicted.codes
    dropped = (chosen == len(case.spec.classes)) & (options["unknown_label"] == "drop")
    bare = case.take(np.flatnonzero((chosen == MISSING_CODE) | dropped))
    return tuple(_in_weight_units(case, int(one)) for one in EvaluationContext(bare).tally(options).classes.fn)


def require_enough_instances(case: EvaluationInput, steps: Iterable[PredictionChange]) -> None:
    """Raise InvalidContent where there are fewer instances that steps of one kind between two labels can change."""
    asked: dict[tuple[ChangeKind, int | None, int], Amount] = {}
    for step in steps:
        between = step.kind, step.giver, step.receiver
        asked[between] = asked.get(between, 0) + step.count
    names = case.spec.classes
    for (kind, giver, receiver), count in asked.items():
        most = count_changeable_instances(case, kind, giver, receiver)
        if count > most:
            number = to_json_number(most)
            what = f"{number} false positives of '{names[giver]}'" if giver is not None else f"{number} misses"
            become = "false" if kind == "move" else "true"
            detail = f"Only {what} can become {become} positives of '{names[receiver]}', not {to_json_number(count)}."
            raise InvalidContent(detail, remedy=f"Give a count of at most {number}.")


def count_changeable_instances(case: EvaluationInput, kind: ChangeKind, giver: int | None, receiver: int) -> Amount:
    """How many instances such a step can change."""
    weights = case.weights
    has = _correctable_mask(case, giver, receiver) if kind != "move" else _movable_mask(case, giver, receiver)
    return _in_weight_units(case, int(has.sum()) if weights is None else total(weights[has]))


def _movable_mask(case: EvaluationInput, giver: int | None, receiver: int) -> NDArray[np.bool_]:
    """Where `giver` is a false positive and `receiver` would be one."""
    assert giver is not None
    own, other = _label_mask(case.gold, giver), _label_mask(case.gold, receiver)
    return np.asarray(_label_mask(case.predicted, giver) & ~own & ~_label_mask(case.predicted, receiver) & ~other)


def _correctable_mask(case: EvaluationInput, giver: int | None, receiver: int) -> NDArray[np.bool_]:
    """Where `receiver` is missed, and `giver` a false positive."""
    missed = np.asarray(_label_mask(case.gold, receiver) & ~_label_mask(case.predicted, receiver))
    if giver is None:
        return missed
    return np.asarray(missed & _label_mask(case.predicted, giver) & ~_label_mask(case.gold, giver))


def _label_mask(labels: Labels, code: int) -> NDArray[np.bool_]:
    """The instances that have a label."""
    if labels.offsets is None:
        return np.asarray(labels.codes == code)
    found = np.zeros(labels.n, dtype=bool)
    found[np.repeat(np.arange(labels.n), np.diff(labels.offsets))[labels.codes == code]] = True
    return found
