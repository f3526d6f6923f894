"""Any valid table gives the same arrays in every format, and any fault is reported at its place."""

import csv
import io
import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats import check as check_module
from app.formats import records as records_module
from app.formats import tidy as tidy_module
from app.formats.check import check
from app.formats.gold import label_set
from app.formats.kinds import FORMATS
from app.formats.rules import Rules
from app.scoring.align import IdIndex
from app.scoring.task import TaskSpec
from tests.formats.support import CLASSES, IDS, predict, read, sets

Row = tuple[str, list[str]]

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0|\r"), min_size=1, max_size=8)
normal = texts.map(lambda text: unicodedata.normalize("NFC", text)).filter(bool)
classes = st.lists(normal, min_size=1, max_size=5, unique=True)


@st.composite
def tables(draw: st.DrawFn, *, several: bool) -> tuple[list[str], list[str], list[Row]]:
    """Expected ids, classes, and the rows of a file in any order."""
    names = draw(st.lists(normal, min_size=1, max_size=8, unique=True))
    vocabulary = draw(classes)
    if several:
        answers = st.lists(st.sampled_from(vocabulary), unique=True, max_size=len(vocabulary))
    else:
        answers = st.sampled_from(vocabulary).map(lambda label: [label])
    rows = [(name, draw(answers)) for name in draw(st.permutations(names))]
    return names, vocabulary, rows


def record(row: Row, several: bool) -> dict[str, Any]:
    return {"id": row[0], "labels": row[1]} if several else {"id": row[0], "label": row[1][0]}


def as_records(rows: list[Row], several: bool) -> str:
    return json.dumps([record(row, several) for row in rows])


def as_predictions(rows: list[Row], several: bool) -> str:
    turned = [dict(reversed(record(row, several).items())) for row in rows]
    return json.dumps({"note": "x", "predictions": turned}, ensure_ascii=False, indent=1)


def as_columns(rows: list[Row], several: bool) -> str:
    return json.dumps({"labels": [row[1] if several else row[1][0] for row in rows], "ids": [row[0] for row in rows]})


def as_map(rows: list[Row], several: bool) -> str:
    return json.dumps({row[0]: row[1] if several else row[1][0] for row in rows})


def as_mixed_records(rows: list[Row], several: bool) -> str:
    """Not all alike, so that no quick way applies."""
    mixed = [record(row, several) | ({"x": {"y": [1, {}]}} if n % 2 else {}) for n, row in enumerate(rows)]
    return json.dumps(mixed)


def as_lines(rows: list[Row], several: bool) -> str:
    return "".join(json.dumps(record(row, several)) + "\n" for row in rows)


def as_csv(rows: list[Row], several: bool) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL if len(rows) % 2 else csv.QUOTE_MINIMAL)
    writer.writerow(("id", "label"))
    writer.writerows((name, "|".join(labels)) for name, labels in rows)
    return out.getvalue()


WRITERS: dict[str, tuple[str, Callable[[list[Row], bool], str]]] = {
    "records": ("json", as_records),
    "predictions": ("json", as_predictions),
    "mixed records": ("json", as_mixed_records),
    "columns": ("json", as_columns),
    "map": ("json", as_map),
    "lines": ("jsonl", as_lines),
    "csv": ("csv", as_csv),
}
SHAPED_LIKE_OTHERS = {"predictions", "documents", "ids", "labels"}


def is_plain(name: str, rows: list[Row]) -> bool:
    """A map whose ids are the names of other shapes would be read as those."""
    return name != "map" or not SHAPED_LIKE_OTHERS & {row[0] for row in rows}


@pytest.mark.parametrize("several", [False, True])
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_any_valid_table_gives_the_same_arrays_in_every_format(several: bool, data: st.DataObject) -> None:
    names, vocabulary, rows = data.draw(tables(several=several))
    answers = dict(rows)
    expected = [[vocabulary.index(label) for label in answers[name]] for name in names]
    for name, (kind, write) in WRITERS.items():
        for encoding in ("", "gzip", "zstd"):
            if is_plain(name, rows):
                text = write(rows, several)
                labels, problems = predict(
                    text, kind, ids=names, classes=vocabulary, multilabel=several, encoding=encoding
                )
                assert problems.to_dict()["problems"] == [], name
                assert sets(labels) == expected, name


@pytest.mark.parametrize("several", [False, True])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_the_slow_ways_agree_with_the_quick_ones(several: bool, data: st.DataObject) -> None:
    names, vocabulary, rows = data.draw(tables(several=several))
    for name, (kind, write) in WRITERS.items():
        if not is_plain(name, rows):
            continue
        text = write(rows, several)
        quick, _ = predict(text, kind, ids=names, classes=vocabulary, multilabel=several)
        with pytest.MonkeyPatch.context() as patch:  # switches the shortcuts off; nothing is imitated
            patch.setattr(records_module, "_uniform", lambda *_: None)
            patch.setattr(tidy_module, "_quick", lambda *_: None)
            patch.setattr(check_module, "_quick", lambda *_: None)
            slow, problems = predict(text, kind, ids=names, classes=vocabulary, multilabel=several)
        assert not problems
        assert sets(slow) == sets(quick)


def place_of(name: str, row: int, rows: list[Row], part: str) -> dict[str, Any]:
    """Where a writer puts the id or label of a row."""
    if name == "lines":
        return {"line": row + 1, "pointer": f"/{part}"}
    if name == "columns":
        return {"pointer": f"/{part}s/{row}"}
    if name == "map":
        return {"pointer": "/" + rows[row][0].replace("~", "~0").replace("/", "~1")}
    prefix = "/predictions" if name == "predictions" else ""
    return {"pointer": f"{prefix}/{row}/{part}"}


@given(data=st.data(), wrong=st.sampled_from(["label", "empty", "type", "id", "again"]))
@settings(max_examples=150, deadline=None)
def test_a_single_fault_is_reported_at_its_place_in_every_json_format(data: st.DataObject, wrong: str) -> None:
    names, vocabulary, rows = data.draw(tables(several=False))
    row = data.draw(st.integers(0, len(rows) - 1))
    extra = data.draw(normal.filter(lambda text: text not in {*names, *vocabulary}))
    spoilt: list[tuple[str, list[Any]]] = [(name, list(labels)) for name, labels in rows]
    if wrong in {"label", "empty", "type"}:
        spoilt[row] = (rows[row][0], [{"label": extra, "empty": "", "type": None}[wrong]])
        code = {"label": "unknown_label", "empty": "empty_label", "type": "wrong_shape"}[wrong]
        part, instance = "label", rows[row][0]
    else:
        instance = extra if wrong == "id" else rows[row][0]
        code = "unknown_id" if wrong == "id" else "duplicate_id"
        spoilt.append((instance, [vocabulary[0]]))
        part, row = "id", len(rows)
    for name in ("records", "predictions", "mixed records", "columns", "map", "lines"):
        if name == "map" and wrong == "again":
            continue
        if not is_plain(name, spoilt):
            continue
        kind, write = WRITERS[name]
        labels, problems = predict(write(spoilt, False), kind, ids=names, classes=vocabulary)
        assert labels is None
        assert problems.total == {code: 1}, name
        found = problems.first[0].to_dict()
        expected = {"code": code, "instance_id": instance} | place_of(name, row, spoilt, part)
        assert found | expected == found, name


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(str.encode),
    st.sampled_from(["", "gzip", "zstd"]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_no_bytes_at_all_raise(raw: bytes, encoding: str, several: bool, gold: bool) -> None:
    for kind in FORMATS:
        table, problems = read(raw, kind, multilabel=several, encoding=encoding, gold=gold)
        ids = list(dict.fromkeys(name for name in table.ids if name))
        check(table, IdIndex(ids), TaskSpec("multiclass", ()), rules=Rules(), problems=problems)
        json.dumps(problems.to_dict(), ensure_ascii=False).encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "label", "labels", "ids", "predictions", "split", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json_values, st.booleans(), st.booleans())
@settings(max_examples=400, deadline=None)
def test_no_json_at_all_raises_and_whatever_is_read_without_problems_scores(
    value: Any, several: bool, gold: bool
) -> None:
    for kind in ("json", "jsonl"):
        table, problems = read(json.dumps(value), kind, multilabel=several, gold=gold)
        ids = list(dict.fromkeys(name for name in table.ids if name))
        spec = TaskSpec("multilabel" if several else "multiclass", label_set(table))
        found = check(table, IdIndex(ids), spec, rules=Rules(), problems=problems)
        assert (found is None) is bool(problems)
        assert found is None or found.labels is None or found.labels.n == len(ids)
        assert found is None or found.scores is None or found.scores.shape == (len(ids), len(spec.classes))


@given(st.lists(st.sampled_from(["e\u0301", "\u00e9", "a", "A\u030a", "\u212b"]), min_size=1, max_size=6))
def test_ids_equal_after_nfc_are_one_id(names: list[str]) -> None:
    distinct = list(dict.fromkeys(unicodedata.normalize("NFC", name) for name in names))
    text = json.dumps([{"id": name, "label": "x"} for name in names])
    _, problems = predict(text, ids=distinct, classes=["x"])
    repeated = len(names) - len(distinct)
    assert problems.total == ({"duplicate_id": repeated} if repeated else {})


@given(
    template=st.sampled_from(
        [
            '[{{"id":"{0}","label":"{1}"}}]',
            '{{"{0}":[{{"id":"t1","label":"{1}"}}]}}',
            '{{"{0}":"{1}","{0}":"x"}}',
            '{{"ids":["{0}"],"labels":["{1}"],"{0}":1,"{0}":2}}',
            "id,label,{0},{0}\nt1,{1}\n",
            "id,{0}\n{1},{0}\n",
            '{{"id":"{0}","{1}":1,"{1}":2}}',
        ]
    ),
    texts=st.tuples(st.text(st.sampled_from("a\x85\udc85\ud800é\0,")), st.text(st.sampled_from("t1\udfff\ud83d|~/"))),
    kind=st.sampled_from(["json", "jsonl", "csv"]),
    several=st.booleans(),
    escaped=st.booleans(),
)
def test_every_answer_can_be_written_as_utf_8(
    template: str, texts: tuple[str, str], kind: str, several: bool, escaped: bool
) -> None:
    """Halves of surrogate pairs come in as escapes and as bytes; none goes out, into the database or to anybody."""
    shown = [json.dumps(text)[1:-1] if escaped else text for text in texts]
    table, problems = read(template.format(*shown), kind, multilabel=several)
    check(table, IdIndex(IDS), TaskSpec("multiclass", CLASSES), rules=Rules(), problems=problems)
    json.dumps([problems.to_dict(), table.notes], ensure_ascii=False).encode()
