"""A valid file of any format with exactly one fault: one problem, with its code and location."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import ReadingRules
from app.offline import score_offline
from app.pipeline import SourceFile, validate_predictions
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.each_case import for_each
from tests.formats.answer_table import EXTRA_CLASS, NO_SCORE, AnswerTable, FormatWriter, Location, pointer_token
from tests.formats.reading import located_problems, read_answers
from tests.formats.strategies import DrawnAnswers, as_nfc, drawn_answers, nfc_texts
from tests.formats.writers import WRITERS, part_of_writers

FEW = settings(max_examples=16, deadline=None)  # each is read in fifteen formats and layouts
HALVES = pytest.mark.parametrize("half", [0, 1])  # of the writers; both together are all of them
CHANCES = st.sampled_from([0.0, 0.125, 0.25])
COLUMNS = ("parquet", "arrow")
Fault = dict[str, Any]


def with_label(data: AnswerTable, at: int, item: int | None, value: Any) -> AnswerTable:
    assert data.labels is not None
    labels = [list(one) if isinstance(one, list) else one for one in data.labels]
    if item is None:
        labels[at] = value
    else:
        labels[at].insert(item, value)
    return replace(data, labels=labels)


def with_score(data: AnswerTable, at: int, item: int, value: Any) -> AnswerTable:
    if data.single is not None:
        return replace(data, single=[value if row == at else one for row, one in enumerate(data.single)])
    assert data.scores is not None
    rows = [list(row) for row in data.scores]
    rows[at][item] = value
    return replace(data, scores=rows)


def with_row(data: AnswerTable, name: Any) -> AnswerTable:
    """One more row at the end: the first one's under this id."""

    def longer(column: Any) -> Any:
        return None if column is None else [*column, column[0]]

    more = {"labels": longer(data.labels), "scores": longer(data.scores), "single": longer(data.single)}
    return replace(data, ids=[*data.ids, name], **more)


def assert_one_problem(
    one: DrawnAnswers, name: str, faulty: AnswerTable, fault: Fault, *, rules: ReadingRules | None = None
) -> None:
    """Assert that this is the only problem, apart from missing ids of rows that could not be read."""
    writer = WRITERS[name]
    how: dict[str, Any] = {} if rules is None else {"rules": rules}
    found, problems = one.read(writer.write(faulty), writer, **how)
    assert found is None
    assert located_problems(problems) == [fault], name
    assert set(problems.total) <= {fault["code"], "missing_instances"}


def expected_problem(code: str, place: Location, owner: object = None) -> Fault:
    return {"code": code, **place, **({} if owner is None else {"instance_id": str(owner)})}


# ---- ids and labels -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
@HALVES
@given(data=st.data(), wrong=st.sampled_from(["unknown", "empty", "again"]))
@FEW
def test_one_wrong_label(half: int, task: TaskKind, data: st.DataObject, wrong: str) -> None:
    one = data.draw(drawn_answers(task, scored=False))
    row = data.draw(st.integers(0, one.data.n - 1))
    labels = one.data.labels[row] if one.data.labels is not None else []
    several = task == "multilabel"
    if (wrong == "again" and not several) or (several and wrong != "unknown" and not labels):
        return  # a label cannot come twice, and an empty one alone is no label where labels are joined
    value = {"empty": "", "again": labels[0] if labels else ""}.get(wrong, "")
    if wrong == "unknown":
        value = data.draw(nfc_texts.filter(lambda text: text not in one.classes))
    item = len(labels) if several else None
    faulty = with_label(one.data, row, item, value)
    code = {"unknown": "unknown_label", "empty": "empty_label", "again": "duplicate_label"}[wrong]
    for name, writer in part_of_writers(faulty, half, 2):
        owner = id_of_row(faulty, row)
        assert_one_problem(
            one, name, faulty, expected_problem(code, writer.location(faulty, row, "label", item), owner)
        )


def id_of_row(data: AnswerTable, row: int) -> str:
    """The id of a row as answers name it."""
    return as_nfc(data.ids[row])


@HALVES
@given(data=st.data(), wrong=st.sampled_from(["unknown", "again"]), task=st.sampled_from(["binary", "multilabel"]))
@FEW
def test_one_row_too_many(half: int, data: st.DataObject, wrong: str, task: TaskKind) -> None:
    one = data.draw(drawn_answers(task, scored=data.draw(st.booleans())))
    row = one.data.n
    extra: Any = one.data.ids[0]
    if wrong == "unknown":
        extra = data.draw(nfc_texts.filter(lambda text: text not in one.ids))
    faulty = with_row(one.data, extra)
    for name, writer in part_of_writers(faulty, half, 2):
        code = "unknown_id" if wrong == "unknown" else "duplicate_key" if name == "map" else "duplicate_id"
        if wrong == "again" and writer.layout == "long":
            continue  # there an id has as many rows as labels
        assert_one_problem(
            one, name, faulty, expected_problem(code, writer.location(faulty, row, "id", None), id_of_row(faulty, row))
        )


@HALVES
@given(data=st.data())
@FEW
def test_one_label_that_is_null(half: int, data: st.DataObject) -> None:
    one = data.draw(drawn_answers("multiclass", scored=False))
    row = data.draw(st.integers(0, one.data.n - 1))
    faulty = with_label(one.data, row, None, None)
    for name, writer in part_of_writers(faulty, half, 2):
        if writer.kind not in {"csv", "tsv"}:
            fault = expected_problem("wrong_shape", writer.location(faulty, row, "label", None), id_of_row(faulty, row))
            assert_one_problem(one, name, faulty, fault)


@HALVES
@given(data=st.data(), value=st.sampled_from([None, "", True, 1.5, ["a"]]))
@FEW
def test_one_id_that_is_none(half: int, data: st.DataObject, value: Any) -> None:
    one = data.draw(drawn_answers("multiclass", scored=data.draw(st.booleans())))
    row = data.draw(st.integers(0, one.data.n - 1))
    names = [value if number == row else name for number, name in enumerate(one.data.ids)]
    faulty = replace(one.data, ids=names)
    code = "missing_id" if value is None or value == "" else "wrong_shape"
    for name, writer in part_of_writers(faulty, half, 2):
        text = writer.kind not in {"json", "jsonl"}
        if name == "map" or (text and value != "" and (value is not None or writer.kind not in COLUMNS)):
            continue
        assert_one_problem(one, name, faulty, expected_problem(code, writer.location(faulty, row, "id", None)))


# ---- scores -------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@HALVES
@given(data=st.data(), value=st.sampled_from([math.nan, math.inf, None, "x", "0.5", True]))
@FEW
def test_one_score_that_is_no_number(half: int, task: TaskKind, data: st.DataObject, value: Any) -> None:
    one = data.draw(drawn_answers(task, scored=True))
    row = data.draw(st.integers(0, one.data.n - 1))
    item = data.draw(st.integers(0, len(one.classes) - 1))
    faulty = with_score(one.data, row, item, value)
    for name, writer in part_of_writers(faulty, half, 2):
        if writer.kind in {"csv", "tsv"} and value == "0.5":
            continue  # there all is text
        if name == "columns" and value is None and one.data.n == 1:
            continue  # a null alone does not tell that it should be one number
        assert_one_problem(
            one,
            name,
            faulty,
            expected_problem("not_a_number", writer.location(faulty, row, "score", item), id_of_row(faulty, row)),
        )


def _missing_score_problem(
    name: str, writer: FormatWriter, faulty: AnswerTable, row: int, item: int
) -> tuple[str, Location]:
    """What a file says that lacks one score: a cell of a table is empty, a list or object is too short."""
    if writer.kind in {"csv", "tsv"} or (writer.kind in COLUMNS and not name.endswith("lists")):
        return "not_a_number", writer.location(faulty, row, "score", item)
    return "wrong_class_count", writer.location(faulty, row, "score", None)


def _extra_score_problem(
    name: str, writer: FormatWriter, faulty: AnswerTable, row: int, item: int
) -> tuple[str, Location]:
    """What a file says that has one score too many."""
    place = writer.location(faulty, row, "score", None)
    if writer.kind in {"csv", "tsv"}:
        labelled = faulty.labels is not None
        return "wrong_shape", {"line": place["line"], "column": 2 + labelled + len(faulty.classes)}
    by_class = name in {"records", "predictions", "mixed records", "map", "lines"}
    if by_class:
        return "unknown_label", place | {"pointer": place["pointer"] + pointer_token(EXTRA_CLASS)}
    return "wrong_class_count", place


@pytest.mark.parametrize(
    ("damage", "problem_of"), [("missing", _missing_score_problem), ("extra", _extra_score_problem)]
)
@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@HALVES
@given(data=st.data())
@FEW
def test_one_score_more_or_less(
    half: int, task: TaskKind, damage: str, problem_of: Callable[..., tuple[str, Location]], data: st.DataObject
) -> None:
    one = data.draw(drawn_answers(task, scored=True).filter(lambda one: one.data.single is None))
    row = data.draw(st.integers(0, one.data.n - 1))
    item = data.draw(st.integers(0, len(one.classes) - 1))
    missing = damage == "missing"
    if missing and len(one.classes) == 2 and task == "binary":
        item = one.classes.index(one.positive)  # else the row still holds the one score that may stand alone
    faulty = with_score(one.data, row, item, NO_SCORE) if missing else replace(one.data, extra=row)
    for name, writer in part_of_writers(faulty, half, 2):
        code, place = problem_of(name, writer, faulty, row, item)
        unread = not missing and writer.kind in {"csv", "tsv"}
        assert_one_problem(one, name, faulty, expected_problem(code, place, None if unread else id_of_row(faulty, row)))


def with_probabilities(one: DrawnAnswers) -> DrawnAnswers:
    """The same with probabilities: all alike, and of exclusive classes summing to one."""
    m = len(one.classes)
    data = one.data
    if data.single is not None:
        return replace(one, data=replace(data, single=[0.25] * data.n))
    even = [0.0] * (m - 1) + [1.0]
    return replace(one, data=replace(data, scores=[list(even) for _ in range(data.n)]))


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@HALVES
@given(data=st.data(), value=st.sampled_from([-0.25, -1e-300, 1.0000000000000002, 7.0]))
@FEW
def test_one_score_that_is_no_probability(half: int, task: TaskKind, data: st.DataObject, value: float) -> None:
    one = with_probabilities(data.draw(drawn_answers(task, scored=True)))
    row = data.draw(st.integers(0, one.data.n - 1))
    item = data.draw(st.integers(0, len(one.classes) - 1))
    faulty = with_score(one.data, row, item, value)
    for name, writer in part_of_writers(faulty, half, 2):
        fault = expected_problem(
            "not_a_probability", writer.location(faulty, row, "score", item), id_of_row(faulty, row)
        )
        assert_one_problem(one, name, faulty, fault, rules=ReadingRules(scores="due", probabilities=True))


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@HALVES
@given(data=st.data(), value=st.sampled_from([0.5, 0.002]))
@FEW
def test_one_row_of_probabilities_that_does_not_sum_to_one(
    half: int, task: TaskKind, data: st.DataObject, value: float
) -> None:
    one = with_probabilities(data.draw(drawn_answers(task, scored=True).filter(lambda one: one.data.single is None)))
    row = data.draw(st.integers(0, one.data.n - 1))
    faulty = with_score(one.data, row, 0, value)
    for name, writer in part_of_writers(faulty, half, 2):
        fault = expected_problem(
            "not_a_probability", writer.location(faulty, row, "score", None), id_of_row(faulty, row)
        )
        assert_one_problem(one, name, faulty, fault, rules=ReadingRules(scores="due", probabilities=True))


PLAIN: dict[str, Any] = {
    "classes": ["cat", "dog"],
    "task": "binary",
    "rules": ReadingRules(scores="due", probabilities=True),
}
FIRST_OF_THREE: dict[str, tuple[str, Fault]] = {
    "null among single scores": ('{"score":null}', {"code": "not_a_number", "pointer": "/0/score"}),
    "none among single scores": ("{}", {"code": "wrong_shape", "pointer": "/0"}),
    "a row among single scores": ('{"score":[0.5,0.5]}', {"code": "wrong_class_count", "pointer": "/0/score"}),
}


@for_each("case", FIRST_OF_THREE)
def test_a_faulty_first_row_does_not_make_faults_of_the_others(case: str) -> None:
    first, fault = FIRST_OF_THREE[case]
    records = [{"id": "t1"} | json.loads(first), {"id": "t2", "score": 0.5}, {"id": "t3", "score": 0.25}]
    _, problems = read_answers(json.dumps(records), positive_label="cat", **PLAIN)
    assert located_problems(problems) == [fault | {"instance_id": "t1"}]


@for_each("positive", ["cat", "dog"])
def test_a_score_under_the_name_of_the_positive_label_that_is_no_probability(positive: str) -> None:
    records = [{"id": one, "scores": {positive: 2.0 if one == "t2" else 0.5}} for one in ("t1", "t2", "t3")]
    _, problems = read_answers(json.dumps(records), positive_label=positive, **PLAIN)
    pointer = f"/1/scores/{positive}"
    assert located_problems(problems) == [{"code": "not_a_probability", "pointer": pointer, "instance_id": "t2"}]


# ---- the same answer on every path ----------------------------------------------------------------


@HALVES
@given(data=st.data(), value=st.sampled_from([-0.25, math.nan, 7.0]), again=st.booleans())
@settings(max_examples=12, deadline=None)
def test_dry_run_and_offline_scoring_give_the_same_answer(
    half: int, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: float, again: bool
) -> None:
    folder: Path = tmp_path_factory.mktemp("files")
    one = with_probabilities(data.draw(drawn_answers("multiclass", scored=True)))
    row = data.draw(st.integers(0, one.data.n - 1))
    faulty = with_score(one.data, row, 0, value)
    faulty = with_row(faulty, faulty.ids[0]) if again else faulty
    truth = SourceFile(folder / "gold", FileKind("json"))
    truth.path.write_bytes(WRITERS["columns"].write(AnswerTable(one.ids, labels=[one.classes[0]] * len(one.ids))))
    call = parse_metric("log_loss", task="multiclass")
    spec = TaskSpec("multiclass", tuple(one.classes))
    for _, writer in part_of_writers(faulty, half, 2):
        source = SourceFile(folder / "file", FileKind(writer.kind, "", writer.layout))
        source.path.write_bytes(writer.write(faulty))
        _, dry, _ = validate_predictions(one.ids, spec, source, rules=ReadingRules.strictest([call], call.text))
        offline = score_offline(truth, source, lambda *_: [call], task="multiclass", classes=one.classes)
        assert not offline.gold_problems
        assert dry
        assert dry.to_dict() == offline.problems.to_dict()
