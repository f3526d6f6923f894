"""The vectorized reader of labels: it reads every plain file, and always the same labels as the strict reader."""

import io
import json
import random
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.strict_reader import read_table
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.prediction_reader import read_predictions
from app.formats.vectorized.span_window import HEAD_BYTES
from app.pipeline import SourceFile, build_lookup_tables, validate_predictions
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex
from tests.each_case import for_each
from tests.formats.reading import compress, count_agreeing_windows, task_of
from tests.hypothesis_profiles import is_thorough

CLASSES = ("cat", "dog", "a label of more than eight bytes", "éé")
Answers = Mapping[str, Any]
STYLES: Mapping[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":")},
    "usual": {},
    "indented": {"indent": 2},
    "far indented": {"indent": 11},
}


def _records(answers: Answers, name: str, id_name: str = "id") -> list[dict[str, Any]]:
    return [{id_name: key, name: value} for key, value in answers.items()]


def _lines(answers: Answers, name: str, style: dict[str, Any], end: str = "\n") -> bytes:
    flat = {**style, "indent": None}
    return end.join(json.dumps(row, ensure_ascii=False, **flat) for row in _records(answers, name)).encode()


def _json(make: Callable[[Answers, str], Any]) -> Callable[[Answers, str, dict[str, Any]], bytes]:
    return lambda answers, name, style: json.dumps(make(answers, name), ensure_ascii=False, **style).encode()


WRITERS: Mapping[str, tuple[str, Callable[[Answers, str, dict[str, Any]], bytes]]] = {
    "records": ("json", _json(lambda answers, name: {"predictions": _records(answers, name)})),
    "list": ("json", _json(_records)),
    "documents": ("json", _json(lambda answers, name: {"documents": _records(answers, name, "pmid")})),
    "documents with ids": ("json", _json(lambda answers, name: {"documents": _records(answers, name)})),
    "columns": ("json", _json(lambda answers, _: {"ids": list(answers), "labels": list(answers.values())})),
    "columns turned": ("json", _json(lambda answers, _: {"labels": list(answers.values()), "ids": list(answers)})),
    "map": ("json", _json(lambda answers, _: dict(answers))),
    "lines": ("jsonl", _lines),
    "lines at their end": ("jsonl", lambda answers, name, style: _lines(answers, name, style) + b"\n"),
    "records, marked": (
        "json",
        lambda answers, name, style: b"\xef\xbb\xbf" + _json(_records)(answers, name, style),
    ),
    "lines, crlf": ("jsonl", lambda answers, name, style: _lines(answers, name, style, "\r\n") + b"\r\n"),
}
SINGLE_ONLY: Mapping[str, tuple[str, Callable[[Answers, str, dict[str, Any]], bytes]]] = {
    "label first": ("json", _json(lambda answers, name: [{name: value, "id": key} for key, value in answers.items()])),
    "csv": ("csv", lambda answers, _name, _style: _pairs(answers, ",", "\n") + b"\n"),
    "csv, no last end": ("csv", lambda answers, _name, _style: _pairs(answers, ",", "\r\n")),
    "csv, crlf": ("csv", lambda answers, _name, _style: _pairs(answers, ",", "\r\n") + b"\r\n"),
    "csv, semicolons": ("csv", lambda answers, _name, _style: _pairs(answers, ";", "\r\n")),
    "csv, marked, another name": (
        "csv",
        lambda answers, _name, _style: (
            b"\xef\xbb\xbf" + _pairs(answers, ",", "\n").replace(b"label", b"Prediction", 1) + b"\n"
        ),
    ),
    "tsv turned, shorter name": (
        "tsv",
        lambda answers, _name, _style: _pairs(answers, "\t", "\n", turned=True).replace(b"label", b"pred", 1),
    ),
    "tsv turned": ("tsv", lambda answers, _name, _style: _pairs(answers, "\t", "\n", turned=True)),
}


def _pairs(answers: Answers, sign: str, end: str, *, turned: bool = False) -> bytes:
    rows = [("id", "label"), *answers.items()]
    return end.join(sign.join(reversed(row) if turned else row) for row in rows).encode()


def _count_vectorized_windows(
    data: bytes, kind: FileKind, ids: Sequence[str], task: TaskKind, limits: Limits = DEFAULT_LIMITS
) -> int:
    """Read a file with both readers; with how many window sizes the vectorized one did."""
    spec = TaskSpec(task, CLASSES)
    problems = Problems()
    table = read_table(io.BytesIO(data), kind, task=task, gold=False, problems=problems, classes=CLASSES, limits=limits)
    found = validate_table(table, IdIndex(ids), spec, rules=ReadingRules(), problems=problems)
    return count_agreeing_windows(data, kind, spec, ids, found, rules=ReadingRules(), notes=table.notes, limits=limits)


def _answers(count: int, *, several: bool) -> dict[str, Any]:
    chance = random.Random(count)
    ids = [f"é{number}" if number % 3 else f"instance-{number:012d}" for number in range(count)]
    chance.shuffle(ids)
    draw = (
        (lambda: chance.sample(CLASSES, chance.choice((0, 1, 1, 2, 4)))) if several else lambda: chance.choice(CLASSES)
    )
    found = {name: draw() for name in ids}
    if several:
        found[ids[0]] = ["cat"]  # what begins with an empty set is left to the strict reader
        found[ids[1]] = ["dog", "éé"]
    return found


@for_each(
    "shape, several, style",
    [*product(WRITERS, (False, True), STYLES), *product(SINGLE_ONLY, (False,), ("compact", "usual", "indented"))],
)
def test_a_plain_file_is_read_by_the_fast_tier(shape: str, several: bool, style: str) -> None:
    form, write = {**WRITERS, **SINGLE_ONLY}[shape]
    task = task_of(multilabel=several)
    for count, encoding in ((2, "gzip"), (3, "zstd"), (50, "")):
        answers = _answers(count, several=several)
        data = compress(write(answers, "labels" if several else "label", STYLES[style]), encoding)
        ids = list(answers) if encoding else sorted(answers)
        assert _count_vectorized_windows(data, FileKind(form, encoding), ids, task) >= 1, (count, encoding)


def _at(data: bytes, chance: random.Random, change: Callable[[bytes], bytes], length: int) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + change(data[at : at + length]) + data[at + length :]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    one, other = sorted(chance.sample(range(len(data)), 2))
    size = min(chance.randrange(1, 20), other - one)
    return (
        data[:one]
        + data[other : other + size]
        + data[one + size : other]
        + data[one : one + size]
        + data[other + size :]
    )


DAMAGES: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "a byte changed": lambda data, chance: _at(data, chance, lambda _: bytes([chance.randrange(256)]), 1),
    "a byte lost": lambda data, chance: _at(data, chance, lambda _: b"", 1),
    "a sign put in": lambda data, chance: _at(
        data,
        chance,
        lambda _: chance.choice([b'"', b",", b":", b"[", b"]", b"{", b"}", b"\\", b"\n", b" ", b"\r", b"\0", b"1"]),
        0,
    ),
    "a stretch twice": lambda data, chance: _at(data, chance, lambda part: part + part, chance.randrange(1, 40)),
    "a stretch lost": lambda data, chance: _at(data, chance, lambda _: b"", chance.randrange(1, 40)),
    "cut": lambda data, chance: data[: chance.randrange(len(data))],
    "two places swapped": _swapped,
    "another word": lambda data, chance: data.replace(
        chance.choice([b"label", b"id", b"predictions", b"cat", b"instance"]),
        chance.choice([b"labels", b"id", b"documents", b"dog", b"Cat", b"label", b"x", b"\\u0063at"]),
        chance.choice([1, -1]),
    ),
    "something behind": lambda data, chance: (
        data + chance.choice([b"]", b"}", b" ", b"\n", b"\n\n", b" \n ", b"{}", b",", b"\0"])
    ),
}


@for_each("damage", DAMAGES)
@for_each("shape, several", [*product(WRITERS, (False, True)), *product(SINGLE_ONLY, (False,))])
def test_a_damaged_file_is_never_read_otherwise_than_strictly(shape: str, several: bool, damage: str) -> None:
    form, write = {**WRITERS, **SINGLE_ONLY}[shape]
    for seed in range(8 if is_thorough() else 2):
        chance = random.Random(f"{shape}{several}{damage}{seed}")
        answers = _answers(chance.choice((2, 3, 9)), several=several)
        data = write(answers, "labels" if several else "label", STYLES[chance.choice(list(STYLES))])
        for _ in range(chance.choice((1, 1, 2))):
            data = DAMAGES[damage](data, chance) if data else data
        _count_vectorized_windows(data, FileKind(form), sorted(answers), "multilabel" if several else "multiclass")


TEXTS = st.text(
    st.sampled_from(list('abé\u0301",;|\t\n\r\\/: {}[]🙂\x7f\u2028'))
    | st.characters(codec="utf-8", exclude_characters="\0"),
    min_size=1,
    max_size=9,
).map(lambda text: unicodedata.normalize("NFC", text))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(TEXTS, min_size=2, max_size=5, unique=True),
    st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    st.tuples(st.sampled_from([*WRITERS, *SINGLE_ONLY]), st.sampled_from(list(STYLES)), st.booleans()),
    st.randoms(use_true_random=False),
)
@example(["predictions", "b"], ["cat"], ("map", "usual", True), random.Random(0))
@example(["labels", "scores"], ["cat"], ("map", "usual", True), random.Random(0))
@example(["a\tb", "c"], ["x\ty"], ("tsv turned", "usual", False), random.Random(0))
@example(["a\rb", "c"], ["x"], ("csv", "usual", False), random.Random(0))
@example(["a\nb", "c"], ["x"], ("csv", "usual", False), random.Random(0))
@example(["id", "c"], ["label"], ("csv", "usual", False), random.Random(0))
@example(["a\\nb", "c"], ["x"], ("records", "usual", False), random.Random(0))
def test_whatever_ids_and_labels_are_called(
    ids: list[str], classes: list[str], how: tuple[str, str, bool], chance: random.Random
) -> None:
    shape, style, several = how
    form, write = {**WRITERS, **SINGLE_ONLY}[shape]
    several = several and shape in WRITERS
    draw: Callable[[], Any] = (lambda: chance.sample(classes, 1)) if several else lambda: chance.choice(classes)
    data = write({name: draw() for name in ids}, "labels" if several else "label", STYLES[style])
    task: TaskKind = "multilabel" if several else "multiclass"
    spec, problems = TaskSpec(task, tuple(classes)), Problems()
    kind = FileKind(form)
    table = read_table(io.BytesIO(data), kind, task=task, gold=False, problems=problems, classes=classes)
    known = chance.sample(ids, len(ids))
    found = validate_table(table, IdIndex(known), spec, rules=ReadingRules(), problems=problems)
    count_agreeing_windows(data, kind, spec, known, found, rules=ReadingRules(), notes=table.notes)


@for_each(
    "data, form, several",
    [
        ('{"t1": "cat", "t2": "cat", "t2": "cat"}', "json", False),
        ('{"t1": "cat", "t1": "cat", "t2": "cat"}', "json", False),
        ('[{"id": "t1", "label": "cat"}, {"id": "t2", "label": "cat", "label": "cat"}]', "json", False),
        ('[{"id": "t1", "label": "cat"}, {"id": "t2", "id": "t2", "label": "cat"}]', "json", False),
        (
            '{"predictions": [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "cat"}], "predictions": []}',
            "json",
            False,
        ),
        ('{"ids": ["t1", "t2"], "labels": ["cat", "cat"], "ids": []}', "json", False),
        ('[{"id": "t1", "labels": ["cat"]}, {"id": "t2", "labels": ["cat", "cat"]}]', "json", True),
        ('[{"id": "t1", "labels": ["cat"]}, {"id": "t2", "labels": [], "labels": ["cat"]}]', "json", True),
        ('{"t1": ["cat"], "t2": [["cat"]]}', "json", True),
        ('{"t1": ["cat"], "t2": ["cat",]}', "json", True),
        ('{"ids": ["t1", "t2"], "labels": [["cat"], ["cat"], []]}', "json", True),
        ('{"ids": ["t1", "t2"], "labels": [["cat"], []]]}', "json", True),
        ('{"id": "t1", "label": "cat"}\n\n{"id": "t2", "label": "cat"}\n', "jsonl", False),
        ('{"id": "t1",\n"label": "cat"}\n{"id": "t2",\n"label": "cat"}\n', "jsonl", False),
        ("id,label\nt1,cat\n\nt2,cat\n", "csv", False),
        ("id,label\nt1,cat\nt2,ca\rt\n", "csv", False),
        ("id,id\nt1,cat\nt2,cat\n", "csv", False),
    ],
)
def test_what_is_repeated_or_misplaced_is_left_to_the_strict_reader(data: str, form: str, several: bool) -> None:
    assert (
        _count_vectorized_windows(
            data.encode(), FileKind(form), ["t1", "t2"], "multilabel" if several else "multiclass"
        )
        == 0
    )


@for_each("several", [False, True])
def test_what_follows_much_space_behind_the_last_column_is_seen(several: bool) -> None:
    label = '["cat"]' if several else '"cat"'
    for first, second in (('"ids": ["t1"]', f'"labels": [{label}]'), (f'"labels": [{label}]', '"ids": ["t1"]')):
        data, task = f"{{{first}, {second}}}".encode(), task_of(multilabel=several)
        assert _count_vectorized_windows(data + b" " * 20_000, FileKind("json"), ["t1"], task) > 0
        for space in (*range(40), *range(60, 100), HEAD_BYTES - 3, HEAD_BYTES - 2, HEAD_BYTES - 1, HEAD_BYTES, 20_000):
            assert _count_vectorized_windows(data + b" " * space + b"x", FileKind("json"), ["t1"], task) == 0


def test_a_class_that_no_file_may_name_is_left_to_the_strict_reader(tmp_path: Path) -> None:
    spec, data = TaskSpec("multiclass", ("", "cat")), b'[{"id": "t1", "label": ""}, {"id": "t2", "label": "cat"}]'
    source, ids = SourceFile(tmp_path / "labels.json", FileKind("json")), IdIndex(["t1", "t2"])
    source.path.write_bytes(data)
    found, problems, _ = validate_predictions(ids, spec, source, tables=build_lookup_tables(ids, spec.classes))
    assert found is None
    assert dict(problems.total) == {"empty_label": 1}


@for_each("limits", [Limits(records=9), Limits(text_length=100), Limits(nesting=2), Limits(expanded_bytes=200)])
def test_stricter_limits_hold_in_both_tiers(limits: Limits) -> None:
    answers = _answers(10, several=False)
    data = WRITERS["records"][1](answers, "label", {})
    assert _count_vectorized_windows(data, FileKind("json"), sorted(answers), "multiclass", limits) == 0


def test_a_table_has_two_columns_at_least() -> None:
    data = b"id,label\nt1,cat\nt2,dog\n"
    assert _count_vectorized_windows(data, FileKind("csv"), ["t1", "t2"], "multiclass", Limits(columns=2)) > 0
    assert _count_vectorized_windows(data, FileKind("csv"), ["t1", "t2"], "multiclass", Limits(columns=1)) == 0


def test_much_space_is_read_in_a_time_that_grows_with_it_alone() -> None:
    """A pattern that tries every way to divide a stretch of space would not come to an end here."""
    tables = build_lookup_tables(IdIndex(["t1", "t2"]), CLASSES)
    assert tables is not None
    space = b" \n" * 400_000
    for data in (
        space + b"!",
        b"[" + space,
        b'[{"id": "t1", "label": "cat"}, {"id": "t2", "label": "cat"}]' + space + b"x",
        b'{"ids": ["t1", "t2"' + space + b"x",
        b'{"ids": ["t1", "t2"], "labels": [' + b"[ ]," * 100_000 + space + b"x",
        b'{"t1": ["cat"], "t2": ["cat"' + space + b"x",
    ):
        for several in (False, True):
            spec, rules = TaskSpec(task_of(multilabel=several), CLASSES), ReadingRules()
            stream = io.BytesIO(data)
            quick = read_predictions(stream, FileKind("json"), tables, spec, rules=rules, limits=DEFAULT_LIMITS)
            assert quick is None
