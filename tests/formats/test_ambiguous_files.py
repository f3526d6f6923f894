"""Files and gold that a reader could easily misinterpret."""

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.formats import FileKind, ReadingRules
from app.formats.templates.build_template import build_template
from app.offline import read_ids
from app.pipeline import SourceFile
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.each_case import for_each
from tests.formats.fault_table.write import columnar, npz
from tests.formats.reading import (
    CLASSES,
    IDS,
    code_sets,
    load_gold_both_ways,
    located_problems,
    read_answers,
    read_valid,
    read_valid_sets,
    summarize_problems,
)
from tests.scoring.case_builder import case
from tests.scoring.case_builder import value as value_of


@for_each("task", ["binary", "multiclass", "multilabel"])
def test_one_score_is_not_that_of_each_of_several_classes(task: TaskKind) -> None:
    positive = "cat" if task == "binary" else None
    classes = CLASSES[:2] if task == "binary" else CLASSES
    _, problems = read_answers(
        npz(ids=IDS, classes=classes, scores=[0.1, 0.9, 0.5]),
        "npz",
        task=task,
        classes=classes,
        positive_label=positive,
    )
    assert summarize_problems(problems) == [{"code": "wrong_class_count", "pointer": "/scores"}]


@for_each("kind", ["multiclass", "binary"])
def test_no_scores_at_all_are_a_file_without_rows(kind: TaskKind) -> None:
    raw = npz(ids=np.array([], dtype=str), scores=np.zeros(0))
    found = read_valid(raw, "npz", ids=[], task=kind, classes=CLASSES[:2], positive_label="cat")
    assert found.scores is not None
    assert len(found.scores) == 0


def test_columns_are_told_after_nfc() -> None:
    classes = ("\u00e9", "label")
    for name in ("\u00e9", "e\u0301"):
        text = f"id,labels,label,{name}\nt1,label,0.1,0.9\nt2,,0.1,0.9\nt3,{name},0.1,0.9\n"
        assert read_valid_sets(text, "csv", classes=classes, multilabel=True) == [[1], [], [0]]


def test_rows_of_pairs_have_no_scores() -> None:
    text = "id,label,cat,dog,eel\nt1,cat,1,0,0\nt1,dog,1,0,0\nt2,,1,0,0\nt3,eel,1,0,0\n"
    found = read_valid(text, "csv", multilabel=True, layout="long", rules=ReadingRules(scores="used"))
    assert found.scores is None
    assert code_sets(found.labels) == [[0, 1], [], [2]]


def test_sets_that_are_all_empty_have_no_type_inside() -> None:
    raw = columnar("parquet", pa.table({"id": list(IDS), "labels": [[], [], []]}))
    assert read_valid_sets(raw, "parquet", multilabel=True) == [[], [], []]


def test_classes_beside_single_scores_are_ignored() -> None:
    text = '{"classes":["dog","cat"],"predictions":[{"id":"t1","score":1},{"id":"t2","score":0},{"id":"t3","score":0}]}'
    found = read_valid(text, task="binary", classes=CLASSES[:2], positive_label="cat")
    assert found.scores is not None
    assert found.scores.tolist() == [[1.0], [0.0], [0.0]]


@for_each("junk", [(b"JUNK", b""), (b"", b"JUNK"), (b"\xef\xbb\xbf", b"")])
def test_an_archive_with_something_around_it_is_refused(junk: tuple[bytes, bytes]) -> None:
    raw = npz(ids=IDS, labels=["cat", "dog", "eel"])
    assert not read_answers(raw, "npz")[1]
    assert read_answers(junk[0] + raw + junk[1], "npz")[1].total == {"syntax": 1}


def test_labels_joined_where_one_is_due_are_told_so() -> None:
    _, problems = read_answers('{"t1":"cat|dog","t2":"cat","t3":"eel"}')
    assert "Give exactly one label." in problems.first[0].message
    _, problems = read_answers('{"t1":["cat,dog"],"t2":[],"t3":[]}', multilabel=True)
    assert "Give each label separately" in problems.first[0].message


def test_a_small_file_with_many_rows_and_classes_costs_little() -> None:
    m = 3000
    text = "[" + ",".join(f'{{"id":"i{at}","scores":[]}}' for at in range(m)) + "]"
    tracemalloc.start()
    try:
        _, problems = read_answers(text, ids=[f"i{at}" for at in range(m)], classes=[f"c{at}" for at in range(m)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert problems.total == {"wrong_class_count": m}
    assert peak < 8 * m * m / 2  # bytes: half of the matrix that such scores would be


def test_a_template_names_the_positive_label_where_a_class_is_called_score() -> None:
    spec = TaskSpec("binary", ("score", "other"), "other")
    assert build_template(["t1"], spec, "csv", scores=True) == b"id,other\nt1,\n"
    how = {"ids": ["t1"], "task": "binary", "classes": spec.classes, "positive_label": "other"}
    found = read_valid("id,other\nt1,0.25\n", "csv", **how)
    assert found.scores is not None
    assert found.scores.tolist() == [[0.25]]


# ---- gold -----------------------------------------------------------------------------------------


def gold(folder: Path, raw: bytes | str, kind: FileKind, **more: Any) -> Any:
    path = folder / "gold"
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return load_gold_both_ways(SourceFile(path, kind), **{"task": "multiclass", **more})


CSV, JSON = FileKind("csv"), FileKind("json")


@for_each(
    "text, kind, place",
    [
        ('[{"id":"1","labels":["a"]},{"id":"1","labels":[]},{"id":"2","labels":["b"]}]', JSON, {"pointer": "/1/id"}),
        ("id,label,Usage\n1,a,Private\n2,b,Public\n1,b,Ignored\n", CSV, {"line": 4, "column": 1}),
    ],
)
def test_no_row_takes_another_one_of_its_id_out_of_the_scoring(
    tmp_path: Path, text: str, kind: FileKind, place: dict[str, Any]
) -> None:
    found, problems = gold(tmp_path, text, kind)
    assert found is None
    assert located_problems(problems) == [{"code": "duplicate_id", "instance_id": "1", **place}]


@for_each(
    "text, kind",
    [
        ("id,label,sample_weight\n1,a,3\n2,b,1\n", CSV),
        ("id,label,labels\n1,a,a|b\n2,b,b\n", CSV),
        ('[{"id":"1","label":"a","labels":["a","b"]}]', JSON),
        ('[{"id":"1","label":"a","weight":"1"},{"id":"2","label":"b","weight":2}]', JSON),
    ],
)
def test_what_would_change_the_scores_is_not_ignored(tmp_path: Path, text: str, kind: FileKind) -> None:
    found, problems = gold(tmp_path, text, kind)
    assert found is None
    assert set(problems.total) == {"wrong_shape"}


def test_weights_in_float32_mean_the_shortest_decimals(tmp_path: Path) -> None:
    raw = npz(ids=["1", "2", "3"], labels=["a", "b", "a"], weight=np.array([0.1, 0.2, 0.7], dtype=np.float32))
    found, problems = gold(tmp_path, raw, FileKind("npz"))
    assert not problems
    assert found.weights.tolist() == [1, 2, 7]


def test_weights_with_too_many_digits_are_rounded_and_noted(tmp_path: Path) -> None:
    texts = ("0.14285714285714285", "0.3333333333333333", "0.7")
    found, problems = gold(tmp_path, "id,label,weight\n" + "".join(f"{w},a,{w}\n" for w in texts), CSV)
    assert not problems
    shares = found.weights / found.weights.sum()
    wanted = np.array([float(text) for text in texts])
    assert np.abs(shares - wanted / wanted.sum()).max() < 1e-14
    assert any("they are rounded" in note for note in found.notes)


def test_weights_that_count_repetitions_beyond_binary64_are_still_exact() -> None:
    many = 9001
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a"] * many, ["b"]])
    weights = np.array([2**52 - 1, 1], dtype=np.int64)
    heavy = type(of)(of.spec, of.gold, of.predicted, None, weights)
    expected = (2 * 2**52) / (2 * 2**52 + (many - 1) * (2**52 - 1))
    found = value_of(heavy, "f1_micro", duplicates="multiset")
    assert found == pytest.approx(expected, rel=1e-15)


@for_each(
    "text, said",
    [
        ("id,label,split\n1,a,private\n2,b,private\n", "no instance is public"),
        ("id,label,split\n1,a,\n2,b,\n", "field 'split' is not used"),
    ],
)
def test_a_split_that_shows_nobody_anything_is_noted(tmp_path: Path, text: str, said: str) -> None:
    found, problems = gold(tmp_path, text, CSV)
    assert not problems
    assert any(said in note for note in found.notes)


def test_long_rows_of_a_task_with_one_label_are_noted(tmp_path: Path) -> None:
    found, _ = gold(tmp_path, "id,label\n1,a\n2,b\n", FileKind("csv", layout="long"))
    assert any("layout=long has no effect" in note for note in found.notes)


def test_a_file_of_ids_that_lacks_one_is_no_file_of_ids(tmp_path: Path) -> None:
    path = tmp_path / "ids.parquet"
    path.write_bytes(columnar("parquet", pa.table({"id": ["1", None, "3"]})))
    assert read_ids(SourceFile(path, FileKind("parquet")))[0] is None


@for_each("key", ["predictions", "documents"])
def test_a_vocabulary_beside_the_records_is_no_column_of_theirs(tmp_path: Path, key: str) -> None:
    found, problems = gold(
        tmp_path, f'{{"{key}":[{{"id":"1","label":"a"}},{{"id":"2","label":"b"}}],"labels":["a"]}}', JSON
    )
    assert not problems
    assert found.ids == ["1", "2"]


def test_an_empty_column_is_noted_under_its_own_name(tmp_path: Path) -> None:
    found, problems = gold(tmp_path, "id,label,Usage\n1,a,\n2,b,\n", CSV)
    assert not problems
    assert any("field 'Usage'" in note for note in found.notes)


def test_a_single_array_is_no_archive_with_something_around_it() -> None:
    body = io.BytesIO()
    np.save(body, np.zeros(3))
    assert "not a zip file" in read_answers(body.getvalue(), "npz")[1].first[0].message


BINARY: dict[str, Any] = {"task": "binary", "classes": CLASSES[:2], "positive_label": "cat"}


@for_each(
    "text, pointer, got",
    [
        ('{"classes":["cat",NaN],"predictions":[{"id":"t1","scores":[0.5,0.5]}]}', "/classes/1", "NaN"),
        ('{"classes":["cat",["dog"]],"predictions":[{"id":"t1","scores":[0.5,0.5]}]}', "/classes/1", "a list of 1"),
        ('[{"id":"t1","scores":[0.5,"high"]}]', "/0/scores/1", '"high"'),
        ('[{"id":"t1","scores":{"cat":0.5,"dog":null}}]', "/0/scores/dog", "null"),
        ('[{"id":"t1","score":[0.5,0.5]},{"id":"t2","score":1},{"id":"t3","score":0}]', "/0/score", "a list of 2"),
        ('[{"id":"t1","scores":true},{"id":"t2","scores":[1,0]},{"id":"t3","scores":[0,1]}]', "/0/scores", "true"),
    ],
)
def test_a_problem_of_scores_shows_the_value_of_the_file(text: str, pointer: str, got: str) -> None:
    _, problems = read_answers(text, ids=IDS[: text.count('"id"')], **BINARY)
    assert [(problem.pointer, problem.got) for problem in problems.first] == [(pointer, got)]


def test_where_as_many_rows_give_one_score_as_give_both_those_with_one_are_faulty() -> None:
    _, problems = read_answers('[{"id":"t1","score":0.5},{"id":"t2","score":[0.5,0.5]}]', ids=IDS[:2], **BINARY)
    assert summarize_problems(problems) == [{"code": "wrong_shape", "pointer": "/0/score", "instance_id": "t1"}]


@for_each("field, code", [("score", "not_a_number"), ("scores", "wrong_shape")])
def test_without_any_score_the_name_of_the_field_tells_how_many_each_row_lacks(field: str, code: str) -> None:
    _, problems = read_answers(f'[{{"id":"t1","{field}":null}}]', ids=IDS[:1], **BINARY)
    assert summarize_problems(problems) == [{"code": code, "pointer": f"/0/{field}", "instance_id": "t1"}]


def records_of_dog_cat_and_eel(*scores: str) -> str:
    """Records whose lists have the scores in this order, with these scores as JSON."""
    rows = ",".join(f'{{"id":"t{number}","scores":{text}}}' for number, text in enumerate(scores, start=1))
    return f'{{"classes":["dog","cat","eel"],"predictions":[{rows}]}}'


def test_a_row_that_names_its_classes_fits_beside_lists_in_the_order_of_the_file() -> None:
    raw = records_of_dog_cat_and_eel("[0.1,0.2,0.7]", '{"cat":0.2,"dog":0.1,"eel":0.7}')
    answers, problems = read_answers(raw, ids=IDS[:2])
    assert not problems
    assert answers is not None
    assert answers.scores is not None
    assert answers.scores.tolist() == [[0.2, 0.1, 0.7]] * 2


@for_each(
    "raw, kind, pointers",
    [
        (records_of_dog_cat_and_eel("[0.5,1.5,0.5]", "[0.1,0.1,0.8]"), "json", ["/predictions/0/scores/1"]),
        (
            records_of_dog_cat_and_eel('"high"', "[0.5,1.5,0.5]"),
            "json",
            ["/predictions/0/scores", "/predictions/1/scores/1"],
        ),
        (
            '[{"id":"t1","scores":"high"},{"id":"t2","scores":{"dog":0.5,"eel":1.5,"cat":0.5}}]',
            "json",
            ["/0/scores", "/1/scores/eel"],
        ),
        (
            npz(ids=IDS[:2], classes=["dog", "cat", "eel"], scores=[[0.1, 0.1, 0.8], [0.5, 1.5, 0.5]]),
            "npz",
            ["/scores/1/1"],
        ),
    ],
)
def test_a_score_that_is_no_probability_is_located_by_the_order_of_the_file(
    raw: str | bytes, kind: str, pointers: list[str]
) -> None:
    rules = ReadingRules(probabilities=True, scores="due")
    _, problems = read_answers(raw, kind, ids=IDS[:2], rules=rules)
    assert [problem.pointer for problem in problems.first] == pointers


def test_two_spellings_of_one_id_in_a_map_are_one_id_given_twice_and_not_one_key() -> None:
    _, problems = read_answers('{"\u00e9":"cat","e\u0301":"dog"}', ids=["\u00e9"])
    assert summarize_problems(problems) == [
        {"code": "duplicate_id", "pointer": "/e\u0301", "instance_id": "\u00e9"},
    ]
