"""The same gold in every format that can hold it: labels, acceptable sets, splits, weights, and Kaggle's Usage."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.formats.content.format_detection import FileKind
from app.pipeline import Gold, SourceFile
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from tests.each_case import for_each
from tests.formats.answer_table import AnswerTable, FormatWriter
from tests.formats.fault_table.write import columnar, npz
from tests.formats.reading import code_sets, compress, load_gold_both_ways, located_problems
from tests.formats.strategies import DrawnAnswers, as_nfc, drawn_answers
from tests.formats.writers import WRITERS, part_of_writers

SOME = settings(max_examples=30, deadline=None)  # each is read in many formats and layouts
USAGE = {"Public": "public", "Private": "private"}
RECORDS = ("json", "jsonl")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gold") / "file"


def load(path: Path, one: DrawnAnswers, writer: FormatWriter, encoding: str = "") -> tuple[Gold | None, Any]:
    path.write_bytes(compress(writer.write(one.data), encoding))
    source = SourceFile(path, FileKind(writer.kind, encoding, writer.layout))
    return load_gold_both_ways(source, task=one.task, classes=one.classes, positive_label=one.positive or None)


def writers_for(data: AnswerTable) -> list[tuple[str, FormatWriter]]:
    return [(name, writer) for name, writer in WRITERS.items() if writer.fits(data)]


def load_valid(path: Path, one: DrawnAnswers, writer: FormatWriter, encoding: str = "") -> Gold:
    gold, problems = load(path, one, writer, encoding)
    assert problems.to_dict()["problems"] == [], writer
    assert gold is not None
    return gold


def in_file_order(one: DrawnAnswers) -> list[list[int]]:
    assert one.data.labels is not None
    listed = [label if isinstance(label, list) else [label] for label in one.data.labels]
    return [[one.data.classes.index(name) for name in labels] for labels in listed]


def draw_column(data: st.DataObject, n: int, values: list[Any]) -> list[Any]:
    return data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data())
@SOME
def test_splits_and_weights_are_the_same_in_every_format(path: Path, task: TaskKind, data: st.DataObject) -> None:
    one = data.draw(drawn_answers(task, scored=False))
    n = one.data.n
    named = data.draw(st.sampled_from(["split", "Usage"]))
    splits = draw_column(data, n, list(USAGE if named == "Usage" else USAGE.values()))
    numbers: list[Any] = data.draw(st.sampled_from([[0, 1, 2, 3], [0.5, 0.25, 1.0, 0.1]]))
    weights = [*draw_column(data, n, numbers)[:-1], numbers[1]]
    one.data.more.update({named: splits, "weight": weights} if data.draw(st.booleans()) else {named: splits})
    total = sum(Fraction(str(weight)) for weight in weights)
    for name, writer in part_of_writers(one.data, data.draw(st.integers(0, 2)), 3):
        gold = load_valid(path, one, writer, data.draw(st.sampled_from(["", "gzip", "zstd"])))
        order = by_id(one)
        assert gold.ids == list(map(nfc_of(one), order))
        assert code_sets(gold.labels) == [in_file_order(one)[at] for at in order], name
        assert gold.splits is not None
        named_splits = [USAGE.get(splits[at], splits[at]) for at in order]
        assert gold.splits.tolist() == [["public", "private"].index(split) for split in named_splits]
        if "weight" in one.data.more and gold.weights is not None:
            scaled = [Fraction(int(weight), int(gold.weights.sum())) for weight in gold.weights]
            assert scaled == [Fraction(str(weights[at])) / total for at in order], name
        elif "weight" in one.data.more:
            assert len(set(weights)) == 1


def nfc_of(one: DrawnAnswers) -> Any:
    return lambda at: as_nfc(one.data.ids[at])


def by_id(one: DrawnAnswers) -> list[int]:
    """The rows of the file in the order of the gold."""
    return sorted(range(one.data.n), key=nfc_of(one))


@given(data=st.data())
@SOME
def test_acceptable_sets_are_the_same_in_every_format(path: Path, data: st.DataObject) -> None:
    """In .npz `labels` are the single labels, so sets of them have no place there; a CSV calls the column `labels`."""
    one = data.draw(drawn_answers("multilabel", scored=False))
    rows = in_file_order(one)
    one = DrawnAnswers("multiclass", one.data, one.ids, one.codes, None)
    for name, writer in writers_for(one.data):
        joined = writer.kind in {"parquet", "arrow"} and not name.endswith("lists")  # in a column called label
        if writer.kind == "npz" or writer.layout == "long" or joined:
            continue
        gold, problems = load(path, one, as_labels(writer))
        if not any(rows):
            assert gold is None
            continue
        assert problems.to_dict()["problems"] == [], name
        assert gold is not None
        assert gold.labels.offsets is not None
        assert code_sets(gold.labels) == [rows[at] for at in by_id(one) if rows[at]], name
        assert gold.void == {nfc_of(one)(at) for at, row in enumerate(rows) if not row}


def as_labels(writer: FormatWriter) -> FormatWriter:
    """A table whose column of labels is called so."""

    def write(data: AnswerTable) -> bytes:
        raw = writer.write(data)
        return raw.replace(b"label", b"labels", 1) if writer.kind in {"csv", "tsv"} else raw

    assert writer.layout == ""

    return FormatWriter(writer.kind, write, writer.location, writer.fits, writer.layout)


@given(data=st.data())
@SOME
def test_ignored_rows_are_void_in_every_format(path: Path, data: st.DataObject) -> None:
    one = data.draw(drawn_answers("multiclass", scored=False))
    usage = [*draw_column(data, one.data.n, ["Public", "Ignored"])[:-1], "Private"]
    one.data.more["Usage"] = usage
    kept = [at for at in by_id(one) if usage[at] != "Ignored"]
    for _, writer in writers_for(one.data):
        gold = load_valid(path, one, writer)
        assert gold.ids == [nfc_of(one)(at) for at in kept]
        assert gold.splits is not None
        assert gold.splits.tolist() == [int(usage[at] == "Private") for at in kept]
        assert list(gold.template_ids) == sorted(map(nfc_of(one), range(one.data.n)))


FAULTS: dict[str, list[tuple[str, Any]]] = {
    "split": [("split", "Public"), ("split", "test"), ("split", ""), ("Usage", "PUBLIC"), ("Usage", "")],
    "weight": [("weight", -1.0), ("weight", float("nan")), ("weight", 1e13), ("weight", 1e-13)],
}


@pytest.mark.parametrize(("named", "value"), [case for cases in FAULTS.values() for case in cases])
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_one_wrong_split_or_weight_is_told_at_its_place(
    path: Path, named: str, value: Any, data: st.DataObject
) -> None:
    task = data.draw(st.sampled_from(TASK_KINDS))
    one = data.draw(drawn_answers(task, scored=False))
    row = data.draw(st.integers(0, one.data.n - 1))
    sound: Any = {"split": "public", "Usage": "Public"}.get(named, 0.5)
    one.data.more[named] = [value if at == row else sound for at in range(one.data.n)]
    for name, writer in part_of_writers(one.data, data.draw(st.integers(0, 2)), 3):
        if (value == "" and writer.kind in {"csv", "tsv"} and one.data.n == 1) or writer.layout == "long":
            continue  # a column with nothing in it is none; of a long table see the next test
        gold, problems = load(path, one, writer)
        assert gold is None
        nan = named == "weight" and value != value  # noqa: PLR0124
        code = "not_a_number" if nan and writer.kind in RECORDS else "wrong_shape"
        expected = {"code": code, **writer.location(one.data, row, named, None), "instance_id": nfc_of(one)(row)}
        assert located_problems(problems) == [expected], name


@pytest.mark.parametrize("named", ["split", "weight"])
@given(data=st.data())
@SOME
def test_rows_of_one_id_that_disagree_are_told_where_they_do(path: Path, named: str, data: st.DataObject) -> None:
    one = data.draw(
        drawn_answers("multilabel", scored=False).filter(lambda one: any(len(row) > 1 for row in one.codes or []))
    )
    assert one.data.labels is not None
    row = next(at for at, labels in enumerate(one.data.labels) if len(labels) > 1)
    item = data.draw(st.integers(1, len(one.data.labels[row]) - 1))
    values = ("public", "private") if named == "split" else (1, 2)
    one.data.more[named] = [values[0]] * one.data.n
    text = WRITERS["long csv quoted, crlf"]
    place = text.location(one.data, row, "label", item)
    lines = text.write(one.data).decode()
    start = sum(len(line) for line in lines.split("\n")[: place["line"] - 1]) + place["line"] - 1
    spoilt = lines[:start] + lines[start:].replace(f'"{values[0]}"', f'"{values[1]}"', 1)
    changed = FormatWriter("csv", lambda _: spoilt.encode(), text.location, text.fits, "long")
    gold, problems = load(path, one, changed)
    assert gold is None
    expected = {"code": "wrong_shape", "line": place["line"], "column": 1, "instance_id": nfc_of(one)(row)}
    assert located_problems(problems) == [expected]


@for_each("kind", [np.float16, np.float32, np.float64])
@for_each("name", ["npz", "parquet", "arrow"])
def test_weights_in_short_floats_are_the_decimals_that_mean_them(path: Path, name: str, kind: type) -> None:
    """0.1 as float32 is not 0.1 as float64: the decimal counts that the stored number stands for, in every format."""
    weights: NDArray[Any] = np.array([0.1, 0.2, 0.7], kind)
    ids, labels = ["a", "b", "c"], ["x", "y", "x"]
    table = pa.table({"id": ids, "label": labels, "weight": weights})
    path.write_bytes(npz(ids=ids, labels=labels, weight=weights) if name == "npz" else columnar(name, table))
    gold, problems = load_gold_both_ways(SourceFile(path, FileKind(name)), task="multiclass")
    assert not problems
    assert gold is not None
    assert gold.weights is not None
    assert (gold.weights.tolist(), gold.weight_unit) == ([1, 2, 7], Fraction(1, 10))
