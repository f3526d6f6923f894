"""Confusion matrices as data: of single labels against scikit-learn, of label sets against the rule, label by label."""

import json
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix as peer

from app.scoring import crosstab
from app.scoring.crosstab import confusion, sparse_confusion
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.metrics.labels import confusion_matrix as family
from app.scoring.tally import NO_LABEL
from tests.scoring.case_builder import case, evaluate_metric
from tests.scoring.strategies import cases

MANY = settings(max_examples=80, deadline=None)
NAMES = ("a", "b", "c", "d")


def data_of(of: EvaluationInput, key: str, **options: str) -> Any:
    result = evaluate_metric(of, key, **options)
    assert (result.value, result.reason) == (None, None)
    return json.loads(json.dumps(result.data))


@given(of=cases("multiclass"))
@MANY
def test_the_matrix_is_that_of_scikit_learn(of: EvaluationInput) -> None:
    m = len(of.spec.classes)
    assume(m > 1)  # else scikit-learn warns
    found = data_of(of, "confusion_matrix")
    assert found["matrix"] == peer(of.gold.codes, of.predicted.codes, labels=range(m)).tolist()
    tables = zip(*found["one_vs_rest"].values(), strict=True)
    for code, table in enumerate(tables):
        tn, fp, fn, tp = peer(of.gold.codes == code, of.predicted.codes == code, labels=[False, True]).ravel().tolist()
        assert table == (tp, fp, fn, tn)


def test_what_stands_in_no_column_follows_its_option() -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "b"], ["beyond", None, "b"])
    found = data_of(of, "confusion_matrix")
    assert (found["outside"], found["nothing"]) == ([1, 0], [1, 0])
    found = data_of(of, "confusion_matrix", unknown_label="drop")
    assert (found["outside"], found["nothing"]) == ([0, 0], [2, 0])


@given(of=cases("multiclass"), data=st.data())
@MANY
def test_without_zeros_it_is_the_same_matrix(of: EvaluationInput, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 2**40), min_size=of.gold.n, max_size=of.gold.n))
    of = EvaluationInput(of.spec, of.gold, of.predicted, weights=np.array(weights, dtype=np.int64))
    dense, sparse = confusion(of), sparse_confusion(of)
    m = len(of.spec.classes)
    filled = np.zeros((m, m), dtype=np.int64)
    for gold, predicted, count in sparse.pop("cells"):
        filled[gold, predicted] = count
    assert filled.tolist() == dense.pop("matrix")
    assert sparse == dense


def test_very_many_classes_give_a_list_of_cells() -> None:
    m = 34_000
    spec = TaskSpec("multiclass", tuple(map(str, range(m))))
    gold = Labels(np.array([5, 5, 33_999, 7], dtype=np.int32))
    predicted = Labels(np.array([5, 6, 33_999, m], dtype=np.int32))
    found = data_of(EvaluationInput(spec, gold, predicted), "confusion_matrix")
    assert "matrix" not in found
    assert found["cells"] == [[5, 5, 1], [5, 6, 1], [33_999, 33_999, 1]]
    assert found["outside"][7] == 1


Cells = dict[tuple[str, str], Fraction]


def by_the_rule(rows: list[tuple[list[str], list[str], int]]) -> tuple[Cells, Cells]:
    """The row counts and the column counts, one instance after the other."""
    by_row: Cells = defaultdict(Fraction)
    by_column: Cells = defaultdict(Fraction)
    for gold, predicted, weight in rows:
        y, p = set(gold) or {NO_LABEL}, set(predicted) or {NO_LABEL}
        for label in y & p:
            by_row[label, label] += weight
            by_column[label, label] += weight
        missed, added = y - p, p - y
        if len(missed) == len(added) == 1:
            cell = missed.pop(), added.pop()
            by_row[cell] += weight
            by_column[cell] += weight
            continue
        for label in missed:
            for other in p:
                by_row[label, other] += Fraction(weight, len(p))
        for label in added:
            for other in y:
                by_column[other, label] += Fraction(weight, len(y))
    return by_row, by_column


SETS = st.lists(st.sampled_from(NAMES), unique=True)


@given(
    rows=st.lists(st.tuples(SETS, SETS, st.sampled_from([1, 2, 3, 2**48])), min_size=1, max_size=10),
    sparse=st.booleans(),
)
@MANY
def test_split_counts_follow_the_rule(rows: list[tuple[list[str], list[str], int]], sparse: bool) -> None:
    gold, predicted, weights = (list(column) for column in zip(*rows, strict=True))
    of = case("multilabel", NAMES, gold, predicted, weights=weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family, "MAX_DENSE_CELLS", 0 if sparse else 10**6)
        found = data_of(of, "confusion_split")
    by_row, by_column = by_the_rule(rows)
    names = found["labels"]
    seen = {}
    if sparse:
        seen = {(names[g], names[p]): (row, column) for g, p, row, column in found["cells"]}
        assert all(row or column for row, column in seen.values())
    else:
        seen = {
            (gold, predicted): (found["row_counts"][g][p], found["column_counts"][g][p])
            for g, gold in enumerate(names)
            for p, predicted in enumerate(names)
        }
    for cell in by_row.keys() | by_column.keys() | seen.keys():
        expected = float(by_row.get(cell, Fraction(0))), float(by_column.get(cell, Fraction(0)))
        assert seen.get(cell, (0.0, 0.0)) == expected, cell
    for at, name in enumerate(names):
        y = sum(weight for gold, _, weight in rows if name in (gold or [NO_LABEL]))
        p = sum(weight for _, predicted, weight in rows if name in (predicted or [NO_LABEL]))
        assert (found["row_totals"][at], found["column_totals"][at]) == (y, p)
    assert found["grand_total"] == {"by_rows": sum(found["row_totals"]), "by_columns": sum(found["column_totals"])}


def test_labels_outside_the_vocabulary_have_a_place_of_their_own() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a", "beyond", "other"], ["beyond"]])
    found = data_of(of, "confusion_split", unknown_label="count_as_fp")
    assert found["labels"] == ["a", "b", "(outside the vocabulary)"]
    assert found["column_totals"] == [1, 0, 3]
    assert found["column_counts"] == [[1, 0, 2], [0, 0, 1], [0, 0, 0]]
    assert found["row_counts"] == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    dropped = data_of(of, "confusion_split", unknown_label="drop")
    assert dropped["labels"] == ["a", "b", NO_LABEL]
    assert dropped["row_counts"] == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_sets_of_very_many_classes_give_a_list_of_cells() -> None:
    m, n = 34_000, 200
    chance = np.random.default_rng(3)
    ends = np.arange(n + 1, dtype=np.int64) * 8
    gold, predicted = (
        Labels(np.concatenate([chance.choice(m, 8, replace=False) for _ in range(n)]).astype(np.int32), ends)
        for _ in range(2)
    )
    found = data_of(
        EvaluationInput(TaskSpec("multilabel", tuple(map(str, range(m)))), gold, predicted), "confusion_split"
    )
    assert found["grand_total"] == {"by_rows": 8 * n, "by_columns": 8 * n}
    assert "row_counts" not in found
    assert sum(row for _, _, row, _ in found["cells"]) == pytest.approx(8 * n)
    assert sum(column for _, _, _, column in found["cells"]) == pytest.approx(8 * n)
    assert len(found["cells"]) == pytest.approx(64 * n, rel=0.01)


def test_split_counts_of_sets_of_many_sizes_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    names, draw = [f"c{at:02}" for at in range(60)], np.random.default_rng(3)
    rows = []
    for size in range(1, 51):
        gold, predicted = (sorted(draw.choice(names, some, replace=False).tolist()) for some in (size // 3, size))
        rows.append((gold, predicted, int(draw.integers(1, 2**40))))
    assert math.lcm(*range(1, 51)) > 2**62
    monkeypatch.setattr(crosstab, "_CHUNK_CELLS", 100)  # in several parts
    gold, predicted, weights = (list(column) for column in zip(*rows, strict=True))
    found = data_of(case("multilabel", names, gold, predicted, weights=weights), "confusion_split")
    by_row, by_column = by_the_rule(rows)
    for counts, by_rule in ((found["row_counts"], by_row), (found["column_counts"], by_column)):
        for g, own in enumerate(found["labels"]):
            for p, other in enumerate(found["labels"]):
                assert counts[g][p] == float(by_rule.get((own, other), Fraction(0)))


def test_pairs_without_number_are_refused() -> None:
    m, n = 40_000, 30
    every = Labels(np.tile(np.arange(m, dtype=np.int32), n), np.arange(n + 1, dtype=np.int64) * m)
    some = Labels(np.arange(10 * n, dtype=np.int32) % 20 + m, np.arange(n + 1, dtype=np.int64) * 10)
    spec = TaskSpec("multilabel", tuple(map(str, range(m + 20))))
    result = evaluate_metric(EvaluationInput(spec, every, some), "confusion_split")
    assert "ten million" in str(result.reason)
