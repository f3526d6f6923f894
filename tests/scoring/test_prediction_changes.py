"""Costs of changed predictions: against recounts by the scorer, the corrected equations, and worked values."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.analysis.prediction_changes import (
    AveragedValues,
    PrecisionRecallAverages,
    PredictionChange,
    WhatIfCounts,
    count_changeable_instances,
    require_enough_instances,
)
from app.errors import InvalidContent
from app.scoring.declaration.options import DEFAULTS
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.each_case import for_each
from tests.golden.reference_data import load_vector
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, labels, value
from tests.scoring.strategies import cases

TABLE_3 = {"c1": (3, 2, 7), "c2": (1, 7, 9), "c3": (6, 6, 8), "c4": (6, 9, 0)}  # Van Asch 2013: tp, fp, fn
MATRIX_3 = ((3, 5, 2, 0), (1, 1, 4, 4), (1, 2, 6, 5), (0, 0, 0, 6))
NAMES = tuple(TABLE_3)
C1, C2, C3, C4 = range(4)


def of_matrix(matrix: Sequence[Sequence[int]], **spec: Any) -> EvaluationInput:
    pairs = [(i, j) for i, row in enumerate(matrix) for j, count in enumerate(row) for _ in range(count)]
    names = [f"c{k + 1}" for k in range(len(matrix))]
    return case("multiclass", names, [names[i] for i, _ in pairs], [names[j] for _, j in pairs], **spec)


TABLE = of_matrix(MATRIX_3, train_frequencies={"c1": 10, "c2": 20, "c3": 30, "c4": 40})


def test_the_counts_are_those_of_the_table() -> None:
    counts = WhatIfCounts.of(TABLE)
    assert dict(zip(NAMES, zip(counts.tp, counts.fp, counts.fn, strict=True), strict=True)) == TABLE_3
    averages = counts.averages()
    assert averages.precision == AveragedValues(Fraction(13, 32), Fraction(2, 5), Fraction(79, 200))
    assert averages.recall == AveragedValues(Fraction(16, 35), Fraction(2, 5), Fraction(81, 140))


@for_each(
    "giver, receiver, count, lfb, macro",
    [
        (C4, C2, 1, "109/12600", "37/10080"),
        (C4, C3, 3, "1/100", "0"),
        (C2, C1, 2, "-37/4200", "-109/3360"),
        (C3, C4, 2, "19/1700", "9/680"),
    ],
)
def test_false_positives_that_move_change_two_precisions(
    giver: int, receiver: int, count: int, lfb: str, macro: str
) -> None:
    change = WhatIfCounts.of(TABLE).combined_change([PredictionChange("move", giver, receiver, count)])
    assert change.precision == AveragedValues(Fraction(macro), Fraction(0), Fraction(lfb))
    assert change.recall == AveragedValues(Fraction(0), Fraction(0), Fraction(0))


@for_each(
    "label, count, lfb, macro, micro",
    [(C1, 1, "1/100", "1/40", "1/40"), (C3, 2, "3/70", "1/28", "1/20"), (C4, -1, "-1/15", "-1/24", "-1/40")],
)
def test_true_positives_change_recall(label: int, count: int, lfb: str, macro: str, micro: str) -> None:
    change = WhatIfCounts.of(TABLE).combined_change([PredictionChange("gain", None, label, count)])
    assert change.recall == AveragedValues(Fraction(macro), Fraction(micro), Fraction(lfb))
    assert change.precision == AveragedValues(None, Fraction(micro), None)  # who loses the prediction is not said


def test_pooled_precision_depends_on_whether_a_new_label_replaces_another() -> None:
    counts = WhatIfCounts.of(TABLE)
    two = [PredictionChange("gain", None, C3, 2)]
    assert counts.combined_change(two).precision.micro == Fraction(1, 20)
    assert replace(counts, exclusive=False).combined_change(two).precision.micro == Fraction(1, 35)


@needs_shared
def test_the_golden_values_of_all_equations() -> None:
    data = load_vector("van_asch_costs")
    frequencies = tuple(data["training_frequencies"].values())
    columns = ([each[key] for each in data["label_counts"].values()] for key in ("tp", "fp", "fn"))
    tp, fp, fn = map(tuple, columns)
    counts = WhatIfCounts(tp, fp, fn, frequencies)
    for one in data["false_positive_moves"]:
        step = PredictionChange("move", NAMES.index(one["from"]), NAMES.index(one["to"]), one["count"])
        change = counts.combined_change([step]).precision
        assert (change.lfb_train, change.macro) == (Fraction(one["fraction"]), Fraction(one["fraction_macro"]))
    for one in data["true_positive_moves"]:
        change = counts.combined_change(
            [PredictionChange("gain", None, NAMES.index(one["label"]), one["count"])]
        ).recall
        assert (change.lfb_train, change.macro) == (Fraction(one["fraction"]), Fraction(one["fraction_macro"]))
        assert float(change.micro or 0) == pytest.approx(one["expected_delta_recall_micro"], abs=1e-11)
    shift = data["micro_precision_shift"]
    two = [PredictionChange("gain", None, C3, shift["delta"])]
    for exclusive, key in ((True, "single_label_exact"), (False, "multi_label_exact_fn_to_tp_only")):
        found = replace(counts, exclusive=exclusive).combined_change(two).precision.micro
        assert float(found or 0) == pytest.approx(shift[key], abs=1e-11)


def factor(counts: WhatIfCounts, label: int, delta: int) -> Fraction:
    """Eq 16 without its weight: how a precision changes where so many false positives arrive; 0 without true positives."""
    tp, chosen = counts.tp[label], counts.tp[label] + counts.fp[label]
    return -Fraction(delta * tp, chosen * (chosen + delta)) if tp else Fraction(0)


@settings(deadline=None)
@given(cases("multiclass"), st.data())
def test_the_corrected_equations_hold(of: EvaluationInput, data: st.DataObject) -> None:
    counts = WhatIfCounts.of(of)
    m, frequencies = len(counts.tp), counts.frequencies
    label = data.draw(st.integers(0, m - 1))
    weights = {"macro": Fraction(1, m)}
    if frequencies is not None:
        weights["lfb_train"] = Fraction(frequencies[label], sum(frequencies))
    costs = counts.marginal_costs(label)
    for name, weight in weights.items():
        assert getattr(costs.receives, name) == factor(counts, label, 1) * weight  # eq 16, 22
        if costs.gives is not None:
            assert getattr(costs.gives, name) == factor(counts, label, -1) * weight
        if costs.gains is not None:
            recall = Fraction(1, counts.tp[label] + counts.fn[label]) * weight
            assert getattr(costs.gains.recall, name) == recall  # eq 19, 23
    assert (costs.gives is None) == (counts.fp[label] == 0)
    assert (costs.gains is None) == (counts.fn[label] == 0)
    if costs.gains is not None:
        assert costs.gains.recall.micro == costs.gains.precision.micro == Fraction(1, of.gold.n)  # eq 24, 25


def test_moves_in_a_chain_are_counted_by_what_each_label_is_left_with() -> None:
    """Eq 18 corrected: the middle label receives δ1 and gives δ2."""
    counts = WhatIfCounts.of(TABLE)
    chain = [PredictionChange("move", C4, C3, 3), PredictionChange("move", C3, C2, 1)]
    parts = factor(counts, C4, -3), factor(counts, C3, 2), factor(counts, C2, 1)
    assert counts.combined_change(chain).precision.macro == sum(parts) / 4


def recount(before: EvaluationInput, after: EvaluationInput) -> dict[str, float]:
    keys = [f"{measure}_{kind}" for measure in ("precision", "recall") for kind in ("macro", "micro", "lfb_train")]
    found = {}
    for key in keys:
        one, other = value(before, key), value(after, key)
        if one is not None and other is not None:
            found[key] = other - one
    return found


def require_same(change: PrecisionRecallAverages, found: dict[str, float]) -> None:
    for key, difference in found.items():
        measure, _, kind = key.partition("_")
        exact = getattr(getattr(change, measure), kind)
        assert float(exact) == pytest.approx(difference, abs=1e-12), key


@settings(deadline=None)
@given(cases("multiclass", most=20), st.data())
def test_steps_of_single_labels_are_what_a_recount_finds(of: EvaluationInput, data: st.DataObject) -> None:
    m = len(of.spec.classes)
    assume(m > 1)
    codes = of.predicted.codes.copy()
    rows = data.draw(st.lists(st.integers(0, of.gold.n - 1), unique=True, max_size=5))
    steps = []
    for row in rows:
        gold, chosen = int(of.gold.codes[row]), int(codes[row])
        new = data.draw(st.integers(0, m - 1))
        if new == chosen:
            continue
        if chosen == gold:
            steps.append(PredictionChange("correct", new, gold, -1))
        else:
            steps.append(PredictionChange("correct" if new == gold else "move", chosen, new, 1))
        codes[row] = new
    require_enough_instances(of, steps)
    after = replace(of, predicted=Labels(codes))
    require_same(WhatIfCounts.of(of).combined_change(steps), recount(of, after))


@settings(deadline=None)
@given(cases("multilabel", most=10), st.data())
def test_steps_of_label_sets_are_what_a_recount_finds(of: EvaluationInput, data: st.DataObject) -> None:
    names = of.spec.classes
    gold, chosen = ([set(part) for part in sets(labels)] for labels in (of.gold, of.predicted))
    steps = []
    for row in range(of.gold.n):
        missed, extra = sorted(gold[row] - chosen[row]), sorted(chosen[row] - gold[row])
        absent = sorted(set(range(len(names))) - gold[row] - chosen[row])
        kind = data.draw(st.sampled_from(["gain", "correct", "move", "nothing"]))
        if kind == "gain" and missed:
            steps.append(PredictionChange("gain", None, missed[0], 1))
            chosen[row] |= {missed[0]}
        elif kind == "correct" and missed and extra:
            steps.append(PredictionChange("correct", extra[0], missed[0], 1))
            chosen[row] = chosen[row] - {extra[0]} | {missed[0]}
        elif kind == "move" and extra and absent:
            steps.append(PredictionChange("move", extra[0], absent[0], 1))
            chosen[row] = chosen[row] - {extra[0]} | {absent[0]}
    require_enough_instances(of, steps)
    after = replace(of, predicted=labels([[names[c] for c in sorted(row)] for row in chosen], names, multilabel=True))
    require_same(WhatIfCounts.of(of).combined_change(steps), recount(of, after))


@settings(deadline=None)
@given(st.data())
def test_misses_without_a_prediction_that_become_right_are_what_a_recount_finds(data: st.DataObject) -> None:
    names = ["a", "b", "c"]
    gold = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=9))
    chosen = [data.draw(st.sampled_from([*names, "outside", None])) for _ in gold]
    weights = data.draw(st.none() | st.lists(st.integers(1, 4), min_size=len(gold), max_size=len(gold)))
    of = case("multiclass", names, gold, chosen, weights=weights)
    counts, label = WhatIfCounts.of(of), data.draw(st.sampled_from(names))
    place = names.index(label)
    missed = [row for row, right in enumerate(gold) if right == label != chosen[row]]
    rows = data.draw(st.lists(st.sampled_from(missed), unique=True)) if missed else []
    count = sum(1 if weights is None else weights[row] for row in rows)
    change = counts.combined_change([PredictionChange("gain", None, place, count)])
    if count:
        gains = counts.marginal_costs(place, count).gains
        assert gains is not None
        assert gains.precision == change.precision
    bare = [chosen[row] is None for row in missed]
    after = case(
        "multiclass", names, gold, [label if row in rows else one for row, one in enumerate(chosen)], weights=weights
    )
    found = recount(of, after)
    if any(bare) != all(bare) and 0 < len(rows) < len(missed):
        assert change.precision == AveragedValues(None, None, None)
        del found["precision_micro"], found["precision_macro"]
    if rows and not all(bare):
        assert change.precision.macro is None
        found.pop("precision_macro", None)
    require_same(change, found)


def sets(given: Labels) -> list[list[int]]:
    assert given.offsets is not None
    return [part.tolist() for part in np.split(given.codes, given.offsets[1:-1])]


def test_no_more_predictions_change_than_can() -> None:
    assert [
        count_changeable_instances(TABLE, "move", C4, C2),
        count_changeable_instances(TABLE, "correct", C4, C2),
        count_changeable_instances(TABLE, "gain", None, C2),
    ] == [5, 4, 9]
    with pytest.raises(
        InvalidContent, match="Only 5 false positives of 'c4' can become false positives of 'c2', not 6"
    ):
        require_enough_instances(TABLE, [PredictionChange("move", C4, C2, 2), PredictionChange("move", C4, C2, 4)])
    with pytest.raises(InvalidContent, match="Only 9 misses can become true positives of 'c2'"):
        require_enough_instances(TABLE, [PredictionChange("gain", None, C2, 10)])
    with pytest.raises(InvalidContent, match="larger than the number of predictions"):
        WhatIfCounts.of(TABLE).combined_change(
            [
                PredictionChange("move", C1, C2, 1),
                PredictionChange("move", C1, C3, 1),
                PredictionChange("move", C1, C4, 1),
            ]
        )


def test_weights_count_as_so_many_instances() -> None:
    weighted = case("multiclass", ["a", "b"], ["a", "b", "b"], ["a", "a", "b"], weights=[1, 3, 2])
    assert WhatIfCounts.of(weighted).tp == (1, 2)
    assert count_changeable_instances(weighted, "correct", 0, 1) == 3
    quarters = replace(weighted, weight_unit=Fraction(1, 4))
    assert WhatIfCounts.of(quarters).tp == (Fraction(1, 4), Fraction(1, 2))
    assert count_changeable_instances(quarters, "correct", 0, 1) == Fraction(3, 4)
    assert WhatIfCounts.of(quarters).marginal_costs(0, Fraction(1, 4)) == WhatIfCounts.of(weighted).marginal_costs(0, 1)


def test_acceptable_answers_have_no_false_positives_of_a_label() -> None:
    gold = labels([["a", "b"], ["b"]], ["a", "b"], multilabel=True)
    of = replace(case("multiclass", ["a", "b"], ["a", "b"], ["a", "b"]), gold=gold)
    with pytest.raises(InvalidContent, match="acceptable"):
        WhatIfCounts.of(of)


@for_each("rule, unpredicted", [("drop", (2, 0)), ("count_as_fp", (1, 0))])
def test_an_instance_whose_label_is_dropped_has_no_prediction(rule: str, unpredicted: tuple[int, ...]) -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "a", "b"], ["x", None, "a", "b"])
    assert WhatIfCounts.of(of, DEFAULTS | {"unknown_label": rule}).unpredicted == unpredicted


def test_no_more_true_positives_are_taken_away_than_there_are() -> None:
    counts = WhatIfCounts.of(TABLE)  # c2 has one true positive, c4 has nine false positives
    for change in (PredictionChange("gain", None, C2, -1), PredictionChange("correct", C4, C2, -1)):
        assert counts.combined_change([change]).recall.micro is not None
        with pytest.raises(InvalidContent, match="larger than the number of predictions"):
            counts.combined_change([change, change])
