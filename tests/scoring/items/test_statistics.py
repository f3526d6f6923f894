"""Statistics of items and pairs against other libraries, a published table, and brute force."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from app.analysis.items.agreement import fleiss_kappa, measure_agreement
from app.analysis.items.answers import AnswerMatrix, answer_matrix
from app.analysis.items.difficulty import Votes, count_votes, item_statistics, order_rows
from app.analysis.items.near_duplicates import compare_errors
from app.analysis.items.report import ItemAnalysis
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.each_case import for_each

FLEISS = """
0 0 0 0 14;0 2 6 4 2;0 0 3 5 6;0 3 9 2 0;2 2 8 1 1;7 7 0 0 0;3 2 6 3 0;2 5 3 2 2;6 5 2 1 0;0 2 2 3 7
"""
"""The worked example of the article "Fleiss' kappa" in Wikipedia: 10 subjects, 14 raters, 5 categories; kappa 0.210."""
CLASSES = ("a", "b", "c")


def spec(task: str = "multiclass", classes: tuple[str, ...] = CLASSES) -> TaskSpec:
    return TaskSpec(task, classes)  # type: ignore[arg-type]


def single_labels(gold: NDArray[np.int32], answers: NDArray[np.int32]) -> AnswerMatrix:
    """The matrix of systems (rows) with one label an instance; -1 is no answer."""
    systems = [
        (f"s{at}", EvaluationInput(spec(), Labels(gold), Labels(row.astype(np.int32))))
        for at, row in enumerate(answers)
    ]
    return answer_matrix(systems, [f"i{row:05}" for row in range(len(gold))])


def drawn(seed: int, systems: int, n: int) -> AnswerMatrix:
    """Independent systems: each is right with a probability of its own, on each instance less if that is hard."""
    random = np.random.default_rng(seed)
    gold = random.integers(0, 3, n).astype(np.int32)
    skill, ease = random.uniform(0.5, 0.95, systems), random.uniform(0.2, 1, n)
    right = random.random((systems, n)) < skill[:, None] * ease
    wrong = (gold + random.integers(1, 3, (systems, n))) % 3
    return single_labels(gold, np.where(right, gold, wrong).astype(np.int32))


@for_each("seed", range(3))
def test_correlations_are_those_of_numpy(seed: int) -> None:
    matrix = drawn(seed, 9, 60)
    found = item_statistics(matrix, count_votes(matrix))
    right = matrix.right.astype(float)
    for item in range(60):
        score, total = right[:, item], right.sum(axis=1)
        if score.std() == 0:
            assert np.isnan(found.discrimination[item])
            assert np.isnan(found.total_correlation[item])
            continue
        assert found.total_correlation[item] == pytest.approx(np.corrcoef(score, total)[0, 1], abs=1e-12)
        assert found.discrimination[item] == pytest.approx(np.corrcoef(score, total - score)[0, 1], abs=1e-12)


def test_votes_and_agreement_are_those_of_a_count_by_hand() -> None:
    matrix = drawn(7, 8, 50)
    votes = count_votes(matrix)
    found = item_statistics(matrix, votes)
    for item in range(50):
        answers = Counter(matrix.codes[:, item].tolist())
        first, last = votes.starts[item], votes.starts[item + 1]
        counted = dict(zip(votes.answers[first:last].tolist(), votes.counts[first:last].tolist(), strict=True))
        assert counted == answers
        assert votes.counts[first:last].tolist() == sorted(answers.values(), reverse=True)
        pairs = [(x, y) for x, y in combinations(matrix.codes[:, item].tolist(), 2)]
        assert found.agreement[item] == pytest.approx(sum(x == y for x, y in pairs) / len(pairs))
        wrong = Counter(code for code, ok in zip(matrix.codes[:, item], matrix.right[:, item], strict=True) if not ok)
        assert found.rival[item] == max(wrong.values(), default=0)
        assert found.suspicion[item] == (found.rival[item] - found.right[item]) / 8


def test_votes_do_not_depend_on_how_many_are_sorted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = drawn(3, 5, 40)
    whole = count_votes(matrix)
    monkeypatch.setattr("app.analysis.items.difficulty.CHUNK", 35)
    parts = count_votes(matrix)
    for one, other in zip(vars_of(whole), vars_of(parts), strict=True):
        assert np.array_equal(one, other)


def vars_of(votes: Votes) -> list[NDArray[np.generic]]:
    return [votes.rows, votes.answers, votes.counts, votes.right, votes.starts]


def test_kappa_of_pairs_is_that_of_scikit_learn() -> None:
    matrix = drawn(11, 6, 80)
    found = measure_agreement(matrix, count_votes(matrix))
    for a, b in combinations(range(6), 2):
        assert found.kappa(a, b) == pytest.approx(cohen_kappa_score(matrix.codes[a], matrix.codes[b]), abs=1e-12)
        wrong = ~matrix.right[a], ~matrix.right[b]
        assert found.error_overlap(a, b) == (wrong[0] & wrong[1]).sum() / (wrong[0] | wrong[1]).sum()


def test_kappa_of_all_is_that_of_a_published_example() -> None:
    counts = np.array([[int(cell) for cell in row.split()] for row in FLEISS.strip().split(";")])
    rows, answers = np.nonzero(counts)
    starts = np.searchsorted(rows, np.arange(11))
    votes = Votes(rows, answers, counts[rows, answers], np.zeros(len(rows), dtype=bool), starts)
    assert fleiss_kappa(votes, 14, 10) == pytest.approx(0.210, abs=0.0005)


def test_one_answer_throughout_leaves_kappas_undefined() -> None:
    matrix = single_labels(np.zeros(4, dtype=np.int32), np.zeros((2, 4), dtype=np.int32))
    found = measure_agreement(matrix, count_votes(matrix))
    assert (found.fleiss, found.kappa(0, 1), found.error_overlap(0, 1)) == (None, None, None)


def expectation(matrix: AnswerMatrix, a: int, b: int) -> tuple[float, float]:
    """The expected number of equal wrong answers and its variance, straight from the definition."""
    others = [each for each in range(len(matrix.systems)) if each not in {a, b}]
    shares, alike = [], []
    for item in range(len(matrix.ids)):
        wrong = Counter(int(matrix.codes[each, item]) for each in others if not matrix.right[each, item])
        total = sum(wrong.values())
        shares.append((total + 0.5) / (len(others) + 1))
        alike.append(sum((count / total) ** 2 for count in wrong.values()) if total else 1.0)
    errors = [(~matrix.right[each]).sum() for each in (a, b)]
    chances = [[min(1.0, share * count / sum(shares)) for share in shares] for count in errors]
    both = [x * y * g for x, y, g in zip(*chances, alike, strict=True)]
    return sum(both), sum(p * (1 - p) for p in both)


def test_expected_errors_in_common_are_those_of_the_definition() -> None:
    matrix = drawn(5, 6, 70)
    pairs, count = compare_errors(matrix, count_votes(matrix), matrix.systems)
    assert len(pairs) == count == 15
    for pair in pairs:
        expected, variance = expectation(matrix, pair.a, pair.b)
        assert pair.expected == pytest.approx(expected, abs=1e-9)
        assert pair.deviations == pytest.approx((pair.same_wrong - expected) / variance**0.5, abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_independent_systems_are_not_reported(seed: int) -> None:
    matrix = drawn(seed, 8, 300)
    assert not any(pair.reported for pair in compare_errors(matrix, count_votes(matrix), matrix.systems)[0])


@for_each("changed", [0, 5, 20])
def test_a_copy_with_a_few_changes_is_reported(changed: int) -> None:
    matrix = drawn(2, 8, 1000)
    codes = np.vstack([matrix.codes, matrix.codes[3]])
    random = np.random.default_rng(1)
    places = random.choice(1000, changed, replace=False)
    codes[-1, places] = (codes[-1, places] + 1) % 3
    gold = matrix.gold.codes
    copied = single_labels(gold, codes)
    pairs, count = compare_errors(copied, count_votes(copied), copied.systems, listed=1)
    assert (len(pairs), count) == (1, 36)
    assert [(pair.a, pair.b, pair.identical) for pair in pairs if pair.reported] == [(3, 8, changed == 0)]


def test_systems_of_one_team_are_not_compared() -> None:
    matrix = drawn(2, 3, 30)
    assert compare_errors(matrix, count_votes(matrix), ["x", "x", "y"])[1] == 2


def test_undefined_values_come_last_in_every_order() -> None:
    matrix = drawn(4, 4, 60)
    found = item_statistics(matrix, count_votes(matrix))
    ordered = found.discrimination[order_rows(found, "discrimination")]
    defined = ordered[~np.isnan(ordered)]
    assert np.isnan(ordered[len(defined) :]).all()
    assert (np.diff(defined) >= 0).all()
    assert order_rows(found, "id").tolist() == list(range(60))


def sets_of(*rows: str) -> Labels:
    """Label sets from the letters of each row."""
    codes = [CLASSES.index(letter) for row in rows for letter in row]
    return Labels(np.array(codes, dtype=np.int32), np.cumsum([0, *map(len, rows)]))


def test_sets_are_right_as_a_whole_and_labels_alone() -> None:
    gold = sets_of("ab", "", "c")
    systems = {"x": sets_of("ba", "", "ac"), "y": sets_of("a", "b", "c")}
    cases = [(name, EvaluationInput(spec("multilabel"), gold, each)) for name, each in systems.items()]
    analysis = ItemAnalysis(answer_matrix(cases, ["i1", "i2", "i3"]))
    items = {item["id"]: item for item in analysis.items(analysis.rows("id", "all"))}
    assert [items[name]["right"] for name in ("i1", "i2", "i3")] == [1, 1, 1]
    assert items["i1"]["answers"][0]["labels"] == ["a", "b"]
    assert items["i1"]["label_right_share"] == pytest.approx((1 + 2 / 3) / 2)
    assert analysis.summary()["labels"] == [
        {"label": "a", "in_gold": 2, "missed": 0, "false": 1},
        {"label": "b", "in_gold": 2, "missed": 1, "false": 1},
        {"label": "c", "in_gold": 2, "missed": 0, "false": 0},
    ]


def test_unknown_cells_are_neither_right_nor_wrong() -> None:
    gold, unknown = sets_of("a", "b", ""), sets_of("b", "", "abc")
    case = EvaluationInput(spec("multilabel"), gold, sets_of("ab", "b", "c"), unknown=unknown)
    matrix = answer_matrix([("x", case)], ["i1", "i2", "i3"])
    assert (list(matrix.ids), matrix.right.tolist()) == (["i1", "i2"], [[True, True]])


def test_any_acceptable_answer_is_right_and_none_is_wrong() -> None:
    case = EvaluationInput(spec(), sets_of("ab", "b", "c"), Labels(np.array([1, 0, -1], dtype=np.int32)))
    analysis = ItemAnalysis(answer_matrix([("x", case)], ["i1", "i2", "i3"]))
    assert analysis.matrix.right.tolist() == [[True, False, False]]
    items = list(analysis.items([0, 2]))
    assert items[0]["gold"] == ["a", "b"]
    assert items[1]["answers"] == [{"labels": None, "votes": 1, "right": False}]


def test_instances_of_weight_zero_are_left_out() -> None:
    labels = Labels(np.array([0, 1], dtype=np.int32))
    case = EvaluationInput(spec(), labels, labels, weights=np.array([0, 3]))
    assert list(answer_matrix([("x", case)], ["i1", "i2"]).ids) == ["i2"]
