"""The vectorized reader of gold: it reads every plain file, and always the same gold as the strict reader."""

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import Limits
from app.formats.source_file import SourceFile
from app.formats.vectorized.labels.gold_collector import sort_texts
from app.formats.vectorized.unsupported import UnsupportedLayout
from app.gold import load_gold
from app.scoring.declaration.task import TaskKind
from app.scoring.string_table import MAX_STRING_BYTES, StringTable
from tests.each_case import for_each
from tests.formats.reading import compare_gold_readers

Row = dict[str, Any]
KINDS = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".tsv": "tsv"}
STYLES: Mapping[str, dict[str, Any]] = {"compact": {"separators": (",", ":")}, "usual": {}, "indented": {"indent": 2}}


def vectorized_windows(path: Path, data: bytes, kind: FileKind, task: TaskKind = "multiclass", **more: Any) -> int:
    """Read gold both ways; with how many sizes of the window the vectorized reader read it."""
    path.write_bytes(data)
    source = SourceFile(path, kind)
    return compare_gold_readers(source, task=task, **more)[2]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gold") / "gold"


# ---- plain files --------------------------------------------------------------------------------


def _rows(count: int, *, sets: bool, more: Sequence[str] = ()) -> list[Row]:
    chance = random.Random(count)
    ids = [f"é{at}" if at % 3 else f"instance-{at:012d}" for at in range(count)]
    chance.shuffle(ids)
    labels = ("cat", "dog", "a label of more than eight bytes", "éé")
    drawn: dict[str, Callable[[], Any]] = {
        "split": lambda: chance.choice(("public", "private")),
        "Usage": lambda: chance.choice(("Public", "Private")),
        "weight": lambda: chance.choice((1, 0.5, 2.25, 0, 1e-3)),
    }
    rows = []
    for at, name in enumerate(ids):
        label = chance.sample(labels, 2 if at < 2 else chance.choice((0, 1, 2, 4))) if sets else labels[at % 4]
        rows.append({"id": name, "labels" if sets else "label": label, **{name: drawn[name]() for name in more}})
    return rows


def _columns(rows: Sequence[Row]) -> dict[str, Any]:
    columns = {"id": "ids", "label": "labels"}
    return {columns.get(name, name): [row[name] for row in rows] for name in rows[0]}


def _table(rows: Sequence[Row], separator: str, end: str, *, last: bool = True) -> bytes:
    lines = [separator.join(rows[0]), *(separator.join(map(str, row.values())) for row in rows)]
    return (end.join(lines) + end * last).encode()


def _map(rows: Sequence[Row]) -> dict[str, Any]:
    return {row["id"]: row.get("label", row.get("labels")) for row in rows}


def _json(make: Callable[[Sequence[Row]], Any]) -> Callable[[Sequence[Row], dict[str, Any]], bytes]:
    return lambda rows, style: json.dumps(make(rows), ensure_ascii=False, **style).encode()


def _lines(rows: Sequence[Row], style: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, **{**style, "indent": None}) + "\n" for row in rows).encode()


LAYOUTS: Mapping[str, tuple[str, Callable[[Sequence[Row], dict[str, Any]], bytes]]] = {
    "records": ("json", _json(lambda rows: {"predictions": rows})),
    "list": ("json", _json(lambda rows: rows)),
    "documents": ("json", _json(lambda rows: {"documents": [{"pmid": row["id"], **row} for row in rows]})),
    "columns": ("json", _json(_columns)),
    "map": ("json", _json(_map)),
    "lines": ("jsonl", _lines),
}
TABLES: Mapping[str, tuple[str, Callable[[Sequence[Row], dict[str, Any]], bytes]]] = {
    "csv": ("csv", lambda rows, _: _table(rows, ",", "\n")),
    "csv, no last end": ("csv", lambda rows, _: _table(rows, ",", "\r\n", last=False)),
    "tsv, crlf": ("tsv", lambda rows, _: _table(rows, "\t", "\r\n")),
}


def _written(layout: str, rows: Sequence[Row], style: str) -> tuple[str, bytes]:
    kind, write = {**LAYOUTS, **TABLES}[layout]
    if layout == "documents":
        rows = [{"pmid" if name == "id" else name: value for name, value in row.items()} for row in rows]
        return kind, json.dumps({"documents": rows}, ensure_ascii=False, **STYLES[style]).encode()
    return kind, write(rows, STYLES[style])


@for_each("layout, sets, style", [*product(LAYOUTS, (False, True), STYLES), *product(TABLES, (False,), ("usual",))])
def test_plain_gold_is_read_by_the_vectorized_reader(path: Path, layout: str, sets: bool, style: str) -> None:
    task: TaskKind = "multilabel" if sets else "multiclass"
    kind, data = _written(layout, _rows(50, sets=sets), style)
    assert vectorized_windows(path, data, FileKind(kind), task)
    kind, data = _written(layout, _rows(2, sets=sets), style)
    declared = ["éé", "dog", "a label of more than eight bytes", "cat"]
    assert vectorized_windows(path, gzip.compress(data), FileKind(kind, "gzip"), task, classes=declared)


FURTHER_FIELDS = [("split",), ("weight",), ("Usage", "weight"), ("weight", "split")]


@for_each(
    "layout, style, more",
    [
        *product(["records", "lines"], STYLES, FURTHER_FIELDS),
        *product(["csv", "tsv, crlf"], ["usual"], FURTHER_FIELDS),  # a table has no style
    ],
)
def test_plain_splits_and_weights_are_read_by_it_too(path: Path, layout: str, style: str, more: Sequence[str]) -> None:
    kind, data = _written(layout, _rows(40, sets=False, more=more), style)
    assert vectorized_windows(path, data, FileKind(kind))


@for_each("at, order", enumerate(permutations(("id", "labels", "split", "weight"))))
def test_they_are_also_read_beside_sets_in_any_order_of_the_fields(path: Path, at: int, order: Sequence[str]) -> None:
    rows = _rows(40, sets=True, more=["split", "weight"])
    rows = [{name: row[name] for name in order} for row in rows]
    for layout in ("records", "list", "documents", "lines"):
        style = list(STYLES)[
            at % len(STYLES)
        ]  # each after the other: an order is read in each layout, not in each style
        kind, data = _written(layout, rows, style)
        assert vectorized_windows(path, data, FileKind(kind), "multilabel"), (layout, style)
        kind, data = _written(layout, [row for row in rows if row["labels"]][:1], style)
        assert vectorized_windows(path, data, FileKind(kind)), (layout, style)
    if at % 6:
        return  # once for each first field: a set that is longer than a window and the head of a file
    rows[1]["labels"] = [f"{number:090}" for number in range(400)]
    kind, data = _written("records", rows, "usual")
    assert vectorized_windows(path, data, FileKind(kind), "multilabel")


@for_each("name", ["split", "Usage"])
def test_plain_splits_in_columns_are_read_by_it_too(path: Path, name: str) -> None:
    for sets in (False, True):
        kind, data = _written("columns", _rows(40, sets=sets, more=[name]), "usual")
        assert vectorized_windows(path, data, FileKind(kind), "multilabel" if sets else "multiclass")


def test_sets_of_acceptable_answers_are_read_by_it_unless_one_is_empty(path: Path) -> None:
    rows = [{"id": f"t{at}", "labels": ["a", "b"][: 1 + at % 2]} for at in range(30)]
    for layout in LAYOUTS:
        kind, data = _written(layout, rows, "usual")
        assert vectorized_windows(path, data, FileKind(kind))
    rows[7]["labels"] = []
    for layout in LAYOUTS:
        kind, data = _written(layout, rows, "usual")
        assert not vectorized_windows(path, data, FileKind(kind))


def test_the_order_of_the_ids_is_that_of_their_code_points(path: Path) -> None:
    """Prefixes, words of eight bytes and their bounds, and characters of one to four bytes."""
    ids = [
        "a",
        "a!",
        "abcdefgh",
        "abcdefghi",
        "abcdefg",
        "abcdefgi",
        "\x7f",
        "é",
        "\u3042",
        "\uffee",
        "\U0001f600",
        "z" * 256,
    ]
    ids += [f"abcdefghabcdefgh{at}" for at in range(3)]
    chance = random.Random(1)
    for _ in range(5):
        chance.shuffle(ids)
        data = json.dumps(dict.fromkeys(ids, "x"), ensure_ascii=False).encode()
        assert vectorized_windows(path, data, FileKind("json"))


def test_gold_is_read_without_a_string_for_any_id(path: Path) -> None:
    path.write_text(json.dumps({f"t{at}": "xy"[at % 2] for at in range(100)}))
    gold, _ = load_gold(SourceFile(path, FileKind("json")), task="multiclass")
    assert gold is not None
    assert "ids" not in vars(gold.index)
    assert len(gold.template_ids) == len(gold.index) == 100
    assert list(gold.template_ids) == sorted(f"t{at}" for at in range(100))


# ---- what it must leave to the strict reader ------------------------------------------------------

RECORD = '[{"id":"a","label":"x"},{"id":"b","label":"y"},{"id":"c","label":"x"}]'
OTHERS: Mapping[str, tuple[str, str]] = {
    "an id twice": ("json", RECORD.replace('"b"', '"a"')),
    "an id twice in a map": ("json", '{"a":"x","b":"y","a":"x"}'),
    "two ids that NFC makes equal": ("json", '{"é":"x","e\u0301":"y"}'),
    "an id that is not in NFC": ("json", RECORD.replace('"b"', '"e\u0301"')),
    "a label that is not in NFC": ("json", RECORD.replace('"y"', '"e\u0301"')),
    "an empty id": ("json", RECORD.replace('"b"', '""')),
    "an empty label": ("json", RECORD.replace('"y"', '""')),
    "an escape": ("json", RECORD.replace('"b"', '"\\u0062"')),
    "NUL": ("json", RECORD.replace('"b"', '"b\0"')),
    "NUL in a label": ("json", RECORD.replace('"y"', '"y\0"')),
    "a control character": ("json", RECORD.replace('"b"', '"b\x01"')),
    "a tab in an id of a table": ("csv", "id,label\na\tb,x\nb,y\n"),
    "a long id": ("json", RECORD.replace('"b"', f'"{"b" * (MAX_STRING_BYTES + 1)}"')),
    "a long label": ("json", RECORD.replace('"y"', f'"{"y" * 1001}"')),
    "a number as id": ("json", RECORD.replace('"b"', "7")),
    "null as label": ("json", RECORD.replace('"y"', "null")),
    "true as label": ("json", RECORD.replace('"y"', "true")),
    "a further field": ("json", RECORD.replace('"id":', '"note":"n","id":')),
    "a further key": ("json", f'{{"predictions":{RECORD},"version":1}}'),
    "a field that is missing": ("json", RECORD.replace(',"label":"y"', "")),
    "two byte order marks": ("json", "\ufeff\ufeff" + RECORD),
    "a usual name of predictions": ("csv", "id,prediction\na,x\nb,y\n"),
    "a map with a reserved name": ("json", '{"predictions":"x","b":"y"}'),
    "records and a map": ("jsonl", '{"id":"a","label":"x"}\n{"b":"y"}\n'),
    "quoted fields": ("csv", 'id,label\n"a",x\nb,y\n'),
    "an empty split": ("csv", "id,label,split\na,x,public\nb,y,\n"),
    "an unknown split": ("csv", "id,label,split\na,x,public\nb,y,Private\n"),
    "ignored rows": ("csv", "id,label,Usage\na,x,Public\nb,y,Ignored\nc,y,Private\n"),
    "both names of splits": ("csv", "id,label,Usage,split\na,x,Public,public\nb,y,Private,private\n"),
    "a negative weight": ("csv", "id,label,weight\na,x,1\nb,y,-1\n"),
    "weights that are all 0": ("csv", "id,label,weight\na,x,0\nb,y,0.0\n"),
    "weights with many digits": ("csv", "id,label,weight\na,x,1\nb,y,0.12345678901234567890\n"),
    "a weight as string": ("json", '[{"id":"a","label":"x","weight":"1"},{"id":"b","label":"y","weight":"2"}]'),
    "a weight that is no number": ("json", '[{"id":"a","label":"x","weight":1},{"id":"b","label":"y","weight":01}]'),
    "a weight of NaN": ("json", '[{"id":"a","label":"x","weight":1},{"id":"b","label":"y","weight":NaN}]'),
    "a split that is a number": ("json", '[{"id":"a","label":"x","split":0},{"id":"b","label":"y","split":1}]'),
    "weights in columns": ("json", '{"ids":["a","b"],"labels":["x","y"],"weight":["1","2"]}'),
    "a column too short": ("json", '{"ids":["a","b"],"labels":["x","y"],"split":["public"]}'),
    "no instance": ("json", "[]"),
    "a file cut off": ("json", RECORD[:-1]),
}


@for_each("name", OTHERS)
def test_everything_else_is_left_to_the_strict_reader(path: Path, name: str) -> None:
    kind, text = OTHERS[name]
    assert not vectorized_windows(path, text.encode(), FileKind(kind))


def test_a_label_that_is_not_declared_is_left_to_the_strict_reader(path: Path) -> None:
    assert not vectorized_windows(path, RECORD.encode(), FileKind("json"), classes=["x"])
    assert vectorized_windows(path, RECORD.encode(), FileKind("json"), classes=["z", "y", "x"])


def test_a_binary_vocabulary_without_both_classes_is_left_to_the_strict_reader(path: Path) -> None:
    binary: dict[str, Any] = {"task": "binary", "kind": FileKind("json")}
    assert vectorized_windows(path, RECORD.encode(), **binary, positive_label="x")
    assert not vectorized_windows(path, RECORD.encode(), **binary, positive_label="z")
    assert not vectorized_windows(path, RECORD.replace('"y"', '"x"').encode(), **binary, positive_label="x")
    third = RECORD.replace('"y"', '"x"', 1)[:-1] + ',{"id":"d","label":"y"},{"id":"e","label":"z"}]'
    assert not vectorized_windows(path, third.encode(), **binary, positive_label="x")


@for_each(
    "limits",
    [Limits(records=2), Limits(classes=1), Limits(expanded_bytes=40), Limits(values=9), Limits(text_length=100)],
)
def test_a_limit_that_a_file_may_exceed_is_left_to_the_strict_reader(path: Path, limits: Limits) -> None:
    assert not vectorized_windows(path, RECORD.encode(), FileKind("json"), limits=limits)


def test_the_limit_on_labels_in_sets_is_for_sets_alone(path: Path) -> None:
    limits = Limits(sets=2)
    assert vectorized_windows(path, RECORD.encode(), FileKind("json"), limits=limits)
    sets = b'{"a":["x","y"],"b":["y"]}'
    assert not vectorized_windows(path, sets, FileKind("json"), "multilabel", limits=limits)
    assert vectorized_windows(path, sets, FileKind("json"), "multilabel", limits=Limits(sets=3))


def test_a_repeated_label_of_a_set_is_left_to_the_strict_reader(path: Path) -> None:
    data = b'{"a":["x","y"],"b":["y","y"]}'
    assert not vectorized_windows(path, data, FileKind("json"), "multilabel")


# ---- arbitrary small files ------------------------------------------------------------------------

SHORT = [
    "a",
    "b",
    "ab",
    "abcdefgh",
    "abcdefghi",
    " a",
    "a ",
    "é",
    "e\u0301",
    "\0",
    "a\0",
    '"',
    "\\",
    "\x1f",
    "1",
    "",
    "id",
]
PIECES = st.sampled_from(
    [*SHORT, "predictions", "labels", "\u3042", "\U0001f600", "a" * 256, "a" * 257, "a|b", ",", "x\ty", "null"]
)
FILE_STYLES = st.sampled_from(list(STYLES))


LAYOUT_AND_STYLE = st.tuples(st.sampled_from([*LAYOUTS, *TABLES]), FILE_STYLES)
FURTHER_VALUES: Mapping[str, list[Any]] = {
    "split": ["public", "private", "Public"],
    "Usage": ["Public", "Private", "public", "Ignored"],
    "weight": [0, 1, 2.5, "1", 1e-3, -1, 1e300],
}


@given(
    st.lists(st.tuples(PIECES, PIECES, st.integers(0, 11)), min_size=1, max_size=6),
    LAYOUT_AND_STYLE,
    st.booleans(),
    st.sampled_from([None, *FURTHER_VALUES]),
)
@settings(max_examples=400, deadline=None)
@example([("a", "x", 0), ("a\0", "y", 0)], ("list", "compact"), False, None)
def test_any_small_file_is_gold_to_both_readers_or_to_none(
    path: Path, drawn: list[tuple[str, str, int]], way: tuple[str, str], sets: bool, more: str | None
) -> None:
    rows: list[Row] = []
    for name, label, at in drawn:
        row: Row = {"id": name, "labels" if sets else "label": [label] if sets else label}
        if more is not None:
            row[more] = FURTHER_VALUES[more][at % len(FURTHER_VALUES[more])]
        rows.append(row)
    layout, style = way
    kind, text = _written(layout, rows, style)
    for classes in (None, ["a", "b", "é"]):
        vectorized_windows(path, text, FileKind(kind), "multilabel" if sets else "multiclass", classes=classes)


@given(st.randoms(use_true_random=False), st.sampled_from([*LAYOUTS, *TABLES]), FILE_STYLES, st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_damaged_file_is_gold_to_both_readers_or_to_none(
    path: Path, chance: random.Random, layout: str, style: str, sets: bool
) -> None:
    more = ("split", "weight") if layout not in {"map", "columns"} else ()
    rows = _rows(6, sets=sets and layout not in TABLES, more=more)
    if chance.random() < 0.5:
        rows = [dict(reversed(row.items())) for row in rows]
    kind, data = _written(layout, rows, style)
    at, size = chance.randrange(len(data)), chance.randrange(4)
    sign = chance.choice([b"", b'"', b",", b":", b"[", b"}", b"\\", b"\n", b" ", b"\r", b"\0", b"1", b"\xff", b"\t"])
    task: TaskKind = "multilabel" if sets else "multiclass"
    vectorized_windows(path, data[:at] + sign + data[at + size :], FileKind(kind), task)


# ---- the order of texts -----------------------------------------------------------------------------


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20), min_size=1)
    # Many of these have the same eight distinguishing bytes.
    | st.lists(st.text("ab", min_size=1, max_size=3).map(lambda end: f"{end[0]}bcdefghi{end[1:]}"), min_size=1)
)
@example(["abcdefgh", "abcdefgh", "b"])
def test_texts_are_sorted_by_code_points_and_a_repetition_is_noticed(texts: list[str]) -> None:
    width = max(len(text.encode()) for text in texts)
    width = -(-width // 8) * 8
    words = np.frombuffer(b"".join(text.encode().ljust(width, b"\0") for text in texts), "<u8").reshape(len(texts), -1)
    if len(set(texts)) < len(texts):
        with pytest.raises(UnsupportedLayout):
            sort_texts(words)
        return
    found, order = sort_texts(words)
    in_order = sorted(texts)
    table = StringTable.from_words(np.ascontiguousarray(found))
    assert table is not None
    assert table.texts() == in_order
    assert [texts[at] for at in (range(len(texts)) if order is None else order.tolist())] == in_order
    assert (order is None) is (texts == in_order)
