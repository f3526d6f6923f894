"""The same answers in every format, shape and encoding are the same arrays, to the last bit."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats import normalize as tidy_module
from app.formats.readers import csv_table as csv_module
from app.formats.readers import json_lines as lines_module
from app.formats.readers import records as records_module
from app.formats.reading_rules import ReadingRules
from app.formats.validation import score_matrix as scores_module
from app.formats.validation import table_validation as check_module
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from tests.each_case import for_each
from tests.formats.answer_table import AnswerTable
from tests.formats.reading import code_sets, compress, read_answers
from tests.formats.strategies import DrawnAnswers, drawn_answers, float32_scores
from tests.formats.table_writers import write_columns, write_npz
from tests.formats.writers import WRITERS

CASES = [(task, scored) for task in TASK_KINDS for scored in (False, True)]
ENCODINGS = ("", "gzip", "zstd")


@pytest.mark.parametrize("first", [0, *(pytest.param(at, marks=pytest.mark.ci) for at in (1, 2))])
@pytest.mark.parametrize(("task", "scored"), CASES)
@given(data=st.data())
@settings(max_examples=16, deadline=None)  # each reads thirty files
def test_any_answers_are_the_same_arrays_in_every_format_and_encoding(
    first: int, task: TaskKind, scored: bool, data: st.DataObject
) -> None:
    """Each writer in one of the encodings, in another one from another first."""
    one = data.draw(drawn_answers(task, scored=scored))
    fitting = [writer for writer in WRITERS.values() if writer.fits(one.data)]
    for number, writer in enumerate(fitting, start=first):
        encoding = ENCODINGS[number % len(ENCODINGS)]
        one.assert_read(compress(writer.write(one.data), encoding), writer, encoding)
    assert len(fitting) >= 20


@pytest.mark.parametrize(("task", "scored"), CASES)
@given(data=st.data())
@settings(max_examples=12, deadline=None)  # each reads thirty files
def test_the_slow_ways_read_what_the_quick_ones_read(task: TaskKind, scored: bool, data: st.DataObject) -> None:
    one = data.draw(drawn_answers(task, scored=scored))
    with pytest.MonkeyPatch.context() as patch:  # switches the shortcuts off; nothing is imitated
        patch.setattr(records_module, "_columns_from_uniform_records", lambda *_: None)
        patch.setattr(lines_module, "_decode_clean_lines", lambda *_: None)
        patch.setattr(csv_module, "_read_clean_rows", lambda *_: None)
        patch.setattr(tidy_module, "_normalize_clean_columns", lambda *_: None)
        patch.setattr(check_module, "_join_clean_table", lambda *_: None)
        patch.setattr(scores_module._ScoreMatrixBuilder, "_clean_matrix", lambda *_, **__: None)
        for writer in WRITERS.values():
            if writer.fits(one.data):
                one.assert_read(writer.write(one.data), writer)


# ---- float32, integers and spelling ----------------------------------------------------------------


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_float32_is_widened_exactly(task: TaskKind, data: st.DataObject) -> None:
    one = data.draw(drawn_answers(task, scored=True, numbers=float32_scores))
    assert one.matrix is not None
    ways = {
        "npz": partial(write_npz, dtype=np.float32),
        "npz, compressed": partial(write_npz, dtype=">f4", order="F"),
        "parquet": partial(write_columns, parquet=True, floats=pa.float32()),
        "arrow": partial(write_columns, parquet=False, floats=pa.float32()),
        "parquet, lists": partial(write_columns, parquet=True, lists=True, floats=pa.float32()),
        "arrow in parts, lists": partial(write_columns, parquet=False, lists=True, few=True, floats=pa.float32()),
    }
    for name, write in ways.items():
        if WRITERS[name].fits(one.data):
            one.assert_read(write(one.data), WRITERS[name])


def test_a_score_that_is_a_whole_number_is_a_number() -> None:
    data = AnswerTable(["t1"], ["a", "b"], scores=[[1, 0]])
    one = DrawnAnswers("multiclass", data, ["t1"], None, np.array([[1.0, 0.0]]))
    for writer in WRITERS.values():
        if writer.kind in {"json", "jsonl", "csv", "tsv"} and writer.fits(data):
            one.assert_read(writer.write(data), writer)


# ---- classes that are called like columns ----------------------------------------------------------

LABELS, WIDE = "id,label\nt1,label\nt2,x\n", "id,label,x\nt1,0.25,0.75\nt2,0.5,0.5\n"


def table(text: str, classes: list[str], task: TaskKind = "multiclass", **how: Any) -> Any:
    positive = classes[0] if task == "binary" else None
    found, problems = read_answers(
        text, "csv", ids=["t1", "t2"], classes=classes, task=task, positive_label=positive, **how
    )
    return found, problems.total


@for_each("scores", ["ignored", "used"])
def test_a_class_called_label_does_not_make_the_column_of_labels_one_of_scores(scores: str) -> None:
    found, total = table(LABELS, ["label", "x"], rules=ReadingRules(scores=scores))
    assert total == {}
    assert found.labels.codes.tolist() == [0, 1]
    assert found.scores is None


@for_each("scores", ["ignored", "used", "due"])
def test_columns_for_all_classes_are_scores_even_if_one_is_called_label(scores: str) -> None:
    found, total = table(WIDE, ["label", "x"], rules=ReadingRules(scores=scores))
    assert total == {}
    assert found.labels is None
    assert found.scores.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_labels_beside_the_scores_of_a_class_called_label_stand_in_the_column_labels() -> None:
    text = "id,labels,label,x\nt1,x,0.25,0.75\nt2,label|x,0.5,0.5\n"
    found, total = table(text, ["label", "x"], "multilabel", rules=ReadingRules(scores="used"))
    assert total == {}
    assert code_sets(found.labels) == [[1], [0, 1]]
    assert found.scores.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_a_single_class_called_label_makes_its_column_one_of_scores() -> None:
    """The one ambiguity that is left: nothing but the values could tell, and a task of one class asks nothing."""
    assert table(LABELS.replace("x", "label"), ["label"])[1] == {"not_a_number": 2}


def test_a_column_called_score_is_that_of_the_class_where_a_class_is_called_so() -> None:
    text = "id,score\nt1,0.25\nt2,0.75\n"
    found, total = table(text, ["score", "x"], "binary", rules=ReadingRules(scores="due"))
    assert total == {}
    assert found.scores.tolist() == [[0.25], [0.75]]
    assert table(text, ["x", "score"], "binary", rules=ReadingRules(scores="due"))[1] == {"wrong_class_count": 1}


def test_scores_of_a_class_called_id_have_no_place_in_a_table() -> None:
    assert table("id,id,x\nt1,0.5,0.5\nt2,0.5,0.5\n", ["id", "x"])[1] == {"duplicate_key": 1}
    assert table("id,x\nt1,0.5\nt2,0.5\n", ["id", "x"], rules=ReadingRules(scores="due"))[1] == {"wrong_class_count": 1}


@for_each("name", ["parquet", "arrow in parts"])
@for_each("odd", ["label", "score", "scores", "labels"])
def test_columns_of_floats_are_scores_whatever_the_classes_are_called(name: str, odd: str) -> None:
    data = AnswerTable(["t1", "t2"], [odd, "x"], scores=[[0.25, 0.75], [0.5, 0.5]], order=[1, 0])
    one = DrawnAnswers("multiclass", data, ["t1", "t2"], None, np.array(data.scores))
    one.assert_read(WRITERS[name].write(data), WRITERS[name])
