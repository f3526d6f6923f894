"""Joining by id, taking rows, and the counts that the report shows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput, IdIndex, Labels
from app.scoring.reports.per_class_report import confusion, per_class_report
from tests.scoring.case_builder import case, labels
from tests.scoring.strategies import cases


@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.text(max_size=3)))
def test_ids_find_their_rows_exactly(ids: list[str], names: list[str]) -> None:
    index = IdIndex(ids)
    assert index.rows(names).tolist() == [ids.index(name) if name in ids else -1 for name in names]
    assert index.rows(ids).tolist() == list(range(len(ids)))
    assert len(index) == len(ids)
    assert all(name in index for name in ids)


def test_an_id_that_occurs_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        IdIndex(["a", "b", "a"])


@given(st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=6), st.data())
def test_taking_rows_takes_their_sets(rows: list[list[int]], data: st.DataObject) -> None:
    sizes = np.array([0, *map(len, rows)], dtype=np.int64)
    whole = Labels(np.array([code for row in rows for code in row], dtype=np.int32), np.cumsum(sizes))
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    part = whole.take(np.array(chosen, dtype=np.int64))
    assert part.offsets is not None
    assert part.n == len(chosen)
    found = [part.codes[a:b].tolist() for a, b in zip(part.offsets[:-1], part.offsets[1:], strict=True)]
    assert found == [rows[at] for at in chosen]


def test_single_labels_read_as_sets() -> None:
    sets = labels(["a", None, "b"], ["a", "b"], multilabel=False).as_sets()
    assert sets.codes.tolist() == [0, 1]
    assert sets.offsets is not None
    assert sets.offsets.tolist() == [0, 1, 1, 2]


def test_a_case_needs_as_many_predictions_as_gold_labels() -> None:
    one, two = (Labels(np.zeros(n, dtype=np.int32)) for n in (1, 2))
    with pytest.raises(ValueError, match="1 instances"):
        EvaluationInput(TaskSpec("multiclass", ("a",)), one, two)


@given(of=cases("multilabel"))
def test_every_class_has_one_cell_per_instance(of: EvaluationInput) -> None:
    for row in per_class_report(of).values():
        counts = [row[cell] for cell in ("tp", "fp", "fn", "tn")]
        assert sum(count for count in counts if count is not None) == of.gold.n
        assert row["support"] == (row["tp"] or 0) + (row["fn"] or 0)
        assert row["predicted"] == (row["tp"] or 0) + (row["fp"] or 0)


def test_measures_of_nothing_follow_the_rule_in_the_report_too() -> None:
    of = case("multiclass", ["a", "b"], ["a"], ["a"])
    assert per_class_report(of)["b"]["recall"] == 0.0
    assert per_class_report(of, {"zero_division": "1"})["b"]["recall"] == 1.0
    assert per_class_report(of, {"zero_division": "skip"})["b"]["recall"] is None
    assert per_class_report(of)["b"]["error_rate_ovr"] == 0.0


def test_the_matrix_has_gold_in_rows() -> None:
    of = case("multiclass", ["a", "b"], ["a", "a", "b"], ["b", "?", "b"])
    assert confusion(of) == {
        "rows": "gold",
        "columns": "predicted",
        "labels": ["a", "b"],
        "matrix": [[0, 1], [0, 1]],
        "outside": [1, 0],
        "nothing": [0, 0],
    }
    with pytest.raises(ValueError, match="one label per instance"):
        confusion(case("multilabel", ["a"], [["a"]], [["a"]]))
