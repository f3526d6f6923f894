"""What is tolerated because it cannot be misread: byte order marks, semicolons, usual names of the labels."""

import csv
import io
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.content.text_start import BYTE_ORDER_MARK_NOTE, SEMICOLON_NOTE
from app.formats.readers.table_header import LABEL_ALIASES
from app.formats.reading_rules import Limits, ReadingRules
from app.offline import score_offline
from app.pipeline import SourceFile, build_lookup_tables, infer_task, validate_predictions
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TASK_KINDS, TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex
from tests.each_case import for_each
from tests.formats.reading import (
    CLASSES,
    IDS,
    code_sets,
    compress,
    load_gold_both_ways,
    read,
    read_answers,
    read_valid_sets,
    summarize_problems,
)
from tests.formats.strategies import drawn_answers
from tests.formats.writers import WRITERS

MARK = b"\xef\xbb\xbf"
TABLE = "id,label\nt1,cat\nt2,dog\nt3,eel\n"


def alias_note(name: str) -> str:
    return f"the column \"{name}\" was read as 'label'"


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd"])
@pytest.mark.parametrize("scored", [False, True])
@given(data=st.data())
@settings(max_examples=3, deadline=None)
def test_a_byte_order_mark_changes_nothing_but_the_notes(encoding: str, scored: bool, data: st.DataObject) -> None:
    task: TaskKind = data.draw(st.sampled_from(TASK_KINDS))
    one = data.draw(drawn_answers(task, scored=scored))
    for writer in WRITERS.values():
        raw = writer.write(one.data) if writer.fits(one.data) else b"PK"
        if raw.startswith((b"PK", b"PAR1", b"ARROW1")):
            continue
        one.assert_read(compress(MARK + raw, encoding), writer, encoding)


TEXTS = st.text(st.sampled_from(list("ab,;\t\"é'|. ")), min_size=1, max_size=6)


def delimited(rows: list[tuple[str, str]], sign: str, quoting: int) -> str:
    """Rows as CSV with this separator."""
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator="\n", quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(TEXTS, min_size=2, max_size=5, unique=True),
    st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    st.sampled_from(["label", *sorted(LABEL_ALIASES), "PREDICTION", "Class"]),
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    st.randoms(use_true_random=False),
)
@example(["a,b", "c"], ["x;y"], "label", (True, False, True, csv.QUOTE_MINIMAL), random.Random(0))
def test_mark_semicolons_and_names_give_the_columns_of_the_plain_file(
    ids: list[str],
    classes: list[str],
    name: str,
    how: tuple[bool, bool, bool, int],
    chance: random.Random,
) -> None:
    marked, semicolons, turned, quoting = how
    rows = [(one, chance.choice(classes)) for one in ids]

    def write(name: str, sign: str) -> str:
        table = [("id", name), *rows]
        return delimited([(second, first) for first, second in table] if turned else table, sign, quoting)

    plain, other = write("label", ","), write(name, ";" if semicolons else ",")
    body = (MARK if marked else b"") + other.encode()
    expected, problems = read_answers(plain, "csv", ids=ids, classes=classes)
    found, told = read_answers(body, "csv", ids=ids, classes=classes)
    assert told.to_dict() == problems.to_dict()
    assert expected is not None
    assert found is not None
    assert code_sets(found.labels) == code_sets(expected.labels)
    table, _ = read(body, "csv", classes=classes)
    assert table.notes == [
        *([BYTE_ORDER_MARK_NOTE] if marked else []),
        *([SEMICOLON_NOTE] if semicolons else []),
        *([] if name == "label" else [alias_note(name)]),
    ]


@for_each("kind", ["csv", "tsv"])
def test_semicolons_separate_in_either_table(kind: str) -> None:
    assert read_valid_sets(TABLE.replace(",", ";"), kind) == [[0], [1], [2]]


@for_each("header", ["id;label,x", "id;label\tx", '"id;label', "id,label;x", '"id";"la,bel"', "id\tlabel;x"])
def test_semicolons_separate_nothing_beside_another_separator(header: str) -> None:
    table, problems = read(f"{header}\nt1;cat\n", "csv")
    assert problems
    assert SEMICOLON_NOTE not in table.notes


def test_cells_of_a_table_with_semicolons_count_as_values() -> None:
    for sign in ",;":
        _, problems = read(TABLE.replace(",", sign), "csv", limits=Limits(values=7))
        assert problems.total == {"too_many_rows": 1}
        assert "at least 8 values" in problems.first[0].message


def test_scores_may_stand_between_semicolons() -> None:
    text = "id;cat;dog;eel\nt1;0.5;0.25;0.25\nt2;1;0;0\nt3;0;0;1\n"
    found, problems = read_answers(text, "csv")
    assert not problems
    assert found is not None
    assert found.scores is not None
    assert found.scores.tolist() == [[0.5, 0.25, 0.25], [1, 0, 0], [0, 0, 1]]


# ---- usual names of the labels ----------------------------------------------------------------------


@for_each(
    "text",
    [
        "id,prediction,note\nt1,cat,x\n",  # not alone
        "id,prediction,target\nt1,cat,cat\n",
        "ID,prediction\nt1,cat\n",
        "prediction,target\nt1,cat\n",
        "id,predictions\nt1,cat\n",
    ],
)
def test_no_other_table_gets_a_column_of_labels(text: str) -> None:
    _, problems = read_answers(text, "csv")
    assert "wrong_shape" in problems.total


def test_gold_names_its_labels_itself() -> None:
    _, problems = read("id,prediction\nt1,cat\n", "csv", gold=True)
    assert summarize_problems(problems) == [{"code": "wrong_shape", "line": 1}]
    table, problems = read(MARK + b"id;label;split\nt1;cat;public\nt2;dog;private\n", "csv", gold=True)
    assert not problems
    assert (table.splits, table.notes) == (["public", "private"], [BYTE_ORDER_MARK_NOTE, SEMICOLON_NOTE])


def test_a_column_with_the_name_of_a_class_holds_its_scores() -> None:
    how: dict[str, Any] = {
        "ids": ["t1", "t2"],
        "task": "binary",
        "classes": ["class", "other"],
        "positive_label": "class",
    }
    found, problems = read_answers("id,class\nt1,0.25\nt2,0.75\n", "csv", **how)
    assert not problems
    assert found is not None
    assert found.labels is None
    assert found.scores is not None
    assert found.scores.tolist() == [[0.25], [0.75]]
    _, problems = read_answers("id,Class\nt1,other\nt2,other\n", "csv", **how)  # it could be meant either way
    assert summarize_problems(problems) == [{"code": "wrong_shape", "line": 1}]


@for_each("declared", [False, True])
@for_each("quote", ["", '"'])  # a quote leaves the file to the strict reader
def test_without_declared_classes_those_of_the_gold_decide(tmp_path: Path, declared: bool, quote: str) -> None:
    gold, predictions = tmp_path / "gold.csv", tmp_path / "predictions.csv"
    gold.write_text("id,label\nt1,class\nt2,other\nt3,other\n")
    predictions.write_text(f"id,class\n{quote}t1{quote},0.75\nt2,0.25\nt3,0.5\n")
    outcome = score_offline(
        SourceFile(gold, FileKind("csv")),
        SourceFile(predictions, FileKind("csv")),
        lambda *_: [parse_metric("auc")],
        task="binary",
        positive_label="class",
        classes=["class", "other"] if declared else None,
    )
    assert not outcome.problems
    assert outcome.case is not None
    assert outcome.case.scores is not None


def test_a_parquet_table_may_have_the_usual_names_too() -> None:
    pa = pytest.importorskip("pyarrow")
    from tests.formats.fault_table.write import columnar  # noqa: PLC0415

    body = columnar("parquet", pa.table({"id": list(IDS), "Prediction": ["cat", "dog", "eel"]}))
    assert read_valid_sets(body, "parquet") == [[0], [1], [2]]
    body = columnar("parquet", pa.table({"id": list(IDS), "Prediction": ["cat", "cow", "eel"]}))
    _, problems = read_answers(body, "parquet")
    assert summarize_problems(problems)[0]["pointer"] == "/Prediction/1"


@for_each("layout", ["", "long"])
def test_sets_may_have_a_usual_name(layout: str) -> None:
    text = "id,Category\nt1,cat\nt2,dog\nt3,eel\n"
    assert read_valid_sets(text, "csv", multilabel=True, layout=layout) == [[0], [1], [2]]


# ---- the notes, on every path ------------------------------------------------------------------------


@for_each("quote", ["", '"'])
def test_both_readers_tell_the_same(tmp_path: Path, quote: str) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(MARK + f"id;answer\n{quote}t1{quote};cat\nt2;dog\nt3;eel\n".encode())
    index, spec = IdIndex(IDS), TaskSpec("multiclass", CLASSES)
    tables = build_lookup_tables(index, CLASSES)
    source = SourceFile(path, FileKind("csv"))
    found, _, notes = validate_predictions(index, spec, source, rules=ReadingRules(), tables=tables)
    assert found is not None
    assert notes == [BYTE_ORDER_MARK_NOTE, SEMICOLON_NOTE, alias_note("answer")]


@for_each("sign", [",", ";"])
@for_each("several", [False, True])
def test_gold_and_its_task_are_read_alike(tmp_path: Path, sign: str, several: bool) -> None:
    source = SourceFile(tmp_path / "gold.csv", FileKind("csv"))
    label = "cat|dog" if several else "cat"
    source.path.write_bytes(MARK + f"id{sign}label\nt1{sign}{label}\nt2{sign}dog\n".encode())
    task = infer_task(source)
    assert task == ("multilabel" if several else "multiclass")
    gold, problems = load_gold_both_ways(source, task=task)
    assert not problems
    assert gold is not None
    assert gold.notes[0] == BYTE_ORDER_MARK_NOTE
    assert (SEMICOLON_NOTE in gold.notes) == (sign == ";")
