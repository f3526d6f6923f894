"""The cost of hostile files is bounded: rows, values, bytes and messages."""

import io
import json
import unicodedata
from collections.abc import Iterable
from itertools import count, islice, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.formats.content.decompression import read_bytes
from app.formats.content.format_detection import FileKind
from app.formats.phase_size_limits import BASE_FILE_BYTES, PhaseSize, limits_for_phase
from app.formats.problems import MAX_COUNTED_PROBLEMS, MAX_LISTED_PROBLEMS, Problem, Problems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.strict_reader import read_table
from app.formats.validation.table_validation import validate_table
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex, PredictionArrays
from tests.each_case import for_each
from tests.formats.reading import compress
from tests.fuzz.hostile import json_files, json_lines, tables, valid_file
from tests.fuzz.hostile_arrow import arrow_bytes, arrow_files, parquet_bytes, score_table
from tests.fuzz.hostile_file import HostileFile, TargetGold, constant_body
from tests.fuzz.hostile_sets import set_files

PHASE = TargetGold.of(3)
LIMITS = limits_for_phase(PhaseSize.of(PHASE.ids, PHASE.classes), DEFAULT_LIMITS)
MANY = TargetGold.of(40, 300)
_LONG = {"marks in classes"}
"""What takes a second to read is left to the benchmark."""
_EVERY = (*json_lines(), *json_files(), *tables(), *islice(arrow_files(), 3), *set_files())
FILES = {str(file): file for file in _EVERY if file.name not in _LONG}


def read_predictions(
    data: bytes,
    kind: FileKind,
    file: HostileFile | None = None,
    limits: Limits | None = None,
    phase: TargetGold = PHASE,
) -> tuple[Problems, PredictionArrays | None]:
    task: TaskKind = ("multilabel" if kind.layout else "multiclass") if file is None else file.task
    limits = limits or limits_for_phase(
        PhaseSize.of(phase.ids, phase.classes), DEFAULT_LIMITS, pairs=kind.layout == "long" and task == "multilabel"
    )
    scores = file is not None and file.scores
    problems, spec = Problems(), TaskSpec(task, phase.classes)
    table = read_table(
        io.BytesIO(data),
        kind,
        task=task,
        gold=False,
        problems=problems,
        classes=phase.classes,
        wants_scores=scores,
        limits=limits,
    )
    assert len(table.ids) <= limits.records
    rules = ReadingRules(scores="due" if scores else "ignored")
    return problems, validate_table(table, IdIndex(phase.ids), spec, rules=rules, problems=problems)


@pytest.mark.ci
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_answered_with_bounded_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = 0
    make = Problem.__init__

    def count(self: Problem, *given: object, **named: object) -> None:
        nonlocal built
        built += 1
        make(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Problem, "__init__", count)
    file = FILES[name]
    problems, _ = read_predictions(file.body(PHASE), file.kind, file)
    assert built <= 4 * MAX_LISTED_PROBLEMS  # some give way to earlier ones; the others are only counted
    assert problems.count <= 2 * MAX_COUNTED_PROBLEMS
    if {"too_many_rows"} & problems.total.keys():
        assert problems.stopped
        assert problems.to_dict()["total_at_least"] is True


@for_each("form", ["json", "jsonl", "csv", "npz", "parquet", "arrow"])
def test_the_first_row_too_many_ends_the_reading_in_every_format(form: str) -> None:
    many = TargetGold.of(LIMITS.records)
    problems, _ = read_predictions(valid_file(many, form), FileKind(form))
    assert problems.total == {"unknown_id": LIMITS.records - len(PHASE.ids)}
    assert "total_at_least" not in problems.to_dict()
    problems, _ = read_predictions(valid_file(TargetGold.of(LIMITS.records + 1), form), FileKind(form))
    assert problems.total == {"too_many_rows": 1}
    answer = problems.to_dict()
    assert answer["total_at_least"] is True
    assert f"at least {LIMITS.records + 1} rows" in answer["problems"][0]["message"]
    assert "3 instances" in answer["problems"][0]["message"]


@for_each("encoding", ["gzip", "zstd"])
def test_no_more_is_expanded_than_the_phase_can_need(encoding: str) -> None:
    for spaces, fits in ((LIMITS.expanded_bytes - 2, True), (1 << 25, False)):
        problems = Problems()
        data = compress(b"[]" + b" " * spaces, encoding)
        found = read_bytes(io.BytesIO(data), encoding, limits=LIMITS, problems=problems)
        assert (found is not None) == fits
        assert problems.stopped != fits
    assert BASE_FILE_BYTES < LIMITS.expanded_bytes < 2 * BASE_FILE_BYTES


def test_commas_within_texts_are_no_values() -> None:
    text = "," * (2 * LIMITS.values)
    for extra in (text, text + '\\"' + text, "\\\\"):
        rows = ",".join(f'{{"id":"{name}","label":"c0","x":"{extra}"}}' for name in PHASE.ids[:1])
        rest = ",".join(f'{{"id":"{name}","label":"c0"}}' for name in PHASE.ids[1:])
        problems, found = read_predictions(f"[{rows},{rest}]".encode(), FileKind("json"))
        assert not problems
        assert found is not None


def test_the_limits_grow_with_the_phase_and_never_pass_those_of_the_site() -> None:
    small, large = (
        limits_for_phase(PhaseSize.of(TargetGold.of(n).ids, PHASE.classes), DEFAULT_LIMITS) for n in (10, 10_000)
    )
    assert small.records < large.records
    assert small.expanded_bytes < large.expanded_bytes
    site = Limits(records=5, expanded_bytes=100, values=7, members=2)
    found = limits_for_phase(PhaseSize.of(PHASE.ids, PHASE.classes), site)
    assert (found.records, found.expanded_bytes, found.values, found.members, found.pairs) == (5, 100, 7, 2, None)


def test_a_long_table_has_a_row_for_each_pair() -> None:
    phase = TargetGold.of(100, 50)
    limits = limits_for_phase(PhaseSize.of(phase.ids, phase.classes), DEFAULT_LIMITS, pairs=True)
    rows = "".join(f"{name},{label}\n" for name in phase.ids for label in phase.classes)
    assert limits.records < 100 * 50
    kind, problems = FileKind("csv", layout="long"), Problems()
    for text, total in ((rows, {}), (rows * 2, {"too_many_rows": 1})):
        data = f"id,label\n{text}".encode()
        table = read_table(io.BytesIO(data), kind, task="multilabel", gold=False, problems=problems, limits=limits)
        assert problems.total == total
        assert len(table.ids) == (0 if total else 100)


def _pairs(ids: Iterable[str], labels: Iterable[str]) -> bytes:
    return "".join(["id,label\n", *(f"{name},{label}\n" for name, label in zip(ids, labels, strict=False))]).encode()


PAIRS = {
    "one id over and over": (_pairs(repeat("t0000000", 11_000), repeat("c0")), "An id has at least"),
    "unknown pairs": (_pairs(repeat("x", 11_000), repeat("y")), "An id has at least"),
    "no label": (_pairs(repeat("t0000000", 11_000), repeat("")), "An id has at least"),
    "many labels": (_pairs(repeat("t0000000", 11_000), (f"x{number}" for number in count())), "An id has at least"),
    "no id": (_pairs(repeat("", 11_000), repeat("y")), "ids or rows without an id"),
    "many ids": (_pairs((f"x{number}" for number in range(11_000)), repeat("c0")), "ids or rows without an id"),
}
"""Each has fewer rows than a table of all pairs may have."""


@for_each("name", PAIRS)
@for_each("form", ["csv", "parquet"])
def test_rows_of_pairs_are_bounded_for_each_id_and_by_the_ids(name: str, form: str) -> None:
    data, words = PAIRS[name]
    if form == "parquet":
        cells = [line.split(",") for line in data.decode().splitlines()[1:]]
        columns = {field: [row[at] for row in cells] for at, field in enumerate(("id", "label"))}
        body = io.BytesIO()
        pq.write_table(pa.table(columns), body)
        data = body.getvalue()
    problems, _ = read_predictions(data, FileKind(form, layout="long"), phase=MANY)
    assert problems.total == {"too_many_rows": 1}
    assert words in problems.first[0].message


def test_a_text_that_many_rows_share_is_composed_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    compose, composed = unicodedata.normalize, 0

    def counted(form: Any, text: str) -> str:
        nonlocal composed
        composed += 1
        return compose(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    long = "e\u0301" * 499
    rows = [(f"{name}e\u0301", label) for name in MANY.ids for label in (long, *MANY.classes[:290])]
    for extra in ([], [("", "")]):  # all that is quick, and cell by cell
        body = io.BytesIO()
        table = pa.table({"id": [row[0] for row in rows + extra], "label": [row[1] for row in rows + extra]})
        pq.write_table(table, body)
        problems, _ = read_predictions(body.getvalue(), FileKind("parquet", layout="long"), phase=MANY)
        assert problems.total["unknown_id"] == len(MANY.ids)
    assert composed < len(rows) / 2


def test_faults_of_pairs_are_built_for_those_that_are_listed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    built = 0

    def shown(value: str) -> str:
        nonlocal built
        built += 1
        return value

    monkeypatch.setattr("app.formats.readers.long_table.to_nfc", lambda text, _: shown(text))
    rows = [(name, label) for name in MANY.ids for label in ("c0", *[""] * 200)]
    problems, _ = read_predictions(_pairs(*zip(*rows, strict=True)), FileKind("csv", layout="long"), phase=MANY)
    assert problems.total["empty_label"] == 200 * len(MANY.ids)
    assert built <= 4 * MAX_LISTED_PROBLEMS


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_pieces_count_once_for_each_column(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.formats.readers.arrow_file._SPARE_ROW_GROUPS", 4_100)
    phase = TargetGold.of(150, 40)
    table = score_table(phase)
    for rows, refused in ((2, False), (1, True)):
        if form == "parquet":
            data = parquet_bytes(table, row_group_size=rows)
        else:
            data = arrow_bytes(table.to_batches(max_chunksize=rows))
        file = HostileFile(form, FileKind(form), constant_body(data), scores=True)
        problems, found = read_predictions(data, file.kind, file, phase=phase)
        assert (found is None) == refused
        assert problems.total == ({"too_large": 1} if refused else {})
        if refused:
            assert "of 41 columns" in problems.first[0].message


def _of_sets(form: str, phase: TargetGold, labels: list[str]) -> bytes:
    """A file in which each instance has these labels."""
    if form in {"parquet", "arrow"}:
        table = pa.table({"id": phase.ids, "labels": [labels] * len(phase.ids)})
        return parquet_bytes(table) if form == "parquet" else arrow_bytes(table.to_batches())
    if form == "npz":
        body = io.BytesIO()
        np.savez(body, ids=np.array(phase.ids), labels=np.array(["|".join(labels)] * len(phase.ids)))
        return body.getvalue()
    if form == "csv":
        return "".join(["id,labels\n", *(f"{name},{'|'.join(labels)}\n" for name in phase.ids)]).encode()
    if form == "map":
        return json.dumps(dict.fromkeys(phase.ids, labels)).encode()
    if form == "columns":
        return json.dumps({"ids": phase.ids, "labels": [labels] * len(phase.ids)}).encode()
    records = [{"id": name, "labels": labels} for name in phase.ids]
    return ("\n".join(map(json.dumps, records)) if form == "jsonl" else json.dumps(records)).encode()


SHAPES = ["json", "jsonl", "map", "columns", "csv", "npz", "parquet", "arrow"]


@for_each("form", SHAPES)
def test_labels_in_sets_are_counted_before_they_are_looked_at(form: str) -> None:
    phase, kind = TargetGold.of(20, 40), FileKind({"map": "json", "columns": "json"}.get(form, form))
    file = HostileFile(form, kind, constant_body(b""), "multilabel")
    most = phase.labels_of_each
    labels = [*phase.classes, *(f"x{number}" for number in range(most - len(phase.classes)))]
    problems, _ = read_predictions(_of_sets(form, phase, labels), kind, file, phase=phase)
    assert set(problems.total) == {"unknown_label"}
    problems, _ = read_predictions(_of_sets(form, phase, [*labels, "y"]), kind, file, phase=phase)
    assert problems.total == {"too_many_rows": 1}
    answer = problems.to_dict()["problems"][0]
    assert answer["got"] == f"at least {20 * (most + 1)} labels"
    assert "20 instances" in answer["message"]


@for_each("form", SHAPES)
def test_every_class_may_be_predicted_for_every_instance(form: str) -> None:
    phase, kind = TargetGold.of(20, 400), FileKind({"map": "json", "columns": "json"}.get(form, form))
    data = _of_sets(form, phase, list(phase.classes))
    problems, found = read_predictions(
        data, kind, HostileFile(form, kind, constant_body(data), "multilabel"), phase=phase
    )
    assert not problems
    assert found is not None
    assert found.labels is not None
    assert len(found.labels.codes) == 20 * 400


def test_labels_and_scores_of_all_classes_are_not_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.formats.phase_size_limits._EXTRA_VALUES", 1000)  # or millions of values would be needed
    phase = TargetGold.of(40, 300)
    record = f'"labels":{json.dumps(phase.classes)},"scores":{json.dumps(dict.fromkeys(phase.classes, 0.5))}}}'
    records = ",".join(f'{{"id":"{name}",{record}' for name in phase.ids)
    data = f"[{records}]".encode()
    file = HostileFile("both", FileKind("json"), constant_body(data), "multilabel", scores=True)
    problems, found = read_predictions(data, file.kind, file, phase=phase)
    assert not problems
    assert found is not None
    assert found.scores is not None


@for_each("again", [True, False])
@for_each("rule", ["drop", "count_as_fp"])
def test_some_labels_beyond_the_vocabulary_are_read_under_rules_that_take_them(rule: str, *, again: bool) -> None:
    phase = TargetGold.of(50, 40)
    labels = [*phase.classes, *(f"x{number}" for number in range(30)), *(["x0", "c0"] if again else [])]
    problems = Problems()
    table = read_table(
        io.BytesIO(_of_sets("json", phase, labels)),
        FileKind("json"),
        task="multilabel",
        gold=False,
        problems=problems,
        limits=limits_for_phase(PhaseSize.of(phase.ids, phase.classes), DEFAULT_LIMITS),
    )
    rules = ReadingRules(unknown_label=rule, duplicates="multiset")
    found = validate_table(
        table, IdIndex(phase.ids), TaskSpec("multilabel", phase.classes), rules=rules, problems=problems
    )
    assert found is not None
    assert found.labels is not None
    beyond = [40] * 30 + [41] * again if rule == "count_as_fp" else []
    one = [*range(40), *beyond, *([0] if again else [])]
    assert found.labels.codes.tolist() == one * 50
    assert f"{(30 + again) * 50} labels outside the vocabulary" in table.notes[0]
