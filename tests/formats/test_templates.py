import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.errors import BadRequest
from app.formats.reading_rules import ReadingRules
from app.formats.templates.build_template import TEMPLATES, build_template
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.each_case import for_each
from tests.formats.fault_table.write import columnar, npz
from tests.formats.reading import CLASSES, code_sets, read_answers

ODD_IDS = ["t1", 'quo"te', "com,ma", "line\nend", "é", "00", "tab\tbed"]
LABELLED = [name for name in TEMPLATES if name != "npz"]


def spec(task: TaskKind) -> TaskSpec:
    return TaskSpec(task, CLASSES[:2] if task == "binary" else CLASSES, "cat" if task == "binary" else None)


def read(raw: bytes, name: str, task: TaskKind, **how: Any) -> Any:
    about = spec(task)
    return read_answers(
        raw,
        TEMPLATES[name].key,
        ids=ODD_IDS,
        classes=about.classes,
        task=task,
        positive_label=about.positive_label,
        **how,
    )


@for_each("name", LABELLED)
def test_an_unfilled_template_holds_the_ids_in_order_and_no_label(name: str) -> None:
    _, problems = read(build_template(ODD_IDS, spec("multiclass"), name), name, "multiclass")
    assert problems.total == {"empty_label": len(ODD_IDS)}
    assert [found.instance_id for found in problems.first] == ODD_IDS


@for_each("name", LABELLED)
def test_an_unfilled_multilabel_template_is_a_file_of_empty_sets(name: str) -> None:
    found, problems = read(build_template(ODD_IDS, spec("multilabel"), name), name, "multilabel")
    assert not problems
    assert code_sets(found.labels) == [[] for _ in ODD_IDS]


@for_each("task", ["binary", "multiclass", "multilabel"])
@for_each("name", TEMPLATES)
def test_a_template_for_scores_that_is_not_filled_in_is_refused(name: str, task: TaskKind) -> None:
    _, problems = read(
        build_template(ODD_IDS, spec(task), name, scores=True), name, task, rules=ReadingRules(scores="due")
    )
    assert set(problems.total) <= {"not_a_number", "wrong_shape", "wrong_class_count", "missing_instances"}
    assert problems


def fill_in(raw: bytes, name: str, rows: Sequence[Any], names: Sequence[str]) -> bytes:
    """A template as somebody fills it in: with labels, sets of labels, or rows of scores for these names."""
    if name in {"csv", "tsv"}:
        return _fill_in_table(raw, "," if name == "csv" else "\t", rows, names)
    if name == "npz":
        arrays = dict(np.load(io.BytesIO(raw)))
        arrays["scores"][:] = rows
        return npz(**arrays)
    if name in {"parquet", "arrow"}:
        return _fill_in_columns(raw, name, rows, names)
    text = raw.decode()
    if name == "jsonl":
        lines = [_fill_in_record(json.loads(line), row) for line, row in zip(text.splitlines(), rows, strict=True)]
        return "\n".join(json.dumps(line) for line in lines).encode()
    document = json.loads(text)
    if name == "columns":
        document[list(document)[-1]] = [row[0] if names == ["score"] else row for row in rows]
    elif name == "map":
        for key, row in zip(document, rows, strict=True):
            document[key] = dict(zip(names, row, strict=True)) if isinstance(document[key], dict) else row
    else:
        key = "documents" if name == "documents" else "predictions"
        document[key] = [_fill_in_record(one, row) for one, row in zip(document[key], rows, strict=True)]
    return json.dumps(document).encode()


def _fill_in_record(record: dict[str, Any], row: Any) -> dict[str, Any]:
    place = next(name for name in record if name != "id")
    return record | {place: row[0] if place == "score" else row}


def _fill_in_table(raw: bytes, separator: str, rows: Sequence[Any], names: Sequence[str]) -> bytes:
    header, *empty = csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=separator)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator)
    writer.writerow(header)
    for one, row in zip(empty, rows, strict=True):
        cells = row if names else ["|".join(row) if isinstance(row, list) else row]
        writer.writerow([one[0], *cells])
    return out.getvalue().encode()


def _fill_in_columns(raw: bytes, name: str, rows: Sequence[Any], names: Sequence[str]) -> bytes:
    table = pq.read_table(io.BytesIO(raw)) if name == "parquet" else pa.ipc.open_file(raw).read_all()
    columns: dict[str, Any] = {"id": table.column("id")}
    for at, column in enumerate(table.column_names[1:]):
        columns[column] = pa.array([row[at] for row in rows] if names else rows, table.schema.field(column).type)
    return columnar(name, pa.table(columns))


@for_each("task", ["multiclass", "multilabel"])
@for_each("name", LABELLED)
def test_a_template_filled_in_with_labels_is_accepted(name: str, task: TaskKind) -> None:
    rows: list[Any] = ["dog" for _ in ODD_IDS] if task == "multiclass" else [["dog", "cat"] for _ in ODD_IDS]
    found, problems = read(fill_in(build_template(ODD_IDS, spec(task), name), name, rows, ()), name, task)
    assert problems.to_dict()["problems"] == []
    assert code_sets(found.labels) == [[1] if task == "multiclass" else [1, 0] for _ in ODD_IDS]


@for_each("task", ["binary", "multiclass", "multilabel"])
@for_each("name", TEMPLATES)
def test_a_template_filled_in_with_scores_is_accepted(name: str, task: TaskKind) -> None:
    names = ["score"] if task == "binary" else list(CLASSES)
    rows = [[0.125 * at for _ in names] for at in range(len(ODD_IDS))]
    if task == "binary" and name == "map":
        names = ["cat"]
    raw = fill_in(build_template(ODD_IDS, spec(task), name, scores=True), name, rows, names)
    found, problems = read(raw, name, task, rules=ReadingRules(scores="due"))
    assert problems.to_dict()["problems"] == []
    assert found.labels is None
    assert found.scores.tolist() == rows


def test_an_unknown_template_format_names_those_that_exist() -> None:
    with pytest.raises(BadRequest, match="columns"):
        build_template(["a"], spec("binary"), "xlsx")


@for_each("name", ["map", "csv", "tsv", "npz", "parquet", "arrow"])
def test_a_template_with_too_many_places_is_refused_with_advice(name: str) -> None:
    wide = TaskSpec("multilabel", tuple(f"c{at}" for at in range(30_000)))
    with pytest.raises(BadRequest, match="cells for scores") as caught:
        build_template([f"t{at}" for at in range(1000)], wide, name, scores=True)
    assert "format=columns" in caught.value.advice


def test_a_template_of_no_ids_is_still_a_file() -> None:
    for name in LABELLED:
        raw = build_template([], spec("multilabel"), name)
        assert not read_answers(raw, TEMPLATES[name].key, ids=[], task="multilabel")[1] or name == "jsonl", name
