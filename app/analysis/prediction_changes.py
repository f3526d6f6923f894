"""The cost of changed predictions: exact changes of averaged precision and recall (Van Asch 2013, section 6).

A false positive that moves to another label changes the precision of both labels. A false negative that becomes a true
positive changes the recall of its label and, through the label that was predicted instead, two precisions. Equations 16
to 25 are used with corrected signs: the label that gives false positives counts them as negative (eq 17, 18), and in
eq 25 the numerator is fp, or the shift is δ/N where each instance has one label. 0/0 counts as 0. Where gold has
instance weights, every count is a sum of weights.
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
from app.scoring.numeric.unscaled_counts import to_json_number
from app.scoring.tally import EvaluationContext

ChangeKind = Literal["move", "correct", "gain"]
Amount = int | Fraction
"""A number of predictions, or their total weight where gold has instance weights."""


@dataclass(frozen=True, slots=True)
class AveragedValues:
    """An average of precision or recall, or its change: over the declared labels, pooled, and by training frequency.

    A value is None where it is not determined; `lfb_train` is None without training frequencies.
    """

    macro: Fraction | None
    micro: Fraction | None
    lfb_train: Fraction | None


@dataclass(frozen=True, slots=True)
class PrecisionRecallAverages:
    """The averages of precision and recall, or their changes."""

    precision: AveragedValues
    recall: AveragedValues


@dataclass(frozen=True, slots=True)
class LabelChangeCosts:
    """The cost where one label gives or receives false positives, or gains true positives; None where it cannot."""

    gives: AveragedValues | None
    receives: AveragedValues
    gains: PrecisionRecallAverages | None


@dataclass(frozen=True, slots=True)
class PredictionChange:
    """Some predictions that change. Labels are positions in the classes.

    - `move`: `count` false positives of `giver` become false positives of `receiver`.
    - `correct`: they become true positives of `receiver`, which is right there.
    - `gain`: false negatives of `receiver` become true positives. With one label per instance, a gain leaves open which
      label is no longer predicted, if there was one.

    A negative count of `correct` or `gain` takes true positives away.
    """

    kind: ChangeKind
    giver: int | None
    receiver: int
    count: Amount


@dataclass(frozen=True, slots=True)
class WhatIfCounts:
    """Counts per declared label (tp, fp, fn), and what else the averages need.

    `outside` counts predicted labels outside the vocabulary; `exclusive`: one label per instance. `unpredicted` counts
    for each label the misses without any prediction, for exclusive labels; empty where there are none.
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
        """The counts of a case under the options for unknown and repeated labels. Raises InvalidContent."""
        if case.acceptable:
            detail = "Gold with sets of acceptable answers has no false positives of a single label."
            raise InvalidContent(detail, remedy="Give gold with one label per instance, or with sets of labels.")
        tally_options = {**options, "empty_label": DEFAULTS["empty_label"]}
        ws = EvaluationContext(case)
        tally = ws.tally(tally_options)
        tp, fp, fn = (tuple(_in_weight_units(case, int(one)) for one in column) for column in tally.classes.columns[:3])
        counts = ws.train_frequencies
        frequencies = None if counts is None or not counts.any() else tuple(map(int, counts))
        outside, exclusive = _in_weight_units(case, tally.outside_fp), case.spec.task != "multilabel"
        unpredicted = _count_unpredicted(case, tally_options) if exclusive else ()
        return cls(tp, fp, fn, frequencies, outside, exclusive, unpredicted)

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
        added = self._added_predictions(label, count)
        pooled = self._micro_change(count, added)
        precision = AveragedValues(None, pooled[0], None)
        if added == count:
            precision = self._one_label_change(label, self._precision_change(label, count, 0), pooled[0])
        recall = self._one_label_change(label, _ratio_or_zero(count, self.tp[label] + self.fn[label]), pooled[1])
        return LabelChangeCosts(gives, receives, PrecisionRecallAverages(precision, recall))

    def _one_label_change(self, label: int, value: Fraction, pooled: Fraction | None) -> AveragedValues:
        """The change of the averages where only the value of one label changes."""
        lfb = None if self.frequencies is None else value * self.frequencies[label] / sum(self.frequencies)
        return AveragedValues(value / len(self.tp), pooled, lfb)

    def _added_predictions(self, label: int, gained: Amount) -> Amount | None:
        """How many predictions are added where this many misses of a label become right; None where it is not determined.

        In a label set the label is always added. With exclusive labels it replaces another prediction, except for
        instances without one.
        """
        if not self.exclusive:
            return gained
        unpredicted = self.unpredicted[label] if self.unpredicted else 0
        minimum, maximum = max(0, gained - (self.fn[label] - unpredicted)), max(0, min(gained, unpredicted))
        return minimum if minimum == maximum else None

    def _micro_change(self, right: Amount, added: Amount | None) -> tuple[Fraction | None, Fraction]:
        """The change of pooled precision and recall with this many more true positives and predictions."""
        tp, predicted = sum(self.tp), sum(self.tp) + sum(self.fp) + self.outside
        before = _ratio_or_zero(tp, predicted)
        precision = None if added is None else _ratio_or_zero(tp + right, predicted + added) - before
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
                raise InvalidContent(
                    "The counts are larger than the number of predictions that can change.", remedy="Lower the counts."
                )
        precision = [self._precision_change(label, tp[label], fp[label]) for label in range(len(tp))]
        recall = [_ratio_or_zero(right, self.tp[label] + self.fn[label]) for label, right in enumerate(tp)]
        added = [self._added_predictions(label, count) for label, count in enumerate(gained)]
        known = [count for count in added if count is not None]
        pooled = self._micro_change(sum(tp), sum(known) if len(known) == len(added) else None)
        averaged = self._average_values(precision, pooled[0])
        if added != gained:  # the precision of a label that is not known changes too
            averaged = AveragedValues(None, pooled[0], None)
        return PrecisionRecallAverages(averaged, self._average_values(recall, pooled[1]))

    def _precision_change(self, label: int, right: Amount, wrong: Amount) -> Fraction:
        """The change of the precision of a label with this many more true and false positives."""
        tp, predicted = self.tp[label], self.tp[label] + self.fp[label]
        return _ratio_or_zero(tp + right, predicted + right + wrong) - _ratio_or_zero(tp, predicted)


def _ratio_or_zero(numerator: Amount, denominator: Amount) -> Fraction:
    return Fraction(numerator, denominator) if denominator else Fraction(0)


def _in_weight_units(case: EvaluationInput, count: int) -> Amount:
    """An integer count as an amount: multiplied by the weight unit where instances have weights."""
    return count if case.weights is None else count * case.weight_unit


def _count_unpredicted(case: EvaluationInput, options: Mapping[str, str]) -> tuple[Amount, ...]:
    """For each label, the amount of its instances without a prediction."""
    predicted = case.predicted.codes
    dropped = (predicted == len(case.spec.classes)) & (options["unknown_label"] == "drop")
    unpredicted = case.take(np.flatnonzero((predicted == MISSING_CODE) | dropped))
    return tuple(_in_weight_units(case, int(one)) for one in EvaluationContext(unpredicted).tally(options).classes.fn)


def require_enough_instances(case: EvaluationInput, steps: Iterable[PredictionChange]) -> None:
    """Raise InvalidContent where the steps of one kind between two labels need more instances than exist."""
    requested: dict[tuple[ChangeKind, int | None, int], Amount] = {}
    for step in steps:
        between = step.kind, step.giver, step.receiver
        requested[between] = requested.get(between, 0) + step.count
    names = case.spec.classes
    for (kind, giver, receiver), count in requested.items():
        available = count_changeable_instances(case, kind, giver, receiver)
        if count > available:
            number = to_json_number(available)
            what = f"{number} false positives of '{names[giver]}'" if giver is not None else f"{number} misses"
            become = "false" if kind == "move" else "true"
            detail = f"Only {what} can become {become} positives of '{names[receiver]}', not {to_json_number(count)}."
            raise InvalidContent(detail, remedy=f"Give a count of at most {number}.")


def count_changeable_instances(case: EvaluationInput, kind: ChangeKind, giver: int | None, receiver: int) -> Amount:
    """The amount of instances that such a step can change."""
    weights = case.weights
    changeable = _correctable_mask(case, giver, receiver) if kind != "move" else _movable_mask(case, giver, receiver)
    return _in_weight_units(case, int(changeable.sum()) if weights is None else total(weights[changeable]))


def _movable_mask(case: EvaluationInput, giver: int | None, receiver: int) -> NDArray[np.bool_]:
    """The instances where `giver` is a false positive and `receiver` would be one."""
    assert giver is not None
    giver_in_gold, receiver_in_gold = _label_mask(case.gold, giver), _label_mask(case.gold, receiver)
    return np.asarray(
        _label_mask(case.predicted, giver) & ~giver_in_gold & ~_label_mask(case.predicted, receiver) & ~receiver_in_gold
    )


def _correctable_mask(case: EvaluationInput, giver: int | None, receiver: int) -> NDArray[np.bool_]:
    """The instances where `receiver` is missed and `giver`, if any, is a false positive."""
    missed = np.asarray(_label_mask(case.gold, receiver) & ~_label_mask(case.predicted, receiver))
    if giver is None:
        return missed
    return np.asarray(missed & _label_mask(case.predicted, giver) & ~_label_mask(case.gold, giver))


def _label_mask(labels: Labels, code: int) -> NDArray[np.bool_]:
    """The instances that have a label."""
    if labels.offsets is None:
        return np.asarray(labels.codes == code)
    mask = np.zeros(labels.n, dtype=bool)
    mask[np.repeat(np.arange(labels.n), np.diff(labels.offsets))[labels.codes == code]] = True
    return mask
