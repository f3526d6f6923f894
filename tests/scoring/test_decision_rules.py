"""Hard labels that follow from scores, held against the words of each rule."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.decision_rules import (
    ConfiguredDecisionRule,
    decide_labels,
    decide_labels_with_gold,
    describe_rule,
    redecide_subset,
)
from app.scoring.declaration.task import TASK_KINDS, TaskKind, TaskSpec
from app.scoring.evaluation_input import MISSING_CODE, Labels
from tests.formats.reading import code_sets
from tests.scoring.case_builder import case

MANY = settings(max_examples=150, deadline=None)
SCORES = st.sampled_from([0.0, -0.0, 0.25, 0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 0.75, 1.0, -3.0, 7.5])
ROW = tuple[float, ...]


def spec(task: TaskKind, m: int, positive: int = 0) -> TaskSpec:
    classes = tuple(f"c{at}" for at in range(m))
    return TaskSpec(task, classes, classes[positive] if task == "binary" else None)


@st.composite
def rows(draw: st.DrawFn, m: int, *, gaps: bool = True) -> list[ROW]:
    one = st.tuples(*[SCORES] * m)
    nothing = st.just((float("nan"),) * m)
    return draw(st.lists(one | nothing if gaps else one, min_size=1, max_size=8))


def decide(
    rule: dict[str, Any], about: TaskSpec, given_rows: Sequence[ROW], *, lower: bool, positives: int = 0
) -> Labels:
    matrix = np.array(given_rows, dtype=np.float64)
    options = {"score_direction": "lower" if lower else "higher"}
    made = ConfiguredDecisionRule.from_recipe(about, rule, single=matrix.shape[1] == 1, options=options)
    return decide_labels(made, about, matrix, positives)


def higher_is_surer(row: ROW, *, lower: bool) -> list[float]:
    """So that higher is surer."""
    return [-score if lower else score for score in row]


def is_nothing(row: ROW) -> bool:
    return any(np.isnan(score) for score in row)


@given(data=st.data(), m=st.integers(2, 5), lower=st.booleans(), task=st.sampled_from(["binary", "multiclass"]))
@MANY
def test_argmax_is_the_first_of_the_best(data: st.DataObject, m: int, lower: bool, task: TaskKind) -> None:
    m = 2 if task == "binary" else m
    given_rows = data.draw(rows(m))
    found = decide({"rule": "argmax"}, spec(task, m), given_rows, lower=lower)
    expected = [
        MISSING_CODE if is_nothing(row) else max(range(m), key=lambda k: (higher_is_surer(row, lower=lower)[k], -k))
        for row in given_rows
    ]
    assert found.codes.tolist() == expected
    sound = [row for row in given_rows if not is_nothing(row)]
    if sound and not lower:
        assert [code for code in expected if code != MISSING_CODE] == np.argmax(np.array(sound), axis=1).tolist()


@given(given_rows=rows(1), positive=st.integers(0, 1), lower=st.booleans())
@MANY
def test_argmax_of_a_single_score_holds_it_against_one_less_it(
    given_rows: list[ROW], positive: int, lower: bool
) -> None:
    found = decide({"rule": "argmax"}, spec("binary", 2, positive), given_rows, lower=lower)
    pairs = [(row[0], 1 - row[0]) if positive == 0 else (1 - row[0], row[0]) for row in given_rows]
    assert found.codes.tolist() == decide({"rule": "argmax"}, spec("binary", 2), pairs, lower=lower).codes.tolist()


@given(data=st.data(), threshold=SCORES, strict=st.booleans(), lower=st.booleans(), task=st.sampled_from(TASK_KINDS))
@MANY
def test_threshold_is_reached_at_it_or_passed(
    data: st.DataObject, threshold: float, strict: bool, lower: bool, task: TaskKind
) -> None:
    m = 2 if task == "binary" else data.draw(st.integers(1, 4))
    width = data.draw(st.sampled_from([1, 2])) if task == "binary" else m
    positive = data.draw(st.integers(0, 1)) if task == "binary" else 0
    given_rows = data.draw(rows(width))
    rule = {"rule": "threshold", "threshold": threshold, "strict": strict}
    found = decide(rule, spec(task, m, positive), given_rows, lower=lower)

    def reaches(score: float) -> bool:
        if lower:
            return score < threshold if strict else score <= threshold
        return score > threshold if strict else score >= threshold

    for row, got in zip(given_rows, code_sets(found), strict=True):
        order = sorted(range(width), key=lambda k: (-higher_is_surer(row, lower=lower)[k], k))
        if is_nothing(row):
            assert got == ([] if task == "multilabel" else [MISSING_CODE])
        elif task == "multilabel":
            assert got == [k for k in order if reaches(row[k])]  # the best first, those declared first on ties
        elif task == "multiclass":
            assert got == [order[0] if reaches(row[order[0]]) else MISSING_CODE]
        else:
            own = row[0] if width == 1 else row[positive]
            assert got == [positive if reaches(own) else 1 - positive]


@given(data=st.data(), m=st.integers(1, 5), k=st.integers(1, 7), lower=st.booleans())
@MANY
def test_top_k_are_the_k_best_those_declared_first_on_ties(data: st.DataObject, m: int, k: int, lower: bool) -> None:
    given_rows = data.draw(rows(m))
    found = decide({"rule": "top_k", "k": k}, spec("multilabel", m), given_rows, lower=lower)
    for row, got in zip(given_rows, code_sets(found), strict=True):
        order = sorted(range(m), key=lambda c: (-higher_is_surer(row, lower=lower)[c], c))
        assert got == ([] if is_nothing(row) else order[:k])


@given(data=st.data(), lower=st.booleans(), positive=st.integers(0, 1), width=st.integers(1, 2))
@MANY
def test_top_n_positive_takes_as_many_as_gold_has_and_no_part_of_a_tie(
    data: st.DataObject, lower: bool, positive: int, width: int
) -> None:
    given_rows = data.draw(rows(width))
    n = len(given_rows)
    count = data.draw(st.integers(0, n))
    about = spec("binary", 2, positive)
    found = decide({"rule": "top_n_positive"}, about, given_rows, lower=lower, positives=count).codes
    own = [higher_is_surer(row, lower=lower)[0 if width == 1 else positive] for row in given_rows]
    sound = [at for at in range(n) if not is_nothing(given_rows[at])]
    for at in range(n):
        if at not in sound:
            assert found[at] == MISSING_CODE
            continue
        as_good = sum(own[other] >= own[at] for other in sound)  # itself too
        assert found[at] == (positive if as_good <= count else 1 - positive)
    order = data.draw(st.permutations(range(n)))
    again = decide({"rule": "top_n_positive"}, about, [given_rows[at] for at in order], lower=lower, positives=count)
    assert again.codes.tolist() == found[list(order)].tolist()


@given(given_rows=rows(1), data=st.data(), lower=st.booleans(), positive=st.integers(0, 1))
@MANY
def test_top_n_positive_reads_a_weight_as_so_many_repetitions(
    given_rows: list[ROW], data: st.DataObject, lower: bool, positive: int
) -> None:
    n, about = len(given_rows), spec("binary", 2, positive)
    weights = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    gold = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    copies = [row for row in range(n) for _ in range(weights[row])]
    rule = ConfiguredDecisionRule("top_n_positive", lower=lower)
    matrix, labels = np.array(given_rows, dtype=np.float64), Labels(np.array(gold, dtype=np.int32))
    found = decide_labels_with_gold(rule, about, labels, matrix, np.array(weights, dtype=np.int64)).codes
    repeated = decide_labels_with_gold(rule, about, labels.take(np.array(copies, dtype=np.int64)), matrix[copies]).codes
    assert found[copies].tolist() == repeated.tolist()


def test_only_the_rule_that_asks_the_gold_is_applied_anew_to_a_split() -> None:
    of = case("binary", "ab", "abab", "aabb", [[0.9], [0.8], [0.7], [0.6]])
    some = of.take(np.array([1, 2]))
    assert redecide_subset(None, some) is some
    assert redecide_subset(ConfiguredDecisionRule("threshold"), some) is some
    assert redecide_subset(ConfiguredDecisionRule("top_n_positive"), some).predicted.codes.tolist() == [
        0,
        1,
    ]  # one positive, the better of two
    assert redecide_subset(ConfiguredDecisionRule("top_n_positive"), of).predicted.codes.tolist() == [0, 0, 1, 1]


def test_without_a_decision_only_sets_and_single_scores_of_binary_tasks_meet_a_threshold() -> None:
    rules = {
        (task, single): ConfiguredDecisionRule.from_recipe(spec(task, 2), None, single=single, options={}).rule
        for task in TASK_KINDS
        for single in (True, False)
    }
    assert rules == {
        ("binary", True): "threshold",
        ("binary", False): "argmax",
        ("multiclass", True): "argmax",  # the column of the only class
        ("multiclass", False): "argmax",
        ("multilabel", True): "threshold",
        ("multilabel", False): "threshold",
    }


def test_a_threshold_is_told_with_all_its_digits() -> None:
    assert (
        describe_rule(ConfiguredDecisionRule("threshold", threshold=0.4999999999))
        == "threshold (score >= 0.4999999999)"
    )
    assert describe_rule(ConfiguredDecisionRule("threshold", strict=True)) == "threshold (score > 0.5)"
    assert describe_rule(ConfiguredDecisionRule("threshold", threshold=-3.0, lower=True)) == "threshold (score <= -3)"


@pytest.mark.parametrize("rule", [{"rule": "argmax"}, {"rule": "threshold"}, {"rule": "top_n_positive"}])
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_lower_is_as_higher_of_negated_scores(rule: dict[str, Any], data: st.DataObject) -> None:
    given_rows = data.draw(rows(2))
    negated = [tuple(-score for score in row) for row in given_rows]
    if rule["rule"] == "threshold":
        rule = rule | {"threshold": 0.25}
    about = spec("binary", 2)
    there = decide(
        rule | ({"threshold": -0.25} if "threshold" in rule else {}), about, negated, lower=False, positives=2
    )
    assert decide(rule, about, given_rows, lower=True, positives=2).codes.tolist() == there.codes.tolist()
