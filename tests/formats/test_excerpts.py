"""Excerpts of files: the lines and values at the places of problems, as they stand."""

import gzip
import io
import json
import tracemalloc
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.excerpts import MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_EXCERPT, TOO_LONG, read_excerpts
from tests.each_case import for_each

TABLE = b"id,label\r\nt1,cat\r\nt2,dgo\r\n"
RECORDS = b'{"predictions": [ {"id": "t1", "label": "cat"},\n {"id":"t2",  "label": "d\\u006fg"} ]}'


def excerpts(data: bytes, form: str, *places: Mapping[str, object], encoding: str = "") -> list[str | None]:
    return read_excerpts(io.BytesIO(data), FileKind(form, encoding), places).texts


def test_lines_of_a_table_stand_as_they_are() -> None:
    places = [{"line": 3, "column": 2}, {"line": 1}, {"line": 9}, {}]
    assert excerpts(TABLE, "csv", *places) == ["t2,dgo", "id,label", None, None]
    assert excerpts(gzip.compress(TABLE), "csv", *places, encoding="gzip")[0] == "t2,dgo"


def test_a_pointer_gives_the_whole_record_as_it_is_spelled() -> None:
    whole = excerpts(RECORDS, "json", {"pointer": "/predictions/1/label"})
    assert whole == [RECORDS.decode()[17:].strip() and '"predictions": ' + RECORDS.decode()[16:-1]]
    many = json.dumps({"predictions": [{"id": f"t{at}", "label": "cat"} for at in range(100)]})
    assert excerpts(many.encode(), "json", {"pointer": "/predictions/70/label"}) == ['{"id": "t70", "label": "cat"}']


def test_columns_and_maps_are_found_too() -> None:
    columns = json.dumps({"ids": [f"t{at}" for at in range(200)], "labels": ["cat"] * 199 + ["dgo"]})
    assert excerpts(columns.encode(), "json", {"pointer": "/labels/199"}, {"pointer": "/ids/0"}) == ['"dgo"', '"t0"']
    map_ = json.dumps({"a/b~c": "dgo", "": "cat", **{f"t{at}": "cat" for at in range(100)}})
    places = [{"pointer": "/a~1b~0c"}, {"pointer": "/"}, {"pointer": "/none"}]
    assert excerpts(map_.encode(), "json", *places) == ['"a/b~c": "dgo"', '"": "cat"', None]


def test_the_record_of_a_long_line_is_narrowed_to_the_value() -> None:
    line = json.dumps({"id": "t1", "text": "x" * 1000, "label": "dgo"})
    place = {"line": 1, "pointer": "/label"}
    assert excerpts(f"{line}\n".encode(), "jsonl", place) == ['"label": "dgo"']


def test_a_fault_of_syntax_shows_what_stands_around_it() -> None:
    text = '{"t1": "cat", ' + '"t2": "cat", ' * 100 + "oops}"
    (found,) = excerpts(text.encode(), "json", {"line": 1, "column": len(text) - 4})
    assert found is not None
    assert found.startswith("…")
    assert found.endswith("oops}")
    assert len(found) <= MAX_EXCERPT + 2


def test_a_damaged_file_gives_what_stands_before_the_damage() -> None:
    broken = gzip.compress(TABLE * 1000)[:-20]
    assert excerpts(broken, "csv", {"line": 2}, encoding="gzip") in (["t1,cat"], [None])
    assert excerpts(b"\xff\xfe,x\n", "csv", {"line": 1}) == ["��,x"]
    assert excerpts(b"[" * 100_000, "json", {"pointer": "/0/0"}) == [None]
    assert excerpts(b"PK", "npz", {"pointer": "/labels/1"}) == [None]
    assert excerpts(b"", "json", {"pointer": "/0"}, {"line": 1, "column": 1})[0] is None


def test_more_than_a_hundred_places_have_none() -> None:
    found = excerpts(b"x\n" * 200, "csv", *({"line": at} for at in range(1, 151)))
    assert found == ["x"] * 100 + [None] * 50


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.lists(st.text(alphabet="/~01a", max_size=8), max_size=5), st.integers(0, 60))
def test_any_text_and_any_pointer_give_short_excerpts_of_the_text(value: object, pointers: list[str], cut: int) -> None:
    text = json.dumps(value, ensure_ascii=False)[: cut or None]
    for found in excerpts(text.encode(), "json", *({"pointer": f"/{pointer}"} for pointer in pointers)):
        assert found is None or found in text


@for_each("size", [1, 10, 1 << 20])
def test_one_huge_line_is_cut(size: int) -> None:
    (found,) = excerpts(b"a" * (size * 3), "csv", {"line": 1})
    assert found is not None
    assert len(found) <= MAX_EXCERPT + 2


def test_a_json_document_that_expands_to_much_is_not_read_and_the_reader_learns_why() -> None:
    document = b'{"predictions":[' + b'{"id":{}},' * (MAX_DOCUMENT_BYTES // 10) + b"1]}"
    packed = gzip.compress(document + b" " * (16 << 20), 1)
    place = {"pointer": "/predictions/1/id"}
    tracemalloc.start()
    try:
        found = read_excerpts(io.BytesIO(packed), FileKind("json", "gzip"), [place])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == ([None], TOO_LONG)
    assert peak < 4 * MAX_DOCUMENT_BYTES
    assert read_excerpts(io.BytesIO(RECORDS), FileKind("json"), [{"pointer": "/predictions/1"}]).left_out is None


def test_a_fault_of_syntax_is_shown_at_any_size() -> None:
    text = b'{"t1":\n' + b" " * MAX_DOCUMENT_BYTES + b"\noops"
    assert read_excerpts(io.BytesIO(text), FileKind("json"), [{"line": 3, "column": 1}]) == (["oops"], None)


def test_lines_far_away_are_found_and_their_bytes_are_bounded_together() -> None:
    far = MAX_DOCUMENT_BYTES // 2
    assert excerpts(b"\n" * far + b"x,y\nz", "csv", {"line": far + 1}, {"line": far + 2}, {"line": far}) == [
        "x,y",
        "z",
        "",
    ]
    line = json.dumps({"a": [0] * 300_000, "b": 2}).encode() + b"\n"
    data = line * 40
    tracemalloc.start()
    try:
        found = excerpts(data, "jsonl", *({"line": at, "pointer": "/b"} for at in range(1, 41)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found[0] == '"b": 2'
    assert found[39] == line.decode()[:MAX_EXCERPT] + "…"
    assert peak < 4 * MAX_DOCUMENT_BYTES


def test_places_deep_in_a_document_have_the_value_around_them() -> None:
    text = '{"a":' * 50 + '{"b":1,"c":"' + "x" * 400 + '"}' + "}" * 50
    (found,) = excerpts(text.encode(), "json", {"pointer": "/a" * 50 + "/b"})
    assert found == text[5 * (MAX_DEPTH - 1) + 1 :][:MAX_EXCERPT] + "…"
